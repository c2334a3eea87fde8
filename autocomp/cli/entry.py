"""The `autocomp` command: its subcommands, and how errors reach the user."""

from __future__ import annotations

import json
from typing import Any

import click

from autocomp.cli.commands.compare import compare
from autocomp.cli.commands.defaults import announce_defaults, apply, defaults
from autocomp.cli.commands.explore import explore
from autocomp.cli.commands.export import export
from autocomp.cli.commands.fidelity import fidelity
from autocomp.cli.commands.isa import isa
from autocomp.cli.commands.mcp import mcp
from autocomp.cli.commands.menu import menu
from autocomp.cli.commands.model import model
from autocomp.cli.commands.profile import profile
from autocomp.cli.commands.prompt import prompt
from autocomp.cli.commands.report import report
from autocomp.cli.commands.resume import resume
from autocomp.cli.commands.rtl import rtl
from autocomp.cli.commands.run import run
from autocomp.cli.commands.runs import runs
from autocomp.cli.commands.schedules import schedules
from autocomp.cli.commands.search import search
from autocomp.cli.commands.simulate import simulate
from autocomp.cli.commands.target import target
from autocomp.cli.commands.workloads import workloads
from autocomp.cli.completion import complete_values
from autocomp.cli.options import CommandGroup, say, wants_json
from autocomp.errors import AutocompError

INTERRUPTED = 130


class UserError(click.ClickException):
    """An AutocompError on its way out: its message on standard error, its exit code, no traceback."""

    def __init__(self, error: AutocompError, as_json: bool) -> None:
        super().__init__(str(error))
        self.exit_code = error.exit_code  # type: ignore[misc]
        self._document = {
            "error": error.message,
            "hint": error.hint,
            "exit_code": error.exit_code,
            "errors": [one.document() for one in error.all],
        }
        self._as_json = as_json

    def show(self, file: Any = None) -> None:
        say(f"error: {self.message}", err=True)
        if self._as_json:
            click.echo(json.dumps(self._document))


class Commands(CommandGroup):
    """A group that turns errors of the input, and those of the file system that no command expects, into messages and
    exit codes."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except AutocompError as error:
            raise UserError(error, wants_json(ctx)) from error
        except BrokenPipeError:
            raise  # whoever reads the output has read enough: click ends quietly
        except OSError as error:
            fault = error.strerror or str(error)
            problem = AutocompError(
                f"{error.filename}: {fault}" if error.filename else f"cannot write or read: {fault}"
            )
            raise UserError(problem, wants_json(ctx)) from error
        except KeyboardInterrupt:
            say("interrupted", err=True)
            ctx.exit(INTERRUPTED)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="autocomp", prog_name="autocomp")
@click.pass_context
def autocomp(ctx: click.Context) -> None:
    """Search for fast, validated kernels for tensor accelerators.

    Start with: autocomp search gemm.yaml
    """
    apply(ctx, autocomp)


COMMANDS = (
    search,
    explore,
    mcp,
    resume,
    runs,
    report,
    model,
    run,
    profile,
    compare,
    prompt,
    schedules,
    export,
    workloads,
    menu,
    defaults,
    isa,
    target,
    simulate,
    fidelity,
    rtl,
)
for command in COMMANDS:
    autocomp.add_command(command)
complete_values(autocomp)
announce_defaults(autocomp)

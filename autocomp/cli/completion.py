"""Completion in shells of the values that commands know: workloads, machines, menus, runs and words of options.

Click completes commands, options and choices by itself. `complete_values` adds the rest to a finished group, by the
names of parameters, so that no command has to say it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from autocomp.cli.listing import named_files
from autocomp.errors import AutocompError

Names = Callable[[click.Context], Iterable[str]]

CYCLES = ("cycles", "energy", "edp")
AGENTS = ("rules", "llm", "llm+rules")
EXECUTORS = ("inline", "threads:", "processes:", "dask://", "local-cluster:")


class Completed(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic since click 8.4
    """A type that converts as `inner` does, and proposes names beside the files that the shell proposes."""

    def __init__(self, inner: Any, names: Names, *, files: bool) -> None:
        self.inner, self.names, self.files, self.name = inner, names, files, inner.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self.inner.convert(value, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        metavar: str | None = self.inner.get_metavar(param, ctx)
        return metavar

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            names = list(self.names(ctx))
        except (AutocompError, OSError):
            names = []  # a shell that completes has no place for messages; the command itself will say it
        items = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return [*items, CompletionItem(incomplete, type="file")] if self.files else items


def complete_values(group: click.Group) -> None:
    """Give every parameter of the commands of a group the names that it may state."""
    for command in group.commands.values():
        if isinstance(command, click.Group):
            complete_values(command)
        for parameter in command.params:
            known = VALUES.get(parameter.name or "")
            plain = not isinstance(parameter.type, click.Choice) and not getattr(parameter, "is_flag", False)
            if known and plain and not isinstance(parameter.type, click.types.IntParamType):
                parameter.type = Completed(parameter.type, known[0], files=known[1])


def _files(kind: str, suffix: str) -> Names:
    return lambda ctx: named_files(kind, suffix, ctx.params.get("paths") or ())


def _machines(ctx: click.Context) -> Iterator[str]:
    """Machines that ship or lie on the search path, and their configurations as NAME:CONFIGURATION."""
    from autocomp.targets.simulator import isa

    for name, file in named_files("isa", ".isa", ctx.params.get("paths") or ()).items():
        yield name
        yield from (f"{name}:{configuration.name}" for configuration in isa.load(file).configurations)


def _parameters(ctx: click.Context) -> Iterator[str]:
    """`NAME=` for each parameter of the machine that the command line names, or of its workload's. Click cannot parse
    a line that ends with an option without value: its words are then in `ctx.args`."""
    from autocomp.api import load_workload
    from autocomp.targets.simulator import isa

    machines = set(_machines(ctx))
    stated = [ctx.params.get(name) for name in ("accelerator", "workload", "workloads")]
    words = [word for value in stated if value for word in ([value] if isinstance(value, str) else value)]
    for word in [*words, *ctx.args]:
        with suppress(AutocompError):
            machine = word if word in machines else load_workload(word).target.partition(":")[2]
            yield from (f"{name}=" for name in isa.load(machine).parameters)
            return


def _runs(ctx: click.Context) -> Iterator[str]:
    yield from (str(file.parent) for file in sorted(Path("runs").glob("*/config.json")))


def _strategies(ctx: click.Context) -> Iterable[str]:
    from autocomp.search.strategies import STRATEGIES

    return STRATEGIES


def _targets(ctx: click.Context) -> Iterator[str]:
    from autocomp.targets.registry import kinds

    yield from kinds()
    yield from (f"simulator:{machine}" for machine in _machines(ctx))


WORKLOADS = _files("workloads", ".yaml")
VALUES: dict[str, tuple[Names, bool]] = {  # name of a parameter -> its names, and whether a file may stand there too
    "workload": (WORKLOADS, True),
    "workloads": (WORKLOADS, True),
    "menus": (_files("menus", ".yaml"), True),
    "accelerator": (_machines, True),
    "target_spec": (_targets, True),
    "strategy": (_strategies, False),
    "agent": (lambda ctx: AGENTS, False),
    "overrides": (_parameters, False),
    "objective": (lambda ctx: CYCLES, False),
    "objectives": (lambda ctx: CYCLES, False),
    "executor": (lambda ctx: EXECUTORS, False),
    "run": (_runs, True),
    "runs": (_runs, True),
    "folders": (_runs, True),
}

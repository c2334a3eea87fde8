"""Options that several commands share."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from autocomp.cli.folding import folded
from autocomp.printable import printable

if TYPE_CHECKING:
    from autocomp.search.session import Means

Function = TypeVar("Function", bound=Callable[..., Any])


class CommandGroup(click.Group):
    """A group whose help lists its commands with whole sentences, wrapped to the width."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, self.commands[name].get_short_help_str(limit=1000)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _note_json(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
    ctx.find_root().meta["autocomp.json"] = value
    return value


def wants_json(ctx: click.Context) -> bool:
    return bool(ctx.find_root().meta.get("autocomp.json", False))


def print_json(document: Any) -> None:
    """The one document that a command with --json writes to standard output."""
    click.echo(json.dumps(document, indent=2, allow_nan=False))


def say(text: str, *, err: bool = False, whole: bool = False) -> None:
    """A line for people. Control characters in it are shown, not sent: parts of it may be somebody else's. On a
    terminal it wraps between words, unless it ends with a command to copy and is kept `whole`."""
    stream, shown = sys.stderr if err else sys.stdout, printable(text)
    if stream.isatty() and not whole:
        from autocomp.report.terminal import plain_width, wrapped

        shown = "\n".join(wrapped(shown, plain_width(stream)))
    click.echo(shown, err=err)


def show_content(text: str) -> None:
    """The content of a file or a prompt, as it is; on a terminal without its control characters."""
    click.echo(printable(text) if sys.stdout.isatty() else text, nl=False)


def warn(message: str) -> None:
    say(f"warning: {message}", err=True)


def _overrides(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, int | float]:
    parsed: dict[str, int | float] = {}
    for value in values:
        match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=\s*(\S+)\s*", value)
        number = number_of(match.group(2)) if match else None
        if match is None or number is None:
            raise click.BadParameter(f"{value!r} is not NAME=NUMBER, as in DIM=32", ctx, parameter)
        parsed[match.group(1)] = number
    return parsed


def number_of(text: str) -> int | float | None:
    """The number that a text says, or None; integers also with 0x."""
    for convert in (lambda t: int(t, 0), float):
        try:
            return convert(text)
        except ValueError:
            continue
    return None


json_option = click.option(
    "--json", "as_json", is_flag=True, callback=_note_json, help="Print one JSON document, and nothing else, on stdout."
)
plain_option = click.option("--plain", is_flag=True, help="Print plain text, without colours or live display.")
path_option = click.option(
    "--path",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder to look for workloads, accelerators and menus in first; repeatable.",
)
set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    callback=_overrides,
    metavar="NAME=NUMBER",
    help="Override a parameter of the accelerator, as in --set DIM=32; repeatable.",
)


def _definitions(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, int | float]:
    """`NAME` alone means 1, as for C compilers."""
    return _overrides(ctx, parameter, tuple(value if "=" in value else f"{value}=1" for value in values))


define_option = click.option(
    "-D",
    "--define",
    "definitions",
    multiple=True,
    callback=_definitions,
    metavar="NAME[=NUMBER]",
    help="A constant that the kernel may use, also in #if; repeatable.",
)
judge_seed_option = click.option(
    "--judge-seed",
    type=click.IntRange(min=0),
    default=None,
    help="Judge on the inputs of an earlier judgement (default: on fresh ones).",
)
trust_option = click.option(
    "--trust",
    is_flag=True,
    help="Allow the workload's Python reference, and programs that its target names, to run; remembered by content.",
)
target_option = click.option(
    "--target",
    "target_spec",
    metavar="KIND[:MACHINE]",
    help="Target of the kernels (default: the one that the workload's file names).",
)
objective_option = click.option(
    "--objective",
    default=None,
    metavar="NAME",
    help="Objective, if the target has several: cycles, energy or edp (energy x cycles).",
)
workers_option = click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=None,
    help="Number of kernels evaluated at a time (default: the available cores).",
)


def _means(workers: int | None, executor: str | None, cache: bool) -> Means:
    from autocomp.search.executors import available_cores
    from autocomp.search.session import Means

    return Means(workers or available_cores(), executor, cache)


means_options = folded(
    "means",
    _means,
    workers_option,
    click.option(
        "--executor",
        metavar="SPEC",
        help="Where kernels are evaluated: inline, threads:N, processes:N, dask://HOST:PORT or local-cluster:N.",
    ),
    click.option(
        "--cache/--no-cache",
        default=True,
        show_default=True,
        help="Read verdicts from your cache, and store new ones there.",
    ),
)


def output_options(function: Function) -> Function:
    """--json and --plain."""
    return json_option(plain_option(function))

"""A user's own defaults of options, and `autocomp defaults`, which lists them.

Click looks them up after the command line and before its own defaults. A command that uses some says so, with the file.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection
from typing import Any

import click
from click.core import ParameterSource

from autocomp.cli.options import output_options, print_json, say
from autocomp.data import defaults_file

_FROM_FILE = ParameterSource.DEFAULT_MAP


def apply(ctx: click.Context, group: click.Group) -> None:
    """Let the commands below `ctx` take the user's defaults. Raises ConfigError as `load` does."""
    if not defaults_file().exists():
        return
    from autocomp.cli.defaults_file import load

    defaults: dict[str, Any] = {}
    for default in load(group):
        section = defaults
        for name in default.command:
            section = section.setdefault(name, {})
        section[default.parameter] = default.words
    ctx.default_map = defaults


def announce_defaults(group: click.Group) -> None:
    """Let every command of a finished group say which options it has from the user's file."""
    for command in group.commands.values():
        if isinstance(command, click.Group):
            announce_defaults(command)
        elif command.callback is not None:
            command.callback = _announced(command.callback)


def _announced(callback: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(callback)
    def run(*args: Any, **values: Any) -> Any:
        ctx = click.get_current_context()
        used = [p.name for p in ctx.command.params if ctx.get_parameter_source(p.name or "") is _FROM_FILE]
        if used:
            _say_used(ctx, used)
        return callback(*args, **values)

    return run


def _say_used(ctx: click.Context, parameters: Collection[str | None]) -> None:
    from autocomp.cli.defaults_file import load

    words = ctx.command_path.split()[1:]
    texts = [d.text for d in load(_root(ctx)) if list(d.command) == words and d.parameter in parameters]
    say(f"defaults from {defaults_file()}: {', '.join(texts)}", err=True)


def _root(ctx: click.Context) -> click.Group:
    command = ctx.find_root().command
    assert isinstance(command, click.Group)
    return command


@click.command()
@output_options
def defaults(as_json: bool, plain: bool) -> None:
    """List your own defaults of options, and the file that they come from."""
    from autocomp.cli.defaults_file import load
    from autocomp.report import make_console
    from autocomp.report.grid import Grid, name

    ctx = click.get_current_context()
    file, settings = defaults_file(), load(_root(ctx))
    if as_json:
        rows = [
            {"command": " ".join(d.command), "option": d.option, "value": d.words, "line": d.line} for d in settings
        ]
        print_json({"file": str(file), "exists": file.exists(), "defaults": rows})
        return
    if not settings:
        say(f"no defaults of your own; write some into {file}")
        return
    grid = Grid("", name("command"), name("option"), name("line"))
    for default in settings:
        grid.add(" ".join(default.command), default.text, str(default.line))
    make_console(sys.stdout, plain).print(grid)
    say(f"from {file}")

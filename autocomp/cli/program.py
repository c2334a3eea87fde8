"""A program with `int main()`: what it prints, how it ends, how long the accelerator took."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from autocomp.cli.options import print_json, say
from autocomp.errors import AutocompError, ConfigError

_QUOTED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"(?:[^"\n]*/)?([^"/\n]+)"', re.MULTILINE)
FAILED = 6


def run_program(
    text: str,
    source_name: str,
    accelerator: str | None,
    overrides: Mapping[str, int | float],
    definitions: Mapping[str, int | float],
    paths: Sequence[Path],
    *,
    as_json: bool,
    plain: bool,
) -> int:
    """Run a program and show what came of it; the exit code of the command. Raises ConfigError where no machine offers
    its headers, and KernelError for a text that does not check."""
    from autocomp.report import make_console
    from autocomp.targets.simulator import isa
    from autocomp.targets.simulator.program import run_file

    if not re.search(r"\bmain\s*\(", text):
        raise ConfigError(f"{source_name} has no main(): say what it is to compute with --workload")
    machine = isa.load(accelerator or _offering(text, paths), overrides, paths)
    ended = run_file(text, source_name, machine, definitions)
    if as_json:
        print_json(
            {
                "accelerator": machine.full_name,
                "exit_code": ended.exit_code,
                "output": ended.output,
                "cycles": ended.cycles,
                "commands": ended.commands,
                "notes": list(ended.notes),
                "error": ended.error and {"message": ended.error.message, "line": ended.error.line},
            }
        )
    else:
        click.echo(ended.output, nl=False)
        console = make_console(sys.stdout, plain)
        for note in ended.notes:
            console.print(f"note: {note}", markup=False)
        console.print(
            f"exit code {ended.exit_code}; {ended.commands:,} commands on {machine.full_name}: {ended.cycles:,} cycles"
        )
    if ended.error is not None:
        say(f"error: {source_name}:{ended.error.line}: {ended.error.message}", err=True)
        return FAILED
    return ended.exit_code & 0xFF


def _offering(text: str, paths: Sequence[Path]) -> str:
    """The file of the one machine that offers the headers of a text."""
    from autocomp.cli.listing import named_files
    from autocomp.targets.simulator import isa

    headers = set(_QUOTED.findall(text))
    fitting: dict[str, str] = {}
    for name, file in named_files("isa", ".isa", paths).items():
        try:
            offered = isa.load(file).library.headers
        except AutocompError:
            continue
        if headers & set(offered):
            fitting[name] = str(file)
    if len(fitting) != 1:
        beginning = "several machines offer" if fitting else "no machine offers"
        what = ", ".join(sorted(headers)) or "(none)"
        raise ConfigError(f"{beginning} the headers {what}", hint="name the machine with --accelerator")
    return next(iter(fitting.values()))

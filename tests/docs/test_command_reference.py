"""The reference of commands is what their help says now, and the page of environment variables has all that the code
reads; `pytest --update-golden` rewrites the first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from autocomp.cli.entry import autocomp

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ROOT / "docs" / "reference" / "commands.md"
ENVIRONMENT = ROOT / "docs" / "reference" / "environment.md"
READ = re.compile(r"""(?:environ(?:\.get\(|\[)|environment\.get\()\s*"([A-Z_]+)\"""")
INTRODUCTION = """# Commands

All commands, their arguments and options, as `autocomp COMMAND --help` prints them. [Exit codes](exit-codes.md),
[environment variables, files and completion](environment.md).
"""


def commands(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.commands[name]
            yield from commands(child, click.Context(child, parent=context, info_name=name))


def section(command: click.Command, context: click.Context) -> str:
    """The heading, usage, description and options of one command."""
    path = context.command_path
    level = "#" * (1 + path.count(" "))
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"{level}# {path}", "", "```text", f"{path} {usage}", "```", ""]
    lines += [line.strip() for line in (command.help or "").strip().splitlines()]
    if isinstance(command, click.Group):
        rows = [(f"[{name}](#{path.replace(' ', '-')}-{name})", child.help) for name, child in command.commands.items()]
        short = [(link, cell((text or "").split("\n\n")[0])) for link, text in sorted(rows)]
        lines += ["", "| command | |", "|---|---|", *(f"| {link} | {text} |" for link, text in short)]
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    options = [(cell(f"`{record[0]}`"), cell(record[1])) for record in records if record and record[1]]
    if options:
        lines += ["", "| option | |", "|---|---|", *(f"| {names} | {meaning} |" for names, meaning in options)]
    return "\n".join(lines).rstrip() + "\n"


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def page() -> str:
    context = autocomp.make_context("autocomp", [], resilient_parsing=True)
    return "\n".join([INTRODUCTION, *(section(*one) for one in commands(autocomp, context))])


def test_the_reference_of_commands_says_what_their_help_says(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        COMMANDS.write_text(page(), encoding="utf-8")
    assert COMMANDS.read_text(encoding="utf-8") == page(), "run pytest with --update-golden"


def test_every_variable_that_the_code_reads_is_described() -> None:
    sources = [file.read_text(encoding="utf-8") for file in (ROOT / "autocomp").rglob("*.py")]
    read = {name for text in sources for name in READ.findall(text)}
    described = set(re.findall(r"`([A-Z_]+)`", ENVIRONMENT.read_text(encoding="utf-8")))
    assert read - {"AUTOCOMP_WORKER_DEBUG", "TRITON_INTERPRET"} <= described  # those are set for processes of its own

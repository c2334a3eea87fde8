"""No text that is shown does anything to a terminal, or looks like something else."""

from __future__ import annotations

import io
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from autocomp.cli.options import say
from autocomp.printable import printable
from autocomp.report.terminal import PlainConsole, make_console, wrapped

HOSTILE = {
    "a title": "\x1b]0;owned\x07",
    "a cleared screen": "\x1b[2J",
    "a cursor": "\x9b5A",
    "an overwritten line": "failed\rcorrect",
    "a backspace": "no\b\byes",
    "a text that runs backwards": "\u202egnp.c",
    "a letter that is not seen": "a\u200bb",
    "a tag": "\U000e0041",
    "markup": "[link=http://elsewhere]here[/link] [/] [bold",
    "an emoji": ":bomb:",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("terminal", [False, True])
def test_hostile_text_does_nothing_to_a_terminal(name: str, terminal: bool) -> None:
    text = HOSTILE[name]
    table = Table(title=text)
    table.add_column(text)
    table.add_row(text)
    stream = io.StringIO()
    console = PlainConsole(
        file=stream, force_terminal=terminal, color_system=None, width=200, markup=False, emoji=False
    )
    for shown in (text, Text(text), table, Panel(text)):
        console.print(shown)
    written = stream.getvalue()
    if printable(text) == text:
        assert written.count(text) == 6
    assert not set(written) & set("\x1b\x9b\x07\r\b\u202e\u200b\U000e0041")


def test_the_consoles_of_commands_are_such() -> None:
    stream = io.StringIO()
    make_console(stream).print("[red]\x1b[31m:bomb:")
    assert stream.getvalue() == "[red]\\x1b[31m:bomb:\n"


def test_a_line_for_people_wraps_on_a_terminal_between_words_but_a_command_stays_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "16")
    line = "continue with: autocomp resume runs/1"
    say(line)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    say(line)
    say(line, whole=True)
    assert capsys.readouterr().out == f"{line}\ncontinue with:\nautocomp resume\nruns/1\n{line}\n"


@given(st.text())
def test_what_is_printable_has_no_control_characters_and_stays_as_it_is(text: str) -> None:
    shown = printable(text)
    assert all(c in "\n\t" or (ord(c) >= 0x20 and not 0x7F <= ord(c) <= 0x9F) for c in shown)
    assert printable(shown) == shown
    shown.encode()


def test_carets_stay_below_what_they_point_at_however_narrow_the_text_is() -> None:
    line = "    for (int i = 0; i < 4; i++) { lode_tile(&A[0][0], 0, 4, 4, 4); fence(); }"
    carets = " " * line.index("lode") + "^^^^^^^^^"
    for width in (200, 60, 40, 25):
        first, second, last = wrapped(f"{line}\n{carets}\nunknown function", width)
        assert first[second.index("^") : second.index("^") + 9] == "lode_tile"
        assert max(len(first), len(second)) <= width
        assert last == "unknown function"


@given(st.text(alphabet="ab ", min_size=1, max_size=60), st.integers(0, 59), st.integers(1, 30), st.integers(8, 80))
@example("   a", 0, 1, 8)
@example("   a", 4, 1, 8)
def test_any_place_of_any_line_is_pointed_at(text: str, place: int, length: int, width: int) -> None:
    line, place = f"    {text}.", min(place, len(text))
    first, second = wrapped(f"{line}\n{' ' * (4 + place)}{'^' * length}", width)
    at = second.index("^")
    assert first[at : at + 1] in (line[4 + place], "…")
    assert len(first) <= width

"""Tables at any width: figures and names are whole, and nothing else is longer than a line."""

from __future__ import annotations

import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autocomp.report.grid import Column, Grid, figure, name, source, words
from autocomp.report.terminal import PlainConsole


def shown(grid: Grid, width: int) -> list[str]:
    stream = io.StringIO()
    PlainConsole(file=stream, width=width, color_system=None).print(grid)
    return stream.getvalue().splitlines()


def example() -> Grid:
    grid = Grid("Lines", figure("line"), name("file"), words("reason"), source("source"))
    grid.add("6", "kernels/best.c", "waits for the bus and for the bank", "    mvin(A, 0, 16, 16);")
    return grid


def test_everything_stands_in_one_line_where_there_is_room() -> None:
    assert shown(example(), 120)[-1] == (
        "   6  kernels/best.c  waits for the bus and for the bank      mvin(A, 0, 16, 16);"
    )


def test_source_goes_below_its_row_first_and_wraps_between_words() -> None:
    assert shown(example(), 70)[-2:] == [
        "   6  kernels/best.c  waits for the bus and for the bank",
        "      mvin(A, 0, 16, 16);",
    ]
    assert shown(example(), 24)[-2:] == ["      mvin(A, 0, 16,", "        16);"]


def test_text_wraps_between_words_and_then_goes_below() -> None:
    assert shown(example(), 52)[-3:-1] == [
        "   6  kernels/best.c  waits for the bus and for the",
        "                      bank",
    ]
    assert shown(example(), 40)[-3:] == [
        "      reason: waits for the bus and for",
        "      the bank",
        "      mvin(A, 0, 16, 16);",
    ]


def test_names_and_figures_that_find_no_room_go_below_under_their_heading() -> None:
    assert shown(example(), 18)[3:6] == ["   6", "      file:", "      kernels/best.c"]


def test_a_long_name_goes_above_its_row_where_figures_find_no_room() -> None:
    grid = Grid("", name("operation"), name("type"), figure("naive"), figure("best"))
    grid.add("convolution_of_56_x_56", "int8", "1,000,000", "20,000")
    assert shown(grid, 32) == [
        "operation",
        "type      naive    best",
        "convolution_of_56_x_56",
        "int8  1,000,000  20,000",
    ]


def test_a_table_without_rows_prints_nothing() -> None:
    assert shown(Grid("Lines", figure("line"), note="these waits overlap"), 80) == []


def test_empty_cells_leave_no_line() -> None:
    grid = Grid("", figure("line"), source("source"))
    grid.add("1", "x" * 40)
    grid.add("2")
    assert shown(grid, 20) == ["line", "   1", "      " + "x" * 40, "   2"]


def test_a_note_explains_the_table() -> None:
    grid = Grid("Waits", figure("cycles"), note="these waits overlap")
    grid.add("1")
    assert shown(grid, 80) == ["", "Waits", "these waits overlap", "cycles", "     1"]


WORD = st.text("abcxyz019", min_size=1, max_size=12)
KINDS = (figure, name, words, source)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=6),
    st.integers(20, 200),
    st.lists(st.lists(WORD, min_size=1, max_size=9), min_size=6, max_size=6),
)
def test_no_figure_or_name_is_cut_at_any_width(kinds: list[object], width: int, row: list[list[str]]) -> None:
    columns: list[Column] = [kind(f"h{number}") for number, kind in enumerate(kinds)]  # type: ignore[operator]
    used = zip(columns, row, strict=False)
    cells = [" ".join(cell if column.kind in ("words", "source") else cell[:1]) for column, cell in used]
    grid = Grid("", *columns)
    grid.add(*cells)
    lines = shown(grid, width)
    text = "\n".join(lines)
    for column, cell in zip(columns, cells, strict=True):
        for part in cell.split() if column.kind in ("words", "source") else [cell]:
            assert part in text
    assert all(len(line) <= width for line in lines)


@pytest.mark.parametrize("drawn", "┃│━─┏└")
def test_there_is_no_box_drawing(drawn: str) -> None:
    assert drawn not in "".join(shown(example(), 80))

"""Search/replace blocks: applied as they stand or not at all."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from autocomp.agents.llm.edits import DIVIDER, REPLACE, SEARCH, Edit, EditError, apply_edits, parse_edits

TEXT = "a\n  b\nc\nb;\na\n"
LINES = st.lists(st.text("abc {};", max_size=6), max_size=12)


def block(search: str, replace: str) -> str:
    return f"{SEARCH}\n{search}\n{DIVIDER}\n{replace}\n{REPLACE}\n"


@st.composite
def splices(draw: st.DrawFn) -> tuple[list[str], list[tuple[int, int, list[str]]]]:
    """Lines that are all different, and parts of them, from front to back, with what is to take their place."""
    lines = [f"{number} {draw(st.text('abc {};', max_size=4))}x" for number in range(draw(st.integers(1, 12)))]
    cuts = sorted(draw(st.sets(st.integers(0, len(lines)), min_size=2, max_size=6)))
    parts = [(low, high) for low, high in zip(cuts[::2], cuts[1::2], strict=False)]
    return lines, [(low, high, draw(LINES)) for low, high in parts]


@given(splices(), st.randoms())
def test_edits_do_what_splicing_does_in_any_order(
    case: tuple[list[str], list[tuple[int, int, list[str]]]], random: object
) -> None:
    lines, parts = case
    edits = [Edit("\n".join(lines[low:high]), "\n".join(new)) for low, high, new in parts]
    random.shuffle(edits)  # type: ignore[attr-defined]
    expected = list(lines)
    for low, high, new in reversed(parts):
        expected[low:high] = new if any(new) or len(new) > 1 else []
    assert apply_edits("\n".join(lines), edits) == "\n".join(expected) + "\n"


@given(LINES, LINES)
def test_blocks_are_read_back_as_they_were_written(search: list[str], replace: list[str]) -> None:
    edit = Edit("\n".join(search), "\n".join(replace))
    (read,) = parse_edits(f"Here:\n{block(edit.search, edit.replace)}Done.")
    assert (read.search, read.replace) == (edit.search, edit.replace)


@given(LINES, LINES, LINES)
def test_an_edit_is_applied_to_one_place_or_refused(lines: list[str], search: list[str], replace: list[str]) -> None:
    assume(any(line.strip() for line in search))
    size = len(search)
    found = [
        at
        for at in range(len(lines) - size + 1)
        if [x.rstrip() for x in lines[at : at + size]] == [x.rstrip() for x in search]
    ]
    edit = Edit("\n".join(search), "\n".join(replace))
    if len(found) == 1:
        apply_edits("\n".join(lines) + "\n", [edit])
    else:
        with pytest.raises(EditError):
            apply_edits("\n".join(lines) + "\n", [edit])


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ([Edit("x", "y")], "block 1 matches nowhere: the kernel has no line 'x'"),
        ([Edit("b", "y")], r"the kernel has no line 'b'; the nearest line is 4: 'b;'"),
        ([Edit("a", "y")], r"matches at 2 places \(lines 1, 5\)"),
        ([Edit("c\na", "y")], "do not follow each other"),
        ([Edit("", "y")], "searches for nothing"),
        ([Edit("  b\nc", "y"), Edit("c\nb;", "z")], "block 2 overlaps another block at line 3"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(edits: list[Edit], message: str) -> None:
    with pytest.raises(EditError, match=message):
        apply_edits(TEXT, edits)


@pytest.mark.parametrize(
    "answer",
    [f"{SEARCH}\na\n{DIVIDER}\nb\n", f"{SEARCH}\na\n{SEARCH}\n", f"a\n{REPLACE}\n", f"{SEARCH}\na\n{REPLACE}\n"],
)
def test_an_incomplete_block_is_refused(answer: str) -> None:
    with pytest.raises(EditError):
        parse_edits(answer)


def test_an_answer_without_blocks_has_none() -> None:
    assert parse_edits("I would not change anything.\n=======\n") == ()


def test_line_numbers_that_a_block_copied_from_the_question_are_taken_off() -> None:
    answer = f"{SEARCH}\n 2 |   b();\n 3 |   c();\n{DIVIDER}\n  d();\n{REPLACE}\n"
    assert apply_edits("a();\n  b();\n  c();\n", parse_edits(answer)) == "a();\n  d();\n"

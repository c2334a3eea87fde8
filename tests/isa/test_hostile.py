"""Whatever the text, parsing ends in an accelerator or an IsaError, soon."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.errors import IsaError
from autocomp.targets.simulator import isa

MACHINE = "accelerator m {{ memory dram {{ kind: dram; }} {body} instruction f(x: int) {{ }} }}"
PIECES = [
    "accelerator",
    "m",
    "{",
    "}",
    "(",
    ")",
    "instruction",
    "for",
    "<",
    "1",
    ";",
    "=",
    "sum",
    "when",
    '"',
    "state",
    ":",
    "```",
]
HOSTILE = {
    "parentheses": "const N = " + "(" * 10_000 + ";",
    "signs": "const N = " + "-" * 10_000 + "1;",
    "long sum": "const N = 1" + " + 1" * 10_000 + ";",
    "conditionals": "const N = " + "1 ? 1 : " * 2_000 + "1;",
    "blocks": "instruction g() { semantics { " + "when 1 { " * 2_000 + "} " * 2_000 + "} }",
    "digits": "const N = " + "9" * 100_000 + ";",
    "doubling functions": "".join(f"function f{i}(x) = f{i - 1}(x) + f{i - 1}(x); " for i in range(1, 40))
    .replace("f0(x)", "x").replace("f", "h") + "instruction g(n: int) { require h15(n) : \"no\"; }",
    "doubling arguments": "function d(x) = x + x; instruction g(n: int) { require "
    + "d(" * 30 + "n" + ")" * 30 + ' : "no"; }',
    "doubling lets": "instruction g(n: int) { "
    + "".join(f"let a{i} = {'n' if i == 0 else f'a{i - 1} + a{i - 1}'}; " for i in range(40))
    + 'require a39 : "no"; semantics { } }',
    "huge memory": "memory s { rows: 1 << 40; row: i8[4]; }",
    "many bytes": "memory s { rows: 1 << 24; row: i8[65536]; }",
    "garbage": "\x00\x01\ufffd" * 100,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_pathological_text_is_refused(name: str) -> None:
    with pytest.raises(IsaError):
        isa.lower(isa.parse(MACHINE.format(body=HOSTILE[name]), "m.isa"))


def test_a_huge_file_is_refused() -> None:
    with pytest.raises(IsaError, match="larger than"):
        isa.parse("// " + "x" * 3_000_000, "m.isa")


def test_a_file_that_is_no_text_is_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "binary.isa"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(IsaError, match="UTF-8"):
        isa.load(path)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30) | st.lists(st.characters(codec="utf-8"), max_size=30))
def test_random_text_never_fails_otherwise(pieces: list[str]) -> None:
    with pytest.raises(IsaError):
        isa.parse(" ".join(pieces), "m.isa")


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_a_damaged_description_never_fails_otherwise(small: isa.Accelerator, data: st.DataObject) -> None:
    text = small.source
    start = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.integers(0, 40))
    insert = data.draw(st.sampled_from(["", *PIECES]))
    with contextlib.suppress(IsaError):
        isa.lower(isa.parse(text[:start] + insert + text[start + length :], "m.isa"))

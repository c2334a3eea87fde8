"""Every mistake in a description is reported where it is, with what was expected and what may have been meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp.errors import IsaError
from autocomp.targets.simulator import isa

HEAD = """accelerator m {
  const N = 4;
  memory dram { kind: dram; }
  memory spad { rows: 64; row: i8[N]; }
  register held { rows: N; row: f32[N]; }
  address local { field row = 13..0; memory spad; }
  state ld[3] { stride: u64; scale: f32 = 1.0; }
  unit load { }
"""
MISTAKES = {
    "unknown keyword": "  instructon f() { }",
    "missing semicolon": "  const M = 3\n  const K = 4;",
    "missing brace": "  instruction f() { ",
    "sum over two variables": "  function f(x) = sum(k < 4, l < 2: x * k * l);\n  const M = f(1);",
    "choice without its other side": "  function f(x) = min(x ? 1, 2);\n  const M = f(1);",
    "stray character": "  const M = 3 $ 4;",
    "unclosed text": '  doc "open;',
    "unknown constant": "  const M = NN + 1;",
    "unknown memory": "  instruction f(a: local) { semantics { for r < N: spat[a.row + r][0] = 1; } }",
    "unknown address field": "  instruction f(a: local) { semantics { spad[a.roww][0] = 1; } }",
    "unknown state field": "  instruction f() { semantics { ld[0].strid = 1; } }",
    "missing state index": "  instruction f() { semantics { ld.stride = 1; } }",
    "state index out of range": "  instruction f() { semantics { ld[3].stride = 1; } }",
    "unknown unit": "  instruction f() on lod { }",
    "unknown operand kind": "  instruction f(a: locl) { }",
    "unknown function": "  instruction f(x: int) { semantics { ld[0].stride = mim(x, 1); } }",
    "wrong number of arguments": "  instruction f(x: int) { semantics { ld[0].stride = min(x); } }",
    "float where an integer belongs": "  instruction f(x: float) { semantics { ld[0].stride = x; } }",
    "mixed kinds": "  instruction f(x: float, n: int) { semantics { ld[0].scale = x * n; } }",
    "name taken": "  instruction f(n: int) { semantics { for n < 4: spad[n][0] = 1; } }",
    "division by zero": "  const M = 1 / (N - 4);",
    "form of nothing": "  instruction fast(x: int) { }\n  alias slow(x) = fats(x);",
    "form with too few arguments": "  instruction fast(x: int) { }\n  alias slow() = fast();",
    "requirement in a loop": '  instruction f() { semantics { for r < 4 { require r == 0 : "no"; } } }',
    "recursion": "  function f(x) = g(x);\n  function g(x) = f(x);\n  const M = f(1);",
    "assignment to a parameter": "  instruction f(x: int) { semantics { x = 1; } }",
    "uneven banks": "  memory odd { rows: 10; row: i8[4]; banks: 4; }",
    "huge number": "  const M = 99999999999999999999;",
    "no instruction": "  const M = 1;",
    "false parameter check": '  require N > 10 : "N must be above 10";',
}


def error_of(text: str) -> str:
    with pytest.raises(IsaError) as caught:
        isa.lower(isa.parse(text, "m.isa"))
    return str(caught.value)


def test_messages(golden) -> None:  # type: ignore[no-untyped-def]
    messages = [f"--- {name}\n{error_of(HEAD + text + chr(10) + '}')}\n" for name, text in MISTAKES.items()]
    golden("\n".join(messages))


def test_a_let_cannot_outlive_the_state_it_was_taken_from() -> None:
    text = HEAD + "instruction f() { semantics { let s = ld[0].stride; ld[0].stride = 1; ld[1].stride = s; } } }"
    assert "`let s` is used after a statement that changes ld.stride" in error_of(text)


def test_a_setting_for_the_core_must_be_whole() -> None:
    assert "an integer is needed" in error_of(HEAD + "host { issue: 1.5; } instruction f() { } }")


def test_all_mistakes_at_once(golden) -> None:  # type: ignore[no-untyped-def]
    text = """
  const Q = NN + 1;
  memory odd { rows: 10; row: i8[4]; banks: 4; }
  const M = 3
  const K = 4;
  address wide { field row = 13..0; memory odd; }
  instruction f(a: wide, b: locl) { semantics { spad[Q][0] = 1; } }
  instruction g(a: wide, b: local) on lod { semantics { spad[b.row][M] = odd[0][0]; spat[0][0] = 1; } }
  instruction h(b: local) on load {
    semantics { let x = b.roww; spad[x][0] = 1; when b.none { spad[b.row][0] = 1; } }
    timing { busy: b.col; }
  }
"""
    golden(error_of(HEAD + text + "}"))


def test_call_forms_of_an_instruction_with_a_wrong_operand_are_no_errors_of_their_own() -> None:
    text = Path(isa.load("tiny").path).read_text().replace("rows: TILE_ROWS", "row: TILE_ROWS")
    with pytest.raises(IsaError) as refused:
        isa.parse(text, "tiny.isa")
    assert [fault.place.line for fault in refused.value.all if fault.place] == [31]

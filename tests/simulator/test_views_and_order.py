"""Two views of the same bits, loops in order, and addresses that memory contents decide."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from autocomp.simulator import SimulationOptions, SimulationResult, run_program
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.errors import IsaError
from autocomp.targets.simulator import isa, kernel

# A machine of micro-operations: `macros` runs each micro-operation of a table over two loops, one after the other.
TEXT = """
accelerator micro {
  memory dram { kind: dram; }
  memory bytes { rows: 32; row: i8[16]; }
  view words of bytes { row: i32[4]; }
  view floats of bytes { row: f32[4]; }
  memory sums { rows: 64; row: i32[4]; }
  memory table { rows: 16; row: u8[2]; }
  address a { field row = 15..0; memory bytes; }
  address s { field row = 15..0; memory sums; }
  hazards { tracked: 0; }
  unit in { kind: transfer_in; }
  unit one { kind: serial; }
  unit two { kind: serial; }

  instruction load(src: dram*) on in {
    semantics {
      for r < 32, c < 16: bytes[r][c] = src.i8[16 * r + c];
      for r < 64, c < 4: sums[r][c] = 0;
    }
  }
  instruction load_table(src: dram*) on in { semantics { for r < 16, c < 2: table[r][c] = src.u8[2 * r + c]; } }
  instruction store(dst: dram*) { semantics { for r < 64, c < 4: dst.i32[16 * r + 4 * c] = sums[r][c]; } }
  instruction store_bytes(dst: dram*) { semantics { for r < 32, c < 16: dst.i8[16 * r + c] = bytes[r][c]; } }
  instruction fence() { timing { role: fence; } }
  instruction add_words(x: a, y: a) on one {
    semantics { for c < 4: words[x.row][c] = wrap<i32>(words[x.row][c] + words[y.row][c]); }
  }
  instruction narrow(x: a, y: a) on one { semantics { for c < 4: bytes[x.row][c] = words[y.row][c] >> 8; } }
  instruction macros(outer: int 0..4, inner: int 0..4, first: int 0..15, last: int 0..16, step: int 0..4) on one {
    semantics {
      repeat o < outer, i < inner, u < max(0, last - first) {
        let to = table[first + u][0] % 32 + step * i;
        let from = table[first + u][1] % 16 + o;
        for c < 4: sums[to][c] = wrap<i32>(sums[to][c] + sum(k < 4: bytes[from][4 * c + k] * bytes[from][k]) + o);
      }
    }
  }
  instruction gather(to: s, first: int 0..15, count: int 0..16) on two {
    semantics { for r < count, c < 4: sums[to.row + r][c] = words[table[first + r][1] % 32][c]; }
  }
  instruction scan(to: s, count: int 0..16) on two {
    semantics {
      repeat r < count: for c < 4: sums[to.row + r + 1][c] = wrap<i32>(sums[to.row + r + 1][c] + sums[to.row + r][c]);
    }
  }
}
"""
MACHINE = isa.parse(TEXT)
TABLES = isa.lower(MACHINE)
DETAIL = SimulationOptions(timing=True, record_commands=True, record_detail=True)
CHECKED = SimulationOptions(timing=False, discipline=True)
DATA = np.random.default_rng(0).integers(-128, 128, (32, 16), np.int8)


def run(
    body: str, table: npt.NDArray[np.uint8] | None = None, options: SimulationOptions | None = None
) -> SimulationResult:
    text = (
        "void solution(int8_t in[32][16], uint8_t table[16][2], int32_t out[64][4], int8_t back[32][16]) {"
        f" load(in); load_table(table); fence(); {body} fence(); store(out); store_bytes(back); }}"
    )
    program = kernel.link(kernel.compile(kernel.parse(text), MACHINE), TABLES)
    tensors = {
        "in": DATA,
        "table": np.zeros((16, 2), np.uint8) if table is None else table,
        "out": np.zeros((64, 4), np.int32),
        "back": np.zeros((32, 16), np.int8),
    }
    result = run_program(TABLES.machine, program, tensors, options or SimulationOptions(timing=False))
    assert result.error is None, result.error
    return result


@pytest.mark.parametrize("generic", [False, True])
def test_a_view_shows_the_bits_of_its_memory(generic: bool) -> None:
    result = run("add_words(3, 5); narrow(7, 3);", options=SimulationOptions(timing=False, generic=generic))
    expected = DATA.copy()
    words = expected.view(np.int32)
    words[3] += words[5]
    expected[7, :4] = (words[3] >> 8).astype(np.int8)
    assert np.array_equal(result.outputs["back"], expected)


def touched(result: SimulationResult, command: int, memory: str, write: bool) -> list[tuple[int, int, int]]:
    """First row, end and number of rows of each access."""
    accesses = result.accesses
    assert accesses is not None
    chosen = (accesses.command == command) & (accesses.memory == TABLES.memories[memory]) & (accesses.write == write)
    return list(zip(accesses.first[chosen], accesses.last[chosen], accesses.points[chosen], strict=True))


def test_accesses_through_a_view_are_those_of_its_memory() -> None:
    result = run("add_words(3, 5);", options=DETAIL)
    assert touched(result, 3, "bytes", True) == [(3, 4, 1)]
    assert touched(result, 3, "words", True) == []


def macros(
    table: npt.NDArray[np.uint8], outer: int, inner: int, first: int, last: int, step: int
) -> npt.NDArray[np.int32]:
    sums = np.zeros((64, 4), np.int32)
    data = DATA.astype(np.int32)
    for o in range(outer):
        for i in range(inner):
            for u in range(first, last):
                to, source = int(table[u, 0]) % 32 + step * i, int(table[u, 1]) % 16 + o
                sums[to] += data[source].reshape(4, 4) @ data[source, :4] + o
    return sums


@settings(max_examples=30)
@given(st.tuples(*[st.integers(0, 4)] * 2, st.integers(0, 15), st.integers(0, 16), st.integers(0, 4)), st.booleans())
def test_iterations_of_a_repeat_see_what_earlier_ones_wrote(sizes: tuple[int, ...], generic: bool) -> None:
    table = np.random.default_rng(7).integers(0, 256, (16, 2), np.uint8)
    result = run(f"macros({', '.join(map(str, sizes))});", table, SimulationOptions(timing=False, generic=generic))
    assert np.array_equal(result.outputs["out"], macros(table, *sizes))


@pytest.mark.parametrize("generic", [False, True])
def test_a_scan_is_a_repeat(generic: bool) -> None:
    table = np.zeros((16, 2), np.uint8)
    table[:, 1] = np.arange(16)
    result = run("gather(0, 0, 16); scan(0, 15);", table, SimulationOptions(timing=False, generic=generic))
    assert np.array_equal(result.outputs["out"][:16], np.cumsum(DATA[:16].view(np.int32), 0, dtype=np.int32))


def test_what_a_table_addresses_is_known_exactly() -> None:
    table = np.zeros((16, 2), np.uint8)
    table[:4, 1] = [9, 3, 4, 5]
    table[:2, 0] = [20, 28]
    result = run("gather(8, 0, 4); macros(1, 2, 0, 2, 3);", table, DETAIL)
    assert touched(result, 3, "bytes", False) == [(3, 6, 3), (9, 10, 1)]
    assert touched(result, 3, "sums", True) == [(8, 12, 4)]
    assert touched(result, 4, "sums", True) == [(20, 21, 1), (23, 24, 1), (28, 29, 1), (31, 32, 1)]


def test_disjoint_gathers_raise_no_false_alarm() -> None:
    table = np.zeros((16, 2), np.uint8)
    table[:4, 1] = [16, 17, 18, 19]
    assert run("add_words(3, 5); gather(8, 0, 4);", table, CHECKED).violations == ()
    (found,) = run("add_words(16, 5); gather(8, 0, 4);", table, CHECKED).violations
    assert "reads bytes row 16, which add_words" in found.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("view w of bytes { row: i32[5]; }", "a row of w has 160 bits, one of bytes 128"),
        ("view w of sums { row: i8[16]; }", "which is smaller"),
        ("view w of byte { row: i32[4]; }", "did you mean 'bytes'"),
        ("instruction f() { semantics { for r < 4 { repeat k < 4: sums[r][k] = 1; } } }", "cannot be inside a for"),
    ],
)
def test_wrong_views_and_loops_are_errors(text: str, message: str) -> None:
    head = "memory dram { kind: dram; } memory bytes { rows: 4; row: i8[16]; } memory sums { rows: 4; row: i32[4]; }"
    with pytest.raises(IsaError, match=message):
        isa.parse(f"accelerator m {{ {head} instruction g() {{ }} {text} }}")

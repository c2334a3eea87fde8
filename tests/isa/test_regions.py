"""Regions are derived from semantics: they enclose what an instruction touches, and are exact where it is affine."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.derived.regions import Region, derive
from autocomp.targets.simulator.isa.model import Accelerator, Instruction

from .conftest import Interpreter, RequirementError, _Frame, pointer

Row = tuple[str, int, bool]


@cache
def narrow() -> Accelerator:
    """The systolic array with 4 columns, so that enumeration is quick."""
    return isa.load("gemmini", {"DIM": 4, "SPAD_KB": 1, "ACC_KB": 1, "MAX_BYTES": 16})


_known: dict[tuple[str, str], tuple[Region, ...]] = {}


def regions_of(accelerator: Accelerator, name: str) -> tuple[Region, ...]:
    """Derived once for each description."""
    instruction = accelerator.instruction(name)
    assert instruction is not None
    key = (accelerator.digest, name)
    return _known.setdefault(key, _known.get(key) or derive(accelerator, instruction))


def evaluate(machine: Interpreter, instruction: Instruction, arguments: dict[str, Any]) -> set[tuple[Any, ...]]:
    """Everything that the derived regions cover: (memory or pointer, row or byte, column, written)."""
    frame = _Frame(machine, instruction, dict(arguments))
    covered: set[tuple[Any, ...]] = set()
    for region in regions_of(machine.accelerator, instruction.name):
        if region.guard is None or frame.value(region.guard):
            covered |= set(points(frame, region))
    return covered


def points(frame: _Frame, region: Region) -> Any:
    base = int(frame.value(region.base))
    spans = [range(int(frame.value(d.count))) for d in region.dims]
    strides = [int(frame.value(d.stride)) for d in region.dims]
    for index in itertools.product(*spans):
        start = base + sum(i * s for i, s in zip(index, strides, strict=True))
        if region.bytes is not None:
            for byte in range(int(frame.value(region.bytes))):
                yield (region.pointer, start + byte, 0, region.write)
        else:
            first, cols = int(frame.value(region.first_col)), int(frame.value(region.cols))  # type: ignore[arg-type]
            for column in range(first, first + cols):
                yield (region.memory, start, column, region.write)


def rows_of(covered: set[tuple[Any, ...]], memory: str, written: bool) -> set[int]:
    return {row for name, row, _, write in covered if name == memory and write == written}


def test_a_move_in_covers_its_blocks(systolic: Accelerator) -> None:
    machine = Interpreter(systolic, data=False)
    machine.call("configure_load", 1, 64, 1.0, 0, 100, 1)
    arguments = {"id": 1, "src": pointer(0), "dst": 32, "cols": 40, "rows": 5}
    covered = evaluate(machine, systolic.instruction("move_in"), arguments)
    wanted = {32 + block * 100 + row for block in range(3) for row in range(5)}
    assert rows_of(covered, "spad", True) == wanted
    assert rows_of(covered, "src", False) == {64 * r + b for r in range(5) for b in range(40)}


def test_pixel_repeats_lower_the_first_row_down_to_the_half(systolic: Accelerator) -> None:
    machine = Interpreter(systolic, data=False)
    machine.call("configure_load", 0, 4, 1.0, 0, 16, 3)
    for start, first in ((40, 38), (1, 0), (8193, 8192)):
        arguments = {"id": 0, "src": pointer(0), "dst": start, "cols": 4, "rows": 8}
        covered = evaluate(machine, systolic.instruction("move_in"), arguments)
        assert rows_of(covered, "spad", True) == set(range(first, start + 8))


def test_a_compute_reads_operands_with_their_strides_and_writes_the_preloads_destination(
    systolic: Accelerator,
) -> None:
    machine = Interpreter(systolic, data=False)
    machine.call("gemmini_extended3_config_ex", 1, 0, 0, 1.0, 3, 2, 0, 0, 0)
    arguments = {"bd": 64, "c": 0xC0000000 | 7, "bd_cols": 16, "bd_rows": 9, "c_cols": 16, "c_rows": 4}
    covered = evaluate(machine, systolic.instruction("preload"), arguments)
    assert rows_of(covered, "spad", False) == set(range(64, 73))
    machine.call("preload", *arguments.values())
    operands = {"flip": 1, "a": 100, "bd": 0xFFFFFFFF, "a_cols": 9, "a_rows": 4, "bd_cols": 16, "bd_rows": 16}
    covered = evaluate(machine, systolic.instruction("compute"), operands)
    assert rows_of(covered, "spad", False) == {100, 102, 104, 106}
    assert rows_of(covered, "acc", True) == rows_of(covered, "acc", False) == {7, 10, 13, 16}


def test_a_transposed_operand_has_as_many_rows_as_the_operand_has_columns(systolic: Accelerator) -> None:
    machine = Interpreter(systolic, data=False)
    machine.call("gemmini_extended3_config_ex", 1, 0, 0, 1.0, 1, 1, 1, 0, 0)
    operands = {"flip": 1, "a": 100, "bd": 0xFFFFFFFF, "a_cols": 9, "a_rows": 4, "bd_cols": 16, "bd_rows": 16}
    covered = evaluate(machine, systolic.instruction("compute"), operands)
    assert rows_of(covered, "spad", False) == set(range(100, 109))


def test_a_move_out_reads_blocks_one_array_width_apart(systolic: Accelerator) -> None:
    machine = Interpreter(systolic, data=False)
    machine.call("config_st", 128)
    arguments = {"dst": pointer(0), "src": 0x80000000 | 16, "cols": 33, "rows": 2}
    covered = evaluate(machine, systolic.instruction("move_out"), arguments)
    assert rows_of(covered, "acc", False) == {16, 17, 32, 33, 48, 49}
    assert rows_of(covered, "dst", True) == {128 * r + b for r in range(2) for b in range(33)}


def test_an_address_comes_from_its_operand(systolic: Accelerator) -> None:
    instruction = systolic.instruction("move_in")
    assert instruction is not None
    assert {r.parameter for r in derive(systolic, instruction)} == {"src", "dst"}


def test_an_unknown_index_falls_back_to_the_whole_memory() -> None:
    machine = isa.parse(
        "accelerator m { memory dram { kind: dram; } memory s { rows: 8; row: i8[4]; }"
        "address a { field row = 7..0; memory s; }"
        "instruction gather(x: a) { semantics { for i < 2: s[s[x.row][i] & 7][0] = 1; } } }"
    )
    written = [r for r in derive(machine, machine.instructions[0]) if r.write]
    assert evaluate(Interpreter(machine), machine.instructions[0], {"x": 3}) >= {("s", r, 0, True) for r in range(8)}
    assert len(written) == 1


def test_bytes_that_follow_one_another_are_a_row_of_a_move() -> None:
    accelerator = isa.parse("""accelerator packed {
      memory dram { kind: dram; }
      memory rows { rows: 64; row: i16[8]; }
      address at { field row = 5..0; memory rows; }
      unit load { kind: transfer_in; }
      instruction load(dst: at, src: dram*, lines: int 1..4, blocks: int 1..4, apart: int) on load {
        semantics {
          for y < lines, x < blocks, c < 8: rows[dst.row + y * blocks + x][c] = src.i16[y * apart + 2 * (8 * x + c)];
        }
        timing { rows: lines; }
      }
    }""")
    (read,) = (region for region in regions_of(accelerator, "load") if not region.write)
    machine = Interpreter(accelerator)
    frame = _Frame(
        machine, accelerator.instructions[0], {"dst": 0, "src": pointer(0), "lines": 3, "blocks": 2, "apart": 64}
    )
    assert [(frame.value(dim.count), frame.value(dim.stride)) for dim in read.dims] == [(3, 64)]
    assert frame.value(read.bytes) == 2 * 8 * 2


def test_what_a_chain_of_fused_sums_starts_from_is_read() -> None:
    machine = isa.parse(
        "accelerator m { memory dram { kind: dram; } memory s { rows: 8; row: f32[4]; }"
        "memory t { rows: 8; row: f32[4]; }"
        "address a { field row = 2..0; memory s; }"
        "instruction f(x: a) { semantics {"
        "for n < 2: t[n][0] = fma_chain(k < 4: s[x.row][k] * s[x.row][k], t[n][0]); } } }"
    )
    (started,) = [r for r in derive(machine, machine.instructions[0]) if r.memory == "t" and not r.write]
    assert started.accumulate_read


def test_state_assigned_before_an_access_counts() -> None:
    machine = isa.parse(
        "accelerator m { memory dram { kind: dram; } memory s { rows: 8; row: i8[4]; } state q { at: u8; }"
        "instruction push() { semantics { q.at = q.at + 1; s[q.at][0] = 1; } } }"
    )
    interpreter = Interpreter(machine)
    interpreter.call("push")
    assert evaluate(interpreter, machine.instructions[0], {}) == {("s", 2, 0, True)}


# --- against enumeration -----------------------------------------------------------------------------------------


def check(machine: Interpreter, name: str, arguments: tuple[Any, ...], exact: bool) -> None:
    instruction = machine.accelerator.instruction(name)
    assert instruction is not None
    named = dict(zip([p.name for p in instruction.parameters], arguments, strict=True))
    covered = evaluate(machine, instruction, named)
    try:
        machine.execute(instruction, named)
    except RequirementError:
        return
    assert machine.touched <= covered
    if exact:
        assert machine.touched == covered


flag = st.integers(0, 1)
size = st.integers(1, 4)
row = st.integers(0, 20)
load_configuration = st.tuples(
    st.integers(0, 40), st.sampled_from([1.0, 0.5]), flag, st.integers(4, 8), st.integers(0, 3)
)
local = st.builds(lambda r, acc, more: r | acc << 31 | more << 30, row, flag, flag)


@settings(max_examples=30, deadline=None)
@given(load_configuration, local, flag, st.integers(1, 16), size)
def test_moves_in_cover_what_they_touch(config, dst, null, cols, rows) -> None:  # type: ignore[no-untyped-def]
    stride, scale, shrunk, block, repeats = config
    machine = Interpreter(narrow(), [np.zeros(512, np.int8)])
    machine.call("configure_load", 0, stride, scale, shrunk, block, repeats)
    check(machine, "move_in", (0, 0 if null else pointer(0, 64), dst, cols, rows), exact=repeats < 2)


@settings(max_examples=30, deadline=None)
@given(st.tuples(flag, flag, st.integers(0, 3), st.integers(1, 3), flag, flag), st.data())
def test_preloads_and_computes_cover_what_they_touch(config, data) -> None:  # type: ignore[no-untyped-def]
    dataflow, act, a_stride, c_stride, a_transpose, b_transpose = config
    machine = Interpreter(narrow())
    try:
        machine.call("configure_execute", dataflow, act, 0, 1.0, a_stride, c_stride, a_transpose, b_transpose, 0)
    except RequirementError:
        return
    sizes = st.integers(0, 4)
    operand = row | st.just(0xFFFFFFFF)
    destination = local | st.just(0xFFFFFFFF)
    given = tuple(data.draw(s) for s in (operand, destination, sizes, sizes, sizes, sizes))
    check(machine, "preload", given, exact=True)
    check(
        machine,
        "compute",
        tuple(data.draw(s) for s in (flag, operand, operand, sizes, sizes, sizes, sizes)),
        exact=True,
    )


@settings(max_examples=30, deadline=None)
@given(flag, st.integers(0, 40), st.integers(0, 2), st.integers(1, 3), flag, row, flag, st.integers(1, 16), size)
def test_moves_out_cover_what_they_touch(act, stride, pool, window, is_acc, start, full, cols, rows) -> None:  # type: ignore[no-untyped-def]
    machine = Interpreter(narrow(), [np.zeros(4096, np.int8)])
    machine.call("configure_store", stride, act, 1.0, pool, window if pool else 0, 3, 2, 2, 3, 3, 1, 1)
    check(machine, "move_out", (pointer(0, 0), start | is_acc << 31 | full << 29, cols, rows), exact=True)


@cache
def blocked() -> Accelerator:
    """Blocks of 2 x 4 elements, one a row, as machines with small tiles of fixed shape hold operands."""
    return isa.parse("""accelerator blocked {
      memory dram { kind: dram; }
      memory rows { rows: 256; row: i8[8]; }
      address at { field row = 7..0; memory rows; }
      unit load { kind: transfer_in; }
      instruction load(src: dram*, dst: at, stride: int 4..16, blocks: int 1..3, lines: int 1..3) on load {
        semantics {
          for j < lines, b < blocks, h < 2, r < 2, c < 4:
            rows[dst.row + (j * blocks + b) * 2 + h][r * 4 + c] = src.i8[(4 * b + 2 * h + r) * stride + 4 * j + c];
        }
        timing { rows: 4 * blocks; }
      }
      instruction multiply(to: at, a: at, b: at, blocks: int 1..3) {
        semantics {
          for m < 2, n < 4: rows[to.row][m * 4 + n] = sum(k < 4 * blocks:
            rows[a.row + k / 4][m * 4 + k % 4] * rows[b.row + 2 * (k / 4) + k % 4 / 2][k % 2 * 4 + n]);
        }
      }
    }""")


def test_a_move_of_blocks_reads_whole_rows_of_a_tensor() -> None:
    (read,) = (region for region in regions_of(blocked(), "load") if not region.write)
    machine = Interpreter(blocked())
    given = {"src": pointer(0), "dst": 0, "stride": 16, "blocks": 3, "lines": 2}
    frame = _Frame(machine, blocked().instructions[0], given)
    assert int(frame.value(read.bytes)) == 2 * 4
    assert {start for _, start, _, write in points(frame, read) if not write} == {
        16 * r + c for r in range(12) for c in range(8)
    }


@settings(max_examples=20, deadline=None)
@given(st.integers(12, 16), size.filter(lambda n: n < 4), size.filter(lambda n: n < 4), row, row)
def test_digits_of_an_index_cover_what_they_touch(stride, blocks, lines, first, second) -> None:  # type: ignore[no-untyped-def]
    machine = Interpreter(blocked(), [np.zeros(512, np.int8)])
    check(machine, "load", (pointer(0), first, stride, blocks, lines), exact=True)
    check(machine, "multiply", (200, first, second + 40, blocks), exact=True)


@settings(max_examples=20, deadline=None)
@given(st.tuples(row, row, row, size, size, size, flag, flag, flag))
def test_contractions_of_the_small_machine_cover_what_they_touch(arguments) -> None:  # type: ignore[no-untyped-def]
    check(Interpreter(isa.load("tiny")), "contract", arguments, exact=True)

"""Numbers measured on the hardware or worked out by hand, through the instructions that compute them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, run_program

from autocomp.targets.simulator import isa
from tests.simulator.machines import Command, issue_all, pointer

ACC, ADD, FULL, NONE, DIM = 1 << 31, 1 << 30, 1 << 29, 0xFFFFFFFF, 16
NAN, INF = float("nan"), float("inf")
KEEP = float(np.uint32(0xFFFFFFFF).view(np.float32))
OUT = 1024
Call = tuple[str, tuple[float, ...]]


@cache
def tables() -> isa.MachineTables:
    return isa.lower(isa.load("gemmini"))


def run(calls: list[Call], data: np.ndarray, generic: bool) -> np.ndarray:
    """DRAM from byte OUT on; `data` lies at its start."""
    memory = np.zeros(2 * OUT, np.uint8)
    memory[: data.nbytes] = data.reshape(-1).view(np.uint8)
    commands = [Command(tables().instructions[name], arguments) for name, arguments in calls]
    program = issue_all(tables().machine, commands, [("memory", "u8", memory.shape)])
    result = run_program(
        tables().machine, program, {"memory": memory}, SimulationOptions(timing=False, generic=generic)
    )
    assert result.error is None, result.error
    return result.outputs["memory"][OUT:]


def load(stride: int = 64, scale: float = 1.0, shrunk: int = 0) -> Call:
    return "configure_load", (0, stride, scale, shrunk, DIM, 1)


def store(scale: float = 1.0, act: int = 0, stride: int = 64) -> Call:
    return "configure_store", (stride, act, scale, *[0] * 9)


pytestmark = pytest.mark.parametrize("generic", [False, True])


@pytest.mark.parametrize(
    ("value", "scale", "expected"),
    [
        (5, 0.5, 2),
        (7, 0.5, 4),
        (-5, 0.5, -2),
        (-7, 0.5, -4),
        (300, 1.0, 127),
        (-300, 1.0, -128),
        (16777217, 2.0**-20, 16),
        (1, NAN, 127),
        (-1, INF, -128),
        (0, INF, 127),  # not a number
        (2**31 - 1, 2.0**-24, 127),  # 128 in binary32
        (-(2**31), 2.0**-24, -128),
    ],
)
def test_moves_out_scale(value: int, scale: float, expected: int, generic: bool) -> None:
    calls = [load(), store(scale), ("move_in", (0, pointer(0), ACC, 1, 1)), ("move_out", (pointer(0, OUT), ACC, 1, 1))]
    assert run(calls, np.array([value], np.int32), generic).view(np.int8)[0] == expected


@pytest.mark.parametrize(
    ("value", "scale", "expected"),
    [(-128, -1.0, 127), (3, 0.5, 2), (-3, 0.5, -2), (127, 3.7, 127), (5, NAN, 127), (-1, 1e38, -128), (1, 1e-45, 0)],
)
@pytest.mark.parametrize("target", [0, ACC], ids=["spad", "shrunk"])
def test_moves_in_scale(value: int, scale: float, expected: int, target: int, generic: bool) -> None:
    calls = [
        load(scale=scale, shrunk=1),
        store(),
        ("move_in", (0, pointer(0), target, 1, 1)),
        ("move_out", (pointer(0, OUT), target, 1, 1)),
    ]
    assert run(calls, np.array([value], np.int8), generic).view(np.int8)[0] == expected


def product(left: np.ndarray, right: np.ndarray, shift: int, steps: int = 1, target: int = ACC) -> list[Call]:
    """Output-stationary: row `left` times the column `right`, both at the start of DRAM, `steps` times over."""
    depth = len(left)
    calls = [
        load(stride=DIM),
        store(),
        ("configure_execute", (0, 0, shift, 1.0, 1, 1, 0, 0, 0)),
        ("move_in", (0, pointer(0), 0, depth, 1)),
        ("configure_load", (1, 1, 1.0, 0, DIM, 1)),
        ("move_in", (1, pointer(0, DIM), DIM, 1, depth)),
    ]
    for step in range(steps):
        calls.append(("preload", (NONE, target if step == steps - 1 else NONE, 1, 1, 1, 1)))
        calls.append(("compute", (int(step == 0), 0, DIM, depth, 1, 1, depth)))
    full = FULL if target & ACC else 0
    return [*calls, ("move_out", (pointer(0, OUT), target | full, 1, 1))]


def operands(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    data = np.zeros(2 * DIM, np.int8)
    data[: len(left)], data[DIM : DIM + len(right)] = left, right
    return data


@pytest.mark.parametrize(
    ("value", "shift", "expected"), [(-77, 3, -10), (100, 3, 12), (-210, 3, -26), (-1, 31, 0), (12, 3, 2), (20, 3, 2)]
)
def test_output_stationary_results_shift(value: int, shift: int, expected: int, generic: bool) -> None:
    left, right = np.ones(2, np.int8), np.array([value // 2, value - value // 2], np.int8)
    out = run(product(left, right, shift), operands(left, right), generic)
    assert out.view(np.int32)[0] == expected


@pytest.mark.parametrize(("steps", "expected"), [(1, 262144), (2, -524288), (4, 0)])
def test_output_stationary_results_wrap_at_twenty_bits(steps: int, expected: int, generic: bool) -> None:
    minimum = np.full(DIM, -128, np.int8)
    out = run(product(minimum, minimum, 0, steps), operands(minimum, minimum), generic)
    assert out.view(np.int32)[0] == expected


def test_results_in_the_scratchpad_saturate(generic: bool) -> None:
    left, right = np.array([100], np.int8), np.array([-2], np.int8)
    out = run(product(left, right, 0, target=32), operands(left, right), generic)
    assert out.view(np.int8)[0] == -128


def test_the_accumulator_wraps(generic: bool) -> None:
    calls = [load(), store(), ("move_in", (0, pointer(0), ACC, 1, 1)), ("move_in", (0, pointer(0), ACC | ADD, 1, 1))]
    calls.append(("move_out", (pointer(0, OUT), ACC | FULL, 1, 1)))
    assert run(calls, np.array([2**31 - 1], np.int32), generic).view(np.int32)[0] == -2


@pytest.mark.parametrize(("scale", "expected"), [(-2.0, [-20, 0, 0, -2]), (0.5, [5, 0, 0, 0])])
def test_relu_comes_before_the_scale_and_all_ones_keep_it(scale: float, expected: list[int], generic: bool) -> None:
    calls = [load(), store(scale), store(KEEP, act=1), ("move_in", (0, pointer(0), ACC, 4, 1))]
    calls.append(("move_out", (pointer(0, OUT), ACC, 4, 1)))
    out = run(calls, np.array([10, -10, 0, 1], np.int32), generic)
    assert out.view(np.int8)[:4].tolist() == expected


def test_full_moves_ignore_activation_and_scale(generic: bool) -> None:
    calls = [load(), store(0.5, act=1), ("move_in", (0, pointer(0), ACC, 4, 1))]
    calls.append(("move_out", (pointer(0, OUT), ACC | FULL, 4, 1)))
    values = np.array([-(2**31), -1, 5, 2**31 - 1], np.int32)
    assert run(calls, values, generic).view(np.int32)[:4].tolist() == values.tolist()


def test_pixel_repeats_as_measured(generic: bool) -> None:
    """Row r gets group r at lane 0, r + 1 at lane 3 and r + 2 at lane 6; copies before the first row are dropped."""
    calls = [("configure_load", (0, 3, 1.0, 0, DIM, 3)), store(stride=DIM)]
    calls += [("move_in", (0, pointer(0), 0, 3, 4)), ("move_out", (pointer(0, OUT), 0, DIM, 4))]
    rows = run(calls, np.arange(1, 13, dtype=np.int8), generic)[: 4 * DIM].reshape(4, DIM)
    assert rows[:2, :9].tolist() == [list(range(1, 10)), list(range(4, 13))]
    assert rows[3, :9].tolist() == [10, 11, 12, 0, 0, 0, 0, 0, 0]


def test_pixel_repeats_stay_in_their_half_of_the_scratchpad(generic: bool) -> None:
    half = 8192
    calls = [("configure_load", (0, 1, 1.0, 0, DIM, 2)), store(stride=DIM)]
    calls += [("move_in", (0, pointer(0), half - 1, 1, 2)), ("move_out", (pointer(0, OUT), half - 1, DIM, 2))]
    rows = run(calls, np.array([1, 2], np.int8), generic)[: 2 * DIM].reshape(2, DIM)
    assert rows[:, :2].tolist() == [[1, 0], [2, 0]]

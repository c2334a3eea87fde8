"""Random programs of every instruction of the small machine: recognised forms, interpreter and a NumPy model agree on
every byte of DRAM and, through a dump at the end, of the local memories."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, run_program
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import isa
from tests.simulator.machines import Command, issue_all, pointer
from tests.simulator.models.small import DIM, SUM_ROWS, TILE_ROWS, Model

BYTES = 4096
DUMP = 1024  # and on: the sums, and the products of the tiles with the unit matrix
UNIT = TILE_ROWS // 2
Call = tuple[str, tuple[float, ...]]
SIZE = st.integers(1, DIM)
BIT = st.integers(0, 1)
STRIDE = st.sampled_from([0, 4, 16, 1, 37])
SCALE = st.sampled_from([1.0, 0.5, -1.0, 0.0, 1e10, float("nan"), float("inf")]) | st.floats(-4, 4, width=32)
PAIRS = list(permutations(("load", "compute", "store"), 2))


@cache
def tables() -> isa.MachineTables:
    return isa.lower(isa.load("tiny"))


def memory() -> st.SearchStrategy[int]:
    return st.integers(0, DUMP - 200).map(lambda offset: pointer(0, offset))


def tile(rows: int) -> st.SearchStrategy[int]:
    return st.integers(0, 12) | st.just(TILE_ROWS - rows)


def total(rows: int) -> st.SearchStrategy[int]:
    return st.integers(0, 12) | st.just(SUM_ROWS - rows)


@st.composite
def moves(draw: Any) -> Call:
    name = draw(st.sampled_from(["load_tile", "load_sum", "store_tile", "store_sum"]))
    cols, rows = draw(SIZE), draw(SIZE)
    where = draw((tile if name == "load_tile" else total)(rows))
    base = 0 if name == "load_sum" and draw(st.integers(0, 3)) == 0 else draw(memory())
    finish = (draw(SCALE), draw(BIT)) if name == "store_tile" else ()
    return name, (base, where, draw(STRIDE), cols, rows, *finish)


@st.composite
def products(draw: Any) -> Call:
    cols, rows, depth = draw(SIZE), draw(SIZE), draw(SIZE)
    operands = (draw(tile(DIM)), draw(tile(DIM)), draw(total(rows)))
    return "contract", (*operands, cols, rows, depth, draw(BIT), draw(BIT), draw(BIT))


@st.composite
def additions(draw: Any) -> Call:
    rows = draw(st.integers(1, 8) | st.just(SUM_ROWS))
    return "vadd", (*(draw(total(rows)) if rows < SUM_ROWS else 0 for _ in range(3)), draw(SIZE), rows)


def signal(pair: tuple[str, str]) -> tuple[Call, ...]:
    """One semaphore for each pair of units: two waiting units could take what belongs to the other."""
    semaphore = (PAIRS.index(pair),)
    return (f"{pair[0]}_signal", semaphore), (f"{pair[1]}_wait", semaphore)


ORDER = st.sampled_from(PAIRS).map(signal) | st.just((("fence", ()),))
STEPS = (moves() | products() | additions()).map(lambda call: (call,)) | ORDER


def fill() -> list[Call]:
    tiles = [("load_tile", (pointer(0, row * 4 % 900), row, 4, 4, 4)) for row in range(0, TILE_ROWS, 4)]
    return [*tiles, *(("load_sum", (pointer(0, row * 13), row, 16, 4, 4)) for row in range(0, SUM_ROWS, 4))]


def dump() -> list[Call]:
    """The sums; then the tiles as 4 x 4 products with the unit matrix, which goes over one that programs do not use."""
    at, calls = DUMP, list[Call]()
    for row in range(0, SUM_ROWS, 4):
        calls.append(("store_sum", (pointer(0, at + row * 16), row, 16, 4, 4)))
    calls.append(("load_tile", (pointer(0, BYTES - 16), UNIT, 4, 4, 4)))
    for row in range(0, TILE_ROWS, 4):
        calls.append(("contract", (row, UNIT, 0, 4, 4, 4, 0, 0, 0)))
        calls.append(("store_tile", (pointer(0, at + SUM_ROWS * 16 + row * 4), 0, 4, 4, 4, 1.0, 0)))
    return [*calls, ("fence", ())]


def assert_agreement(steps: list[tuple[Call, ...]], seed: int, timing: bool = False) -> None:
    calls = [*fill(), *(call for step in steps for call in step), *dump()]
    before = np.random.default_rng(seed).integers(0, 256, BYTES).astype(np.uint8)
    before[-16:] = np.eye(4, dtype=np.uint8).reshape(-1)
    model = Model(before.copy())
    for name, arguments in calls:
        model.execute(name, arguments)
    commands = [Command(tables().instructions[name], arguments) for name, arguments in calls]
    program = issue_all(tables().machine, commands, [("memory", "u8", (BYTES,))])
    for generic in (False, True):
        options = SimulationOptions(timing=timing, generic=generic)
        result = run_program(tables().machine, program, {"memory": before}, options)
        assert result.error is None, result.error
        np.testing.assert_array_equal(result.outputs["memory"], model.memory, f"generic={generic}")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, max_size=40), st.integers(0, 2**32 - 1), st.booleans())
def test_random_programs_agree_with_the_model(steps: list[tuple[Call, ...]], seed: int, timing: bool) -> None:
    assert_agreement(steps, seed, timing)


@pytest.mark.long
@settings(max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, max_size=80), st.integers(0, 2**32 - 1))
def test_many_long_random_programs_agree_with_the_model(steps: list[tuple[Call, ...]], seed: int) -> None:
    assert_agreement(steps, seed)


@settings(max_examples=25, deadline=None)
@given(st.lists(moves() | products() | additions(), max_size=20), st.lists(ORDER, max_size=8), st.data())
def test_semaphores_and_fences_do_not_change_results(
    calls: list[Call], orders: list[tuple[Call, ...]], data: st.DataObject
) -> None:
    """The same calls with and without what orders them agree with one model."""
    steps = [(call,) for call in calls]
    assert_agreement(steps, 1)
    for order in orders:
        steps.insert(data.draw(st.integers(0, len(steps))), order)
    assert_agreement(steps, 1, timing=True)

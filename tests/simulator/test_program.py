"""Bytecode: C's arithmetic, errors as data, bounds with names and places."""

from __future__ import annotations

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, run_program
from hypothesis import given
from hypothesis import strategies as st

from tests.simulator.machines import Command, assemble, issue_all, mover, pointer

MACHINE = mover().machine
TWO = ("A", "i8", (3, 4)), ("B", "i8", (2, 4))
ARRAYS = {"A": np.zeros((3, 4), np.int8), "B": np.zeros((2, 4), np.int8)}
QUICK = SimulationOptions(timing=False)
I64 = st.integers(-(2**63), 2**63 - 1)


def binary(code: str, x: int, y: int) -> int:
    """r2 = r0 op r1, stored to an int64 tensor."""
    program = assemble(
        MACHINE,
        [
            ("LoadInt", 0, 0, 0, x),
            ("LoadInt", 1, 0, 0, y),
            (code, 2, 0, 1, 0),
            ("LoadInt", 3, 0, 0, pointer(0)),
            ("Store", 2, 3, 6, 0),
            ("Halt", 0, 0, 0, 0),
        ],
        [("out", "i64", (1,))],
    )
    result = run_program(MACHINE, program, {"out": np.zeros(1, np.int64)}, QUICK)
    assert result.error is None
    return int(result.outputs["out"][0])


def signed(x: int) -> int:
    return (x + 2**63) % 2**64 - 2**63


@given(I64, I64)
def test_sums_and_products_wrap_around(x: int, y: int) -> None:
    assert binary("Add", x, y) == signed(x + y)
    assert binary("Sub", x, y) == signed(x - y)
    assert binary("Mul", x, y) == signed(x * y)


@given(I64, I64.filter(lambda y: y != 0))
def test_division_truncates_and_the_remainder_has_the_dividends_sign(x: int, y: int) -> None:
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    assert binary("Div", x, y) == signed(quotient)
    assert binary("Mod", x, y) == x - y * quotient
    assert binary("DivU", x, y) == signed((x % 2**64) // (y % 2**64))
    assert binary("LtU", x, y) == int(x % 2**64 < y % 2**64)


@given(I64, st.integers(0, 200))
def test_shift_counts_are_taken_modulo_64(x: int, y: int) -> None:
    assert binary("Shl", x, y) == signed(x << (y % 64))
    assert binary("Shr", x, y) == x >> (y % 64)
    assert binary("ShrU", x, y) == signed((x % 2**64) >> (y % 64))


def test_division_by_zero_is_an_error_with_its_line() -> None:
    program = assemble(MACHINE, [("LoadInt", 0, 0, 0, 1), ("Div", 2, 0, 1, 0), ("Halt", 0, 0, 0, 0)])
    error = run_program(MACHINE, program, {}, QUICK).error
    assert error is not None
    assert (error.kind, error.line) == ("division", 2)


def test_an_endless_kernel_stops_at_the_step_limit() -> None:
    program = assemble(MACHINE, [("Jump", 0, 0, 0, 0)])
    error = run_program(MACHINE, program, {}, SimulationOptions(timing=False, max_steps=1000)).error
    assert error is not None
    assert error.kind == "steps"
    assert "1000 steps" in error.message


def test_endless_recursion_is_an_error() -> None:
    program = assemble(MACHINE, [("Call", 8, 0, 0, 0), ("Halt", 0, 0, 0, 0)])
    error = run_program(MACHINE, program, {}, QUICK).error
    assert error is not None
    assert error.kind == "stack"


@pytest.mark.parametrize(("seed", "marked", "number"), [(0, 0, 0), (0, 1, 0), (5, 1, 0), (5, 1, 1)])
def test_an_address_is_one_wherever_tensors_lie(seed: int, marked: int, number: int) -> None:
    loaded = ("LoadInt", 0, marked, 0, pointer(number, 3))
    program = assemble(MACHINE, [loaded, ("Load", 1, 0, 0, 0), ("Halt", 0, 0, 0, 0)], [*TWO])
    assert run_program(MACHINE, program, ARRAYS, SimulationOptions(timing=False, seed=seed)).error is None


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_number_is_no_address_once_the_places_are_drawn(seed: int) -> None:
    plain = [("LoadInt", 0, 0, 0, pointer(1)), ("Load", 1, 0, 0, 0), ("Halt", 0, 0, 0, 0)]
    step = [("LoadInt", 0, 1, 0, pointer(0)), ("LoadInt", 1, 0, 0, 1 << 48), ("Add", 0, 0, 1, 0), *plain[1:]]
    for rows in (plain, step):
        error = run_program(
            MACHINE, assemble(MACHINE, rows, [*TWO]), ARRAYS, SimulationOptions(timing=False, seed=seed)
        ).error
        assert error is not None
        assert "not the address of a tensor" in error.message


@pytest.mark.parametrize(("offset", "place"), [(12, "A[3][0] (element 12"), (-1, "A[-1][3] (element -1")])
def test_an_access_outside_a_tensor_names_the_element_and_the_bounds(offset: int, place: str) -> None:
    program = assemble(
        MACHINE,
        [("LoadInt", 0, 0, 0, pointer(0, offset)), ("Load", 1, 0, 0, 0), ("Halt", 0, 0, 0, 0)],
        [("A", "i8", (3, 4))],
    )
    error = run_program(MACHINE, program, {"A": np.zeros((3, 4), np.int8)}, QUICK).error
    assert error is not None
    assert (error.kind, error.line) == ("bounds", 2)
    assert place in error.message
    assert "i8 A[3][4]" in error.message


@pytest.mark.parametrize("generic", [False, True])
def test_an_instruction_outside_its_operand_is_an_error_with_its_operands(generic: bool) -> None:
    machine = mover()
    program = issue_all(machine.machine, [Command(machine.read, [pointer(0, 8), 30, 2])], [("A", "i8", (2, 8))])
    error = run_program(
        machine.machine, program, {"A": np.zeros((2, 8), np.int8)}, SimulationOptions(timing=False, generic=generic)
    ).error
    assert error is not None
    assert (error.kind, error.line) == ("bounds", 1)
    assert "read(src = &A[1][0], row = 30, rows = 2)" in error.message
    assert "A[2][0] (element 16 of i8 A[2][8])" in error.message


def test_a_row_outside_a_local_memory_is_an_error() -> None:
    machine = mover()
    program = issue_all(machine.machine, [Command(machine.read, [pointer(0), 31, 2])], [("A", "i8", (2, 8))])
    error = run_program(machine.machine, program, {"A": np.zeros((2, 8), np.int8)}, QUICK).error
    assert error is not None
    assert "rows[32][0] is outside its 32 rows of 8 elements" in error.message


def test_a_failed_requirement_is_an_error_with_its_words() -> None:
    machine = mover()
    program = issue_all(machine.machine, [Command(machine.read, [pointer(0), 0, 0])], [("A", "i8", (2, 8))])
    error = run_program(machine.machine, program, {"A": np.zeros((2, 8), np.int8)}, QUICK).error
    assert error is not None
    assert error.kind == "requirement"
    assert error.message.endswith("rows = 0): at least one row")


def test_wrong_tensors_are_misuse() -> None:
    program = assemble(MACHINE, [("Halt", 0, 0, 0, 0)], [("A", "i8", (2,))])
    with pytest.raises(ValueError, match="tensor 'A' is missing"):
        run_program(MACHINE, program, {}, QUICK)
    with pytest.raises(ValueError, match=r"tensor 'A' is int16\[2\], expected int8\[2\]"):
        run_program(MACHINE, program, {"A": np.zeros(2, np.int16)}, QUICK)


def test_bytecode_is_checked_when_a_program_is_made() -> None:
    with pytest.raises(ValueError, match=r"bytecode 0 \(Jump\): target 7 is outside the program"):
        assemble(MACHINE, [("Jump", 0, 0, 0, 7)])
    with pytest.raises(ValueError, match=r"\(Issue\): instruction 99 does not exist"):
        assemble(MACHINE, [("Issue", 0, 0, 0, 99), ("Halt", 0, 0, 0, 0)])
    with pytest.raises(ValueError, match="runs past its end"):
        assemble(MACHINE, [("LoadInt", 0, 0, 0, 7)])

"""Cycles of the host per command, counted by hand as a compiler would leave the code for an in-order core.

Each operation class has a price of its own, so that a count says which operations were paid. A command itself is
priced by the front end, not here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, SimulationResult, replay_trace, run_program
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.errors import IsaError
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.isa import Accelerator, MachineTables

from .conftest import DESCRIPTION

COSTS = (
    "integer: 1; multiply: 8; divide: 30; load: 100; store: 200; branch: 1; mispredict: 1000; call: 10000; fence: 7;"
)
FLOATS = "float_add: 40; float_multiply: 50; float_divide: 60; float_compare: 70; float_move: 20;"
ADD, BRANCH, LEAVE = 1, 1, 1000


@lru_cache
def machine(code: int = 1) -> tuple[Accelerator, MachineTables]:
    text = DESCRIPTION.replace("unit move { }", f"unit move {{ }} host {{ code: {code}; {COSTS} {FLOATS} }}")
    accelerator = isa.parse(text, "bench.isa", {})
    return accelerator, isa.lower(accelerator)


def simulate(body: str, code: int = 1, helpers: str = "", **options: Any) -> SimulationResult:
    accelerator, tables = machine(code)
    text = f"{helpers}\nvoid solution(int8_t A[64][64], int8_t B[64][64], float f[8], int32_t n[8]) {{ {body} }}"
    program = kernel.link(kernel.compile(kernel.parse(text), accelerator), tables)
    tensors = {
        "A": np.zeros((64, 64), np.int8),
        "B": np.zeros((64, 64), np.int8),
        "f": np.arange(8, dtype=np.float32),
        "n": np.arange(8, dtype=np.int32),
    }
    result = run_program(tables.machine, program, tensors, SimulationOptions(record_trace=True, **options))
    assert result.error is None, result.error
    return result


def host(result: SimulationResult) -> list[int]:
    """Host cycles in front of each command."""
    assert result.trace is not None
    return [row[2] for row in result.trace.commands(machine()[1].machine)]


def commands(body: str, **options: Any) -> list[int]:
    return host(simulate(body, **options))


MOVE = "move_in(&A[i][0], 0, 4, 4);"


# --- loops


def test_a_loop_steps_its_addresses_and_branches() -> None:
    # In front: the pointer's start (2: the address of A, a copy), the word of operands that do not change (1).
    # Each iteration: the pointer's addition and the branch; the counter is not needed besides the pointer.
    first, *rest = commands(f"for (int i = 0; i < 5; i++) {{ {MOVE} }}")
    assert first == 1 + 1
    assert rest == [ADD + BRANCH] * 4


def test_a_loop_that_uses_no_counter_still_counts() -> None:
    assert commands("for (int i = 0; i < 3; i++) { move_in(A, 0, 4, 4); }")[1:] == [ADD + BRANCH] * 2


def test_leaving_a_loop_is_mispredicted() -> None:
    *_, last = commands(f"for (int i = 0; i < 3; i++) {{ {MOVE} }} fence();")
    assert last == ADD + BRANCH + LEAVE + 7


def test_an_address_that_changes_is_put_into_its_word() -> None:
    rest = commands("for (int i = 0; i < 3; i++) { move_in(&A[i][0], i * 4, 4, 4); }")[1:]
    assert rest == [2 * ADD + ADD + BRANCH] * 2  # pointer and row stepped, row or-ed into the word


def test_a_number_that_changes_is_shifted_into_its_word() -> None:
    rest = commands("for (int i = 1; i < 4; i++) { move_in(A, 0, i, 4); }")[1:]
    assert rest == [ADD + 2 * ADD + BRANCH] * 2


def test_a_value_of_an_outer_loop_is_computed_in_front_of_the_inner_one() -> None:
    body = "for (int i = 0; i < 2; i++) for (int j = 0; j < 3; j++) move_in(&A[j][0], i * i % 7, 4, 4);"
    inner = commands(body)[1:3]
    assert inner == [ADD + BRANCH] * 2


def test_a_quotient_of_the_counter_by_a_power_of_two_is_a_shift() -> None:
    rest = commands("for (int i = 0; i < 3; i++) { move_in(A, i / 2, 4, 4); }")[1:]
    assert rest == [ADD + ADD + (2 * ADD + ADD) + BRANCH] * 2  # step, shift, zero-extend and or


def test_a_product_of_two_counters_is_multiplied_only_where_both_change() -> None:
    body = "for (int i = 1; i < 3; i++) for (int j = 0; j < 3; j++) move_in(A, i * j, 4, 4);"
    assert commands(body)[1:3] == [ADD + 8 + 3 * ADD + BRANCH] * 2


def test_a_loop_with_a_limit_that_is_not_known_tests_it_on_entry() -> None:
    known = commands("for (int i = 0; i < 2; i++) move_in(A, 0, 4, 4);")[0]
    loaded = commands("int m = n[2]; for (int i = 0; i < m; i++) move_in(A, 0, 4, 4);")[0]
    assert loaded == known + 100 + 1 + BRANCH  # the load with its address, the test


def test_a_do_loop_tests_at_its_end_alone() -> None:
    assert commands("int i = 0; do { move_in(A, 0, 4, 4); i++; } while (i < 3);")[1:] == [ADD + BRANCH] * 2


# --- straight code


def test_constants_cost_what_makes_up_a_word() -> None:
    # Each new address and each new word of operands takes an addition from one that is there.
    assert commands("move_in(A, 0, 4, 4); move_in(A, 0, 4, 4); move_in(A, 4, 4, 4);") == [2, 0, 1]


def test_a_value_is_computed_once() -> None:
    twice = "int x = n[1]; move_in(A, x / 3, 4, 4); move_in(A, x / 3, 4, 4);"
    assert commands(twice)[1] == 0


def test_a_value_of_one_branch_is_not_there_in_the_other() -> None:
    either = commands("int x = n[1]; if (n[0]) { move_in(A, x / 3, 4, 4); } else { move_in(A, x / 3, 4, 4); }")
    once = commands("int x = n[1]; if (!n[0]) { move_in(A, x / 3, 4, 4); }")
    assert either == once


def test_a_branch_that_is_known_costs_nothing() -> None:
    assert commands("if (DIM == 4) { move_in(A, 0, 4, 4); }") == commands("move_in(A, 0, 4, 4);")


def test_a_call_costs_its_arguments_and_the_way_there_and_back() -> None:
    helpers = "int twice(int x) { return x + x; }"
    with_call = commands("int x = n[1]; move_in(A, twice(x), 4, 4);", helpers=helpers)[0]
    inline = commands("int x = n[1]; move_in(A, x, 4, 4);")[0]
    assert with_call == inline + 10000 + 1 + 1  # call, argument, the shift that doubles


def test_floats_are_loaded_computed_and_stored() -> None:
    # The address, a load, the negation, a store; then the fence.
    assert commands("f[1] = -f[1]; fence();") == [1 + 100 + 20 + 200 + 7]
    assert commands("f[2] = f[0] * f[1] + 0.5f; fence();") == [1 + 2 * 100 + 50 + 40 + 200 + 7]
    assert commands("f[2] = f[0] / f[1]; fence();") == [1 + 2 * 100 + 60 + 200 + 7]


def test_matrix_helpers_of_the_host_cost_by_the_element() -> None:
    call = 10000
    assert commands("negate_matrix(f, f, 2, 3); fence();") == [call + 6 * (100 + 20 + 200 + 2 + 1) + 7]
    assert commands("add_matrix(f, f, f, 2, 3); fence();") == [call + 6 * (2 * 100 + 40 + 200 + 3 + 1) + 7]


def test_a_value_that_nothing_needs_costs_nothing() -> None:
    assert commands("int x = 5; x = x / 3 * 7; fence();") == [7]


# --- switches


def test_an_ideal_host_takes_no_time() -> None:
    assert not any(commands(f"for (int i = 0; i < 5; i++) {{ {MOVE} f[0] = f[1]; }}", code=0))


def test_a_slower_host_takes_longer_by_its_factor() -> None:
    body = f"for (int i = 0; i < 5; i++) {{ {MOVE} }}"
    slower = [3 * cycles for cycles in commands(body)]
    assert commands(body, host_scale=3.0) == slower
    trace = simulate(body).trace
    assert trace is not None
    replayed = replay_trace(machine()[1].machine, trace, SimulationOptions(host_scale=3.0, record_trace=True))
    assert host(replayed) == slower


def test_host_time_is_a_cause_of_each_line() -> None:
    result = simulate("f[0] = f[1] / f[2];\n move_in(A, 0, 4, 4);", record_commands=True)
    assert result.timing is not None
    assert result.timing.commands is not None
    assert result.timing.cause_names[result.timing.commands.cause[0]] == "Host"
    assert result.timing.commands.wait_cycles[0] == commands("f[0] = f[1] / f[2]; move_in(A, 0, 4, 4);")[0]


def test_costs_out_of_range_are_refused() -> None:
    text = DESCRIPTION.replace("unit move { }", "unit move { } host { code: 1; load: 0 - 1; }")
    with pytest.raises(IsaError, match="host: load is -1; expected 0 to"):
        kernel.compile(kernel.parse("void solution(int8_t A[4]) { }"), isa.parse(text, "bench.isa", {}))


# --- properties

INDEX = st.sampled_from(["i", "2 * i + 1", "i * 3", "i / 2", "i % 2", "(i + j) / 3", "j * 4 + i", "j"])
COMMAND = st.builds("move_in(&A[{}][{}], {}, 4, 4);".format, INDEX, INDEX, INDEX)
BODY = st.lists(COMMAND | st.builds("if ({} > 1) {{ {} }}".format, INDEX, COMMAND), min_size=1, max_size=4)


@settings(max_examples=30, deadline=None)
@given(st.lists(COMMAND, min_size=1, max_size=4), st.integers(1, 3), st.integers(1, 4))
def test_unrolling_straight_code_makes_no_command_dearer(body: list[str], rounds: int, copies: int) -> None:
    count = rounds * copies
    lines = "".join(body)
    rolled = f"for (int j = 0; j < 2; j++) for (int i = 0; i < {count}; i++) {{ {lines} }}"
    inside = "".join(f"{{ int i = u + {copy}; {lines} }}" for copy in range(copies))
    unrolled = f"for (int j = 0; j < 2; j++) for (int u = 0; u < {count}; u += {copies}) {{ {inside} }}"
    slow, fast = simulate(rolled + " fence();"), simulate(unrolled + " fence();")
    assert sum(host(fast)) <= sum(host(slow))


@settings(max_examples=30, deadline=None)
@given(INDEX, INDEX)
def test_hoisting_by_hand_changes_nothing(invariant: str, varying: str) -> None:
    outer = (
        "for (int j = 0; j < 3; j++) for (int i = 0; i < 3; i++) {{ {} for (int k = 0; k < 4; k++) {{ {} }} }} fence();"
    )
    use = f"move_in(&A[{varying}][k], {{}}, 4, 4); move_in(&B[k][0], k + {{}}, 4, 4);"
    inline = outer.format("", use.format(f"({invariant})", f"({invariant})"))
    hoisted = outer.format(f"int h = {invariant};", use.format("h", "h"))
    assert host(simulate(inline)) == host(simulate(hoisted))


@settings(max_examples=30, deadline=None)
@given(BODY)
def test_host_time_never_changes_results(body: list[str]) -> None:
    text = (
        "for (int j = 0; j < 2; j++) for (int i = 0; i < 3; i++) {"
        + "".join(body)
        + "n[j] += n[i] * 3; f[i] += f[j]; }"
    )
    with_time, without = simulate(text), simulate(text, code=0)
    assert with_time.steps == without.steps
    for name, array in with_time.outputs.items():
        np.testing.assert_array_equal(array, without.outputs[name])
    assert all(cycles >= 0 for cycles in host(with_time))

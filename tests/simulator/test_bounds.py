"""Nothing that tables, programs or traces say can crash the process, or keep it busy beyond its bounds."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, SimulationResult, _core, replay_trace, run_program

from .machines import Command, Expressions, assemble, issue_all, mover

HUGE = 1 << 62


def machine_with(e: Expressions, body: list[int]) -> _core.Machine:
    """One instruction `f(n)` with this body."""
    e.builder.memory("dram", "dram", 0, 0, "i8")
    e.builder.instruction("f", -1, [("n", False)], body, [], [])
    return e.builder.build()


def run_once(machine: _core.Machine, argument: int, options: SimulationOptions) -> SimulationResult:
    return run_program(machine, issue_all(machine, [Command(0, [argument])], []), {}, options)


# --- what the builder refuses


def test_an_expression_nested_too_deeply_is_refused() -> None:
    e = Expressions()
    node = e.arg(0)
    for _ in range(999):
        node = e.op("Not", node)
    with pytest.raises(ValueError, match="nest more than 1000 deep"):
        e.op("Not", node)


def test_an_expression_that_doubles_with_every_node_is_refused() -> None:
    e = Expressions()
    node = e.arg(0)
    for _ in range(19):
        node = e.op("Add", node, node)
    with pytest.raises(ValueError, match="terms when written out"):
        e.op("Add", node, node)


def test_statements_that_double_with_every_block_are_refused() -> None:
    e = Expressions()
    statement = e.builder.require(e.arg(0), "n")
    for _ in range(40):
        statement = e.builder.when(e.arg(0), [statement, statement])
    with pytest.raises(ValueError, match="statements when written out"):
        machine_with(e, [statement])


def test_statements_nested_too_deeply_are_refused() -> None:
    e = Expressions()
    statement = e.builder.require(e.arg(0), "n")
    for _ in range(200):
        statement = e.builder.when(e.arg(0), [statement])
    with pytest.raises(ValueError, match="statements nest more than"):
        machine_with(e, [statement])


@pytest.mark.parametrize("initial", [float("nan"), float("inf"), 1e300])
def test_initial_state_that_is_no_integer_is_refused(initial: float) -> None:
    e = Expressions()
    e.builder.state("s", initial, False)
    with pytest.raises(ValueError, match="initial value is not an integer"):
        machine_with(e, [])


def test_a_timing_property_over_arguments_that_there_are_not_is_refused() -> None:
    e = Expressions()
    e.builder.memory("dram", "dram", 0, 0, "i8")
    e.builder.instruction("f", -1, [("n", False)], [], [], [("latency", e.arg(7))])
    with pytest.raises(ValueError, match="argument 7 is used, but there are 1 parameters"):
        e.builder.build()


@pytest.mark.parametrize("field", ["pointer", "bytes", "point"])
def test_an_access_of_a_local_memory_with_an_expression_that_there_is_not_is_refused(field: str) -> None:
    e = Expressions()
    e.builder.memory("dram", "dram", 0, 0, "i8")
    rows = e.builder.memory("rows", "local", 4, 4, "i8")
    access = {"memory": rows, "base": e.const(0), "first_col": e.const(0), "cols": e.const(4), field: 99}
    e.builder.instruction("f", -1, [], [], [access], [])
    with pytest.raises(ValueError, match="expression 99 does not exist"):
        e.builder.build()


def test_a_program_for_another_machine_is_refused() -> None:
    small = Expressions()
    program = issue_all(mover().machine, [Command(5, [0])], [])
    with pytest.raises(ValueError, match="instruction 5 does not exist"):
        run_program(machine_with(small, []), program, {})


def test_a_trace_for_another_machine_is_refused() -> None:
    trace = _core.Trace(mover().machine, np.array([2], np.int32), [[0, 0, 1]], np.array([0], np.int64))
    with pytest.raises(ValueError, match="not one of this machine"):
        replay_trace(machine_with(Expressions(), []), trace)


def test_arrays_of_a_kernel_have_a_bound_together() -> None:
    machine = machine_with(Expressions(), [])
    arrays = [(f"a{n}", "i8", (1 << 27,), None, False) for n in range(3)]
    with pytest.raises(ValueError, match="more than 256 MiB together"):
        _core.Program(machine, np.zeros((1, 5), np.int64), np.zeros(1, np.int32), arrays, 1, 1)


# --- what a run may take


def test_a_loop_of_an_instruction_ends_with_the_step_bound() -> None:
    e = Expressions()
    machine = machine_with(e, [e.builder.loop(e.arg(0), [e.builder.require(e.const(1), "never")])])
    result = run_once(machine, HUGE, SimulationOptions(max_steps=10_000))
    assert result.error is not None
    assert result.error.kind == "steps"


def test_a_sum_of_an_instruction_ends_with_the_step_bound() -> None:
    e = Expressions()
    machine = machine_with(e, [e.builder.require(e.op("Sum", e.arg(0), e.loop(0)), "sum")])
    result = run_once(machine, HUGE, SimulationOptions(max_steps=10_000))
    assert result.error is not None
    assert (result.error.kind, result.error.line) == ("steps", 1)


def test_a_statement_has_a_bound_of_elements_it_writes() -> None:
    e = Expressions()
    memory = e.builder.memory("rows", "local", 4, 4, "i8")
    store = e.builder.store(memory, e.const(0), e.const(0), e.const(1))
    inner = e.builder.loop(e.arg(0), [store])
    machine = machine_with(e, [e.builder.loop(e.arg(0), [inner])])
    result = run_once(machine, 1 << 20, SimulationOptions(timing=False, generic=True))
    assert result.error is not None
    assert "one statement writes more than" in result.error.message


def test_a_program_without_tensors_has_local_memory() -> None:
    e = Expressions()
    memory = e.builder.memory("rows", "local", 4, 4, "i8")
    machine = machine_with(e, [e.builder.store(memory, e.const(3), e.const(3), e.arg(0))])
    assert run_once(machine, 5, SimulationOptions(discipline=True)).error is None


# --- signals


class Interrupted(Exception):
    pass


@contextmanager
def alarm_soon() -> Iterator[None]:
    """Raises Interrupted from a signal handler, as Ctrl-C raises KeyboardInterrupt."""

    def interrupt(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_signal_ends_a_program_that_runs_on() -> None:
    machine = machine_with(Expressions(), [])
    with pytest.raises(Interrupted), alarm_soon():
        run_program(machine, assemble(machine, [("Jump", 0, 0, 0, 0)]), {}, SimulationOptions(max_steps=HUGE))


def test_a_signal_ends_an_instruction_that_runs_on() -> None:
    e = Expressions()
    machine = machine_with(e, [e.builder.require(e.op("Sum", e.arg(0), e.loop(0)), "sum")])
    with pytest.raises(Interrupted), alarm_soon():
        run_once(machine, HUGE, SimulationOptions(max_steps=HUGE))


def test_a_signal_ends_a_long_trace() -> None:
    m = mover()
    count = 2_000_000
    rows = np.full(count, m.copy, np.int32)
    trace = _core.Trace(m.machine, rows, [[0, 8, 8]] * count, np.zeros(count, np.int64))
    with pytest.raises(Interrupted), alarm_soon():
        replay_trace(m.machine, trace)


@pytest.mark.parametrize("back", [-1, 1])
def test_rows_that_an_access_may_touch_outside_of_its_memory_are_left_out(back: int) -> None:
    """A condition that its region does not know keeps the instruction itself inside."""
    e = Expressions()
    b = e.builder
    b.memory("dram", "dram", 0, 0, "i8")
    local = b.memory("rows", "local", 32, 8, "i8")
    b.unit("in", {}, {})
    n, one, zero = e.arg(0), e.const(1), e.const(0)
    access = {
        "memory": local, "write": True, "base": e.const(16), "dims": [(n, one), (n, e.const(back)), (n, e.const(2))],
        "first_col": zero, "cols": one, "parameter": 0,
    }  # fmt: skip
    b.instruction("f", 0, [("n", False)], [b.store(local, zero, zero, zero)], [access], [])
    machine = b.build()
    for argument in (2, 1000):
        result = run_once(machine, argument, SimulationOptions(timing=True, discipline=True))
        assert result.error is None

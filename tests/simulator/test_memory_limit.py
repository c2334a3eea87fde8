"""The memory of one run is bounded by an option, whatever would take it."""

from __future__ import annotations

import threading
from functools import cache

import pytest
from autocomp.simulator import SimulationOptions, SimulationResult, replay_trace, run_program

from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.trace import parse_trace
from autocomp.workload import InputSet, load, make_inputs

LITTLE = 8 << 20
ENDLESS = {
    "fences": "while (1) { fence(); }",
    "settings": "while (1) { config_st(16); }",
    "moves": "config_ld(16, 1.0f, 16, 0); while (1) { mvin(A, 0, 4, 4); }",
    "arrays": "int8_t big[40000000]; big[3] = 1;",
}


@cache
def machine() -> tuple[isa.Accelerator, isa.MachineTables]:
    described = isa.load("gemmini")
    return described, isa.lower(described)


def run(body: str, options: SimulationOptions) -> SimulationResult:
    described, tables = machine()
    workload = load("gemm_100x70x30")
    shapes = ", ".join(f"int8_t {t.name}[{t.shape[0]}][{t.shape[1]}]" for t in workload.tensors)
    text = f"void solution({shapes}) {{\n{body}\n}}\n"
    checked = kernel.check(kernel.parse(text, "k.c"), described, workload.constants, workload.tensors)
    arrays = make_inputs(workload, InputSet("random", "random", 0))
    named = {p.name: arrays[t.name] for p, t in zip(checked.parameters, workload.tensors, strict=True)}
    return run_program(tables.machine, kernel.link(checked.program, tables), named, options)


@pytest.mark.parametrize("observer", ["record_commands", "record_trace", "discipline"])
@pytest.mark.parametrize("name", ENDLESS)
def test_a_run_that_needs_more_ends_with_an_error_at_its_line(name: str, observer: str) -> None:
    error = run(ENDLESS[name], SimulationOptions(max_bytes=LITTLE, max_steps=2_000_000, **{observer: True})).error
    assert error is not None
    assert error.kind == "memory"
    assert error.message.startswith("the simulation needs more than 8 MiB of memory after ")
    assert error.line == (0 if name == "arrays" else 2)


def test_fences_alone_are_bounded_in_any_case() -> None:
    """Timing looks at no fence before it knows what follows."""
    error = run(ENDLESS["fences"], SimulationOptions(max_bytes=LITTLE)).error
    assert error is not None
    assert error.kind == "memory"


def test_a_trace_is_bounded_too() -> None:
    described, tables = machine()
    trace = parse_trace("fence\n" * 100_000, "t.txt", described, tables).trace
    error = replay_trace(tables.machine, trace, SimulationOptions(max_bytes=LITTLE, record_commands=True)).error
    assert error is not None
    assert error.kind == "memory"


def test_a_limit_ends_with_its_run_and_holds_for_its_thread_alone() -> None:
    assert run(ENDLESS["fences"], SimulationOptions(max_bytes=LITTLE)).error is not None
    assert run("fence();", SimulationOptions()).error is None
    errors: list[object] = []
    limited = threading.Thread(
        target=lambda: errors.append(run(ENDLESS["fences"], SimulationOptions(max_bytes=LITTLE)).error)
    )
    limited.start()
    whole = run("for (int i = 0; i < 100000; i++) fence();", SimulationOptions(record_commands=True))
    limited.join()
    assert whole.error is None
    assert errors[0] is not None

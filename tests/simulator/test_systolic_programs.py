"""Random programs of every instruction of the systolic array, int8 and binary32: recognised forms, interpreter and an
independent NumPy model agree on every byte of DRAM. A dump at the end compares the local memories too."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, run_program
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import isa
from tests.simulator.machines import Command, issue_all, pointer
from tests.simulator.models.normalising import NormalisingModel
from tests.simulator.models.systolic import ACC, Geometry, Model
from tests.simulator.programs.systolic import Scenario, scenarios, uniform_scenario

MACHINES = {
    "usual lanes": (Geometry(16, 512, 128, 64), "gemmini", {"SPAD_KB": 8, "ACC_KB": 8}),
    "few lanes": (Geometry(4, 256, 64, 64), "gemmini", {"DIM": 4, "SPAD_KB": 1, "ACC_KB": 1}),
    "narrow moves": (Geometry(8, 256, 64, 16), "gemmini", {"DIM": 8, "SPAD_KB": 2, "ACC_KB": 2, "MAX_BYTES": 16}),
    "operands in the accumulator": (
        Geometry(8, 256, 64, 64, reads_acc=True),
        "gemmini",
        {"DIM": 8, "SPAD_KB": 2, "ACC_KB": 2, "EX_READ_ACC": 1},
    ),
    "normalisations": (Geometry(8, 256, 64, 64, stats=2), "gemmini:ibert", {"DIM": 8, "SPAD_KB": 2, "ACC_KB": 2}),
    "binary32": (Geometry(4, 256, 128, 64, real=True, reads_acc=True), "gemmini:fp32", {"SPAD_KB": 4, "ACC_KB": 2}),
    "wide binary32": (
        Geometry(16, 128, 64, 64, real=True, reads_acc=True),
        "gemmini:fp32",
        {"DIM": 16, "SPAD_KB": 8, "ACC_KB": 4},
    ),
}
SHIPPED = Geometry()
NAMES = ("memory", "contents", "dump")
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}


@cache
def tables(name: str) -> isa.MachineTables:
    _, machine, parameters = MACHINES.get(name, (SHIPPED, "gemmini", {}))
    return isa.lower(isa.load(machine, parameters))


def assert_agreement(machine: isa.MachineTables, geometry: Geometry, scenario: Scenario) -> None:
    before = scenario.tensors(geometry)
    model = (NormalisingModel if geometry.stats else Model)(geometry, [t.copy() for t in before])
    for name, arguments in scenario.program(geometry):
        model.execute(name, arguments)
    commands = [Command(machine.instructions[name], arguments) for name, arguments in scenario.program(geometry)]
    declared = [(name, "u8", tensor.shape) for name, tensor in zip(NAMES, before, strict=True)]
    program = issue_all(machine.machine, commands, declared)
    for generic in (False, True):
        given_ = dict(zip(NAMES, before, strict=True))
        result = run_program(machine.machine, program, given_, SimulationOptions(timing=False, generic=generic))
        assert result.error is None, result.error
        for name, expected in zip(NAMES, model.tensors, strict=True):
            np.testing.assert_array_equal(result.outputs[name], expected, f"{name}, generic={generic}")


@pytest.mark.parametrize("name", MACHINES)
@settings(max_examples=20, **PATIENT)
@given(data=st.data())
def test_random_programs_agree_with_the_model(name: str, data: st.DataObject) -> None:
    geometry = MACHINES[name][0]
    assert_agreement(tables(name), geometry, data.draw(scenarios(geometry)))


@pytest.mark.parametrize("name", MACHINES)
def test_programs_of_even_choices_agree_with_the_model(name: str) -> None:
    for seed in range(20):
        assert_agreement(tables(name), MACHINES[name][0], uniform_scenario(seed, MACHINES[name][0], 80))


@settings(max_examples=3, **PATIENT)
@given(scenarios(SHIPPED, 40))
def test_the_shipped_sizes_agree_with_the_model(scenario: Scenario) -> None:
    assert_agreement(tables("shipped"), SHIPPED, scenario)


@pytest.mark.long
@pytest.mark.parametrize("name", MACHINES)
@settings(max_examples=500, **PATIENT)
@given(data=st.data())
def test_many_long_random_programs_agree_with_the_model(name: str, data: st.DataObject) -> None:
    geometry = MACHINES[name][0]
    assert_agreement(tables(name), geometry, data.draw(scenarios(geometry, 60)))


def test_what_is_no_number_passes_the_activation_whatever_sign_the_processor_gives_it() -> None:
    calls = [
        ("configure_load", (1, 0, float("nan"), 0, 4, 1)),
        ("configure_execute", (1, 1, 0, 3.4028234663852886e38, 1, 1, 1, 0, 0)),
        ("configure_store", (16, 0, float("nan"), *[0] * 9)),
        ("move_in", (1, pointer(0, 4), 3 << 30, 1, 1)),
        ("preload", (ACC, ACC | 125, 4, 4, 4, 3)),
        ("compute", (1, ACC, 0xFFFFFFFF, 3, 4, 4, 4)),
        ("preload", (0, 0, 4, 4, 4, 4)),
        ("compute", (1, ACC, ACC | 124, 4, 4, 4, 4)),
        ("move_out", (pointer(0, 0), 0, 16, 4)),
    ]
    assert_agreement(tables("binary32"), MACHINES["binary32"][0], Scenario(calls=tuple(calls), seed=12, spread=128))


def test_contents_that_nothing_wrote_are_the_same_with_and_without_recognised_forms() -> None:
    machine = tables("usual lanes")
    calls = [("configure_store", (64, 0, 0.75, *[0] * 9))]
    calls += [("move_out", (pointer(0, row * 64), row | ACC, 33, 16)) for row in range(0, 64, 16)]
    commands = [Command(machine.instructions[name], arguments) for name, arguments in calls]
    program = issue_all(machine.machine, commands, [("memory", "u8", (64 * 64,))])
    first, second = (
        run_program(
            machine.machine,
            program,
            {"memory": np.zeros(64 * 64, np.uint8)},
            SimulationOptions(seed=7, generic=generic),
        )
        for generic in (False, True)
    )
    assert first.outputs["memory"].any()
    np.testing.assert_array_equal(first.outputs["memory"], second.outputs["memory"])


@pytest.mark.long
@pytest.mark.parametrize("name", MACHINES)
def test_many_programs_of_even_choices_agree_with_the_model(name: str) -> None:
    for seed in range(1000, 1300):
        assert_agreement(tables(name), MACHINES[name][0], uniform_scenario(seed, MACHINES[name][0], 120))

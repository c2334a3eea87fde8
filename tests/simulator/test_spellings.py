"""Kernels in C that spell each instruction in any of its forms compute what the model computes."""

from __future__ import annotations

import numpy as np
from autocomp.simulator import SimulationOptions, run_program
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import isa, kernel
from tests.simulator.models.systolic import Geometry, Model
from tests.simulator.programs.spellings import FORMS, Spelling, spellings
from tests.simulator.programs.systolic import Scenario, scenarios

NAMES = ("memory", "contents", "dump")
ACCELERATOR = isa.load("gemmini", {"DIM": 4, "SPAD_KB": 1, "ACC_KB": 1, "MAX_BYTES": 16})
GEOMETRY = Geometry(4, 256, 64, 16)
TABLES = isa.lower(ACCELERATOR)


def text(call: Spelling) -> str:
    """A C statement. Numbers from 2^48 on are addresses: a tensor and an offset."""
    name, arguments = call

    def argument(value: float) -> str:
        if isinstance(value, float):
            return repr(value)
        tensor = int(value) >> 48
        return str(value) if tensor == 0 else f"{NAMES[tensor - 1]} + {value & ((1 << 48) - 1)}"

    return f"    {name}({', '.join(map(argument, arguments))});"


def run(statements: list[str], before: list[np.ndarray]) -> list[np.ndarray]:
    parameters = ", ".join(f"uint8_t {name}[{len(t)}]" for name, t in zip(NAMES, before, strict=True))
    source = "\n".join([f"void solution({parameters}) {{", *statements, "}"])
    program = kernel.link(kernel.compile(kernel.parse(source), ACCELERATOR, {}), TABLES)
    tensors = dict(zip(NAMES, before, strict=True))
    result = run_program(TABLES.machine, program, tensors, SimulationOptions(timing=False))
    assert result.error is None, f"{result.error}\n{source}"
    return [result.outputs[name] for name in NAMES]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(scenarios(GEOMETRY, 40, special=False), st.data())
def test_every_spelling_means_the_same(scenario: Scenario, data: st.DataObject) -> None:
    before = scenario.tensors(GEOMETRY)
    model = Model(GEOMETRY, [t.copy() for t in before])
    statements = []
    for name, arguments in scenario.program(GEOMETRY):
        model.execute(name, arguments)
        found = spellings(name, arguments, GEOMETRY.dim)
        statements.append(text(found[data.draw(st.integers(0, len(found) - 1))]))
    for name, actual, expected in zip(NAMES, run(statements, before), model.tensors, strict=True):
        np.testing.assert_array_equal(actual, expected, name)


def test_the_spellings_are_all_that_the_machine_knows() -> None:
    plain = (1.0, 1, 1, 0, 0, 0)
    dim = GEOMETRY.dim
    calls: list[Spelling] = [
        ("configure_execute", (1, 0, 0, *plain)),
        ("configure_load", (0, 4, 1.0, 0, dim, 1)),
        ("configure_store", (4, 0, 1.0, *[0] * 9)),
        *(("move_in", (index, 0, 0, dim, dim)) for index in range(3)),
        ("move_out", (1 << 48, 0, dim, dim)),
        ("preload", (0xFFFFFFFF, 0, *[dim] * 4)),
        *(("compute", (flip, 0, 0, *[dim] * 4)) for flip in range(2)),
        ("loop_ws_config_bounds", (1, 1, 1, 0, 0, 0)),
        *((f"loop_ws_config_{part}", (0, 0)) for part in ("addrs_ab", "addrs_dc", "strides_ab", "strides_dc")),
        ("loop_ws_run", (0,) * 10),
        *((f"loop_conv_ws_config_{part}", (0,) * count) for part, count in enumerate((11, 8, 8, 9, 2, 2), 1)),
        ("loop_conv_ws_run", (0,) * 14),
        ("fence", ()),
        ("flush", (0,)),
    ]
    known = {(form, len(arguments)) for call in calls for form, arguments in spellings(*call, dim)}
    forms = {(alias.name, len(alias.parameters)) for alias in ACCELERATOR.aliases if not alias.trace}
    assert known == forms | {(i.name, len(i.parameters)) for i in ACCELERATOR.instructions if not i.sent}
    assert {name for name, _ in calls} == set(FORMS)

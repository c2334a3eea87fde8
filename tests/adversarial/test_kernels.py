"""Kernels that cheat, or go wrong where a careless judge does not look: each is refused, for the reason that it states.

A kernel's first lines are comments: what it tries, the workload of `workloads/` that it is for, and words of the
message that refuses it. A kernel that deceived the judge once is added here, and stays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.workload import derived_seed, load

HERE = Path(__file__).parent
KERNELS = sorted(HERE.glob("kernels/*/*.c"))
WORKLOADS = sorted(path.stem for path in HERE.glob("workloads/*.yaml"))
OWN_MACHINES = ("echo", "boast", "squares")  # whose descriptions or workloads are at fault
HEAD = re.compile(r"// (?P<tries>[^\n]+)\n// workload: (?P<workload>\w+)\n// refused: (?P<refused>[^\n]+)\n")
CLASSES = {
    "host_computes",
    "known_inputs",
    "data_decides",
    "undefined_values",
    "loose_tolerance",
    "rounding_and_saturation",
    "partial_results",
    "order_by_luck",
    "semaphores",
    "hardware_loops",
    "NaN_and_infinity",
    "beyond_the_possible",
    "without_end",
    "addresses",
}


@dataclass(frozen=True)
class Cheat:
    text: str
    workload: str
    refused: str

    @classmethod
    def read(cls, path: Path) -> Cheat:
        text = path.read_text(encoding="utf-8")
        head = HEAD.match(text)
        assert head is not None, f"{path} does not begin as the others do"
        return cls(text, head["workload"], head["refused"])


@cache
def evaluator(workload: str) -> SimulatorEvaluator:
    problem = load(HERE / "workloads" / f"{workload}.yaml")
    machine = HERE / problem.accelerator
    name = str(machine) if machine.is_file() else problem.accelerator
    return SimulatorEvaluator(isa.load(name, problem.overrides), problem)


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_judge_refuses(path: Path) -> None:
    cheat = Cheat.read(path)
    evaluation = evaluator(cheat.workload).evaluate(cheat.text, seed=derived_seed(0, path.stem))
    assert evaluation.failure is not None, f"accepted with {evaluation.value} cycles"
    assert cheat.refused in evaluation.failure.message, evaluation.failure


@pytest.mark.parametrize("workload", [name for name in WORKLOADS if name not in OWN_MACHINES])
def test_an_honest_kernel_of_each_workload_passes(workload: str) -> None:
    judge = evaluator(workload)
    kernel = judge.workload.starting_kernel or starting_kernel(judge.workload, judge.accelerator)
    evaluation = judge.evaluate(kernel, seed=1)
    assert evaluation.correct, evaluation.failure


def test_every_class_of_cheats_is_there() -> None:
    assert {path.parent.name for path in KERNELS} >= CLASSES
    assert len(KERNELS) >= 120

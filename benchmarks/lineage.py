"""The contribution of each option: applies the named options of a lineage in turn, and prints the cycles after each.

A lineage is a YAML file with a workload, parameters of its accelerator to set (none: as described), and a list of
options, each a transformation's name with its parameters:

    python -m benchmarks.lineage benchmarks/lineages/*.yaml
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from autocomp.targets.evaluation import SCREEN, Evaluation
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.target import SimulatorTarget
from autocomp.targets.simulator.transforms import analyse, transformation
from autocomp.workload import load
from autocomp.yaml_text import read_yaml


class Option(BaseModel):
    """One step: a transformation and its parameters."""

    model_config = ConfigDict(extra="forbid")
    name: str
    parameters: dict[str, Any] = {}


class Lineage(BaseModel):
    """The steps from a workload's starting kernel to another one."""

    model_config = ConfigDict(extra="forbid")
    workload: str
    set: dict[str, int | float] = {}
    options: list[Option]


def follow(lineage: Lineage) -> Iterator[tuple[str, Evaluation]]:
    """The starting kernel's evaluation, then that after each option; all correctness stages for the last."""
    workload = load(lineage.workload)
    machine = isa.load(workload.accelerator, {**workload.overrides, **lineage.set})
    evaluator = SimulatorTarget(machine).evaluator(workload)
    facts = analyse(kernel.parse(starting_kernel(workload, machine)), machine, workload.constants)
    yield "naive", evaluator.evaluate(kernel.print_kernel(facts.kernel), SCREEN)
    for number, option in enumerate(lineage.options, start=1):
        facts = facts.with_kernel(transformation(option.name).apply(facts, option.parameters))
        last = number == len(lineage.options)
        text = kernel.print_kernel(facts.kernel)
        evaluation = evaluator.evaluate(text) if last else evaluator.evaluate(text, SCREEN)
        yield option.name, evaluation


def main(paths: list[str]) -> int:
    """Prints a table for each file; 1 if a kernel is wrong."""
    wrong = False
    for path in paths:
        lineage = Lineage.model_validate(read_yaml(Path(path).read_text(), path)[0])
        print(f"{lineage.workload}\n{'option':<18}{'cycles':>12}{'of bound':>10}")
        for name, evaluation in follow(lineage):
            wrong = wrong or not evaluation.correct
            mark = "" if evaluation.correct else f"  {evaluation.failure}"
            print(f"{name:<18}{evaluation.value or 0:>12,}{evaluation.ratio or 0:>10.1%}{mark}", flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

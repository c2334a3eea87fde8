"""The contribution of each step on the commands of a kernel, one after another: the cycles of a workload's starting
kernel after it.

    python -m benchmarks.steps WORKLOAD...
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from autocomp.targets.evaluation import SCREEN, Evaluation
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.target import SimulatorTarget
from autocomp.targets.simulator.transforms import analyse
from autocomp.targets.simulator.transforms.straight.command_by_command import worked_on
from autocomp.workload import load


def evaluations(name: str) -> Iterator[tuple[str, Evaluation]]:
    """The starting kernel's evaluation, then that after each step that changes it; all correctness stages for the
    last."""
    workload = load(name)
    machine = isa.load(workload.accelerator, workload.overrides)
    evaluator = SimulatorTarget(machine).evaluator(workload)
    facts = analyse(kernel.parse(starting_kernel(workload, machine)), machine, workload.constants)
    yield "naive", evaluator.evaluate(kernel.print_kernel(facts.kernel), SCREEN)
    *first, (last, done) = worked_on(facts)
    for step, changed in first:
        yield step, evaluator.evaluate(kernel.print_kernel(changed.written), SCREEN)
    yield last, evaluator.evaluate(kernel.print_kernel(done.written))


def main(names: list[str]) -> int:
    """Prints a table for each workload; 1 if a kernel is wrong."""
    wrong = False
    for name in names:
        print(f"{name}\n{'step':<18}{'cycles':>12}{'of bound':>10}")
        for step, evaluation in evaluations(name):
            wrong = wrong or not evaluation.correct
            mark = "" if evaluation.correct else f"  {evaluation.failure}"
            print(f"{step:<18}{evaluation.value or 0:>12,}{evaluation.ratio or 0:>10.1%}{mark}", flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

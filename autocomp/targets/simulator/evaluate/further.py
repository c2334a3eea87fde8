"""A kernel on more draws than a judgement makes, each run watched for memory discipline: a check of the judge."""

from __future__ import annotations

from autocomp.targets.simulator.evaluate.session import WATCHED, StageFailure
from autocomp.targets.simulator.evaluate.simulator import SimulatorEvaluator
from autocomp.targets.simulator.evaluate.stages import first_difference
from autocomp.workload import InputSet, derived_seed, make_case
from autocomp.workload.inputs import CUSTOM, MIXTURE


def mistake(evaluator: SimulatorEvaluator, kernel: str, seed: int, draws: int) -> str | None:
    """The mistake of a kernel on the first of `draws` inputs of all kinds that shows one, or None."""
    session = evaluator.session(kernel, seed)
    kinds = (*CUSTOM, "mixed") if evaluator.workload.operation == "custom" else (*MIXTURE, *["mixed"] * 5)
    for number in range(draws):
        kind = kinds[number % len(kinds)]
        case = make_case(evaluator.workload, InputSet(kind, kind, derived_seed(seed, "further", number)))
        try:
            result = session.run(case, WATCHED)
        except StageFailure as failure:
            return failure.message
        wrong = first_difference(evaluator.workload, case, result.outputs)
        if wrong or result.violations:
            return wrong or result.violations[0].message
    return None

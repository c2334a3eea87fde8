"""The correctness stages. Each takes a session and returns what it found good, or raises `StageFailure`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from autocomp.simulator.results import SimulationResult, Violation
from autocomp.targets.evaluation import Stage
from autocomp.targets.simulator.evaluate.bounds import beyond
from autocomp.targets.simulator.evaluate.objectives import cheaper
from autocomp.targets.simulator.evaluate.session import (
    HOST_COMPUTES,
    PLAIN,
    TIMED,
    USED,
    WATCHED,
    Judgement,
    StageFailure,
)
from autocomp.targets.simulator.evaluate.verdict import difference
from autocomp.workload import Case, Workload

SHOWN_VIOLATIONS = 3
MEANINGS = {"mixed": "rows and columns of all kinds in every pairing", "edges": "ties and the ends of the range"}


def check(session: Judgement) -> str:
    """The kernel parses, names what exists, has the workload's signature, and compiles."""
    lines = session.compile().tree.left_out
    numbers = ", ".join(map(str, lines))
    left_out = f"; what only prints or reads the clock is left out (line{'s' * (len(lines) > 1)} {numbers})"
    return "parses and compiles" + left_out * bool(lines)


def smoke(session: Judgement) -> str:
    """Random inputs, the first timed. The kernel's cycles are those of the slowest timed run of all stages."""
    for number, case in enumerate(session.draws("smoke")):
        _compare(session.workload, case, session.run(case, PLAIN if number else TIMED))
    return "right on random inputs"


def bound(session: Judgement) -> str:
    """No kernel is faster than possible, or needs less energy. One that is shows a fault of ours, and is refused."""
    if session.timed is None or session.timed.timing is None:
        smoke(session)
    assert session.timed is not None
    assert session.timed.timing is not None
    problem = session.workload, session.accelerator
    impossible = beyond(*problem, session.timed.timing.cycles) or cheaper(session.objective, *problem, session.timed)
    if impossible:
        raise StageFailure(impossible)
    return "no faster than possible"


def adversarial(session: Judgement) -> str:
    """Inputs that careless kernels get wrong."""
    names = []
    cases = list(session.draws("adversarial"))
    for case in cases:
        _compare(session.workload, case, session.run(case, WATCHED if case is cases[-1] else PLAIN))
        names.append(MEANINGS.get(case.input_set.kind, case.input_set.name))
    return f"right on {', '.join(dict.fromkeys(names))}"


def discipline(session: Judgement) -> str:
    """Memory is read after it was written, outputs are complete, inputs are left alone, and every order that matters
    is enforced. One run shows it where commands do not depend on data."""
    if session.watched is None or not session.data_free:
        for case in session.draws("discipline"):
            session.run(case, WATCHED)
    violations = list(session.violations.values())
    if violations:
        raise StageFailure(_violations(violations), violations[0].line or None)
    return "every read follows a write, every output is written, no order is left to luck"


def determinism(session: Judgement) -> str:
    """The same result on a machine that was used before: no memory and no setting is as it was when it was new."""
    for case in session.draws("determinism"):
        differing = first_difference(session.workload, case, session.run(case, USED).outputs)
        if differing:
            raise StageFailure(
                f"on a machine that ran the kernel before, with other data, {differing}. The kernel reads what it has "
                "not written, or relies on settings that it does not make"
            )
    return "right on a machine that was used before"


STAGES = (
    Stage("check", "screen", "the kernel parses, names what exists, has the workload's signature, and compiles"),
    Stage("smoke", "screen", "right on random inputs, one of which is timed"),
    Stage("bound", "screen", "no faster than possible"),
    Stage("adversarial", "prove", "right on inputs that careless kernels get wrong"),
    Stage("discipline", "prove", "reads follow writes, outputs are complete, every order that matters is enforced"),
    Stage("determinism", "prove", "right on a machine that was used before"),
)
STAGE_FUNCTIONS: Mapping[str, Callable[[Judgement], str]] = {
    "check": check,
    "smoke": smoke,
    "bound": bound,
    "adversarial": adversarial,
    "discipline": discipline,
    "determinism": determinism,
}


def _compare(workload: Workload, case: Case, result: SimulationResult) -> None:
    differing = first_difference(workload, case, result.outputs)
    if differing:
        raise StageFailure(f"with input set {case.input_set.name!r}, {differing}")


def first_difference(workload: Workload, case: Case, outputs: Mapping[str, np.ndarray]) -> str | None:
    """The mistake in the first wrong output, or in an input that was written."""
    for tensor in workload.tensors:
        got, before = outputs[tensor.name], case.arrays[tensor.name]
        if tensor.role == "input":
            message = None if got.tobytes() == before.tobytes() else f"the kernel wrote to its input {tensor.name}"
        else:
            message = difference(tensor, got, case.expected[tensor.name], case.bounds.get(tensor.name), before)
        if message is not None:
            return message
    return None


def _violations(violations: Sequence[Violation]) -> str:
    shown = [
        violation.message
        + (f" ({HOST_COMPUTES})" if violation.kind == "host" else "")
        + (f" ({violation.count} times)" if violation.count > 1 else "")
        for violation in violations[:SHOWN_VIOLATIONS]
    ]
    more = len(violations) - len(shown)
    return "; ".join(shown) + (f"; and {more} more kinds" if more > 0 else "")

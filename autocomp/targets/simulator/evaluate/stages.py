"""The five correctness stages. Each takes a session and returns what it found good, or raises `StageFailure`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from autocomp.simulator.results import SimulationResult, Violation
from autocomp.targets.evaluation import Stage
from autocomp.targets.simulator.evaluate.verdict import difference
from autocomp.workload import Case, InputSet, Workload

SHOWN_VIOLATIONS = 3
OTHER_CONTENTS = 0x5EED  # seed of the local memories' contents in the determinism stage
HOST_SCALE = 3.0  # … how much slower its host is
LATENCY_SCALE = 4  # … and how much farther its memory
MEANINGS = {"mixed": "rows and columns that are zero, one-hot, sparse, large, extreme or random in every pairing"}


class StageFailure(Exception):
    """Why a stage failed, and the kernel's line if there is one."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


@dataclass(frozen=True)
class Conditions:
    """Under which conditions to simulate. Contents 0: local memories start as zeros."""

    timing: bool = False
    discipline: bool = False
    contents: int = 0
    host_scale: float = 1.0
    latency_scale: int = 1


WATCHED = Conditions(discipline=True)  # the last adversarial run, whose violations the discipline stage looks at


class Session(Protocol):
    """One kernel under evaluation."""

    @property
    def workload(self) -> Workload: ...

    def case(self, input_set: InputSet) -> Case: ...

    def compile(self) -> object:
        """Parse, check and compile; raises StageFailure."""

    def simulate(self, case: Case, conditions: Conditions) -> SimulationResult:
        """One run; the same case under the same conditions is run once."""


def check(session: Session) -> str:
    """The kernel parses, names what exists, has the workload's signature, and compiles."""
    session.compile()
    return "parses and compiles"


def smoke(session: Session) -> str:
    """One random input, timed. This run's cycles are the kernel's."""
    case = session.case(session.workload.input_sets[0])
    _compare(session, case, session.simulate(case, Conditions(timing=True)))
    return "right on one random input"


def adversarial(session: Session) -> str:
    """Every other input set."""
    sets = session.workload.input_sets[1:]
    for input_set in sets:
        case = session.case(input_set)
        conditions = WATCHED if input_set is sets[-1] else Conditions()
        _compare(session, case, session.simulate(case, conditions))
    return f"right on {', '.join(MEANINGS.get(input_set.kind, input_set.name) for input_set in sets)}"


def discipline(session: Session) -> str:
    """Memory is read after it was written, outputs are complete, and every order that matters is enforced."""
    case = session.case(session.workload.input_sets[-1])
    result = session.simulate(case, WATCHED)
    _no_error(case, result)
    if result.violations:
        raise StageFailure(_violations(result.violations), result.violations[0].line or None)
    return "every read follows a write, every output is written, no order is left to luck"


def determinism(session: Session) -> str:
    """The same result whatever local memory held before, on a slower host and with a more distant memory."""
    case = session.case(session.workload.input_sets[0])
    changed = Conditions(True, contents=OTHER_CONTENTS, host_scale=HOST_SCALE, latency_scale=LATENCY_SCALE)
    result = session.simulate(case, changed)
    _no_error(case, result)
    differing = first_difference(session.workload, case, result.outputs)
    if differing:
        raise StageFailure(
            "with other contents of local memory before the run, a slower host and a more distant memory, "
            f"{differing}. The kernel reads rows that it has not written"
        )
    return "the same under other initial contents, host speed and memory latency"


STAGES = (
    Stage("check", "screen", "the kernel parses, names what exists, has the workload's signature, and compiles"),
    Stage("smoke", "screen", "right on one random input set, which is timed"),
    Stage("adversarial", "prove", "right on every other input set"),
    Stage("discipline", "prove", "reads follow writes, outputs are complete, every order that matters is enforced"),
    Stage("determinism", "prove", "the same under other initial contents, host speed and memory latency"),
)
STAGE_FUNCTIONS: Mapping[str, Callable[[Session], str]] = {
    "check": check,
    "smoke": smoke,
    "adversarial": adversarial,
    "discipline": discipline,
    "determinism": determinism,
}


def _no_error(case: Case, result: SimulationResult) -> None:
    if result.error is not None:
        words = f"{result.error.message} (input set {case.input_set.name!r})"
        raise StageFailure(words, result.error.line or None)


def _compare(session: Session, case: Case, result: SimulationResult) -> None:
    _no_error(case, result)
    differing = first_difference(session.workload, case, result.outputs)
    if differing:
        raise StageFailure(f"with input set {case.input_set.name!r}, {differing}")


def first_difference(workload: Workload, case: Case, outputs: Mapping[str, np.ndarray]) -> str | None:
    """What is wrong with the first wrong output, or with an input that was written."""
    for tensor in workload.tensors:
        got = outputs[tensor.name]
        if tensor.role == "input":
            equal = np.array_equal(got, case.arrays[tensor.name], equal_nan=got.dtype.kind == "f")
            found = None if equal else f"the kernel wrote to its input {tensor.name}"
        else:
            found = difference(tensor, got, case.expected[tensor.name], workload.tolerance)
        if found is not None:
            return found
    return None


def _violations(violations: Sequence[Violation]) -> str:
    shown = [
        violation.message + (f" ({violation.count} times)" if violation.count > 1 else "")
        for violation in violations[:SHOWN_VIOLATIONS]
    ]
    more = len(violations) - len(shown)
    return "; ".join(shown) + (f"; and {more} more kinds" if more > 0 else "")

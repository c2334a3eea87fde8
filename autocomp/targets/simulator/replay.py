"""Replays the plans of earlier schedules on a new shape or machine, as the first candidates of a search."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.targets.planning import Plan, Precedent, Replay, Replayed
from autocomp.targets.rewriting import REUSE
from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.transforms import Facts, NotApplicable, analyse, is_known
from autocomp.targets.simulator.transforms.adapt import adapted, chosen
from autocomp.targets.simulator.transforms.straight.command_by_command import STEPS, WRITTEN_OUT
from autocomp.workload.model import Workload

# In place of transformations that earlier versions had: of steps on single commands, and of all others.
_ONE_BY_ONE = "command_by_command"
_AT_ONCE = "schedule"


def replay(precedents: Sequence[Precedent], start: str, accelerator: Accelerator, workload: Workload) -> Replay:
    """Apply each precedent's plans in turn, each to what the one before it left. Plans of transformations that only
    earlier versions have become one that schedules the kernel, or works on its commands one by one. Kernels that two
    precedents share appear once. Raises KernelError if the starting kernel does not parse."""
    facts = analyse(kernel.parse(start, names=accelerator.all_constants), accelerator, workload.constants)
    steps = _Steps(kernel.canonical_hash(facts.kernel))
    for precedent in precedents:
        _follow(steps, precedent.record, facts, [step.plan for step in precedent.lineage])
    return Replay(tuple(steps.made), tuple(steps.left_out))


class _Steps:
    """The steps of the replay so far, and the place of each kernel among them (None: the start)."""

    def __init__(self, start: str) -> None:
        self.made: list[Replayed] = []
        self.left_out: list[tuple[str, str]] = []
        self._known: dict[str, int | None] = {start: None}

    def add(self, record: str, plan: Plan, changed: Facts, parent: int | None) -> int | None:
        """The position of a kernel. Raises NotApplicable if it is the one that the plan was applied to."""
        digest = changed.digest
        if digest in self._known and self._known[digest] == parent:
            raise NotApplicable("changes nothing here")
        if digest not in self._known:
            self._known[digest] = len(self.made)
            self.made.append(Replayed(record, plan, kernel.print_kernel(changed.written), parent))
        return self._known[digest]

    def leave_out(self, record: str, plan: Plan, error: NotApplicable) -> None:
        """Say once why a plan does not apply."""
        reason = record, f"{plan.option or 'free plan'}: {error.message}"
        if reason not in self.left_out:
            self.left_out.append(reason)


def _follow(steps: _Steps, record: str, present: Facts, plans: Sequence[Plan]) -> None:
    """Apply the plans with their parameters where these apply, else with the nearest that the transformations
    propose."""
    parent: int | None = None
    done: set[str] = set()  # in place of others
    for plan in plans:
        instead = _instead(plan.transformation)
        if instead in done:
            continue
        try:
            made, changed = (
                _carried_out(present, plan, record) if instead is None else _replaced(present, plan, record, instead)
            )
            position = steps.add(record, made, changed, parent)
        except NotApplicable as error:
            steps.leave_out(record, plan, error)
            continue
        done |= set() if instead is None else {instead}
        present, parent = changed, position


def _carried_out(facts: Facts, plan: Plan, record: str) -> tuple[Plan, Facts]:
    if plan.transformation is None:
        raise NotApplicable("names no transformation that could be applied again")
    parameters, changed = adapted(facts, plan.transformation, plan.parameters)
    same = "with its parameters" if parameters == plan.parameters else "with the nearest parameters that apply"
    text = f"{plan.option} as in {record}, {same}."
    return Plan(plan.option, text, plan.transformation, dict(parameters), REUSE), facts.with_kernel(changed)


def _instead(name: str | None) -> str | None:
    """The transformation that does what an earlier version's did; None for one that there is."""
    if name is None or is_known(name):
        return None
    return _ONE_BY_ONE if name in (WRITTEN_OUT, *STEPS) else _AT_ONCE


def _replaced(facts: Facts, plan: Plan, record: str, instead: str) -> tuple[Plan, Facts]:
    """The kernel with the best that a transformation proposes, in place of one that there is no more."""
    parameters, changed = chosen(facts, instead)
    text = f"{instead} in place of {plan.option} in {record}, which this version does not have."
    return Plan(instead, text, instead, dict(parameters), REUSE), facts.with_kernel(changed)

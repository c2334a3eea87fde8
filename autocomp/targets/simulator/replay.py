"""Replays the plans of earlier schedules on a new shape or machine, as the first candidates of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autocomp.targets.planning import Plan, Precedent, Replay, Replayed
from autocomp.targets.rewriting import REUSE
from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.transforms import (
    Facts,
    NotApplicable,
    Proposal,
    analyse,
    applied,
    candidates_of,
    transformation,
)
from autocomp.targets.simulator.transforms.adapt import adapted, chosen
from autocomp.targets.simulator.transforms.analysis.cost import present_cost
from autocomp.workload.model import Workload

STAGING = "stage_operand"
PAYS = 0.1  # share of the estimated cycles that makes a plan worth adding to those of a schedule


def replay(precedents: Sequence[Precedent], start: str, accelerator: Accelerator, workload: Workload) -> Replay:
    """Apply each precedent's plans in turn, each to what the one before it left. Where it is estimated to pay here that
    an operand stays in local memory, which the precedent's problem did not need, that is done. The later plans follow,
    with the parameters that the transformations choose then. Kernels that two precedents share appear once. Raises
    KernelError if the starting kernel does not parse."""
    facts = analyse(kernel.parse(start, names=accelerator.all_constants), accelerator, workload.constants)
    steps = _Steps(kernel.canonical_hash(facts.kernel))
    for precedent in precedents:
        plans = [step.plan for step in precedent.lineage]
        branch = _follow(steps, precedent.record, facts, None, plans, replaying=True)
        if branch is not None:
            text = f"{STAGING}, which {precedent.record} did without: {branch.proposal.reason}."
            extra = Plan(STAGING, text, STAGING, dict(branch.proposal.parameters), REUSE)
            staged = applied(transformation(STAGING), branch.facts, branch.proposal.parameters)
            position = steps.add(precedent.record, extra, staged, branch.parent)
            _follow(steps, precedent.record, staged, position, branch.left, replaying=False)
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


@dataclass(frozen=True)
class _Branch:
    """A kernel in which an operand should stay in local memory, its position, how, and the plans that are left."""

    facts: Facts
    parent: int | None
    proposal: Proposal
    left: Sequence[Plan]


def _follow(
    steps: _Steps, record: str, present: Facts, parent: int | None, plans: Sequence[Plan], *, replaying: bool
) -> _Branch | None:
    """Apply the plans: `replaying`, with their parameters where these apply, else with those that the transformations
    choose. A replay ends at the first kernel in which an operand should stay in local memory, unless the plans do so
    themselves. None if no such kernel appears."""
    staging = replaying and all(plan.transformation != STAGING for plan in plans)
    for number, plan in enumerate(plans, start=1):
        try:
            made, changed = _carried_out(present, plan, record, replaying=replaying)
            position = steps.add(record, made, changed, parent)
        except NotApplicable as error:
            steps.leave_out(record, plan, error)
            continue
        present, parent = changed, position
        left = plans[number:]
        proposal = _worthwhile_staging(present) if staging and left else None
        if proposal is not None:
            return _Branch(present, parent, proposal, left)
    return None


def _worthwhile_staging(facts: Facts) -> Proposal | None:
    """The best way to keep an operand in local memory for longer, if it is estimated to save much."""
    least = PAYS * present_cost(facts)
    for proposal in candidates_of(transformation(STAGING), facts):
        if proposal.gain < least:
            break
        try:
            applied(transformation(STAGING), facts, proposal.parameters)
        except NotApplicable:
            continue
        return proposal
    return None


def _carried_out(facts: Facts, plan: Plan, record: str, *, replaying: bool) -> tuple[Plan, Facts]:
    if plan.transformation is None:
        raise NotApplicable("names no transformation that could be applied again")
    if replaying:
        parameters, changed = adapted(facts, plan.transformation, plan.parameters)
        same = "with its parameters" if parameters == plan.parameters else "with the nearest parameters that apply"
    else:
        parameters, changed = chosen(facts, plan.transformation)
        same = "with the parameters that suit best here"
    text = f"{plan.option} as in {record}, {same}."
    return Plan(plan.option, text, plan.transformation, dict(parameters), REUSE), facts.with_kernel(changed)

"""Proposes transformations, ranked by where the cycles go and by what each is estimated to save."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, isclose, prod
from typing import Protocol, cast

from autocomp.errors import KernelError
from autocomp.targets.menu import MenuOption
from autocomp.targets.planning import GENERATED, Context, LineageStep, Plan, Planning
from autocomp.targets.simulator.evaluate.objectives import cycles_of
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.rules.given import facts_of
from autocomp.targets.simulator.rules.profile import Profile, profile
from autocomp.targets.simulator.story import limits_of
from autocomp.targets.simulator.transforms import (
    TRANSFORMATIONS,
    Facts,
    NotApplicable,
    Proposal,
    applied,
    candidates_of,
    faults_of,
    transformation,
)
from autocomp.targets.simulator.transforms.raising.unraised import unraised

# An option that names one of these may make computation itself shorter, any other only what is around it.
_COMPUTATION = frozenset({"Busy", "BankConflict", "Pairing", "Drain", "Pipeline"})
_SAME_OPTION = 0.8  # factor on the score of each further proposal of the same option
_SAME_GAIN = 0.5  # the factor where the model does not tell the proposals apart
_ANEW = 1.0  # by how much writing the starting kernel anew scores above other options
# Score, in itself and as a part of the best one's, below which proposals wait until there is nothing better; deep
# lineages are reached with few evaluations only if not too many are spent on each kernel at a time.
_PROMISING = 0.01
_COMPARABLE = 0.25
_MOST_SAVED = 0.9  # share of the cycles that a plan is expected to save at most
TRANSLATE = "translate"  # the option and the transformation of programs that do not use the machine
_CHANCE = 0.15  # most that chance adds to or takes from a score, relative


@dataclass(frozen=True)
class _Scored:
    score: float
    gain: float  # share of the objective
    option: MenuOption
    name: str
    proposal: Proposal


class _Simulated(Protocol):
    """A target that simulates an accelerator, and the name of what kernels are measured by."""

    accelerator: Accelerator
    pursued: str


class RulesPlanner:
    """Plans for kernels of the accelerator that the context is about. Deterministic for equal contexts with equally
    seeded `context.random`."""

    name = "rules"

    def plan(self, context: Context, count: int) -> Planning:
        """The `count` most promising transformations that apply and give a kernel not yet tried."""
        if context.target.language.is_foreign(context.kernel) and context.workload.operation != "custom":
            text = "Compute on the accelerator, with the kernel that its description gives for this operation."
            return Planning((Plan(TRANSLATE, text, TRANSLATE, author=self.name),))
        target = cast(_Simulated, context.target)
        accelerator = target.accelerator
        try:
            facts = facts_of(context.kernel, context.workload, accelerator, target.pursued)
        except KernelError as error:
            return Planning((), messages=(f"the kernel cannot be analysed: {error}",))
        profiled = profile(context.evaluation, accelerator, limits_of(context.diagnosis))
        chosen = _chosen(context, facts, _scored(context, facts, profiled), count)
        plans = tuple(_plan(scored, profiled, context.evaluation.value or 0.0) for scored in chosen)
        messages = () if plans else (_nothing_applies(facts),)
        return Planning(plans, messages=(*messages, *faults_of(facts)))


def _chosen(context: Context, facts: Facts, waiting: Sequence[deque[_Scored]], count: int) -> list[_Scored]:
    """The best proposals that apply and give a kernel not yet tried, as far as they promise about as much."""
    chosen: list[_Scored] = []
    seen = set(context.tried)
    while any(waiting) and len(chosen) < count:
        heads = [(_faded(proposals[0], chosen), proposals) for proposals in waiting if proposals]
        score, option = max(heads, key=lambda head: head[0])
        if chosen and score < max(_PROMISING, _COMPARABLE * chosen[0].score):
            break
        best = option.popleft()
        try:
            changed = applied(transformation(best.name), facts, best.proposal.parameters)
        except NotApplicable:
            continue
        if changed.digest in seen:
            continue
        seen.add(changed.digest)
        chosen.append(best)
    return chosen


def _nothing_applies(facts: Facts) -> str:
    """That there is no plan, and what of the kernel could not be seen through."""
    left = unraised(facts.kernel)
    reason = f"; left as written: {', '.join(left)}" if left else ""
    return f"no transformation in the menu applies to this kernel{reason}"


def _faded(scored: _Scored, chosen: Sequence[_Scored]) -> float:
    """A proposal's score, reduced for those of the same option that are chosen already."""
    others = (other for other in chosen if other.option.id == scored.option.id)
    return scored.score * prod(_SAME_GAIN if isclose(other.gain, scored.gain) else _SAME_OPTION for other in others)


def _scored(context: Context, facts: Facts, profile: Profile) -> list[deque[_Scored]]:
    """The proposals of each of the menu's transformations, in the order that it gives them."""
    scored: list[deque[_Scored]] = []
    options = sorted((o for o in context.menu.options if o.transformation is not None), key=lambda o: o.id)
    for option in options:
        assert option.transformation is not None
        try:
            item = transformation(option.transformation)
        except NotApplicable:  # a user's menu names one that this version does not have
            continue
        if item.anew and not _may_begin_anew(context):
            continue
        weight = profile.weight(option.applies.causes)
        most = 1.0 if _COMPUTATION & set(option.applies.causes) else profile.around
        proposals: deque[_Scored] = deque()
        for proposal in candidates_of(item, facts):
            gain = min(most, max(0.0, _saved(context, proposal)))
            chance = 1.0 + _CHANCE * (2.0 * context.random.random() - 1.0)
            proposals.append(_Scored((0.3 * weight + gain) * chance, gain, option, item.name, proposal))
        scored.append(proposals)
    return scored if _changes(context) else _anew_first(scored)


def _anew_first(scored: list[deque[_Scored]]) -> list[deque[_Scored]]:
    """The proposals with a higher score for those that write the starting kernel anew, unless one of the others has
    been run and was faster than all of them."""
    seen = max(
        (one.gain for own in scored for one in own if one.proposal.result is not None and not _is_anew(one)),
        default=0.0,
    )
    return [
        deque(replace(one, score=one.score + _ANEW) for one in own)
        if any(_is_anew(one) and one.gain >= seen for one in own)
        else own
        for own in scored
    ]


def _is_anew(scored: _Scored) -> bool:
    return transformation(scored.name).anew


def _may_begin_anew(context: Context) -> bool:
    """True if a kernel may be written anew: a starting kernel, and kernels that were written by nothing else."""
    anew = {item.name for item in TRANSFORMATIONS if item.anew}
    return all(step.plan.transformation in anew for step in _changes(context))


def _changes(context: Context) -> list[LineageStep]:
    """All changes to the starting kernel, which may be the generated one in place of the user's."""
    return [step for step in context.lineage if step.plan.option != GENERATED]


def _saved(context: Context, proposal: Proposal) -> float:
    """The share of the objective that a proposal saves: where that was not measured, of the cycles, as estimated."""
    if proposal.result is not None and context.evaluation.value:
        return 1.0 - proposal.result / context.evaluation.value
    return proposal.gain / cycles_of(context.evaluation)


def _plan(scored: _Scored, profile: Profile, value: float) -> Plan:
    reason = scored.proposal.reason
    text = f"{scored.option.title}: {reason}{_waits(profile)}."
    result = scored.proposal.result
    gain = _expected(scored.gain) if result is None else _seen(value / result)
    return Plan(scored.option.id, text, scored.name, dict(scored.proposal.parameters), author="rules", gain=gain)


def _waits(profile: Profile) -> str:
    """The contracting unit's share of the time before the plan, in brackets, and its main wait; empty without one."""
    if not profile.unit:
        return ""
    cause = f" and waited mostly on {profile.main_cause}" if profile.main_cause else ""
    return f" (before, {profile.unit} was busy {100 * profile.computing:.0f} % of the time{cause})"


def _seen(speed_up: float) -> tuple[float, float]:
    """The speed-up of a kernel that has been run, to a thousandth."""
    return floor(1000 * speed_up) / 1000, ceil(1000 * speed_up) / 1000


def _expected(share: float) -> tuple[float, float] | None:
    """The speed-up expected of saving a share of the cycles, between half of it and all: the estimates are rough. None
    where nothing is estimated to be saved."""
    if share <= 0:
        return None
    share = min(share, _MOST_SAVED)
    return round(1 / (1 - share / 2), 3), round(1 / (1 - share), 3)

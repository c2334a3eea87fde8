"""Proposes transformations, ranked by where the cycles go and by what each is estimated to save."""

from __future__ import annotations

from dataclasses import dataclass

from autocomp import kernel
from autocomp.agents.menu import MenuOption
from autocomp.agents.protocol import Context, Plan, Planning
from autocomp.agents.rules.profile import Profile, profile
from autocomp.errors import KernelError
from autocomp.transforms import Facts, NotApplicable, Proposal, analyse, transformation

_SAME_OPTION = 0.8  # factor on the score of each further proposal of the same option
_CHANCE = 0.15  # most that chance adds to or takes from a score, relative


@dataclass(frozen=True)
class _Scored:
    score: float
    option: MenuOption
    name: str
    proposal: Proposal


class RulesPlanner:
    """Deterministic for equal contexts with equally seeded `context.random`."""

    name = "rules"

    def plan(self, context: Context, count: int) -> Planning:
        """The `count` most promising transformations that apply and give a kernel not yet tried."""
        try:
            facts = analyse(kernel.parse(context.kernel), context.accelerator, context.workload.constants)
        except KernelError as error:
            return Planning((), messages=(f"the kernel cannot be analysed: {error}",))
        found = profile(context.evaluation, context.accelerator)
        plans: list[Plan] = []
        seen = set(context.tried)
        for scored in _ranked(context, facts, found):
            if len(plans) == count:
                break
            try:
                changed = transformation(scored.name).apply(facts, scored.proposal.parameters)
            except NotApplicable:
                continue
            digest = kernel.canonical_hash(changed)
            if digest in seen:
                continue
            seen.add(digest)
            plans.append(_plan(scored, found))
        messages = () if plans else ("no transformation in the menu applies to this kernel",)
        return Planning(tuple(plans), messages=messages)


def _ranked(context: Context, facts: Facts, found: Profile) -> list[_Scored]:
    """All proposals of the menu's transformations, best first."""
    cycles = max(1, context.evaluation.cycles or 1)
    scored: list[_Scored] = []
    options = sorted((o for o in context.menu.options if o.transformation is not None), key=lambda o: o.id)
    for option in options:
        assert option.transformation is not None
        try:
            item = transformation(option.transformation)
        except NotApplicable:  # a user's menu names one that this version does not have
            continue
        weight = found.weight(option.applies.causes)
        factor = 1.0
        for proposal in item.proposals(facts):
            gain = min(1.0, max(0.0, proposal.gain) / cycles)
            chance = 1.0 + _CHANCE * (2.0 * context.random.random() - 1.0)
            scored.append(_Scored((0.3 * weight + gain) * factor * chance, option, item.name, proposal))
            factor *= _SAME_OPTION
    return sorted(scored, key=lambda entry: (-entry.score, entry.name, str(sorted(entry.proposal.parameters))))


def _plan(scored: _Scored, found: Profile) -> Plan:
    reason = scored.proposal.reason
    waits = f"{found.unit} is busy {found.computing:.0%} of the time"
    if found.main_cause:
        waits += f" and waits mostly on {found.main_cause}"
    text = f"{scored.option.title}: {reason} ({waits})."
    return Plan(scored.option.id, text, scored.name, dict(scored.proposal.parameters), author="rules")

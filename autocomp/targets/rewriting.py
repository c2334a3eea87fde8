"""Agents that need no model, for any target with transformations: a planner, a coder, and the replay of plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autocomp.errors import KernelError, NotApplicable, TransformationFault, transforming
from autocomp.targets.distance import distance
from autocomp.targets.menu import MenuOption
from autocomp.targets.planning import (
    Context,
    Implementation,
    Plan,
    Planning,
    Precedent,
    Replay,
    Replayed,
)
from autocomp.targets.protocol import Proposal, Rules, Target
from autocomp.workload.model import Workload

RULES = "rules"  # the author of plans that need no model
REUSE = "reuse"  # the author of replayed plans


class RewritingPlanner:
    """Proposes the menu's transformations, those first whose proposals state the largest gain and whose causes weigh
    most. Deterministic for equal contexts."""

    name = RULES

    def plan(self, context: Context, count: int) -> Planning:
        faults: list[str] = []
        try:
            ranked = sorted(_moves(context, faults), key=lambda move: -move[0])
        except KernelError as error:
            return Planning((), messages=(f"the kernel cannot be analysed: {error}",))
        plans: list[Plan] = []
        seen = set(context.tried)
        for _, option, proposal, fingerprint in ranked:
            if fingerprint not in seen and len(plans) < count:
                seen.add(fingerprint)
                text = f"{option.title}: {proposal.reason}."
                plans.append(Plan(option.id, text, option.transformation, dict(proposal.parameters), RULES))
        messages = () if plans else ("no transformation in the menu applies to this kernel",)
        return Planning(tuple(plans), messages=(*messages, *faults))


class RewritingCoder:
    """Applies named transformations; cannot carry out a plan in words alone, nor repair a kernel."""

    name = RULES

    def implement(self, context: Context, plan: Plan) -> Implementation:
        """The transformed kernel, or the reason why none was made."""
        if plan.transformation is None:
            return Implementation(
                None, "the plan names no transformation, and the rules agent writes no code of its own"
            )
        transformations = context.target.transformations
        try:
            kernel = transformations.apply(plan.transformation, context.kernel, context.workload, plan.parameters)
        except NotApplicable as error:
            return Implementation(None, str(error))
        return Implementation(kernel)

    def repair(self, context: Context, plan: Plan, kernel: str, failure: str) -> Implementation:
        """A transformation that gave a wrong kernel gives it again, so there is nothing to try."""
        return Implementation(None, "a transformation has no second version")


def _moves(context: Context, faults: list[str]) -> Iterator[tuple[float, MenuOption, Proposal, str]]:
    """Each proposal that applies with its score: the share of the measurement that it is estimated to save, and a
    tenth of the weight of the causes that its option is against. Adds what transformations fail with to `faults`."""
    value = abs(context.evaluation.value or 1) or 1
    weights = context.target.weights(context.evaluation, context.diagnosis)
    for option in context.menu.options:
        if option.transformation not in context.target.transformations.names:
            continue
        weight = sum(weights.get(cause, 0.0) for cause in option.applies.causes)
        try:
            with transforming(option.transformation, KernelError):
                ready = list(context.target.ready(option.transformation, context.kernel, context.workload))
        except TransformationFault as fault:
            faults.append(fault.message)
            continue
        for proposal, fingerprint in ready:
            yield max(0.0, proposal.gain) / value + 0.1 * weight, option, proposal, fingerprint


def rules_of(target: Target) -> Rules | None:
    """A target's own agents that need no model, else those that carry out its transformations; None without any."""
    own = target.rules()
    if own is not None or not target.transformations.names:
        return own
    return Rules(RewritingPlanner(), RewritingCoder())


def replay(target: Target, precedents: Sequence[Precedent], start: str, workload: Workload) -> Replay:
    """The result of applying the plans of earlier schedules to a starting kernel, in the target's own way if it has
    one. Raises KernelError if the kernel does not parse."""
    own = target.replay(precedents, start, workload)
    return _replayed(target, precedents, start, workload) if own is None else own


def _replayed(target: Target, precedents: Sequence[Precedent], start: str, workload: Workload) -> Replay:
    """Apply each precedent's plans in turn, each to what the one before it left: with their parameters where these
    apply, else with the nearest that do. Kernels that two precedents share appear once."""
    steps: list[Replayed] = []
    left_out: list[tuple[str, str]] = []
    positions: dict[str, int | None] = {target.language.fingerprint(start): None}
    for precedent in precedents:
        kernel, parent = start, None
        for step in precedent.lineage:
            try:
                plan, changed = _carried_out(target, kernel, workload, step.plan, precedent.record)
            except NotApplicable as error:
                reason = (precedent.record, f"{step.plan.option or 'free plan'}: {error.message}")
                left_out += [] if reason in left_out else [reason]
                continue
            fingerprint = target.language.fingerprint(changed)
            if fingerprint not in positions:
                positions[fingerprint] = len(steps)
                steps.append(Replayed(precedent.record, plan, changed, parent))
            kernel, parent = changed, positions[fingerprint]
    return Replay(tuple(steps), tuple(left_out))


def _carried_out(target: Target, kernel: str, workload: Workload, plan: Plan, record: str) -> tuple[Plan, str]:
    """The plan as it applies here, and the kernel that it gives. Raises NotApplicable, for the reason that its own
    parameters do not apply, where none do."""
    name = plan.transformation
    if name is None:
        raise NotApplicable("names no transformation that could be applied again")
    others = [p.parameters for p in target.transformations.proposals(name, kernel, workload)]
    nearest = sorted(others, key=lambda parameters: distance(plan.parameters, parameters))
    reason: NotApplicable | None = None
    for parameters in (plan.parameters, *nearest):
        try:
            changed = target.transformations.apply(name, kernel, workload, parameters)
        except NotApplicable as error:
            reason = reason or error
            continue
        same = "its parameters" if parameters == plan.parameters else "the nearest parameters that apply"
        return Plan(plan.option, f"{plan.option} as in {record}, with {same}.", name, dict(parameters), REUSE), changed
    raise reason or NotApplicable("changes nothing here")

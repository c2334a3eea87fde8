"""Carries a plan out by applying its transformation."""

from __future__ import annotations

from autocomp.agents.rules.given import facts_of
from autocomp.targets.planning import Context, Implementation, Plan
from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.transforms import NotApplicable, applied, transformation


class RulesCoder:
    """Applies named transformations; cannot carry out a plan in words alone, nor repair a kernel."""

    name = "rules"

    def implement(self, context: Context, plan: Plan) -> Implementation:
        """The transformed kernel, or the reason why there is none."""
        if plan.transformation is None:
            return Implementation(
                None, "the plan names no transformation, and the rules agent writes no code of its own"
            )
        try:
            facts = facts_of(context)
            changed = applied(transformation(plan.transformation), facts, plan.parameters)
        except NotApplicable as error:
            return Implementation(None, str(error))
        return Implementation(kernel.print_kernel(changed.kernel))  # without what never runs

    def repair(self, context: Context, plan: Plan, kernel: str, failure: str) -> Implementation:
        """A transformation that gave a wrong kernel gives it again, so there is nothing to try."""
        return Implementation(None, "a transformation has no second version")

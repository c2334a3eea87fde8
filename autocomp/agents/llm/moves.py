"""Changes that need no writer: what the transformations can do to a kernel now, and doing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autocomp import kernel
from autocomp.agents.protocol import Context, Plan
from autocomp.transforms import Facts, analyse, transformation

MOVES_PER_OPTION = 3


@dataclass(frozen=True)
class Move:
    """A transformation with parameters that fit the kernel, and why it might help."""

    option: str
    transformation: str
    parameters: Mapping[str, Any]
    reason: str


def moves(context: Context) -> tuple[Move, ...]:
    """The first proposals of each option in the menu that has a transformation."""
    facts = _facts(context)
    return tuple(
        Move(option.id, option.transformation, proposal.parameters, proposal.reason)
        for option in context.menu.options
        if option.transformation is not None
        for proposal in transformation(option.transformation).proposals(facts)[:MOVES_PER_OPTION]
    )


def apply_move(context: Context, plan: Plan) -> str:
    """The parent kernel with the plan's transformation applied exactly. Raises NotApplicable."""
    if plan.transformation is None:
        raise ValueError("the plan names no transformation")
    return kernel.print_kernel(transformation(plan.transformation).apply(_facts(context), plan.parameters))


def _facts(context: Context) -> Facts:
    return analyse(kernel.parse(context.kernel), context.accelerator, context.workload.constants)

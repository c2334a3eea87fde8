"""Changes that need no writer: what the transformations can do to a kernel as it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autocomp import kernel
from autocomp.agents.protocol import Context
from autocomp.transforms import analyse, transformation

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
    facts = analyse(kernel.parse(context.kernel), context.accelerator, context.workload.constants)
    return tuple(
        Move(option.id, option.transformation, proposal.parameters, proposal.reason)
        for option in context.menu.options
        if option.transformation is not None
        for proposal in transformation(option.transformation).proposals(facts)[:MOVES_PER_OPTION]
    )

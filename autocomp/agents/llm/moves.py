"""Changes that need no writer: what the transformations can do to a kernel as it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autocomp.targets.menu import MenuOption
from autocomp.targets.planning import Context

MOVES_PER_OPTION = 3


@dataclass(frozen=True)
class Move:
    """A transformation with parameters that fit the kernel, why it might help, and how much of the
    objective it is estimated to save."""

    option: str
    transformation: str
    parameters: Mapping[str, Any]
    reason: str
    saving: float = 0.0


def move_id(position: int) -> str:
    """What a prompt calls the move at a position, from 0."""
    return str(position + 1)


def moves(context: Context) -> tuple[Move, ...]:
    """The first proposals of each option in the menu that has a transformation, without those that lead to a kernel
    already seen."""
    seen = set(context.tried)
    return tuple(move for option in context.menu.options for move in _moves(option, context, seen))


def _moves(option: MenuOption, context: Context, seen: set[str]) -> Iterator[Move]:
    name, count = option.transformation, 0
    if name not in context.target.transformations.names:  # a user's menu may name one that this version does not have
        return
    for proposal, fingerprint in context.target.ready(name, context.kernel, context.workload):
        if fingerprint not in seen:
            seen.add(fingerprint)
            count += 1
            yield Move(option.id, name, proposal.parameters, proposal.reason, proposal.gain)
        if count == MOVES_PER_OPTION:
            return

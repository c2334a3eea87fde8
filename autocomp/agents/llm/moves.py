"""Changes that need no writer: what the transformations can do to a kernel as it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autocomp.targets.menu import MenuOption
from autocomp.targets.planning import Context
from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.transforms import Facts, NotApplicable, analyse, applied, transformation

MOVES_PER_OPTION = 3


@dataclass(frozen=True)
class Move:
    """A transformation with parameters that fit the kernel, why it might help, and the cycles it is estimated to
    save."""

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
    facts = analyse(kernel.parse(context.kernel), context.accelerator, context.workload.constants)
    seen = set(context.tried)
    return tuple(move for option in context.menu.options for move in _moves(option, facts, seen))


def _moves(option: MenuOption, facts: Facts, seen: set[str]) -> Iterator[Move]:
    if option.transformation is None:
        return
    try:
        item = transformation(option.transformation)
    except NotApplicable:  # a user's menu names one that this version does not have
        return
    found = 0
    for proposal in item.candidates(facts):
        if found == MOVES_PER_OPTION:
            return
        try:
            changed = applied(item, facts, proposal.parameters)
        except NotApplicable:
            continue
        if changed.digest not in seen:
            seen.add(changed.digest)
            found += 1
            yield Move(option.id, item.name, proposal.parameters, proposal.reason, proposal.gain)

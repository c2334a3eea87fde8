"""Changes that need no writer: what the transformations can do to a kernel as it stands."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autocomp.targets.menu import MenuOption
from autocomp.targets.planning import Context
from autocomp.targets.protocol import Proposal

MOVES_PER_OPTION = 3
MOST_VALUES = 4  # of a parameter that are told, where they are no numbers


@dataclass(frozen=True)
class Move:
    """A transformation with parameters that fit the kernel, why it might help, and how much of the
    objective it is estimated to save, or saves where that was `measured`. `ranges` says which values its parameters
    have in all its proposals here."""

    option: str
    transformation: str
    parameters: Mapping[str, Any]
    reason: str
    saving: float = 0.0
    measured: bool = False
    ranges: str = ""


def move_id(position: int) -> str:
    """The name of the move at a position, from 0, in a prompt."""
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
            ranges = "" if count > 1 else _ranges(name, context)
            yield Move(option.id, name, proposal.parameters, proposal.reason, *_saved(proposal, context), ranges)
        if count == MOVES_PER_OPTION:
            return


def _saved(proposal: Proposal, context: Context) -> tuple[float, bool]:
    """The saving of a proposal, and True if it was measured. No estimate may promise more than the distance of the
    kernel from its bound."""
    value, bound = context.evaluation.value, context.evaluation.bound
    if proposal.result is not None and value is not None:
        return value - proposal.result, True
    most = math.inf if value is None or bound is None else abs(value - bound.value)
    return min(proposal.gain, most), False


def _ranges(name: str, context: Context) -> str:
    """The values that each parameter of a transformation has in its proposals, where it has several."""
    ranges: dict[str, list[Any]] = {}
    for proposal in context.target.transformations.proposals(name, context.kernel, context.workload):
        for path, value in _leaves(proposal.parameters):
            if value not in ranges.setdefault(path, []):
                ranges[path].append(value)
    return "; ".join(f"{path} {_span(values)}" for path, values in ranges.items() if len(values) > 1)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        yield path, value
        return
    for key, inner in value.items():
        yield from _leaves(inner, f"{path}.{key}" if path else str(key))


def _span(values: list[Any]) -> str:
    """From the least to the largest number, or the first few values."""
    if all(type(value) in (int, float) for value in values):
        return f"{min(values):g} to {max(values):g}"
    shown = " or ".join(json.dumps(value, default=str) for value in values[:MOST_VALUES])
    return f"{shown} or others" if len(values) > MOST_VALUES else shown

"""Pieces of text that kernels are lowered to."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.transforms.scheduling.lowering.spelling import CallText

Lines = list[str]
NOW, NEXT, LAST, THEN = "", "_next", "_last", "_then"  # of a step, the next one, and the blocks before and after


def minimum(*sides: str) -> str:
    """The least of several expressions."""
    least, *others = sides
    for other in others:
        least = f"({least} < {other} ? {least} : {other})"
    return least


def choice(condition: str, one: Sequence[CallText], other: Sequence[CallText]) -> Lines:
    """One call or the other: with a conditional operand, if they have a form in common, else by a branch."""
    for a in one:
        for b in other:
            joined = merged(condition, a, b)
            if joined is not None and len(joined.arguments) == len(one[0].arguments):
                return [str(joined)]
    return [f"if ({condition}) {{", str(one[0]), "} else {", str(other[0]), "}"]


def merged(condition: str, one: CallText, other: CallText) -> CallText | None:
    """Two calls of one form as one, with a conditional operand where they differ in no more than one; else None."""
    if one.name != other.name or len(one.arguments) != len(other.arguments):
        return None
    differing = [n for n, pair in enumerate(zip(one.arguments, other.arguments, strict=True)) if pair[0] != pair[1]]
    if len(differing) > 1:
        return None
    arguments = list(one.arguments)
    for at in differing:
        arguments[at] = f"(({condition}) ? {one.arguments[at]} : {other.arguments[at]})"
    return CallText(one.name, tuple(arguments))


def address(flags: int, space: m.AddressSpace, row: str) -> str:
    """An address: its fixed bits and a row."""
    low = space.field(space.row_field)[1]
    shifted = row if low == 0 else f"(({row}) << {low})"
    return f"({hex(flags)} + {shifted})" if flags else shifted

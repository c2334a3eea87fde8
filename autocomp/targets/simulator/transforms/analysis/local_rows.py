"""The rows that an address of local memory can name: the memory, and the row as a sum."""

from __future__ import annotations

from collections.abc import Iterator

from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.syntax.affine import Affine, Ranges, affine, interval_of


def leaves(argument: ast.Expression) -> Iterator[Affine]:
    """The sums that an address can be, one for each way through its conditional expressions."""
    if isinstance(argument, ast.Conditional):
        yield from leaves(argument.then)
        yield from leaves(argument.otherwise)
        return
    total = affine(argument)
    choice = next((a for a, f in total.terms if isinstance(a, ast.Conditional) and f == 1), None)
    if choice is None:
        yield total
        return
    rest = total - Affine(0, ((choice, 1),))
    for side in (choice.then, choice.otherwise):
        for leaf in leaves(side):
            yield leaf + rest


def local_row(space: m.AddressSpace, total: Affine, ranges: Ranges) -> tuple[str, Affine] | None:
    """The memory and the row that an address names, or None for an absent operand."""
    bounds = interval_of(total, ranges)
    last = total if bounds is None else Affine(bounds[1])  # the constant of a sum may lie in front of all rows
    constant = last.constant & 0xFFFFFFFF
    if total.is_constant and constant == space.none:
        return None
    high, low = next(((h, lo) for name, h, lo in space.fields if name == space.row_field), (31, 0))
    mask = ((1 << (high + 1)) - 1) & ~((1 << low) - 1)
    for memory, bits, match in space.memories:
        if constant & bits == match:
            return memory, Affine(((constant & mask) >> low) - (last.constant - total.constant), total.terms)
    return None


def local_rows(space: m.AddressSpace, argument: ast.Expression, ranges: Ranges) -> tuple[tuple[str, Affine], ...]:
    """The memories and rows that an address can name. They are one row as a sum where all of its values differ by their
    rows only, else one for each way through its conditional expressions, in their order."""
    total = affine(argument)
    bounds = interval_of(total, ranges)
    if bounds is not None and bounds[0] < bounds[1]:
        first, last = (local_row(space, Affine(end), {}) for end in bounds)
        one, apart = local_row(space, total, ranges), Affine(bounds[1] - bounds[0])
        if first and last and one and first[0] == last[0] and last[1] - first[1] == apart:
            return (one,)
    rows = (local_row(space, leaf, ranges) for leaf in leaves(argument))
    return tuple(dict.fromkeys(row for row in rows if row is not None))

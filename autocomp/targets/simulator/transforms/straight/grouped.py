"""Orders in which computations stand side by side that bring the same operand into the array, so that it is brought
once."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.targets.simulator.transforms.straight.dependences import dependences
from autocomp.targets.simulator.transforms.straight.footprint import Access
from autocomp.targets.simulator.transforms.straight.program import Program


def grouped(program: Program, given: Sequence[int], window: int) -> list[int]:
    """The steps in another order than the given one: of each `window` computations in a row, those that bring the same
    operand follow one another. A step that a computation needs goes before it; all others keep their places."""
    steps, before = program.steps, dependences(program)
    computations = [number for number in given if steps[number].kind == "contraction"]
    following = iter(
        number
        for first in range(0, len(computations), window)
        for number in _side_by_side(program, computations[first : first + window])
    )
    order: dict[int, None] = {}

    def place(number: int) -> None:
        for earlier in sorted(before[number] - order.keys()):
            if earlier not in order:
                place(earlier)
        order[number] = None

    for number in given:
        here = next(following) if steps[number].kind == "contraction" else number
        if here not in order:
            place(here)
    return list(order)


def _side_by_side(program: Program, numbers: Sequence[int]) -> list[int]:
    """Computations by the operand that they bring, which come in the order in which each is first brought."""
    turn: dict[Access | int, int] = {}
    for number in numbers:
        turn.setdefault(program.steps[number].held or number, len(turn))
    return sorted(numbers, key=lambda number: turn[program.steps[number].held or number])

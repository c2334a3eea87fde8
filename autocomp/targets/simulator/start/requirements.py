"""Limits of the instructions that idioms call: whether a pointer may be null, and where the rows of a tile may be."""

from __future__ import annotations

from collections.abc import Callable

from autocomp.targets.simulator.isa.algebra import substitute
from autocomp.targets.simulator.isa.derived.ranges import FALSE, ranges_of
from autocomp.targets.simulator.isa.model import Accelerator, Instruction
from autocomp.targets.simulator.isa.tree import AddressField, Expression, Name, Number, Require
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.start.idioms import calls_of, instructions_called


def takes_null(accelerator: Accelerator, idiom: str) -> bool:
    """True if every load that an idiom calls takes a null pointer."""
    return not any(_refuses_null(accelerator, load) for load in instructions_called(accelerator, idiom, "load"))


def rows_lie_apart(accelerator: Accelerator, idiom: str) -> bool:
    """True if a tile may begin with any row of a larger one. That is false where a contraction that the idiom calls
    takes tiles at certain local rows only, such as multiples of 16. It is also false where rows of the result lie side
    by side in one local row."""

    def odd(part: Expression) -> Expression | None:
        return Number(1) if isinstance(part, AddressField) and part.field in rows else None

    rows = {space.row_field for space in accelerator.spaces}
    if any(
        refuses(accelerator, instruction, odd) for instruction in instructions_called(accelerator, idiom, "contraction")
    ):
        return False
    words = (
        word
        for call, role in calls_of(accelerator, idiom, "contraction")
        for argument, word in zip(call.arguments, role.arguments, strict=True)
        if isinstance(argument, ast.Name) and argument.name == "rows"
    )
    return "cols" not in words


def _refuses_null(accelerator: Accelerator, load: Instruction) -> bool:
    pointers = {parameter.name for parameter in load.parameters if parameter.kind == "pointer"}

    def null(part: Expression) -> Expression | None:
        return Number(0) if isinstance(part, Name) and part.name in pointers else None

    return refuses(accelerator, load, null)


def refuses(
    accelerator: Accelerator, instruction: Instruction, value: Callable[[Expression], Expression | None]
) -> bool:
    """True if a requirement does not hold once parts of it have these values, whatever the others are."""
    ranges = ranges_of(accelerator, instruction)
    required = [statement.condition for statement in instruction.body if isinstance(statement, Require)]
    return any(ranges.of(substitute(condition, value)) == FALSE for condition in required)

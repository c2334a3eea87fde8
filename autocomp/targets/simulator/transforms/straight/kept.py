"""Computations that keep an operand in the array, as computations that bring it again: each then stands by itself."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.remember import remember
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.algebra import walk
from autocomp.targets.simulator.isa.derived.regions import writes
from autocomp.targets.simulator.isa.tree import AddressField, Element, Expression, Name
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.straight.calls import Command


def brought_again(
    accelerator: m.Accelerator, giving: Sequence[Command], keeping: Sequence[Command]
) -> tuple[Command, Command]:
    """The two commands of `keeping`, whose first one loads nothing, with the operand that those of `giving` loaded.
    Raises NotApplicable if they are not of the same two instructions."""
    if len(keeping) != 2 or [one.instruction for one in giving] != [one.instruction for one in keeping]:
        raise NotApplicable("the array keeps an operand that no computation like this one brought")
    named = (_loading(accelerator, keeping[0].instruction), _choosing(accelerator, keeping[1].instruction))
    first, last = (
        Command(old.instruction, {name: (one if name in taken else old).operands[name] for name in old.operands})
        for one, old, taken in zip(giving, keeping, named, strict=True)
    )
    return first, last


def _loading(accelerator: m.Accelerator, instruction: m.Instruction) -> frozenset[str]:
    """The operands that say what an instruction loads into the array."""

    def found() -> frozenset[str]:
        parts = [w.value for w in writes(accelerator, instruction)]
        parts += [condition for w in writes(accelerator, instruction) for condition, _ in w.path]
        return _parameters(instruction, parts)

    return remember(accelerator, f"{__name__}.loading", instruction.name, found)


def _choosing(accelerator: m.Accelerator, instruction: m.Instruction) -> frozenset[str]:
    """The operands that say which rows of the array a computation uses."""

    def found() -> frozenset[str]:
        registers = {memory.name for memory in accelerator.memories if memory.kind == "register"}
        values = (w.value for w in writes(accelerator, instruction))
        elements = [part for value in values for part in walk(value) if isinstance(part, Element)]
        rows = [index for part in elements if part.memory in registers for index in part.indices[:1]]
        return _parameters(instruction, rows)

    return remember(accelerator, f"{__name__}.choosing", instruction.name, found)


def _parameters(instruction: m.Instruction, expressions: list[Expression]) -> frozenset[str]:
    """The parameters in expressions."""
    parts = [part for expression in expressions for part in walk(expression)]
    mentioned = {
        part.parameter if isinstance(part, AddressField) else part.name
        for part in parts
        if isinstance(part, AddressField | Name)
    }
    return frozenset(p.name for p in instruction.parameters if p.name in mentioned)

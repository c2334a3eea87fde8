"""Computations that keep an operand in the array, as computations that bring it again: each then stands by itself.
And the other way round, where the array still holds what a computation brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autocomp.remember import remember
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.algebra import walk
from autocomp.targets.simulator.isa.derived.regions import writes
from autocomp.targets.simulator.isa.tree import AddressField, Element, Expression, Name
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Registers, form_of, registers_after
from autocomp.targets.simulator.transforms.scheduling.lowering.leaves import Numbers
from autocomp.targets.simulator.transforms.scheduling.lowering.variants import kept_product
from autocomp.targets.simulator.transforms.straight.calls import Command
from autocomp.targets.simulator.transforms.straight.places import TensorByte, Value

Operands = Mapping[str, Value]


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


def keeping(accelerator: m.Accelerator, pair: Sequence[Command], registers: Registers) -> tuple[Operands, ...]:
    """The operands, by command, that two commands need other values of to compute the same directly after a pair that
    brought the same operand. `registers` are those before, configured alone; empty where the machine keeps none."""
    if len(pair) != 2 or any(isinstance(value, TensorByte) for one in pair for value in one.operands.values()):
        return ()
    numbers = tuple({name: _elsewhere(accelerator, one, name) for name in one.operands} for one in pair)
    key = (
        tuple((one.instruction.name, *given.items()) for one, given in zip(pair, numbers, strict=True)),
        frozenset(registers.items()),
    )
    instructions = [one.instruction for one in pair]
    return remember(
        accelerator, f"{__name__}.keeping", key, lambda: _kept(accelerator, instructions, numbers, registers)
    )


def _kept(
    accelerator: m.Accelerator, pair: Sequence[m.Instruction], numbers: Sequence[Numbers], registers: Registers
) -> tuple[Operands, ...]:
    addresses = {p.name for p in pair[0].parameters if p.kind == "address"}
    named = sorted(addresses & _loading(accelerator, pair[0]))
    if len(named) != 1:
        return ()
    try:
        between = registers_after(accelerator, pair[0], numbers[0], registers)
        forms = [
            form_of(accelerator, instruction, given, known)
            for instruction, given, known in zip(pair, numbers, (registers, between), strict=True)
        ]
        kept = kept_product(accelerator, forms, registers, named[0])
    except NotApplicable:
        return ()
    return tuple(
        {name: value for name, value in changed.items() if given[name] != value}
        for given, changed in zip(numbers, kept, strict=bool(kept))
    )


def _elsewhere(accelerator: m.Accelerator, command: Command, name: str) -> int | float:
    """An operand as a number; of an address all but the row."""
    value = command.operands[name]
    assert not isinstance(value, TensorByte)
    space = next((p.space for p in command.instruction.parameters if p.name == name and p.kind == "address"), None)
    if space is None or value == accelerator.space(space).none:
        return value
    high, low = accelerator.space(space).field(accelerator.space(space).row_field)
    return int(value) & ~(((1 << (high + 1)) - 1) & ~((1 << low) - 1)) & 0xFFFFFFFF


def brought(accelerator: m.Accelerator, command: Command) -> Operands:
    """The operands that say what a command loads into the array."""
    return {name: command.operands[name] for name in sorted(_loading(accelerator, command.instruction))}


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

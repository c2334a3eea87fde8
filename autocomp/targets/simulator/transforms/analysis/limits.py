"""The most that one move can cover: the range of its operand, and what the instruction requires besides.

A requirement is judged for the memory that the move goes to or comes from, with configuration registers as they are
initially; what remains open is taken to hold.
"""

from __future__ import annotations

from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.algebra import names_in, substitute
from autocomp.targets.simulator.isa.tree import AddressField, Expression, Let, Name, Number, Require, StateField
from autocomp.targets.simulator.transforms.analysis.facts import Facts, Site


def widest(facts: Facts, site: Site) -> int:
    """The most columns that a move of this kind can cover; at least those that it does."""
    present = site.highest("cols") or 1
    position = site.role.position("cols")
    parameter = site.parameters[position] if position is not None else None
    instruction = facts.accelerator.instruction(site.role.instruction)
    if parameter is None or parameter.high is None or instruction is None:
        return present
    width = min((facts.accelerator.memory(o.memory).cols for o in facts.operands_of(site)), default=1)
    most = parameter.high
    while most > max(present, width) and not _may_cover(facts, site, instruction, parameter.name, most):
        most -= width
    return max(present, most)


def largest(site: Site, word: str) -> int | None:
    """The largest value that the argument with a role may have; None where the instruction has none, or no limit."""
    position = site.role.position(word)
    parameter = None if position is None else site.parameters[position]
    return None if parameter is None else parameter.high


def _may_cover(facts: Facts, site: Site, instruction: m.Instruction, name: str, cols: int) -> bool:
    known: dict[str, Expression] = {name: Number(cols)}
    for parameter in site.parameters:
        if parameter is not None and parameter.kind == "pointer" and site.pointer is not None:
            known[parameter.name] = Number(1)

    def value(part: Expression) -> Expression | None:
        if isinstance(part, Name):
            return known.get(part.name)
        if isinstance(part, StateField):
            return _initial(facts.accelerator, part)
        return _own_address_field(facts, site, part) if isinstance(part, AddressField) else None

    for statement in instruction.body:
        if isinstance(statement, Let):
            known[statement.name] = substitute(statement.value, value)
        elif isinstance(statement, Require) and name in names_in(statement.condition):
            judged = substitute(statement.condition, value)
            if isinstance(judged, Number) and not judged.value:
                return False
    return True


def _initial(accelerator: m.Accelerator, part: StateField) -> Expression | None:
    record = next((record for record in accelerator.states if record.name == part.state), None)
    fields = record.fields if record is not None else ()
    return next((Number(initial) for name, _, initial in fields if name == part.field), None)


def _own_address_field(facts: Facts, site: Site, part: AddressField) -> Expression | None:
    operand = next((o for o in facts.operands_of(site) if site.parameters[o.position] is not None), None)
    return None if operand is None else address_field(facts, site, part, operand.memory)


def address_field(facts: Facts, site: Site, part: AddressField, memory: str) -> Expression | None:
    """The value of a field of a call's address, where the memory that is addressed decides it."""
    parameter = next((p for p in site.parameters if p is not None and p.name == part.parameter), None)
    if parameter is None or parameter.space is None:
        return None
    if part.field == "none":
        return Number(0)
    space = facts.accelerator.space(parameter.space)
    high, low = space.field(part.field)
    mask = ((1 << (high + 1)) - 1) & ~((1 << low) - 1)
    fields = ((bits, match) for name, bits, match in space.memories if name == memory)
    return next((Number((match & mask) >> low) for bits, match in fields if mask & ~bits == 0), None)

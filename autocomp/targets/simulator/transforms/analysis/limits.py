"""Limits of what calls may hold: the largest value of an argument, and the fields of addresses."""

from __future__ import annotations

from autocomp.targets.simulator.isa.tree import AddressField, Expression, Number
from autocomp.targets.simulator.transforms.analysis.facts import Facts, Site


def largest(site: Site, word: str) -> int | None:
    """The largest value that the argument with a role may have; None where the instruction has none, or no limit."""
    position = site.role.position(word)
    parameter = None if position is None else site.parameters[position]
    return None if parameter is None else parameter.high


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

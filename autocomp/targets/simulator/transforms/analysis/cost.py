"""Rough times of moves and computation, to rank parameters by before anything is simulated.

The figures come from the settings of the DRAM (`bus` bytes a cycle, `latency`) and of the moving units (the smallest
and the largest request, `requests` and commands `in_flight`, `recovery`). Where the machine does not state them they
are the simulator's defaults. They need to be right in proportion only.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from autocomp.targets.simulator.isa.main_memory import seen_by
from autocomp.targets.simulator.isa.timing import Settings
from autocomp.targets.simulator.transforms.analysis.facts import Facts, Site
from autocomp.targets.simulator.transforms.analysis.limits import widest
from autocomp.targets.simulator.transforms.analysis.requests import (
    Cutting,
    transfer_cycles,
)
from autocomp.targets.simulator.transforms.analysis.tensors import tensors
from autocomp.targets.simulator.transforms.syntax.loops import Loop

CROWDING = 0.1  # of the time of moves that are hidden behind computation, the part that shows nevertheless


def move_cycles(facts: Facts, site: Site, columns: int | None = None) -> float:
    """Cycles between two moves like this in a stream of them; `columns` replaces the move's own width."""
    rows = site.highest("rows") or 1
    width = columns or site.highest("cols") or 1
    unit = unit_settings(facts, site.role.instruction)
    memory = seen_by(facts.accelerator, facts.accelerator.instruction(site.role.instruction))
    local = max((facts.accelerator.memory(operand.memory).cols for operand in facts.operands_of(site)), default=width)
    array = None if site.pointer is None else tensors(facts).get(site.pointer.tensor)
    size, row = (1, 0) if array is None else (array.size, array.row_bytes)
    traffic = Cutting.of(unit, memory).on_average(width * size, row).scaled(rows)
    return transfer_cycles(unit, memory, rows, -(-width // local), traffic)


def unit_settings(facts: Facts, name: str) -> Settings:
    """The settings that the description states for the unit that executes an instruction."""
    instruction = facts.accelerator.instruction(name)
    units = (unit for unit in facts.accelerator.units if instruction is not None and unit.name == instruction.unit)
    return next((unit.settings for unit in units), {})


def compute_cycles(facts: Facts) -> float:
    """Cycles of one contraction of a full tile in a stream of them: one row of an operand a cycle."""
    return float(max(1, facts.tile[2]))


def present_cost(facts: Facts) -> float:
    """Estimated cycles of the kernel as it is: loads and computation side by side at best, stores by themselves."""
    return overlapped(facts, moves_cycles(facts, "load"))


def overlapped(facts: Facts, loads: float) -> float:
    """Estimated cycles of the kernel if its loads took that long."""
    return max(contraction_cycles(facts), loads) + CROWDING * loads + moves_cycles(facts, "store")


def moves_cycles(facts: Facts, kind: str) -> float:
    """Estimated cycles of all loads or stores inside loops, one after the other."""
    return sum(site_cycles(facts, site, site.loops) for site in facts.sites if site.kind == kind and site.loops)


def contraction_cycles(facts: Facts) -> float:
    """Estimated cycles of all contractions in a stream."""
    return sum(prod(item.trips for item in site.loops) for site in facts.contractions) * compute_cycles(facts)


def site_cycles(facts: Facts, site: Site, loops: Sequence[Loop], *, wide: bool = False) -> float:
    """Cycles of a move in all iterations of loops, each as it is or as part of the widest possible move."""
    one = move_cycles(facts, site)
    if wide:
        most = widest(facts, site)
        one = move_cycles(facts, site, most) * (site.highest("cols") or 1) / most
    return one * prod(item.trips for item in loops)

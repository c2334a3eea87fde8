"""The work of a unit that multiplies, besides products: sums are started, and limited to the type of results.

On many machines another unit does that, or a product starts its sums for nothing. Where every command that could do it
runs on the unit of the products, and keeps that busy, no kernel can do without: a bound may count it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from autocomp.remember import remembered_with
from autocomp.targets.simulator.isa.algebra import walk
from autocomp.targets.simulator.isa.derived.contractions import busy_points, contractions, products_of
from autocomp.targets.simulator.isa.derived.paths import Path
from autocomp.targets.simulator.isa.derived.ranges import FALSE, Ranges, ranges_of
from autocomp.targets.simulator.isa.derived.regions import Write, writes
from autocomp.targets.simulator.isa.model import Accelerator, Instruction, semantics
from autocomp.targets.simulator.isa.tree import Call, Conditional, Element, Expression, Number
from autocomp.targets.simulator.isa.walk import adds_product

_LIMITS = {"min": 1, "max": 1, "relu": 1, "saturate": 2, "clamp": 2}  # ends of a range that a function limits


@dataclass(frozen=True)
class Passes:
    """Cycles of the unit of the products, for each element: to start a sum, and to limit it at one end."""

    start: float = 0.0
    limit: float = 0.0


@remembered_with(semantics)
def passes(accelerator: Accelerator) -> Passes:
    """The passes that every kernel needs at least; 0 where another unit may do them, or their time is not known."""
    units = {contraction.unit for contraction in contractions(accelerator)}
    settings = {unit.name: unit.settings for unit in accelerator.units}
    unit = units.pop() if len(units) == 1 else None
    rate = max((contraction.rate or 0 for contraction in contractions(accelerator)), default=0)
    if unit not in settings or settings[unit].get("kind") != "serial" or not rate:
        return Passes()
    multiplying = {contraction.instruction for contraction in contractions(accelerator)}
    sums = {w.target.memory for i in accelerator.instructions if i.name in multiplying for w in writes(accelerator, i)}
    sums |= {memory.shown for memory in accelerator.memories if memory.name in sums and memory.shown}
    sums |= {memory.name for memory in accelerator.memories if memory.shown in sums}
    starts, limits = [math.inf], [math.inf]
    for instruction in accelerator.instructions:
        own = instruction.unit == unit
        for way in _ways(accelerator, instruction):
            if way.target.memory in sums and not adds_product(way.target, way.value):
                starts.append(_cycles(accelerator, instruction, way, rate) if own else 0.0)
            if way.limits:
                limits.append(_cycles(accelerator, instruction, way, rate) / way.limits if own else 0.0)
    extremes = Passes(min(starts), min(limits))
    return Passes(*(0.0 if math.isinf(cycles) else cycles for cycles in (extremes.start, extremes.limit)))


@dataclass(frozen=True)
class _Way:
    """One of the values that an instruction assigns to elements, and the conditions on the way to it."""

    write: Write
    path: Path
    value: Expression

    @property
    def target(self) -> Element:
        return self.write.target

    @property
    def limits(self) -> int:
        """Ends of the range of values that it limits."""
        calls = [part for part in walk(self.value) if isinstance(part, Call)]
        return sum(_LIMITS.get(call.function, 0) for call in calls)


def _ways(accelerator: Accelerator, instruction: Instruction) -> Iterator[_Way]:
    for write in writes(accelerator, instruction):
        yield from _alternatives(write, write.path, write.value)


def _alternatives(write: Write, path: Path, value: Expression) -> Iterator[_Way]:
    if isinstance(value, Conditional):
        yield from _alternatives(write, (*path, (value.condition, True)), value.then)
        yield from _alternatives(write, (*path, (value.condition, False)), value.otherwise)
    else:
        yield _Way(write, path, value)


def _cycles(accelerator: Accelerator, instruction: Instruction, way: _Way, rate: int) -> float:
    """The fewest cycles for an element, less those in which its unit multiplies."""
    ranges = ranges_of(accelerator, instruction)
    busy = instruction.timing.get("busy", Number(1))
    written = [replace(way.write, value=way.value)]
    multiplies = products_of(written, ranges) > 0
    best = math.inf
    for point in busy_points(instruction, busy).all:
        here = replace(ranges, names={**ranges.names, **point})
        if any(not _possible(here, condition, wanted) for condition, wanted in way.path):
            continue
        elements = math.prod(max(0.0, here.of(bound).high) for bound in way.write.loops.values())
        if elements:
            products = products_of(written, here) if multiplies else 0.0
            best = min(best, max(0.0, max(1.0, here.of(busy).low) - products / rate) / elements)
    return 0.0 if math.isinf(best) else best


def _possible(ranges: Ranges, condition: Expression, wanted: bool) -> bool:
    interval = ranges.of(condition)
    return interval != FALSE if wanted else not interval.holds

"""The least time of a sum of products: a command adds at most as many products to each sum as it is deep.

A sum that is a little longer than a command is deep needs another one, however few products are left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autocomp.remember import remembered_with
from autocomp.targets.simulator.isa.derived.contractions import (
    busy_points,
    contractions,
    multiplying,
    over_paths,
    products_of,
)
from autocomp.targets.simulator.isa.derived.ranges import ranges_of
from autocomp.targets.simulator.isa.derived.regions import writes
from autocomp.targets.simulator.isa.model import Accelerator, Instruction, semantics
from autocomp.targets.simulator.isa.tree import Number

_CONDITIONS = 10
_LONGEST = 1 << 16  # sums that are looked at


@dataclass(frozen=True)
class Step:
    """A command's share in one sum: the most products that it adds, and the least cycles for each sum it adds to."""

    depth: int
    cycles: float


@remembered_with(semantics)
def steps_of_sums(accelerator: Accelerator) -> tuple[Step, ...]:
    """The steps that sums are made in, the deepest first; of those that are as deep and deeper, none takes as little
    time. Empty unless one serial unit makes all products and its times are known for all sizes."""
    multiplies = multiplying(accelerator)
    units = {instruction.unit for instruction in multiplies}
    settings = {unit.name: unit.settings for unit in accelerator.units}
    unit = units.pop() if len(units) == 1 else None
    if unit not in settings or settings[unit].get("kind") != "serial":
        return ()
    if any(contraction.stated or not contraction.rate for contraction in contractions(accelerator)):
        return ()
    found: list[Step] = []
    for instruction in multiplies:
        own = list(_steps(accelerator, instruction))
        if not own:
            return ()
        found += own
    kept: list[Step] = []
    for step in sorted(found, key=lambda step: (-step.depth, step.cycles)):
        if not kept or step.cycles < kept[-1].cycles:
            kept.append(step)
    return tuple(kept)


def _steps(accelerator: Accelerator, instruction: Instruction) -> Iterator[Step]:
    """The steps of one instruction by its sizes; none where these are too many, or not known."""
    ranges = ranges_of(accelerator, instruction)
    busy = instruction.timing.get("busy", Number(1))
    points = busy_points(instruction, busy)
    steps: list[Step] = []
    for point in points.all if points.complete else ():
        here = replace(ranges, names={**ranges.names, **point})
        sums, depth = [], 0.0
        for write in writes(accelerator, instruction):
            products = products_of([write], here)
            elements = math.prod(max(0.0, here.of(bound).high) for bound in write.loops.values())
            if products and elements:
                sums.append((write.path, elements))
                depth = max(depth, products / elements)
        together, cycles = over_paths(sums, here, _CONDITIONS), max(1.0, here.of(busy).low)
        if not math.isfinite(together * depth):
            return
        if together:
            steps.append(Step(math.ceil(depth), cycles / together))
    yield from steps


def least_cycles(steps: Sequence[Step], length: int) -> float:
    """The least cycles of one sum of `length` products; 0 where steps are not known, or it is too long."""
    if not steps or length > _LONGEST:
        return 0.0
    depths = np.array([step.depth for step in steps])
    cycles = np.array([step.cycles for step in steps])
    if len(steps) == 1:
        return float(-(-length // steps[0].depth) * steps[0].cycles)
    least = np.zeros(length + 1)
    for products in range(1, length + 1):
        least[products] = (cycles + least[np.maximum(products - depths, 0)]).min()
    return float(least[length])

"""The shortest way of data through a machine: a move in, a product, a move out, each in a unit of its own.

A command that needs what a command of another unit makes is issued after that has completed, whatever orders the two:
hazards, semaphores and fences all wait for completions. Each stage has the least time of any command of its unit, in
the steps of the timing model (`simulator/core/units/`): a single request, no bank conflict, no translation miss.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from autocomp.remember import remembered
from autocomp.targets.simulator.isa.derived.contractions import contractions, multipliers, multiplying
from autocomp.targets.simulator.isa.derived.ranges import ranges_of
from autocomp.targets.simulator.isa.derived.regions import derive, writes
from autocomp.targets.simulator.isa.derived.roles import instruction_role, instruction_roles
from autocomp.targets.simulator.isa.main_memory import shortest_latency
from autocomp.targets.simulator.isa.model import Accelerator, Unit
from autocomp.targets.simulator.isa.timing import ARRAYS, MOVES, SECTION_KEYS, memory_number, unit_number
from autocomp.targets.simulator.isa.tree import Number

# Cycles of a command in the buffers of units that stream, besides the memory's latency: through the queues of commands
# and rows, the reader, translation, the link and its buffers, the merger and the write of a row; …
_STREAMED_IN = 12
# … through those queues, the stages around the scaler, the writer, translation, the link and its buffers.
_STREAMED_OUT = 13
_MOVED_OUT = 3  # after the read: collected, sent, and the last acknowledgement seen
_CONTROLLED = 4  # two queues, the controller, a control word: from a command of an array to its first row


Place = str | tuple[str, str]  # a memory, or a field of a state


@dataclass(frozen=True)
class Chain:
    """Least cycles, 0 where the description does not tell.

    `loaded`: from the start of a kernel until a command is issued that needs loaded data. `entered`: from there to the
    first step of a command that multiplies, through the units that have to pass the data on. `steps`: of such a
    command. `result`: from its last step until a command is issued that can store its results, likewise. `stored`: from
    the issue of a move out until the machine is idle.
    """

    loaded: int = 0
    entered: int = 0
    steps: int = 0
    result: int = 0
    stored: int = 0

    @property
    def ends(self) -> int:
        """Cycles before the first loaded data can be used and after the last result is there."""
        return self.loaded + self.stored

    @property
    def product(self) -> int:
        """Cycles of a command that multiplies, if no other does."""
        return self.entered + self.steps + self.result


@remembered
def chain(accelerator: Accelerator) -> Chain:
    """The shortest chain of a machine. The ends are 0 unless only units that move data touch main memory."""
    memories = {memory.name for memory in accelerator.drams}
    units = {unit.name: unit for unit in accelerator.units}
    roles = instruction_roles(accelerator)
    reading = {i.unit for i in accelerator.instructions if roles[i.name].reads & memories}
    writing = {i.unit for i in accelerator.instructions if roles[i.name].writes & memories}
    products = _products(accelerator, units)
    ins, outs = ([units[name] for name in names if name and name in units] for names in (reading, writing))
    moving = all(unit.settings.get("kind") in MOVES and not unit.settings.get("instant") for unit in (*ins, *outs))
    if not ins or not outs or not moving or len(ins) < len(reading) or len(outs) < len(writing):
        return products
    front = int(accelerator.settings.get("front.latency", SECTION_KEYS["front"]["latency"].default))
    issued = max(1, front) + 1  # of the first command, which the host offers in cycle 0
    loaded = issued + min(_completed(accelerator, unit) for unit in ins) + 1
    return replace(
        products,
        loaded=loaded,
        entered=products.entered + _passed(accelerator, memories, _factors(accelerator)),
        result=products.result + _passed(accelerator, _sums(accelerator), _stored(accelerator, memories)),
        stored=min(_sent(accelerator, unit) for unit in outs),
    )


def _completed(accelerator: Accelerator, unit: Unit) -> int:
    """From the issue of a move in to its completion."""
    latency = shortest_latency(accelerator) + unit_number(unit.settings, "completion")
    if unit.settings.get("kind") == "stream_in":
        return latency + _STREAMED_IN
    way = unit_number(unit.settings, "start") + unit_number(unit.settings, "request_latency")
    return latency + way + _least(accelerator, unit, "latency", 0)


def _sent(accelerator: Accelerator, unit: Unit) -> int:
    """From the issue of a move out to its last acknowledgement, with the cycle that sees it."""
    latency = shortest_latency(accelerator)
    if unit.settings.get("kind") == "stream_out":
        return latency + _STREAMED_OUT
    return latency + unit_number(unit.settings, "start") + max(1, _least(accelerator, unit, "latency", 0)) + _MOVED_OUT


def _products(accelerator: Accelerator, units: Mapping[str, Unit]) -> Chain:
    """The part of the units that multiply, each least of all of them; all 0 where the time of one is not known."""
    known = [units[name] for name in multipliers(accelerator) if name and name in units]
    kinds = {str(unit.settings.get("kind", "serial")) for unit in known}
    if len(known) < len(multipliers(accelerator)) or any(unit.settings.get("instant") for unit in known):
        return Chain()
    if not kinds or not kinds <= {*ARRAYS, "serial"}:
        return Chain()
    parts = [_array(accelerator, u) if u.settings.get("kind") in ARRAYS else _serial(accelerator, u) for u in known]
    return Chain(
        entered=min(part.entered for part in parts),
        steps=min(part.steps for part in parts),
        result=min(part.result for part in parts),
    )


def _array(accelerator: Accelerator, unit: Unit) -> Chain:
    systolic = unit.settings.get("kind") == "systolic"
    entered = _read(accelerator) if systolic else unit_number(unit.settings, "start")
    return Chain(0, entered, unit_number(unit.settings, "min_rows"), unit_number(unit.settings, "latency"))


def _serial(accelerator: Accelerator, unit: Unit) -> Chain:
    """A command completes as long after its last cycle as it says, and one that waits for it is issued after that."""
    latency = _least(accelerator, unit, "latency", 0)
    return Chain(0, unit_number(unit.settings, "start"), max(1, _least(accelerator, unit, "busy", 1)), latency + 1)


def _read(accelerator: Accelerator) -> int:
    """From the issue of a command to a systolic array to its first row, which has an operand in local memory."""
    multiplying = [accelerator.instruction(c.instruction) for c in contractions(accelerator)]
    local = {memory.name: memory for memory in accelerator.memories if memory.kind == "local"}
    regions = [r for i in multiplying if i for r in derive(accelerator, i) if not r.write and not r.accumulate_read]
    delays = [memory_number(local[r.memory].settings, "read_latency") for r in regions if r.memory in local]
    return max(_CONTROLLED, _CONTROLLED - 1 + min(delays, default=0))


def _factors(accelerator: Accelerator) -> frozenset[str]:
    """Memories that products read, but for sums that they add to."""
    regions = (region for instruction in multiplying(accelerator) for region in derive(accelerator, instruction))
    return frozenset(region.memory for region in regions if not region.write and not region.accumulate_read)


def _sums(accelerator: Accelerator) -> frozenset[str]:
    """Memories that products write."""
    return frozenset().union(*(instruction_role(accelerator, each).writes for each in multiplying(accelerator)))


def _stored(accelerator: Accelerator, memories: set[str]) -> frozenset[str]:
    """Memories that moves to main memories read."""
    roles = instruction_roles(accelerator).values()
    return frozenset().union(*(role.reads for role in roles if role.writes & memories))


@dataclass(frozen=True)
class _Pass:
    """An instruction that passes data on: from where, to where, in which unit, and in how many cycles at least."""

    reads: frozenset[Place]
    writes: frozenset[Place]
    unit: str | None
    cycles: int


def _passes(accelerator: Accelerator) -> Iterator[_Pass]:
    """Units that work in order and touch no main memory count. Those that multiply count as part of a product."""
    units = {unit.name: unit for unit in accelerator.units if unit.name not in multipliers(accelerator)}
    mains = {memory.name for memory in accelerator.drams}
    for instruction in accelerator.instructions:
        role = instruction_role(accelerator, instruction)
        unit = units.get(instruction.unit or "")
        counts = unit is not None and unit.settings.get("kind", "serial") == "serial"
        cycles = 0
        if unit is not None and counts and not unit.settings.get("instant") and not (role.reads | role.writes) & mains:
            cycles = _serial(accelerator, unit).product
        yield _Pass(role.reads | role.states_read, role.writes | role.states_written, instruction.unit, cycles)


def _passed(accelerator: Accelerator, begin: Collection[str], end: Collection[str]) -> int:
    """The least cycles that units need to pass data on from one of some memories to one of others. Commands of a unit
    that follow one another count once: a unit does not wait for itself."""
    passes, before = tuple(_passes(accelerator)), dict[tuple[Place, str | None], int]()
    least: dict[tuple[Place, str | None], int] = {(place, None): 0 for place in begin}
    while least != before:
        before = dict(least)
        for (place, last), cycles in before.items():
            for each in (each for each in passes if place in each.reads):
                there = cycles + (each.cycles if each.unit != last else 0)
                for to in each.writes:
                    least[to, each.unit] = min(there, least.get((to, each.unit), there))
    return min((cycles for (place, _), cycles in least.items() if place in end), default=0)


def _least(accelerator: Accelerator, unit: Unit, key: str, default: int) -> int:
    """The least that an instruction of a unit that writes something states for a property."""
    values = [
        ranges_of(accelerator, instruction).of(instruction.timing.get(key, Number(default))).low
        for instruction in accelerator.instructions
        if instruction.unit == unit.name and writes(accelerator, instruction)
    ]
    return math.floor(max(0, min(values, default=default)))

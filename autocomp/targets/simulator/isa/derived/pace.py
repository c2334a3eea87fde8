"""Bytes that the loads of a machine can have under way: where they are few, the bus waits for memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from autocomp.targets.simulator.isa.derived.ranges import ranges_of
from autocomp.targets.simulator.isa.derived.regions import Region, derive
from autocomp.targets.simulator.isa.main_memory import channel_width, channels, shortest_latency
from autocomp.targets.simulator.isa.model import Accelerator, Instruction, Unit
from autocomp.targets.simulator.isa.timing import unit_number

UNDER_WAY = ("in_flight", "requests")  # settings of a unit that limit the bytes under way


@dataclass(frozen=True)
class Limit:
    """A setting of a unit that limits its loads, and the bytes that these can have under way."""

    unit: Unit
    setting: str
    bytes: float

    @property
    def is_default(self) -> bool:
        """True if the description leaves the setting out."""
        return self.setting not in self.unit.settings


def slow_loads(accelerator: Accelerator) -> tuple[Limit, ...]:
    """The setting that limits each unit that loads, where all together have fewer bytes under way than the bus carries
    until memory answers. Empty where they have enough, or where that is not known."""
    limits = tuple(_limits(accelerator))
    wanted = shortest_latency(accelerator) * sum(channel_width(m) * channels(m) for m in accelerator.drams)
    return limits if sum(limit.bytes for limit in limits) < wanted else ()


def _limits(accelerator: Accelerator) -> Iterator[Limit]:
    for unit in accelerator.units:
        loads = [i for i in accelerator.instructions if i.unit == unit.name]
        if unit.settings.get("kind") != "transfer_in" or not loads:
            continue
        sizes = [size for instruction in loads for size in _largest(accelerator, instruction)]
        command, row = (max((size[n] for size in sizes), default=0.0) for n in (0, 1))
        each = {"in_flight": command, "requests": min(row, unit_number(unit.settings, "request_max"))}
        under_way = {setting: unit_number(unit.settings, setting) * each[setting] for setting in UNDER_WAY}
        setting = min(UNDER_WAY, key=under_way.__getitem__)
        yield Limit(unit, setting, under_way[setting])


def _largest(accelerator: Accelerator, instruction: Instruction) -> Iterator[tuple[float, float]]:
    """For each place in DRAM that an instruction reads: its bytes at most, and those that follow one another."""
    ranges = ranges_of(accelerator, instruction)

    def largest(region: Region) -> tuple[float, float]:
        assert region.bytes is not None
        row = ranges.of(region.bytes).high
        return row * prod(max(0.0, ranges.of(dim.count).high) for dim in region.dims), row

    for region in derive(accelerator, instruction):
        if region.bytes is not None and not region.write:
            yield largest(region)

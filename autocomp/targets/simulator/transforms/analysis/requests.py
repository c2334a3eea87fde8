"""The requests for rows of main memory: aligned, of a power of two bytes, as the moving units cut them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import gcd

from autocomp.targets.simulator.isa.model import Accelerator, Instruction
from autocomp.targets.simulator.isa.timing import Settings, memory_number, unit_number

STREAM_RECOVERY = 7  # cycles of a request in the stages of units that stream, beside the memory's latency


@dataclass(frozen=True)
class Traffic:
    """The demand of row moves on the machine: requests, and cycles in which their data pass the bus."""

    requests: float = 0.0
    beats: float = 0.0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(self.requests + other.requests, self.beats + other.beats)

    def scaled(self, factor: float) -> Traffic:
        return Traffic(self.requests * factor, self.beats * factor)


@dataclass(frozen=True)
class Cutting:
    """A unit's way to cut rows into requests: bytes of the smallest, of the largest, and of a cycle on the bus. With
    `drops`, a response whose last beats hold nothing that was asked for costs a cycle more."""

    smallest: int
    largest: int
    bus: int
    drops: bool

    @classmethod
    def of(cls, unit: Settings, dram: Settings) -> Cutting:
        smallest, largest = unit_number(unit, "request_min"), unit_number(unit, "request_max")
        return cls(smallest, largest, memory_number(dram, "bus"), unit.get("kind") in ("transfer_in", "stream_in"))

    def rows(self, spans: Iterable[tuple[int, int]]) -> Traffic:
        """Of rows, each from its first byte to the byte after its last; tensors start at multiples of the largest
        request."""
        return sum((_row(self, first % self.largest, end - first) for first, end in spans), Traffic())

    def on_average(self, length: int, row: int) -> Traffic:
        """Of one stretch of `length` bytes in the rows of a tensor, which have `row` bytes each (0: a stretch that
        starts aligned)."""
        return _average(self, length, row)


@lru_cache(maxsize=1 << 12)
def _average(cutting: Cutting, length: int, row: int) -> Traffic:
    alike = cutting.largest // gcd(row, cutting.largest)  # rows after which they start as before
    places = range(0, max(1, row - length + 1), length)[: cutting.largest // gcd(length, cutting.largest)]
    starts = [number * row + place for number in range(alike) for place in places]
    return cutting.rows((first, first + length) for first in starts).scaled(1 / len(starts))


@lru_cache(maxsize=1 << 12)
def _row(cutting: Cutting, address: int, length: int) -> Traffic:
    """Of one row: in turn the request that covers most of what is left of it, the smaller one of several."""
    traffic = Traffic()
    end = address + length
    while address < end:
        best = size = 0
        given = cutting.smallest
        while given <= cutting.largest:
            useful = min(end - address, given - address % given)
            if useful > best:
                best, size = useful, given
            given *= 2
        beats = -(-size // cutting.bus)
        wasted = cutting.drops and address % size + best <= (beats - 1) * cutting.bus
        traffic += Traffic(1, beats + wasted)
        address += best
    return traffic


def transfer_cycles(unit: Settings, dram: Settings, rows: int, blocks: int, traffic: Traffic, units: int = 1) -> float:
    """Cycles between two moves in a stream of them, of `rows` rows, each of `blocks` local rows side by side: of one
    unit, or of several equal `units` that share the bus.

    The largest of: data, requests in flight (each held for the latency), and commands in flight. A store collects a row
    and then sends it; the first local row of the next one is read beside its last beat.
    """
    streams = str(unit.get("kind")).startswith("stream")
    latency, recovery = memory_number(dram, "latency"), STREAM_RECOVERY if streams else unit_number(unit, "recovery")
    requests = (traffic.requests * (latency + recovery) + traffic.beats) / unit_number(unit, "requests")
    if unit.get("kind") in ("transfer_out", "stream_out"):
        return max(traffic.beats, (rows * (blocks - 1) + traffic.beats) / units, requests / units)
    written = max(float(rows * blocks), traffic.beats)
    waits = (2.0 * recovery + latency + written) / unit_number(unit, "in_flight")
    return max(traffic.beats, written / units, requests / units, waits / units)


def reading_cycles(unit: Settings) -> float:
    """Cycles in which a store reads a local row of a window: those in flight share the latency of the scaler."""
    return max(1.0, unit_number(unit, "scale_latency") / max(1, unit_number(unit, "scale_window")))


def unit_settings(accelerator: Accelerator, instruction: Instruction) -> Settings:
    """The settings that the description states for the unit that executes an instruction."""
    return next((unit.settings for unit in accelerator.units if unit.name == instruction.unit), {})

"""The expected time of a pipelined loop: from the stages of its rounds to the time of a launch.

Three things limit a loop with copies into shared memory: the products of all blocks on a multiprocessor, the latency of
a copy divided by the copies in flight, and the bytes copied. The slowest of them counts. The form is that of KPerfIR's
model of software pipelining (Guan et al., OSDI 2025), with several blocks at a time and the bandwidth added. A launch
takes its waves of blocks; the last wave is shorter by the blocks that it lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

from autocomp.targets.triton.residency import blocks_at_a_time

SEEN = 0.5  # of the cost of a record shows in a round; the rest passes while the warp would wait (measured on an H200)
BESIDE_PRODUCTS = 0.25  # of it, where warps mostly wait for tensor cores; this and the next two: fitted on an H200
BESIDE_COPIES = 0.6  # of it, where they mostly wait for copies
BLOCK_CYCLES = 430.0  # that a block takes to make room for its records and to write them at its end
MOST_STAGES = 5


@dataclass(frozen=True)
class Chip:
    """Of one multiprocessor and cycle: operations on tensor cores with 16-bit operands, bytes copied into shared
    memory."""

    operations: int
    copied: int


CHIPS = {  # by compute capability; operations from the vendor's description of the architecture
    (9, 0): Chip(4096, 72),  # 72: fitted on products on an H200
}


@dataclass(frozen=True)
class Round:
    """One round of a recorded loop: its `cycles` without marks, how many `blocks` share the multiprocessor, the cycles
    of their `products`, and those of their `copies` at full bandwidth. `stages` is how many rounds are in flight, this
    one among them."""

    cycles: float
    stages: int
    blocks: int
    products: float
    copies: float

    @property
    def latency(self) -> float:
        """Cycles from the start of a copy to its product: known where the loop waits for copies, else at most."""
        return self.cycles * max(1, self.stages - 1)

    @property
    def waits(self) -> bool:
        """True if copies that arrive late limit the loop, and not products or bandwidth."""
        return self.cycles > 1.1 * max(self.products, self.copies)

    def at(self, stages: int, blocks: int | None = None) -> float:
        """Cycles of a round with `stages` stages, where `blocks` blocks share the multiprocessor."""
        share = (self.blocks if blocks is None else blocks) / self.blocks
        return max(self.products * share, self.copies * share, self.latency / max(1, stages - 1))

    @property
    def critical(self) -> str:
        """The factor that limits the loop: latency, products or copies."""
        limits = {"products": self.products, "copies": self.copies}
        return "latency" if self.waits else max(limits, key=lambda name: limits[name])


@dataclass(frozen=True)
class Forecast:
    """The time of a launch by the model beside what was measured, and the rounds of its loop."""

    us: float
    measured_us: float
    round: Round
    rounds: float  # of one block
    waves: float
    clock_ghz: float

    @property
    def error(self) -> float:
        return self.us / self.measured_us - 1

    def with_stages(self, stages: int, blocks: int) -> float:
        """Microseconds with another number of stages, with which `blocks` blocks fit a multiprocessor, at the same
        clock."""
        saved = self.round.cycles - self.round.at(stages, blocks) * self.round.blocks / blocks
        return self.us - self.waves * self.rounds * saved / self.clock_ghz / 1e3


def forecast(answer: Mapping[str, Any], position: int, capability: Sequence[int]) -> Forecast | str:
    """The model's view of one launch of a recorder's answer, or why it does not apply."""
    launch, marked = answer["launches"][position], answer["marked"][position]
    chip = CHIPS.get((int(capability[0]), int(capability[1]))) if len(capability) == 2 else None
    if chip is None:
        return f"the model has no figures for compute capability {'.'.join(str(part) for part in capability)}"
    loops = {number: work for number, work in launch.get("loops", {}).items() if work["operations"] and work["bytes"]}
    rounds = {number: told for number, told in marked.get("rounds", {}).items() if number in loops and told[1]}
    if not rounds:
        return "no loop was recorded that copies into shared memory and multiplies"
    if len({mark["loop"] for mark in marked["marks"]}) > 1:
        return "the launch has several loops; how often each runs is not known"
    if marked.get("at_a_time") != launch.get("at_a_time"):
        return "the marks changed how many blocks share a multiprocessor"
    number = next(iter(rounds))
    return _forecast(answer, launch, marked, chip, number)


def _forecast(
    answer: Mapping[str, Any], launch: Mapping[str, Any], marked: Mapping[str, Any], chip: Chip, loop: str
) -> Forecast:
    work, blocks, marks = launch["loops"][loop], int(launch["at_a_time"]), len(marked["marks"])
    products = blocks * work["operations"] * work["bits"] / 16 / chip.operations
    told = float(marked["rounds"][loop][0])
    cycles = max(told - SEEN * float(answer["record_cycles"]) * marks, min(told, products))
    round_ = Round(cycles, int(launch["stages"]), blocks, products, blocks * work["bytes"] / chip.copied)
    visits = marked["made"] / max(1, marks) / (marked["blocks"] * int(launch["warps"]))
    clock = marked["clock_ghz"] or float(answer["clock_mhz"]) / 1e3
    block_ns = float(marked["block_ns"]) - visits * (told - cycles) / clock
    waves = _waves(prod(launch["grid"]), blocks, int(answer["multiprocessors"]))
    us = float(answer["empty_us"]) + waves * block_ns / 1e3
    return Forecast(us, float(launch["us"]), round_, visits, waves, clock)


def _waves(tiles: int, blocks: int, multiprocessors: int) -> float:
    """The number of waves of blocks. Blocks of the last wave share multiprocessors with fewer others."""
    full, rest = divmod(tiles, multiprocessors * blocks)
    return full + ceil(rest / multiprocessors) / blocks


def time_with_marks(answer: Mapping[str, Any], position: int) -> float:
    """The expected microseconds of a launch with its marks: those without, what each block needs to keep records, and
    the part of the records' cost that shows."""
    launch, marked = answer["launches"][position], answer["marked"][position]
    records = float(marked["made"]) / (marked["blocks"] * int(launch["warps"]))
    clock = float(marked["clock_ghz"]) or float(answer["clock_mhz"]) / 1e3
    waves = _waves(prod(launch["grid"]), int(launch["at_a_time"]), int(answer["multiprocessors"]))
    cycles = BLOCK_CYCLES + records * _shown(launch, marked) * float(answer["record_cycles"])
    shown: float = waves * cycles / clock / 1e3
    return float(marked["plain_us"]) + shown


def _shown(launch: Mapping[str, Any], marked: Mapping[str, Any]) -> float:
    """The share of the cost of records that shows: all of it where warps compute, less where they would wait."""
    loops = launch.get("loops", {}).values()
    if not any(work["operations"] for work in loops) or any(work["functions"] for work in loops):
        return 1.0
    spent = {"Product": 0.0, "Wait": 0.0}
    for stay in marked["stays"]:
        if stay["mark"]["kind"] in spent:
            spent[stay["mark"]["kind"]] += float(stay["cycles"])
    return BESIDE_PRODUCTS if spent["Product"] > spent["Wait"] else BESIDE_COPIES


def best_stages(forecasts: Forecast, launch: Mapping[str, Any], shared_bytes: int) -> tuple[int, float] | None:
    """The number of stages with the shortest time by the model, and the share of the time that it saves. None if no
    other number saves time. Each stage takes a round's copies of shared memory, and so decides how many blocks fit into
    the `shared_bytes` of a multiprocessor."""
    copied = max(work["bytes"] for work in launch["loops"].values())
    times = {}
    for stages in range(2, MOST_STAGES + 1):
        shared = int(launch["shared"]) + (stages - int(launch["stages"])) * copied
        blocks, _ = blocks_at_a_time({**launch, "shared": shared}, shared_bytes)
        if blocks:
            times[stages] = forecasts.with_stages(stages, blocks)
    best = min(times, key=lambda stages: times[stages], default=0)
    saved = 1 - times[best] / forecasts.us if best else 0.0
    return (best, saved) if saved > 0 and best != int(launch["stages"]) else None

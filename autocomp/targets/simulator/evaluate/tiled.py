"""A lower bound of tiled kernels, which is larger than that of all kernels: rows of tensors stay rows.

A kernel is tiled if

- each of its moves carries a block: some neighbouring rows of a tensor, by the same neighbouring elements of each;
- each row that enters the array has neighbouring elements of one row of an operand, and each that leaves it has
  neighbouring sums of one row of the output;
- each sum has a place of its own, to which a move brings its bias, where the machine has no other way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from autocomp.remember import remember
from autocomp.targets.evaluation import Bound
from autocomp.targets.simulator.evaluate.bounds import Array, array_of, bound, movers
from autocomp.targets.simulator.evaluate.chain import Chain, chain
from autocomp.targets.simulator.evaluate.cutting import Requests
from autocomp.targets.simulator.evaluate.stored import Stored, stored
from autocomp.targets.simulator.isa.derived.analysis import Kind
from autocomp.targets.simulator.isa.derived.blocks import Blocks, blocks
from autocomp.targets.simulator.isa.main_memory import cached, channel_width, channels, shortest_latency
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.isa.timing import MOVES, STREAMS, unit_number
from autocomp.workload import Workload

TILED = "tiled kernels"
_SHARES = (1.0, 0.85, 0.0)  # of requests under way, the rest of commands in flight: each gives a bound
# Cycles of a request of a unit that streams, besides the memory's latency and its beats: through translation, the link
# and its buffers. Of a command in flight, with the merger and the write of a row.
_REQUESTED = 6
_MOVED = 10


def tiled_bound(workload: Workload, accelerator: Accelerator) -> Bound:
    """Cycles that no tiled kernel of a workload needs fewer of. Where no more is known of them than of all kernels, it
    is the bound of all, and says why."""
    return remember(accelerator, "tiled bounds", workload.problem, lambda: _bound(workload, accelerator))


def _bound(workload: Workload, accelerator: Accelerator) -> Bound:
    least = bound(workload, accelerator)
    known = _known(workload, accelerator)
    if isinstance(known, str):
        return Bound(least.value, f"{TILED} have the bound of all kernels: {known}")
    parts = known.parts()
    value = max(parts.values())
    if value <= least.value:
        return Bound(least.value, f"{TILED} have the bound of all kernels: all else takes no longer", parts)
    most = max(parts, key=lambda name: parts[name])
    return Bound(value, f"{most} of {TILED} set it", parts)


@dataclass(frozen=True)
class _Tiled:
    """The tensors of an operation, and the ways of a machine."""

    tensors: Stored
    links: Chain
    latency: int
    fill: Requests
    drain: Requests
    blocks: Blocks
    array: Array | None

    def parts(self) -> dict[str, int]:
        """Cycles that each limit of the machine sets alone."""
        tensors, product = self.tensors, self.links.product
        operands = {share: self._load_operands(share) for share in _SHARES}
        both = {share: cycles + self._load_biases(share) for share, cycles in operands.items()}
        requests, beats = (tensors.output.touched(size) for size in (self.drain.largest, self.drain.beat))
        data = sum(rows.touched(self.fill.beat) for rows in tensors.operands) + tensors.others // self.fill.beat
        data += 0 if tensors.bias is None else tensors.bias.touched(self.fill.beat)
        under_way = (requests * self.latency + beats) / self.drain.open - self.latency - 1
        stores = math.floor(max(0.0, beats / self.drain.ways - 1, under_way))
        parts = {
            "loads": self.links.ends + self._span(both),
            "loads and a product": self.links.ends + self._span(operands) + product,
            "a product and stores": self.links.ends + product + stores,
            "the way back": self.latency + math.ceil((data + requests) / self.fill.ways),
        }
        if self.array is not None:
            passes = tensors.passes(self.array.columns, self.array.depth)
            parts["the array"] = self.links.ends + self.links.entered + self.links.result + passes
        return parts

    def _span(self, loads: Mapping[float, float]) -> int:
        """Cycles of loads besides those of the first, which the ends of a kernel have: the most of any share."""
        return math.floor(max(0.0, *(cycles - self.fill.one(share) for share, cycles in loads.items())))

    def _load_operands(self, share: float) -> float:
        others = self.fill.least_of_bytes(self.tensors.others, self.blocks.operands, share)
        return others + sum(self.fill.least(rows, self.blocks.operands, share) for rows in self.tensors.operands)

    def _load_biases(self, share: float) -> float:
        bias, block = self.tensors.bias, self.blocks.biases
        if bias is None:
            return 0.0
        if block is None:
            return self.fill.least_of_bytes(bias.count * bias.bytes, self.blocks.operands, share)
        if bias.count == 1:
            return self.fill.least_of_copies(bias, self.tensors.lines, block, share)
        return self.fill.least(bias, block, share)


def _known(workload: Workload, accelerator: Accelerator) -> _Tiled | str:
    """The tensors and ways that the bound counts, or the reason why nothing is known."""
    tensors, links, most = stored(workload), chain(accelerator), blocks(accelerator)
    if workload.host != "control":
        return "a host computes beside the machine"
    if tensors is None:
        return "the operation is another than a product or convolution, or its tensors have layouts of their own"
    if not links.ends or not links.product or most is None:
        return "the least time of a load, a product or a store is not known"
    fill, drain = _requests(accelerator, "load"), _requests(accelerator, "store")
    if fill is None or drain is None:
        return "units move data in other ways than by requests to one memory without a cache"
    return _Tiled(tensors, links, shortest_latency(accelerator), fill, drain, most, array_of(accelerator))


def _requests(accelerator: Accelerator, role: Kind) -> Requests | None:
    """The requests of all units that load, or store, together."""
    units = [mover.settings for mover in movers(accelerator, role)]
    moving = all(unit.get("kind") in MOVES and not unit.get("instant") for unit in units)
    if not units or not moving or len(accelerator.drams) > 1 or cached(accelerator.dram):
        return None
    latency, width = shortest_latency(accelerator), channel_width(accelerator.dram)
    if not width:
        return None
    streaming = all(unit.get("kind") in STREAMS for unit in units)
    way = {"waiting": _REQUESTED, "completing": _MOVED} if streaming else {"waiting": -1, "completing": 0}
    return Requests(
        smallest=min(unit_number(unit, "request_min") for unit in units),
        largest=max(unit_number(unit, "request_max") for unit in units),
        beat=width,
        ways=channels(accelerator.dram),
        open=sum(unit_number(unit, "requests") for unit in units),
        waiting=max(0, latency + way["waiting"]),
        commands=sum(unit_number(unit, "in_flight") for unit in units),
        completing=latency + way["completing"],
    )

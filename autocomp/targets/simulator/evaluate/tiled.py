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
from dataclasses import dataclass, replace

import numpy as np

from autocomp.remember import remember
from autocomp.targets.evaluation import Bound
from autocomp.targets.simulator.evaluate.bounds import Array, array_of, bound, movers
from autocomp.targets.simulator.evaluate.chain import Chain, chain
from autocomp.targets.simulator.evaluate.cutting import Costs, Requests, Share
from autocomp.targets.simulator.evaluate.stored import Stored, stored
from autocomp.targets.simulator.isa.derived.analysis import Kind
from autocomp.targets.simulator.isa.derived.blocks import Block, Blocks, blocks, stores
from autocomp.targets.simulator.isa.main_memory import cached, channel_width, channels, shortest_latency
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.isa.timing import MOVES, STREAMS, unit_number
from autocomp.workload import Workload

TILED = "tiled kernels"
# Of what limits loads, and stores. Where commands do not take turns in pairs, a mean says more than each limit alone.
_PURE = (Share(1, 0, 0), Share(0, 1, 0), Share(0, 0, 1))
_IN_TURNS, _MIXED = Share(1, 0, 0, gaps=1), Share(0.85, 0.15, 0)
_STORES = (Share(1, 0, 0), Share(0.5, 0, 0.5), Share(0, 0, 1))
# Cycles of a request of a unit that streams, besides the memory's latency and its beats: through translation, the link
# and its buffers. Of a command in flight, with the merger and the write of a row.
_REQUESTED = 6
_MOVED = 12


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
    stores: Block
    array: Array | None

    def parts(self) -> dict[str, int]:
        """Cycles that each limit of the machine sets alone."""
        tensors, product = self.tensors, self.links.product
        operands = {share: self._load_operands(share) for share in self.limits}
        both = {share: cycles + self._load_biases(share) for share, cycles in operands.items()}
        results = {share: self.drain.least(tensors.output, self.stores, share) for share in _STORES}
        requests = tensors.output.touched(self.drain.largest)
        data = sum(rows.touched(self.fill.beat) for rows in tensors.operands) + tensors.others // self.fill.beat
        data += 0 if tensors.bias is None else tensors.bias.touched(self.fill.beat)
        parts = {
            "loads": self.links.ends + _span(self.fill, both),
            "loads and a product": self.links.ends + _span(self.fill, operands) + product,
            "a product and stores": self.links.ends + product + _span(self.drain, results),
            "stores after loads": self.links.ends + product + self._in_turn(),
            "the way back": self.latency + math.ceil((data + requests) / self.fill.ways),
        }
        if self.array is not None:
            passes = tensors.passes(self.array.columns, self.array.depth)
            parts["the array"] = self.links.ends + self.links.entered + self.links.result + passes
        return parts

    @property
    def limits(self) -> tuple[Share, ...]:
        """Of what limits loads: each gives a bound."""
        return *_PURE, _IN_TURNS if self.fill.in_turns else _MIXED

    def _in_turn(self) -> int:
        """Cycles until a number of rows of results can be complete, and of the stores of all others: the most of any
        number. The first load and the first store do not count."""
        tensors, block = self.tensors, self.blocks.operands
        complete: Costs = np.arange(tensors.output.count if tensors.line else 1, dtype=np.float64)
        came: Costs = np.zeros(len(complete))
        left: Costs = np.zeros(len(complete))
        for share in self.limits:
            cycles = self.fill.fewest(tensors.across.count, tensors.across.bytes, block, share) - self.fill.one(share)
            came = np.maximum(came, cycles + self._load_lines(complete + 1, share))
        for share in _STORES:
            rows = np.sort(self.drain.alone(tensors.output, self.stores, share))
            left = np.maximum(left, rows.cumsum()[::-1][: len(complete)] - self.drain.one(share))
        return math.floor(float((came + left).max()))

    def _load_lines(self, count: Costs, share: Share) -> Costs:
        line = self.tensors.line
        if line is None:
            return np.zeros(len(count))
        if self.tensors.joined:
            return self.fill.least_of_bytes(count * line.bytes, self.blocks.operands, share)
        return self.fill.fewest(count, line.bytes, self.blocks.operands, share)

    def _load_operands(self, share: Share) -> float:
        others = self.fill.least_of_bytes(self.tensors.others, self.blocks.operands, share)
        return others + sum(self.fill.least(rows, self.blocks.operands, share) for rows in self.tensors.operands)

    def _load_biases(self, share: Share) -> float:
        bias, block = self.tensors.bias, self.blocks.biases
        if bias is None:
            return 0.0
        if block is None:
            return self.fill.least_of_bytes(bias.count * bias.bytes, self.blocks.operands, share)
        if bias.count == 1:
            return self.fill.least_of_copies(bias, self.tensors.lines, block, share)
        return self.fill.least(bias, block, share)


def _span(way: Requests, moves: Mapping[Share, float]) -> int:
    """Cycles of moves besides those of the first, which the ends of a kernel have: the most of any share."""
    return math.floor(max(0.0, *(cycles - way.one(share) for share, cycles in moves.items())))


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
    out = stores(accelerator, tensors.output.bytes // tensors.width)
    drain = replace(drain, local=out.columns * tensors.output.bytes / tensors.width)
    latency, array = shortest_latency(accelerator), array_of(accelerator)
    return _Tiled(tensors, links, latency, fill, drain, most, out.block, array)


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
        completing=latency + way["completing"] + min(unit_number(unit, "completion") for unit in units),
        paced=len(units) == 1 and channels(accelerator.dram) == 1,
    )

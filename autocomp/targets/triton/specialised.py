"""The expected time of a loop by groups of warps: one warp copies tiles, groups multiply them, in turns.

A turn is one visit of a group's loop. Four things limit it. Tensor cores serve all groups at once, so that groups fall
into step: each turn takes the products of all, and the time that one group spends between its products. Copies take
their bytes. A stage is free again once its tile was multiplied, so that a copy's latency counts for the stages in
flight. The longest of these is the turn, as in KPerfIR's model of warp specialisation (Guan et al., OSDI 2025), where
the critical path goes through producers and consumers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autocomp.targets.triton.pipelining import CHIPS

BETWEEN = 262  # cycles between the products of a group that scales them before it adds them (fitted on an H200)
LATENCY = 900  # cycles of a copy of no bytes, from a free stage to a tile that groups see (fitted on an H200)
MOST_CHAINED = 2  # products of a group in flight, for which registers are enough


@dataclass(frozen=True)
class Turn:
    """Cycles of one turn: the `products` of all groups, what is `between` those of one, and the `copies` of its bytes.
    A group has `chain` products in flight, and `stages` stages hold tiles. `adds` is true if tensor cores add them."""

    products: float
    between: float
    copies: float
    stages: int
    chain: int
    adds: bool

    @property
    def latency(self) -> float:
        """Cycles that the stages in flight allow for a turn. Where tensor cores add, a stage is free once the product
        after it was started; else once its own was made."""
        copied = LATENCY + self.copies / self.chain
        if self.adds:
            return copied / max(1, self.stages - 1)
        return self.chain * (copied + self.products) / self.stages

    @property
    def limits(self) -> dict[str, float]:
        return {"products": self.products + self.between, "copies": self.copies, "latency": self.latency}

    @property
    def cycles(self) -> float:
        return max(self.limits.values())

    @property
    def critical(self) -> str:
        return max(self.limits, key=lambda name: self.limits[name])

    @property
    def idle(self) -> float:
        """The share of a turn in which tensor cores have nothing to do."""
        return 1 - self.products / self.cycles

    def with_stages(self, stages: int) -> Turn:
        return replace(self, stages=stages)

    def with_chain(self, chain: int) -> Turn:
        """With other numbers of products in flight: one stretch between products for all of them."""
        factor = chain / self.chain
        return replace(self, products=self.products * factor, copies=self.copies * factor, chain=chain)


@dataclass(frozen=True)
class GroupForecast:
    """The time of a launch by the model beside what was measured, and one turn of its groups."""

    us: float
    measured_us: float
    turn: Turn
    turns: float  # of the program with the most
    clock_ghz: float

    @property
    def error(self) -> float:
        return self.us / self.measured_us - 1

    def saved_by(self, other: Turn) -> float:
        """The share of the time that another turn for the same products saves."""
        cycles = self.turn.cycles - other.cycles * self.turn.chain / other.chain
        return self.turns * cycles / self.clock_ghz / 1e3 / self.us


def is_specialised(launch: Mapping[str, Any]) -> bool:
    """True if some loops of a launch copy and others multiply."""
    loops = [(work.get("bytes"), work.get("operations")) for work in launch.get("loops", {}).values()]
    return any(copied and not made for copied, made in loops) and any(made and not copied for copied, made in loops)


def group_forecast(answer: Mapping[str, Any], position: int, capability: Sequence[int]) -> GroupForecast | str:
    """The model's view of one launch of a recorder's answer by groups of warps, or why it does not apply."""
    launch, marked = answer["launches"][position], answer["marked"][position]
    chip = CHIPS.get((int(capability[0]), int(capability[1]))) if len(capability) == 2 else None
    if chip is None:
        return f"the model has no figures for compute capability {'.'.join(str(part) for part in capability)}"
    visited = {number for number, (_, count) in marked.get("rounds", {}).items() if count}
    groups = {n: work for n, work in launch["loops"].items() if work["operations"] and n in visited}
    copied = [work["bytes"] for work in launch["loops"].values() if work["bytes"] and not work["operations"]]
    stages, marks = int(launch.get("depth", 0)), marked.get("marks", ())
    if not groups or len(copied) != 1 or not stages:
        return "no groups were recorded that multiply what one loop copies through barriers"
    first = min(groups, key=int)
    work = groups[first]
    if len({(one["operations"], one["products"]) for one in groups.values()}) > 1:
        return "the groups' loops differ"
    if work["functions"]:
        return "the groups compute more than sums between their products"
    chain = int(work["products"])
    products = sum(one["operations"] * one["bits"] / 16 / chip.operations for one in groups.values())
    adds = not work["sums"]
    turn = Turn(products, 0.0 if adds else BETWEEN, chain * copied[0] / chip.copied, stages, chain, adds)
    told = float(marked["rounds"][first][0])
    turns = float(marked["most"]) / max(1, sum(str(mark["loop"]) == first for mark in marks))
    clock = float(marked["clock_ghz"]) or turns * told / float(marked["longest_ns"])
    us = float(marked["us"]) - turns * (told - turn.cycles) / clock / 1e3
    return GroupForecast(us, float(marked["plain_us"]), turn, turns, clock)

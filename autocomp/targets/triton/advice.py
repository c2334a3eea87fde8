"""Changes that a recorded kernel calls for: the most that each can save, and the rewrites or numbers that do it.

Where a model of the loop applies, it says what other stages give. Other gains are the share of the time in the phases
that the change is against: what it can save at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from autocomp.targets.triton.phases import Phase
from autocomp.targets.triton.pipelining import Forecast, best_stages
from autocomp.targets.triton.residency import REGISTERS, blocks_at_a_time
from autocomp.targets.triton.specialised import GroupForecast, is_specialised

HEAVY = 0.15  # share of a cause that advice is given for
LEAST = 0.03  # share of the time that a forecast must save to be told
LIGHTER = ("exp2", "defer_scale", "implied_mask", "split_masked", "reciprocal", "uniform_index")
LIGHTER_SAVES = 1 / 3  # of the arithmetic, at most: what these rewrites leave out of attention's


@dataclass(frozen=True)
class Advice:
    """A change to one kernel. `gain` is the share of its time that it saves at most. `rewrites` are those that do it,
    the best first; `values` are the numbers that a launch is to have, where they are the change."""

    kernel: str
    gain: float
    text: str
    rewrites: tuple[str, ...] = ("set_parameters",)
    values: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"To try: {self.text} ({', '.join(self.rewrites)}); it saves at most {self.gain:.0%}."


@dataclass(frozen=True)
class Seen:
    """The facts about one launch that advice follows from. `shared_bytes` is what a multiprocessor has; `excess` is by
    how many times the call multiplies more than its operation needs, 0.0 where that is not known."""

    launch: Mapping[str, Any]
    phases: Sequence[Phase]
    model: Forecast | GroupForecast | str
    shared_bytes: int
    excess: float = 0.0

    def share(self, *kinds: str) -> float:
        return sum(phase.share for phase in self.phases if phase.kind in kinds)


def advise(seen: Seen) -> tuple[Advice, ...]:
    """Changes to try, the largest gain first; none for kernels by groups of warps, which no rewrite reads."""
    if is_specialised(seen.launch):
        return ()
    rules = (_beyond_need, _waiting, _idle_products, _passes, _arithmetic, _registers, _stores)
    kernel = str(seen.launch["name"])
    items = [
        Advice(kernel, gain, text, rewrites, values) for rule in rules for gain, text, rewrites, values in rule(seen)
    ]
    return tuple(sorted((advice for advice in items if advice.gain >= LEAST), key=lambda advice: -advice.gain))


def excess_of(answer: Mapping[str, Any], needed: int) -> float:
    """By how many times the launches of a recorder's answer multiply more than the `needed` operations; 0.0 where a
    loop with products was not recorded."""
    made = 0.0
    for launch, marked in zip(answer["launches"], answer["marked"], strict=True):
        loops = {number: work for number, work in launch.get("loops", {}).items() if work["operations"]}
        marks = [mark for mark in marked.get("marks", ()) if str(mark["loop"]) in loops]
        if loops and (len(loops) > 1 or not marks or len(marks) != len(marked["marks"])):
            return 0.0
        for work in loops.values():
            visits = marked["made"] / len(marks) / (marked["blocks"] * int(launch["warps"]))
            made += visits * work["operations"] * prod(launch["grid"])
    return made / needed if needed else 0.0


_Found = Iterator[tuple[float, str, tuple[str, ...], Mapping[str, int]]]


def _beyond_need(seen: Seen) -> _Found:
    if seen.excess > 1 + HEAVY and seen.share("Product"):
        text = f"skip blocks that a mask hides: {seen.excess:.1f} times the operation's products are made"
        yield 1 - 1 / seen.excess, text, ("skip_masked",), {}


def _waiting(seen: Seen) -> _Found:
    """Against waiting for copies."""
    waits, stages = seen.share("Wait", "Load"), seen.launch["stages"]
    if isinstance(seen.model, Forecast):
        best = best_stages(seen.model, seen.launch, seen.shared_bytes)
        if best is not None:
            text = f"{best[0]} pipelining stages in place of {stages}"
            yield best[1], text, ("set_parameters",), {"num_stages": best[0]}
        if seen.model.round.critical == "copies":
            text = "larger tiles, which copy fewer bytes for each product"
            yield waits, text, ("set_parameters", "tensor_descriptors"), {}
    elif isinstance(seen.model, str) and waits >= HEAVY and seen.share("Product"):
        text = f"more pipelining stages than {stages}, or larger tiles"
        yield waits, text, ("tensor_descriptors", "set_parameters"), {"num_stages": int(stages) + 1}


def _idle_products(seen: Seen) -> _Found:
    """Against tensor cores that wait for other work of the same warps."""
    if isinstance(seen.model, Forecast):
        idle = 1 - min(1.0, seen.model.round.products / seen.model.round.cycles)
        waits = seen.share("Wait")
        if idle - waits >= HEAVY:
            text = f"warps that load and warps that multiply, as tensor cores are idle {idle:.0%} of a round"
            yield idle - waits, text, ("attention_groups", "warp_groups", "set_parameters", "warp_specialise"), {}
    elif isinstance(seen.model, str) and min(seen.share("Arithmetic"), seen.share("Product")) >= HEAVY:
        text = "a second block on each multiprocessor, whose products overlap with this one's arithmetic"
        gain = min(seen.share("Arithmetic"), seen.share("Product"))
        yield gain, text, ("attention_groups", "warp_groups", "set_parameters"), {}


def _passes(seen: Seen) -> _Found:
    """Against reading a row more than once. Loads into registers are charged to the arithmetic that uses them first."""
    if seen.share("Product"):
        return
    passes = len({phase.loop for phase in seen.phases if phase.loop >= 0})
    if passes > 1:
        yield (passes - 1) / passes, f"one pass in place of {passes} loops", ("one_block", "online_softmax"), {}


def _arithmetic(seen: Seen) -> _Found:
    if seen.share("Product") and seen.share("Arithmetic") >= HEAVY:
        yield seen.share("Arithmetic") * LIGHTER_SAVES, "lighter arithmetic", LIGHTER, {}


def _registers(seen: Seen) -> _Found:
    blocks, limit = blocks_at_a_time(seen.launch, seen.shared_bytes)
    waits = seen.share("Wait", "Load")
    if blocks == 1 and limit == "registers" and waits + seen.share("Arithmetic") >= HEAVY:
        most = REGISTERS // (2 * 32 * int(seen.launch["warps"])) // 8 * 8
        yield waits, f"maxnreg {most}, for two blocks at a time", ("set_parameters",), {"maxnreg": most}


def _stores(seen: Seen) -> _Found:
    if seen.share("Store") >= HEAVY:
        products = bool(seen.share("Product"))
        text = "stores in halves" if products else "lines of the results that stay in the cache"
        yield seen.share("Store"), text, (("split_store",) if products else ("cache_hints",)), {}

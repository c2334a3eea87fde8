"""The cycles of a nest when blocks of its results stay in local memory: rough, to rank shapes of blocks by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

from autocomp.targets.simulator.transforms.analysis.cost import kept_operand_cycles, move_cycles, preloaded_names
from autocomp.targets.simulator.transforms.analysis.facts import Buffer, Facts, Site
from autocomp.targets.simulator.transforms.analysis.limits import widest
from autocomp.targets.simulator.transforms.syntax.affine import Affine

_ROOM_BESIDE = 4  # an operand's panel of at most this part of its memory can be loaded while another one is used
_ROOM_ALONE = 2  # one of at most this part can be kept, and is loaded between the computations
_MEETING = 0.02  # of hidden moves in a tuned pipeline, the part that shows where they take as long as computation
_STEEPNESS = 8  # of that part against moves relative to computation: half as long ones hide completely


@dataclass(frozen=True)
class _Loading:
    """Cycles of all loads of an operand: beside computation, and between computations."""

    beside: float
    between: float = 0.0


def block_cost(
    facts: Facts, result: Buffer, sides: Mapping[str, int], capacity: int, overlap: Mapping[str, float]
) -> float:
    """Estimated cycles of the whole nest when blocks of `sides` results stay in place through the reduction.

    Moves are taken to be as wide as the block allows, and each operand to be loaded in the way that suits best.
    `capacity` is the number of results that fit; above half of it the next block cannot be computed while this one is
    stored. `overlap` is the part of an operand's tiles, by tensor, that is left to load where those of a block are one
    window.
    """
    trips = {item.variable: item.trips for item in facts.contractions[0].loops}
    steps = prod(count for name, count in trips.items() if name not in sides)  # of a block
    blocks = prod(-(-trips[name] // side) for name, side in sides.items())
    compute = _compute_cycles(facts, sides, trips)
    ways: list[tuple[_Loading, ...]] = []
    filling = 0.0
    for buffer in facts.buffers:
        for site in buffer.sites("load") if buffer.is_input else ():
            step = _step_cycles(facts, site, sides) * overlap.get(buffer.tensor, 1.0)
            ways.append((_Loading(step * blocks * steps), *_kept(facts, buffer, site, sides, trips)))
            filling += step
    streamed = sum(way[0].beside for way in ways)
    tile = sum(_tile_cycles(facts, site, sides) for site in result.sites("store"))
    store = tile * prod(trips[name] for name in sides)
    held = prod(sides.values())
    exposed = store if held * 2 > capacity else tile * held
    hidden = max(streamed, store)
    crowding = _MEETING * hidden * min(1.0, hidden / compute) ** _STEEPNESS
    return _shortest(ways, max(compute, store)) + crowding + exposed + filling * min(steps, 4)


def _shortest(ways: list[tuple[_Loading, ...]], beside: float) -> float:
    """Cycles of loads and what they run beside, with the best of the ways to load each operand."""
    return min(
        max(beside, sum(loading.beside for loading in chosen)) + sum(loading.between for loading in chosen)
        for chosen in product(*ways)
    )


def _compute_cycles(facts: Facts, sides: Mapping[str, int], trips: Mapping[str, int]) -> float:
    """Cycles of all contractions, where those of a block that can share the operand inside the array do."""
    selecting = preloaded_names(facts)
    shared = prod(side for name, side in sides.items() if name not in selecting) if selecting else 1
    return prod(trips.values()) * kept_operand_cycles(facts, facts.contractions[0], shared)


def _kept(
    facts: Facts, buffer: Buffer, site: Site, sides: Mapping[str, int], trips: Mapping[str, int]
) -> Iterator[_Loading]:
    """The ways to load each tile of an operand once, as later transformations can bring about. They are all tiles in
    front of the nest, or panels of those that the outermost loop selects for one block; as far as there is room."""
    rows = facts.accelerator.memory(buffer.memory).rows
    outer = facts.contractions[0].loops[0].variable
    tiles = prod(count for name, count in trips.items() if name in site.selecting)
    panel = tiles // trips[outer] * sides[outer] if outer in site.selecting and outer in sides else tiles
    for kept, widths in ((tiles, trips), (panel, {**trips, **sides})):
        cycles = tiles * _tile_cycles(facts, site, widths)
        if kept * buffer.rows <= rows // _ROOM_BESIDE:
            yield _Loading(beside=cycles)
        elif kept * buffer.rows <= rows // _ROOM_ALONE:
            yield _Loading(beside=0.0, between=cycles)


def _step_cycles(facts: Facts, site: Site, sides: Mapping[str, int]) -> float:
    """Cycles of loading an operand's tiles for one step of a block's reduction."""
    return prod(side for name, side in sides.items() if name in site.selecting) * _tile_cycles(facts, site, sides)


def _tile_cycles(facts: Facts, site: Site, sides: Mapping[str, int]) -> float:
    """Cycles of moving one tile, as part of moves that are as wide as they can be over the block's tiles side by side;
    what is left over takes a narrower one."""
    columns = site.highest("cols") or 1
    pointer = site.pointer
    along = pointer.subscripts[-1] if pointer is not None and pointer.subscripts else Affine(0)
    most = max(1, widest(facts, site) // columns)
    tiles = max((side for name, side in sides.items() if along.coefficient(name)), default=most)
    full, rest = divmod(tiles, most)
    narrow = move_cycles(facts, site, rest * columns) if rest else 0.0
    return (full * move_cycles(facts, site, most * columns) + narrow) / tiles

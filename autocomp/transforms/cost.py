"""Rough times of moves and computation, to rank parameters by before anything is simulated.

The figures come from the settings of the DRAM (`bus` bytes a cycle, `latency`) and of the moving units (the smallest
and the largest request, `requests` and commands `in_flight`, `recovery`) where the machine states them; they need to be
right in proportion only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from autocomp.remember import remembered
from autocomp.transforms.affine import Affine, interval
from autocomp.transforms.facts import Buffer, Facts, Site
from autocomp.transforms.limits import widest
from autocomp.transforms.loops import Loop
from autocomp.transforms.registers import timing
from autocomp.transforms.requests import Cutting, Settings, Traffic, number
from autocomp.transforms.rewrite import names
from autocomp.transforms.tensors import tensors

_ROOM_FOR_WHOLE = 4  # an operand that takes at most this part of its memory may be kept there as a whole
CROWDING = 0.1  # of the time of moves that are hidden behind computation, the part that shows nevertheless
_MEETING = 0.02  # the same in a pipeline that is tuned, where moves are as long as the computation they hide behind


def move_cycles(facts: Facts, site: Site, columns: int | None = None) -> float:
    """Cycles between two moves like this in a stream of them; `columns` replaces the move's own width."""
    rows = site.highest("rows") or 1
    width = columns or site.highest("cols") or 1
    unit = unit_settings(facts, site.role.instruction)
    dram = facts.accelerator.dram.settings
    local = max((facts.accelerator.memory(operand.memory).cols for operand in facts.operands_of(site)), default=width)
    array = None if site.pointer is None else tensors(facts).get(site.pointer.tensor)
    size, row = (1, 0) if array is None else (array.size, array.row_bytes)
    traffic = Cutting.of(unit, dram).on_average(width * size, row).scaled(rows)
    return transfer_cycles(unit, dram, rows, -(-width // local), traffic)


def transfer_cycles(unit: Settings, dram: Settings, rows: int, blocks: int, traffic: Traffic) -> float:
    """Cycles between two moves in a stream of them, of so many rows, each of so many local rows side by side.

    The largest of: data, requests in flight (each held for the latency), and commands in flight. What moves out
    collects a row and then sends it, the first local row of the next one beside its last beat.
    """
    latency, recovery = number(dram, "latency", 0.0), number(unit, "recovery", 6.0)
    requests = (traffic.requests * (latency + recovery) + traffic.beats) / max(1.0, number(unit, "requests", 16.0))
    if unit.get("kind") == "transfer_out":
        return max(rows * (blocks - 1) + traffic.beats, requests)
    commands = (2.0 * recovery + latency + traffic.beats) / max(1.0, number(unit, "in_flight", 4.0))
    return max(float(rows * blocks), traffic.beats, requests, commands)


def unit_settings(facts: Facts, name: str) -> Settings:
    """What the description states of the unit that executes an instruction."""
    instruction = facts.accelerator.instruction(name)
    units = (unit for unit in facts.accelerator.units if instruction is not None and unit.name == instruction.unit)
    return next((unit.settings for unit in units), {})


def compute_cycles(facts: Facts) -> float:
    """Cycles of one contraction of a full tile in a stream of them: one row of an operand a cycle."""
    return float(max(1, facts.tile[2]))


def overlap_gain(facts: Facts, buffers: Sequence[Buffer], fills: int) -> float:
    """Estimated cycles saved when the moves of buffers run beside everything else, without the commands being put in
    another order: nothing where the contractions from one of the `fills` to the next are more than the machine holds
    back, as no later command is looked at then."""
    freed = [sum(site_cycles(facts, s, s.loops) for b in buffers for s in b.sites(kind)) for kind in ("load", "store")]
    commands = 2 * sum(prod(item.trips for item in site.loops) for site in facts.contractions)
    held = min(
        (number(unit_settings(facts, site.role.instruction), "entries", 1.0) for site in facts.contractions),
        default=0.0,
    )
    if commands > held * fills:
        return 0.0
    total = contraction_cycles(facts) + moves_cycles(facts, "load") + moves_cycles(facts, "store")
    return total - max(total - sum(freed), *freed)


def kept_operand_cycles(facts: Facts, site: Site, times: int) -> float:
    """Cycles of one contraction on average when `times` of them in a row share the operand inside the array.

    Each takes as long as its rows, on average half way between the fewest, at an edge, and the most. The next operand
    enters beside the last one before it, which at an edge has too few rows to hide that; the first contraction with a
    new operand may take several passes.
    """
    argument = site.argument("rows")
    bounds = None if argument is None else interval(argument, site.ranges)
    fewest, most = (compute_cycles(facts),) * 2 if bounds is None else (max(1, bounds[0]), bounds[1])
    average = (fewest + most) / 2
    entering = max(0.0, compute_cycles(facts) - fewest) + (timing(facts, site, "passes", 1) - 1) * average
    return average + entering / times


@remembered
def preloaded_names(facts: Facts) -> frozenset[str]:
    """The variables that select the operand that is brought into the array."""
    found: set[str] = set()
    for buffer in facts.buffers:
        preloads = [operand for operand in buffer.operands if operand.site.kind == "preload"]
        if buffer.is_input and preloads:
            found.update(*(names(operand.site.call.arguments[operand.position]) for operand in preloads))
            found.update(*(site.selecting for site in buffer.sites("load")))
    return frozenset(found)


def present_cost(facts: Facts) -> float:
    """Estimated cycles of the kernel as it is: loads and computation side by side at best, stores by themselves."""
    return overlapped(facts, moves_cycles(facts, "load"))


def overlapped(facts: Facts, loads: float) -> float:
    """Estimated cycles of the kernel if its loads took that long."""
    return max(contraction_cycles(facts), loads) + CROWDING * loads + moves_cycles(facts, "store")


def moves_cycles(facts: Facts, kind: str) -> float:
    """Estimated cycles of all loads or stores inside loops, one after the other."""
    return sum(site_cycles(facts, site, site.loops) for site in facts.sites if site.kind == kind and site.loops)


def contraction_cycles(facts: Facts) -> float:
    """Estimated cycles of all contractions in a stream."""
    return sum(prod(item.trips for item in site.loops) for site in facts.contractions) * compute_cycles(facts)


def site_cycles(facts: Facts, site: Site, loops: Sequence[Loop], *, wide: bool = False) -> float:
    """Cycles of a move in all iterations of loops, each as it is or as part of the widest possible move."""
    one = move_cycles(facts, site)
    if wide:
        most = widest(facts, site)
        one = move_cycles(facts, site, most) * (site.highest("cols") or 1) / most
    return one * prod(item.trips for item in loops)


def block_cost(
    facts: Facts, result: Buffer, sides: Mapping[str, int], capacity: int, overlap: Mapping[str, float]
) -> float:
    """Estimated cycles of the whole nest when blocks of `sides` results stay in place through the reduction.

    Moves are taken to be as wide as the block allows, and operands to be loaded once that are small, or that the
    outermost loop selects where a block's panel of them is small, as later transformations can bring about. `capacity`
    is the number of results that fit; above half of it the next block cannot be computed while this one is stored.
    `overlap` is the part of an operand's tiles, by tensor, that is left to load where those of a block are one window.
    """
    contraction = facts.contractions[0]
    trips = {item.variable: item.trips for item in contraction.loops}
    blocks = prod(-(-trips[name] // side) for name, side in sides.items())
    other = prod(count for name, count in trips.items() if name not in sides)
    selecting = preloaded_names(facts)
    shared = prod(side for name, side in sides.items() if name not in selecting) if selecting else 1
    compute = prod(trips.values()) * kept_operand_cycles(facts, contraction, shared)
    loads = streamed = first = 0.0
    for buffer in facts.buffers:
        for site in buffer.sites("load") if buffer.is_input else ():
            tile = _tile_cycles(facts, site, sides) * overlap.get(buffer.tensor, 1.0)
            step = prod(side for name, side in sides.items() if name in site.selecting) * tile
            tiles = prod(count for name, count in trips.items() if name in site.selecting)
            room = facts.accelerator.memory(buffer.memory).rows // _ROOM_FOR_WHOLE
            outer = contraction.loops[0].variable
            panel = tiles // trips[outer] * sides[outer] if outer in site.selecting and outer in sides else tiles
            whole = tiles * _tile_cycles(facts, site, trips) if tiles * buffer.rows <= room else float("inf")
            once = (
                tiles * _tile_cycles(facts, site, {**trips, **sides}) if panel * buffer.rows <= room else float("inf")
            )
            loads += min(whole, once, step * blocks * other)
            streamed += step * blocks * other
            first += step
    stores = sum(_tile_cycles(facts, site, sides) for site in result.sites("store"))
    held = prod(sides.values())
    store = stores * prod(trips[name] for name in sides)
    exposed = store if held * 2 > capacity else stores * held
    behind = streamed + store
    crowding = _MEETING * behind * min(1.0, behind / compute)
    return max(compute, loads, store) + crowding + exposed + first * min(other, 4)


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

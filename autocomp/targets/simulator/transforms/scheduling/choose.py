"""Schedules worth trying, best first, by the cost model: all blocks that fit, in the orders that make a difference."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product as cartesian
from math import ceil, prod

from autocomp.targets.simulator.isa.main_memory import longest_latency
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling import steps
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction
from autocomp.targets.simulator.transforms.scheduling.cost import CostModel
from autocomp.targets.simulator.transforms.scheduling.lowering.abreast import tiles_abreast
from autocomp.targets.simulator.transforms.scheduling.lowering.leaves import Leaves
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Tasks
from autocomp.targets.simulator.transforms.scheduling.schedule import OPERANDS, Grid, Schedule
from autocomp.targets.simulator.transforms.scheduling.tried import sizes_tried, tiles_tried

_MOST = 40_000  # combinations of sizes that are looked at
_LOOKED_AT_AGAIN = 150  # of the best schedules by sums that share tiles, and of those that do not
_FEWER = 4  # rows that a tile may have less than the most
_LEAD = 8  # products of the first step by which its loads are ahead
_EARLY = 8  # products at the end of a step that no load is among
_PART_SIZES = (4, 8, 16)  # tiles of the reduction between two returns of sums
_PART_CHOICES = 20  # of the best schedules of such a part
_PARTS = 16  # of a reduction, at most: the kernel has a loop nest for each
BOTH = frozenset(OPERANDS)
TURNS = (2, 3, 4)  # places of blocks of results


@dataclass(frozen=True)
class Ranked:
    """A schedule with its estimated cycles, or (`timed`) what it measured in a run by the kernel's objective."""

    schedule: Schedule
    cycles: float
    timed: bool = False


def plain(computation: Contraction, leaves: Leaves | Tasks) -> Schedule:
    """The schedule of a newcomer: one tile of each operand at a time."""
    tile = leaves.largest(computation)
    order = (*computation.parallel, *computation.reduction)
    levels = dict.fromkeys(OPERANDS, len(order))
    return Schedule(tile, dict.fromkeys(order, 1), order, order, levels, {"left": 1, "right": 1, "result": 1})


def whole(computation: Contraction, leaves: Leaves | Tasks) -> Schedule:
    """The schedule of one block that is all, with nothing ahead."""
    order = (*computation.parallel, *computation.reduction)
    return Schedule(leaves.largest(computation), {}, order, order, dict.fromkeys(OPERANDS, len(order)))


def ranked(model: CostModel) -> list[Ranked]:
    """The best schedules by their estimated cycles."""
    estimated = _estimated(model, _bases(model))
    if not estimated or isinstance(model.leaves, Tasks) or _crowded(model, estimated[0].schedule):
        less = _estimated(model, _less_beside(model, (_usual(model).tile,)))
        estimated = sorted([*estimated, *less], key=lambda item: item.cycles)
    best = (item for kind in by_kind(estimated) for item in kind[:_LOOKED_AT_AGAIN])
    again = (Ranked(item.schedule, steps.cycles(model, item.schedule)) for item in best)
    return sorted(again, key=lambda item: item.cycles)


def in_parts(model: CostModel, best: Ranked) -> list[Ranked]:
    """The schedules in which sums return between parts of the reduction that beat the `best` of others, by their
    estimated cycles: where few results fit, products wait for operands that are loaded again and again."""
    if isinstance(model.leaves, Tasks) or not _crowded(model, best.schedule):
        return []
    tile = model.leaves.product.most["depth"]
    tiles = ceil(model.computation.extents[model.computation.depth] / tile)
    items: list[Ranked] = []
    for returns in sorted({ceil(tiles / size) - 1 for size in _PART_SIZES}):
        try:
            one = model.divided(replace(best.schedule, returns=returns)) if 0 < returns < _PARTS else None
        except NotApplicable:
            continue
        if one is not None:
            found = _estimated(one, _staying(one))[:_PART_CHOICES]
            schedules = (replace(item.schedule, returns=returns) for item in found)
            items += (Ranked(schedule, steps.cycles(model, schedule)) for schedule in schedules)
    return _beating(best, items)


def side_by_side(model: CostModel, best: Ranked) -> list[Ranked]:
    """The schedules with tiles abreast that beat the `best` of others, by their estimated cycles: where rows are short,
    moves wait for memory once for several tiles."""
    items: list[Ranked] = []
    for tiles in () if isinstance(model.leaves, Tasks) else tiles_abreast(model.computation, model.leaves):
        try:
            one = model.divided(replace(best.schedule, abreast=tiles))
        except NotApplicable:
            continue
        items += (Ranked(replace(item.schedule, abreast=tiles), item.cycles) for item in ranked(one))
    return _beating(best, items)


def fewer_ahead(model: CostModel, best: Ranked) -> list[Ranked]:
    """The schedules with other tiles and fewer moves beside computation that beat the `best` of others, by their
    estimated cycles: where operands are loaded again and again, larger blocks may be worth more."""
    leaves = model.leaves
    if not isinstance(leaves, Tasks) or not _crowded(model, best.schedule):
        return []
    usual = _usual(model).tile
    tiles = [tile for tile in tiles_tried(leaves, model.computation) if tile != usual]
    found = _estimated(model, _less_beside(model, tiles))[:_LOOKED_AT_AGAIN]
    items = (Ranked(item.schedule, steps.cycles(model, item.schedule)) for item in found)
    return _beating(best, items)


def _beating(best: Ranked, items: Iterable[Ranked]) -> list[Ranked]:
    """The schedules with fewer estimated cycles than the `best` of others, the fewest first."""
    return sorted((item for item in items if item.cycles < best.cycles), key=lambda item: item.cycles)


def by_kind(items: Iterable[Ranked]) -> list[list[Ranked]]:
    """Schedules that share tiles and those that do not, and those with more places for results, each in their order."""
    kinds: dict[tuple[int, bool], list[Ranked]] = {}
    for item in items:
        kinds.setdefault(_kind(item.schedule), []).append(item)
    return [kinds[kind] for kind in sorted(kinds)]


def _estimated(model: CostModel, bases: Iterable[Schedule]) -> list[Ranked]:
    """The best schedules that follow from some, the least cycles first: as many as are looked at again."""
    grids = [grid for base in bases for grid in _all(model, base)]
    kinds: dict[tuple[int, bool], list[tuple[int, Grid]]] = {}
    for number, grid in enumerate(grids):
        kinds.setdefault(_kind(grid.schedule), []).append((number, grid))
    best = (entry for kind in sorted(kinds) for entry in _best(model, kinds[kind]))
    return [item for *_, item in sorted(best, key=_place)]


def _kind(schedule: Schedule) -> tuple[int, bool]:
    """The kind of a schedule: places for results, and if it shares tiles. Estimates compare like with like."""
    return schedule.turns, schedule.shared


_Entry = tuple[float, int, int, Ranked]  # cycles, the number of its grid, the number of its levels


def _place(entry: _Entry) -> tuple[float, int, int]:
    """Fewer cycles come first; of equally many, what was met first."""
    return entry[:3]


def _best(model: CostModel, grids: Sequence[tuple[int, Grid]]) -> list[_Entry]:
    """The best schedules of some numbered grids, with all levels. Grids that promise the most come first: those that
    cannot be among the best, whatever their levels, need no estimate."""
    best: list[_Entry] = []
    models = {number: model.of_cores(grid.schedule) for number, grid in grids}
    known = ((number, grid, models[number].totals(grid)) for number, grid in grids)
    for least, number, grid, totals in sorted((models[n].least(g, totals), n, g, totals) for n, g, totals in known):
        if len(best) == _LOOKED_AT_AGAIN and least > best[-1][0]:
            break
        for place, one in enumerate(_levels(model, grid)):
            cycles = models[number].cycles(one, totals)
            insort(best, (cycles, number, place, Ranked(one.schedule, cycles)), key=_place)
        del best[_LOOKED_AT_AGAIN:]
    return best


def _crowded(model: CostModel, schedule: Schedule) -> bool:
    """True if operands are loaded again and again, as few fit into local memory, and products wait for that."""
    grid = Grid(model.computation, schedule)
    once = sum(model.moves(operand, grid) for operand in OPERANDS)
    loads = sum(model.moves(operand, grid) * grid.times(operand) for operand in OPERANDS)
    return loads > max(once, model.products(grid))


def fits(grid: Grid, model: CostModel) -> bool:
    """True if all that a schedule keeps in local memory has room there."""
    leaves = model.leaves
    if leaves.refusal(grid) or grid.uneven(len(leaves.cores) + 1):
        return False
    used = dict(leaves.rows_on_the_way(grid))
    for operand in {*OPERANDS, "result"} - set(leaves.queued):  # a queue takes one tile after the other
        slots = prod(grid.blocks[d] for d in grid.slots(operand)) if operand != "result" else 1
        memory = leaves.memory(operand).name
        rows = grid.held(operand) * slots * grid.phases(operand) * leaves.rows(operand, grid)
        used[memory] = used.get(memory, 0) + rows
    return all(rows <= leaves.accelerator.memory(name).rows for name, rows in used.items())


def _all(model: CostModel, base: Schedule) -> Iterator[Grid]:
    """The grids of schedules with the tiles of one, all blocks and orders that fit."""
    for grid in _blocks(model, base):
        if not base.shared or grid.overlapping:
            yield from (grid.with_loops(order, inner) for order in _orders(grid) for inner in _inners(model))


def turns_of(model: CostModel) -> tuple[int, ...]:
    """The places that blocks of results may have: even numbers where memory has halves, as what is started lies in the
    other half than the sums."""
    banks = model.leaves.memory("result").banks
    return tuple(turns for turns in TURNS if banks < 2 or turns % 2 == 0)


def _usual(model: CostModel) -> Schedule:
    """The schedule that others start from: the largest tiles, with all moves beside computation."""
    leaves = model.leaves
    base = plain(model.computation, leaves)
    usual = replace(base, width={}, ahead=BOTH - leaves.flowing, deferred=True, kept=leaves.keeps, lead=_LEAD)
    early = max(_EARLY, arrival(model, usual))
    return replace(usual, early=early, alone=leaves.fence is not None and _waited_for(model, base))


def arrival(model: CostModel, schedule: Schedule) -> int:
    """The products in whose time a move of any operand that is loaded ahead comes in; 0 where products take rows as
    they come."""
    if not isinstance(model.leaves, Tasks):
        return 0
    grid = Grid(model.computation, schedule)
    moves = (_load(model, o, grid) * model.width(o, grid) for o in schedule.ahead)
    cycles = longest_latency(model.leaves.accelerator) + max(moves, default=0.0)
    return ceil(cycles / max(1.0, model.tile(grid, schedule.tile.get(model.computation.row, 1), schedule.kept)))


def _waited_for(model: CostModel, schedule: Schedule) -> bool:
    """True if a tile from a queue is all that the first result waits for besides a tile of the other operand, and its
    load lasts longer than a fence waits for memory."""
    grid = Grid(model.computation, schedule)
    at_once = all(grid.tiles[dim] == 1 for dim in model.computation.reduction)
    load = sum(_load(model, operand, grid) for operand in model.leaves.queued)
    return at_once and load > longest_latency(model.leaves.accelerator)


def _load(model: CostModel, operand: str, grid: Grid) -> float:
    """Cycles of the load of a tile."""
    return model.moves(operand, grid) / prod(grid.tiles[dim] for dim in grid.dims(operand))


def _bases(model: CostModel) -> Iterator[Schedule]:
    """Schedules to start from, with all moves beside computation: those for several cores, and for one."""
    for base in _of_one_core(model):
        yield from on_cores(model, base)
        yield base


def on_cores(model: CostModel, base: Schedule) -> Iterator[Schedule]:
    """The same schedule for all equal cores, which take tiles along one dimension in turn: as many each."""
    computation, leaves, count = model.computation, model.leaves, len(model.leaves.cores) + 1
    for dim in computation.parallel if count > 1 else ():
        extent, size = computation.extents[dim], base.tile.get(dim, 1)
        sized = dim in leaves.sizes if isinstance(leaves, Tasks) else dim in computation.tiled.values()
        alike = ceil(extent / (count * ceil(extent / (size * count)))) if sized else size
        if extent > alike:
            yield replace(base, tile={**base.tile, dim: alike}, cores={dim: count}, short_first=False)


def _of_one_core(model: CostModel) -> Iterator[Schedule]:
    """Schedules to start from for one core."""
    computation, leaves, base = model.computation, model.leaves, _usual(model)
    for size in _rows(model, base):
        tile = {**base.tile, computation.row: size}
        short = leaves.keeps and computation.extents[computation.row] % size != 0
        given = replace(base, tile=tile, short_first=short)
        yield given
        if model.starts and given.deferred and not isinstance(leaves, Tasks):
            yield replace(given, turns=TURNS[-1])
        if computation.overlaps and not isinstance(leaves, Tasks):
            yield replace(given, shared=True)
            if computation.row in dict(computation.overlaps.values()):
                yield replace(given, shared=True, lined=True)
    if not isinstance(leaves, Tasks):
        return
    for tile in tiles_tried(leaves, computation):
        for shared in (False, True) if computation.overlaps else (False,):
            if tile != base.tile or shared:
                yield replace(base, tile=tile, shared=shared)
            yield replace(base, tile=tile, deferred=False, shared=shared)
        if (
            leaves.keeps
            and tile[computation.column] == base.tile[computation.column] < computation.extents[computation.column]
        ):
            yield replace(base, tile=tile, halves=frozenset((computation.column,)))


def _less_beside(model: CostModel, tiles: Sequence[Mapping[str, int]]) -> Iterator[Schedule]:
    """Schedules with some tiles and fewer moves beside computation: what a step needs then has room once, not twice."""
    leaves, base = model.leaves, _usual(model)
    if not isinstance(leaves, Tasks):
        yield replace(base, deferred=False)
    for ahead in dict.fromkeys((*(frozenset({o}) for o in sorted(base.ahead)), frozenset[str]())):
        if ahead != base.ahead:
            given = replace(base, ahead=ahead)
            yield from (replace(given, tile=tile, deferred=late) for tile in tiles for late in (True, False))
    if model.starts and not isinstance(leaves, Tasks):
        yield from (schedule for schedule in _staying(model) if schedule.turns != base.turns)


def _staying(model: CostModel) -> Iterator[Schedule]:
    """The same with one operand that stays and comes on time, and with any number of places for results."""
    base = _usual(model)
    for operand in sorted(base.ahead):
        yield from (replace(base, ahead=frozenset({operand}), turns=turns) for turns in turns_of(model))


def _rows(model: CostModel, base: Schedule) -> list[int]:
    """Rows of a tile: the most, and those of the least products if these are fewer. A short tile of few rows costs as
    much as one of the array's fewest steps, so smaller tiles beside it may cost nothing."""
    row = model.computation.row
    most = base.tile[row]
    if not model.leaves.keeps:
        return [most]
    inner = _inners(model)[0]

    def products(size: int) -> float:
        given = replace(base, tile={**base.tile, row: size}, block={}, inner=inner, short_first=True)
        return model.products(Grid(model.computation, given))

    least = min(range(most, max(0, most - _FEWER), -1), key=products)
    return [most] if products(least) >= products(most) else [most, least]


def _blocks(model: CostModel, base: Schedule) -> Iterator[Grid]:
    """The grids with the blocks whose results fit, twice where there are several."""
    computation = model.computation
    base = replace(base, inner=_inners(model)[0])
    grid = Grid(computation, base)
    most = model.leaves.memory("result").rows // max(1, model.leaves.rows("result", grid))
    sizes = {dim: sizes_tried(n, most if dim in computation.parallel else n) for dim, n in grid.tiles.items()}
    for dim, windows in computation.windows.items():
        sizes[dim] = [windows.count] if dim == computation.row else sizes_tried(windows.count, windows.count)
    if isinstance(model.leaves, Tasks):  # whose tiles have several sizes: of the taps of a window, one or all
        taps = set(computation.reduction) - {computation.depth}
        sizes |= {dim: sorted({1, grid.tiles[dim]}) for dim in taps}
    while prod(len(s) for s in sizes.values()) > _MOST:
        dim = max(sizes, key=lambda d: len(sizes[d]))
        sizes[dim] = sizes[dim][::2]
    for dim, count in base.cores.items():
        sizes[dim] = sorted({min(grid.tiles[dim], -(-size // count) * count) for size in sizes[dim]})
    for values in cartesian(*sizes.values()):
        block = dict(zip(sizes, values, strict=True))
        given = Grid(computation, replace(base, block=block))
        if fits(given.with_levels(dict.fromkeys(OPERANDS, len(base.order))), model):
            yield given


def _orders(grid: Grid) -> Iterator[tuple[str, ...]]:
    """Orders of the loops over blocks of results: as they are, and with those of the right operand outermost."""
    parallel, reduction = grid.computation.parallel, grid.computation.reduction
    right = grid.dims("right")
    outer = [d for d in parallel if grid.blocks[d] > 1]
    seen: set[tuple[str, ...]] = set()
    for order in (tuple(parallel), tuple(sorted(parallel, key=lambda d: d not in right))):
        effective = tuple(d for d in order if d in outer)
        if effective not in seen:
            seen.add(effective)
            yield (*order, *reduction)


def _inners(model: CostModel) -> Sequence[tuple[str, ...]]:
    """Orders inside a block: rows innermost, so that the right operand can stay in the array; columns too
    where moves bring the left one to where products read it, so that it stays there."""
    computation, leaves = model.computation, model.leaves
    right = computation.operand_dims["right"]
    beside = [d for d in computation.parallel if d in right and d != computation.row]
    inside = [d for d in computation.parallel if d not in right and d != computation.row]
    rows = (*inside, computation.row)
    usual = ((*computation.reduction, *beside, *rows), (*beside, *computation.reduction, *rows))
    stays = isinstance(leaves, Tasks) and bool(leaves.near.get("left")) and not leaves.keeps
    return (*usual, (*computation.reduction, *rows, *beside)) if stays else usual


def _levels(model: CostModel, given: Grid) -> Iterator[Grid]:
    """Grids with all levels at which to fill each operand's panel: those that save loads, and fit."""
    order = given.schedule.order
    choices: dict[str, list[int]] = {}
    for operand in OPERANDS:
        deepest: dict[tuple[str, ...], int] = {(): len(order)}
        for level in range(len(order)):
            revisits = given.revisits_at(operand, given.existing(level))
            if revisits:
                deepest[revisits] = level  # the innermost of those that save the same
        choices[operand] = list(deepest.values())
    for values in cartesian(*choices.values()):
        grid = given.with_levels(dict(zip(choices, values, strict=True)))
        alike = bool(grid.shared) == given.schedule.shared and (grid.pieced or not given.schedule.lined)
        if alike and fits(grid, model):
            yield grid

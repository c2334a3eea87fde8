"""Schedules that differ from a given one in one decision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from autocomp.targets.simulator.transforms.scheduling.choose import BOTH, arrival, on_cores, turns_of
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Tasks
from autocomp.targets.simulator.transforms.scheduling.raised import Raised
from autocomp.targets.simulator.transforms.scheduling.schedule import OPERANDS, Grid, Schedule
from autocomp.targets.simulator.transforms.scheduling.tried import equal, thirds

_WIDTHS = (1, 2, 3, 4, 8)  # tiles in a move
_LEADS = (0, 1, 2, 4, 8, 16, 32)  # products of the first step by which its loads are ahead
_EARLY = (0, 2, 4, 8, 12, 16, 24)  # products at the end of a step that no load is among


def neighbours(given: Raised) -> Iterator[Schedule]:
    """All such schedules, also those that do not fit the machine."""
    for choices in (_cores, _moves, _ahead, _turns, _spread, _kept, _shared, _blocks, _tiles, _orders, _levels):
        yield from choices(given)


def _cores(given: Raised) -> Iterator[Schedule]:
    """Tiles along another dimension for equal cores in turn, or all for one."""
    yield from on_cores(given.model, given.schedule)
    yield replace(given.schedule, cores={})


def _moves(given: Raised) -> Iterator[Schedule]:
    """Wider and narrower moves."""
    for stream in (*OPERANDS, "result"):
        known = {given.model.width(stream, Grid(given.computation, given.schedule))}
        for width in _WIDTHS:
            changed = replace(given.schedule, width={**given.schedule.width, stream: width})
            effective = given.model.width(stream, Grid(given.computation, changed))
            if effective not in known:
                known.add(effective)
                yield changed


def _ahead(given: Raised) -> Iterator[Schedule]:
    """Loads and stores beside the products, or on time. Registers that the machine renames are ahead by as many
    commands as its queues hold; a program may go ahead by more."""
    if given.leaves.flowing - set(given.leaves.queued):
        yield replace(given.schedule, ahead=BOTH - set(given.leaves.queued), early=0)
    for early in sorted({*_EARLY, arrival(given.model, given.schedule)}):
        yield replace(given.schedule, ahead=BOTH - given.leaves.flowing, early=early)
    for lead in _LEADS:
        yield replace(given.schedule, lead=lead)
    yield replace(given.schedule, deferred=not given.schedule.deferred)
    if given.leaves.queued:
        yield replace(given.schedule, alone=not given.schedule.alone)


def _turns(given: Raised) -> Iterator[Schedule]:
    """More places for blocks of results, where moves start these, or fewer."""
    if given.schedule.deferred and given.model.starts:
        yield from (replace(given.schedule, turns=turns) for turns in turns_of(given.model))


def _spread(given: Raised) -> Iterator[Schedule]:
    """The loads of the next panel beside all steps that use this one, or beside the last."""
    if any(map(Grid(given.computation, given.schedule).can_spread, OPERANDS)):
        yield replace(given.schedule, spread=not given.schedule.spread)


def _kept(given: Raised) -> Iterator[Schedule]:
    """The right operand kept in the array, the short tile first or last."""
    if not given.leaves.keeps:
        return
    rows = [d for d in given.computation.parallel if d not in given.computation.right.dims]
    inner = (*(d for d in given.schedule.inner if d not in rows), *rows)
    for short in (True, False):
        yield replace(given.schedule, kept=True, inner=inner, short_first=short)
        yield replace(given.schedule, kept=True, short_first=short)


def _blocks(given: Raised) -> Iterator[Schedule]:
    """Larger and smaller blocks."""
    grid = Grid(given.computation, given.schedule)
    for dim, units in grid.units.items():
        present = grid.size[dim]
        for size in sorted({1, present // 2, present - 1, present + 1, present * 2, units}):
            if 1 <= size <= units:
                yield replace(given.schedule, block={**grid.size, dim: size})


def _tiles(given: Raised) -> Iterator[Schedule]:
    """Whole tiles of half, two thirds and twice the size, as many as cover the same block; the last of them in halves.
    Of others, equal rows in all or the most in all but the last: a short tile's moves wait as long as others' do."""
    if not isinstance(given.leaves, Tasks):
        row, most = given.computation.row, given.leaves.largest(given.computation)
        for size in (equal(given.computation.extents[row], most[row]), most[row]):
            yield replace(given.schedule, tile={**given.schedule.tile, row: size})
        return
    schedule, grid = given.schedule, Grid(given.computation, given.schedule)
    block = grid.block
    for dim, known in given.leaves.sizes.items():
        size = schedule.tile.get(dim, known.usual)
        for other in (size // 2, size * 2, *thirds(size * 2)):
            if 1 <= other <= min(known.most, given.computation.extents[dim]):
                count = max(1, block[dim] * size // other)
                yield replace(schedule, tile={**schedule.tile, dim: other}, block={**block, dim: count})
        more = {dim: block[dim] + 1} if block[dim] == grid.tiles[dim] > 1 else {}
        yield replace(schedule, halves=schedule.halves ^ {dim}, block={**block, **more})


def _orders(given: Raised) -> Iterator[Schedule]:
    """Neighbouring loops exchanged."""
    schedule, parallel = given.schedule, set(given.computation.parallel)
    for name in ("order", "inner"):
        dims: tuple[str, ...] = getattr(schedule, name)
        for at in range(len(dims) - 1):
            swapped = (*dims[:at], dims[at + 1], dims[at], *dims[at + 2 :])
            if name == "inner":
                yield replace(schedule, inner=swapped)
            elif (dims[at] in parallel) == (dims[at + 1] in parallel):
                yield replace(schedule, order=swapped)


def _shared(given: Raised) -> Iterator[Schedule]:
    """Tiles of the left operand held once for several steps, or rows of it, or neither."""
    if given.computation.overlaps:
        for shared, lined in ((False, False), (True, False), (True, True)):
            yield replace(given.schedule, shared=shared, lined=lined)


def _levels(given: Raised) -> Iterator[Schedule]:
    """Operands that stay in local memory for longer, or less long."""
    for operand in OPERANDS:
        for level in range(len(given.schedule.order) + 1):
            yield replace(given.schedule, level={**given.schedule.level, operand: level})

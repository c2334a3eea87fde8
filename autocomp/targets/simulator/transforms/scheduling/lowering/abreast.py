"""Rows that take turns among tiles, so that the tiles lie side by side in memory and move together.

A row of 16 bytes is a request to memory, and a move of it waits as long as one of 64. Where rows are so short, a tile
takes every fourth of them: the rows in between are those of three more tiles, and all four come abreast in one move.
"""

from __future__ import annotations

from dataclasses import replace

from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction, Dim, Operand, Subscript
from autocomp.targets.simulator.transforms.scheduling.lowering.leaves import Leaves
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Tasks


def tiles_abreast(computation: Contraction, leaves: Leaves) -> tuple[int, ...]:
    """The numbers of tiles that one move could take abreast, the most first. Rows of a load or a store have to be as
    short as a tile, and all tiles get as many."""
    rows = computation.extents[computation.row]
    most = 1
    for operand in ("left", "result"):
        moved, leaf = computation.operands[operand], leaves.move(operand)
        columns = moved.along(computation.row) // moved.tensor.element
        most = max(most, leaf.most_columns // columns if columns >= leaf.width else 1)
    return tuple(tiles for tiles in range(most, 1, -1) if rows % tiles == 0)


def abreast(computation: Contraction, leaves: Leaves | Tasks, tiles: int) -> Contraction:
    """The same computation with `tiles` tiles that rows take turns among: the rows of one are that far apart. Raises
    NotApplicable where rows cannot be shared out like this."""
    row, extent = computation.row, computation.extents[computation.row]
    if isinstance(leaves, Tasks) or any(leaves.product.row_word(operand) != "row" for operand in ("left", "result")):
        raise NotApplicable("rows do not lie one below the other in local memory, so no tiles come abreast")
    together = any(row in s.dims for s, _ in computation.clipped) or row in dict(computation.overlaps.values())
    if computation.pooling is not None or computation.pieced or together:
        raise NotApplicable("rows of an image that is pooled, that has a padding, or that steps share, stay together")
    if tiles < 2 or extent % tiles:
        raise NotApplicable(f"{extent} rows are not shared out among {tiles} tiles")
    turn = f"{row}_turn"
    dims: list[Dim] = []
    for dim in computation.dims:
        own = dim.name == row
        dims += [replace(dim, extent=extent // tiles), Dim(turn, tiles, False)] if own else [dim]
    return replace(
        computation,
        dims=tuple(dims),
        result=_shared_out(computation.result, row, turn, tiles),
        left=_shared_out(computation.left, row, turn, tiles),
        added=tuple(_shared_out(operand, row, turn, tiles) for operand in computation.added),
    )


def _shared_out(operand: Operand, row: str, turn: str, tiles: int) -> Operand:
    def split(subscript: Subscript) -> Subscript:
        factor = subscript.factor(row)
        if not factor:
            return subscript
        others = tuple((dim, by) for dim, by in subscript.terms if dim != row)
        return replace(subscript, terms=(*others, (row, factor * tiles), (turn, factor)))

    return replace(operand, subscripts=tuple(map(split, operand.subscripts)))

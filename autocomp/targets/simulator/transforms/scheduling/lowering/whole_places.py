"""Where tiles that are taken whole lie: their places in a block, their pieces, and their rows in local memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.computation import Subscript
from autocomp.targets.simulator.transforms.scheduling.lifting.extra import EXTRA
from autocomp.targets.simulator.transforms.scheduling.lowering.layout import Buffer
from autocomp.targets.simulator.transforms.scheduling.lowering.nest import Nest
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Tasks, extra_dims
from autocomp.targets.simulator.transforms.scheduling.lowering.tiles import Tiles
from autocomp.targets.simulator.transforms.scheduling.schedule import OPERANDS

PIECE = "piece"  # among the coordinates of a tile: that of the piece in it
WITHIN = "within"  # the same: its number among the tiles of one store


@dataclass
class WholePlaces(Nest):
    """Places and rows of tiles that commands take as they are."""

    leaves: Tasks  # type: ignore[assignment]

    def __post_init__(self) -> None:
        Tiles.__post_init__(self)

    # --- what fits

    def _check_tiles(self) -> None:
        for dim, size in self.schedule.tile.items():
            known = self.leaves.sizes.get(dim)
            if not 1 <= size <= (1 if known is None else known.most):
                raise NotApplicable(f"a tile of {size} along {dim!r} is not one of this machine's")
        several = self.computation.pieced and self.schedule.tile.get(self.computation.row, 1) > 1
        one_step = self.leaves.lines is None or not self.leaves.lines.apart
        if several and one_step and dict(self.grid.shared.values()).get(self.computation.row, 1) > 1:
            raise NotApplicable("products take the rows of lines that follow one another")

    # --- local memory

    def _row_word(self, operand: str) -> str:
        return ""

    def _side(self, operand: str) -> str:
        if self._is_pieced(operand):
            return self.grid.row_side if operand in self.leaves.wide else ""
        return self.leaves.wide[operand].dim if operand in self.leaves.wide else ""

    def _pitch(self, operand: str) -> int:
        return self.leaves.rows(operand, self.grid)

    def _width(self, operand: str) -> int:
        return self.leaves.width(operand, self.grid)

    def tile_order(self, operand: str) -> tuple[str, ...]:
        """As given; those that one move brings, or that lap, and the pieces of one tile, lie side by side."""
        order = [d for d in self.computation.extents if d in self.grid.dims(operand)]
        order.sort(key=lambda dim: dim == (self._lapped(operand) or self._side(operand)))
        if self._is_pieced(operand):
            row = self.computation.row
            along = [d for d in order if self.grid.shared.get(d, ("", 0))[0] == row]
            order = [*(d for d in order if d not in (row, *along)), *along, row]
        return tuple(order)

    def _lapped(self, operand: str) -> str:
        return self.leaves.lapped(operand, self.grid) if operand in OPERANDS else ""

    def _row(self, operand: str, tile: Mapping[str, str], at: str, phase: str) -> str:
        row, dim = super()._row(operand, tile, at, phase), self._lapped(operand)
        if not dim:
            return row
        missing = self.leaves.filled[operand].missing(self.leaves.loads[operand])
        last = f"{self._tile(dim, tile.get(dim, '0'), at)} == {self.grid.tiles[dim] - 1}"
        return f"{row} + ({last} ? {missing} : 0)"

    # --- tiles that come piece by piece

    def _place(self, operand: str, dim: str, tile: Mapping[str, str], at: str) -> str:
        place = super()._place(operand, dim, tile, at)
        if dim == self._lapped(operand):
            return f"{self.grid.block[dim] - 1} - ({place})"
        if not self._is_pieced(operand):
            return place
        row = self.computation.row
        pieces, piece = self.schedule.tile.get(row, 1), tile.get(PIECE, "0")
        if dim in self.grid.shared and self.grid.shared[dim][0] == row:
            _, steps = self.grid.shared[dim]
            return (
                f"(({tile.get(row, '0')}) * {pieces} + {piece}) * {steps} + {self._tile(dim, tile.get(dim, '0'), at)}"
            )
        return f"({place}) * {pieces} + {piece}" if dim == row and row not in self._sharing else place

    def places(self, operand: str, dim: str, at: str) -> str:
        if not self._is_pieced(operand):
            return super().places(operand, dim, at)
        row = self.computation.row
        pieces = self._extent(row, "0", at, self.count(row, at))
        if dim in self.grid.shared and self.grid.shared[dim][0] == row:
            _, steps = self.grid.shared[dim]
            return f"(({pieces} - 1) * {steps} + {self.grid.tiles[dim]})"
        return pieces if dim == row and row not in self._sharing else super().places(operand, dim, at)

    @property
    def _lines_apart(self) -> int:
        """Rows from one line of a tile of the left operand to the next."""
        steps = dict(self.grid.shared.values()).get(self.computation.row, 1)
        return self._pitch("left") * steps

    @property
    def _sharing(self) -> frozenset[str]:
        """The dimensions of results that share tiles of the left operand."""
        return frozenset(other for other, _ in self.grid.shared.values())

    def _subscript(self, subscript: Subscript, tile: Mapping[str, str], at: str) -> str:
        value, factor = super()._subscript(subscript, tile, at), subscript.factor(self.computation.row)
        return f"{value} + ({tile[PIECE]}) * {factor}" if PIECE in tile and factor else value

    def _buffers(self) -> Mapping[str, Buffer]:
        rooms = self.leaves.rooms
        buffers: dict[str, Buffer] = {}
        for operand in (*OPERANDS, "result"):
            if operand in self.leaves.queued:
                buffers[operand] = Buffer(rooms[operand].memory, self._pitch(operand), 1)
                continue
            places = prod(self.grid.blocks[d] for d in self._slots(operand)) * self.grid.phases(operand)
            rows = self.grid.held(operand) * self._pitch(operand)
            buffers[operand] = Buffer(rooms[operand].memory, rows, places)
        if self.leaves.extra is not None:
            buffers[EXTRA] = Buffer(rooms[EXTRA].memory, self.leaves.extra_rows(self.grid), 1)
        for relay in self.leaves.relays:
            rows, places = self.leaves.passing(relay, self.grid), self.leaves.places(relay, self.grid)
            buffers[relay] = Buffer(rooms[relay].memory, rows, places)
        return buffers

    def _row_of(self, buffer: str, tile: Mapping[str, str], at: str, phase: str) -> str:
        if buffer == EXTRA:
            return self._extra_row({d: self._tile(d, tile.get(d, "0"), at) for d in extra_dims(self.computation)})
        if buffer not in self.leaves.relays:
            return self._row(buffer, tile, at, phase)
        first, *others = self._places[buffer]
        owner, known = self.leaves.owner(buffer), self._buffers()[buffer]
        if owner == "result" and WITHIN in tile:
            apart = 1 if self.leaves.wide["result"].woven else self._pitch(buffer)
            outside = {dim: at for dim, at in tile.items() if dim != WITHIN}
            return f"{self._row_of(buffer, outside, at, phase)} + ({tile[WITHIN]}) * {apart}"
        if not others:
            return str(first)
        number = counter(owner)
        for dim in self.leaves.dims_near(owner, self.grid):
            number = f"({number}) * {self.grid.block[dim]} + ({tile.get(dim, '0')})"
        least, apart = min(first, others[0]), abs(others[0] - first)
        place = f"({number}) % {known.places}"
        odd = f"{place} % 2"
        row = f"{least} + {odd} * {apart}" if others[0] > first else f"{least} + (1 - {odd}) * {apart}"
        return f"{row} + {place} / 2 * {known.rows}" if known.places > 2 else row

    def _extra_row(self, tiles: Mapping[str, str]) -> str:
        """The row of what commands read besides a tile, which has these numbers."""
        number = "0"
        for dim, tile in tiles.items():
            number = f"({number}) * {self.grid.tiles[dim]} + {tile}"
        return f"({number}) * {self._pitch(EXTRA)} + {self._places[EXTRA][0]}"

    def _rows_in_use(self, buffer: str) -> Iterator[int]:
        """The first row of each tile that a buffer has room for."""
        known = self._buffers()[buffer]
        starts = self._places[buffer]
        for place in range(known.places):
            first = starts[place % len(starts)] + place // len(starts) * known.rows
            yield from range(first, first + known.rows, self._pitch(buffer))


def counter(operand: str) -> str:
    """The variable that counts the tiles of an operand that have moved on."""
    return f"{operand}_moved"

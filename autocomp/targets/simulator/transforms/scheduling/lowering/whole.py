"""The loops of a scheduled contraction of whole tiles: as of any other, with commands that are taken as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.computation import Operand
from autocomp.targets.simulator.transforms.scheduling.lifting.extra import EXTRA
from autocomp.targets.simulator.transforms.scheduling.lowering.operands import (
    FIRST,
    FRESH,
    Apart,
    Element,
    Extent,
    Record,
    Rows,
    Several,
    Value,
    Varied,
    short_along,
)
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Command, RowSetting, extra_dims, record_of
from autocomp.targets.simulator.transforms.scheduling.lowering.text import NOW, Lines
from autocomp.targets.simulator.transforms.scheduling.lowering.whole_commands import TILES, WholeCommands
from autocomp.targets.simulator.transforms.scheduling.lowering.whole_places import PIECE, WITHIN, counter
from autocomp.targets.simulator.transforms.scheduling.schedule import OPERANDS

_MOST_SETTINGS = 64
_PHASE = "phase"  # in loops over the panels of an operand


@dataclass
class WholeNest(WholeCommands):
    """Loops over tiles of which only places are known."""

    # --- configuration

    def configuration(self) -> Lines:
        lines = [str(self.call(instruction, operands)) for instruction, operands in self.leaves.settings]
        made: dict[tuple[str, int], RowSetting] = {}
        for setting in self.leaves.row_settings:
            for row in self._rows_in_use(setting.buffer):
                record = record_of(setting.index, row)
                key = setting.instruction.name, record
                before = made.setdefault(key, setting)
                if before.operands != setting.operands:
                    raise NotApplicable("tiles that need different configurations lie in the same rows")
                if before is setting:
                    operands = {**setting.operands, setting.selector: record}
                    lines.append(str(self.call(setting.instruction, operands)))
        if len(lines) > _MOST_SETTINGS:
            raise NotApplicable("the tiles of a block need too many configurations")
        filled = [line for operand in sorted(self.leaves.filled) for line in self._filled(operand)]
        return [*dict.fromkeys(lines), *filled, *self._extra(), *self._before_moves()]

    def _extra(self) -> Lines:
        """Loads of what commands read besides tiles, for all results, and the order in which those come after them."""
        extra, leaves = self.leaves.extra, self.leaves
        if extra is None:
            return []
        dims = extra_dims(self.computation)
        lines = self._do(extra, {d: d for d in dims}, NOW, {})
        for dim in reversed(dims):
            lines = [f"for (int {dim} = 0; {dim} < {self.count(dim, NOW)}; {dim}++) {{", *lines, "}"]
            if self.grid.blocks[dim] > 1:
                block = self.block_name(dim)
                head = f"for (int {block} = 0; {block} < {self.grid.blocks[dim]}; {block}++) {{"
                lines = [head, *self.sizes(dim, NOW), *lines, "}"]
        if any(short_along(value) for value in extra.operands.values()):  # all columns are read, of a short one too
            last = {dim: str(self.grid.tiles[dim] - 1) for dim in dims}
            row, source = self._extra_row(last), self._source_of("start")
            filling = {name: self._whole_tile(value, source, row) for name, value in extra.operands.items()}
            settings = self._set(extra, lambda value: self._whole_tile(value, source, row))
            lines = [*settings, str(self.call(extra.instruction, filling)), *lines]
        commands = [c for c in (leaves.start, leaves.first, leaves.product, *leaves.finish) if c is not None]
        reading = [c for c in commands if any(isinstance(v, Rows) and v.buffer == EXTRA for v in c.operands.values())]
        units = dict.fromkeys(c.instruction.unit for c in reading)
        return [*lines, *(line for unit in units for line in self._order.between(extra.instruction.unit, unit))]

    def _filled(self, operand: str) -> Lines:
        """Loads from the tensor's first tile to where short ones will lie: what these leave as it was is read too.
        Raises NotApplicable where tiles come piece by piece, through a queue, or pass further memories on their way."""
        load, source = self.leaves.loads[operand], self.computation.operands[operand]
        filling = self.leaves.filled[operand]
        rows = filling.missing(load)
        short = filling.short(load)
        if not short or self._lapped(operand):
            return []
        several = self.leaves.brings[operand] or load.parts is not None or self._is_pieced(operand)
        if several or operand in self.leaves.queued:
            raise NotApplicable(f"it is not seen how to fill a short tile of the {operand} operand")
        counts = {d: n for d in self.tile_order(operand) if (n := self.grid.along(operand, d, self.grid.block)) > 1}
        slots = {self.block_name(d): self.grid.blocks[d] for d in self._slots(operand)}
        loops = {**slots, _PHASE: self.grid.phases(operand), **counts}
        row = self._row(operand, {d: d for d in counts}, NOW, _PHASE)
        values = {name: self._whole_tile(value, source, row) for name, value in load.operands.items()}
        if rows:  # from the last row on that the short tile has, so that it is seen which command came later
            row = f"{row} + {int(values[filling.rows]) - rows - 1}"
            placed = {n: self._whole_tile(v, source, row) for n, v in load.operands.items() if isinstance(v, Rows)}
            values = {**values, **filling.least, **placed, filling.rows: rows + 1}
        settings = self._set(load, lambda value: self._whole_tile(value, source, row))
        lines = [*settings, str(self.call(load.instruction, values))]
        last: list[str] = []
        for dim in sorted(short):
            name, tiles, block = self.block_name(dim), self.grid.tiles[dim], self.grid.block[dim]
            ends = [f"{dim} == {(tiles - 1) % block}"] if dim in counts else []
            ends += [f"{name} == {slots[name] - 1}"] if name in slots else []
            last.append(" && ".join(ends) or "1")
        lines = [f"if ({' || '.join(f'({one})' for one in last)}) {{", *lines, "}"]
        heads = [f"for (int {name} = 0; {name} < {count}; {name}++) {{" for name, count in loops.items()]
        return [*heads, *lines, *["}"] * len(heads)]

    def _whole_tile(self, value: Value, source: Operand, row: str) -> str | int | float:
        """An operand of the load of a tensor's first tile to a row."""
        if isinstance(value, Rows):
            return self._address(value, row)
        if isinstance(value, Record):
            return f"({row}) / {value.rows}"
        if isinstance(value, Element):
            return f"&{source.tensor.name}" + "[0]" * len(source.subscripts)
        if isinstance(value, Extent):
            return min(self.schedule.tile.get(value.dim, 1), self.computation.extents[value.dim]) * value.each
        if isinstance(value, Apart | Several):
            raise NotApplicable("it is not seen how to fill a short tile of lines")
        return value.usual if isinstance(value, Varied) else value

    def _before_moves(self) -> Lines:
        """Counters of tiles that move on, and what the first moves wait for."""
        moving = [*self._moving, *(["result"] if self._passing else [])]
        lines = [f"int {counter(operand)} = 0;" for operand in moving]
        return [*lines, *(self._complete()[0] if self._in_turn else []), *self._emptied()[0] * self._places_to_pass]

    def conclusion(self) -> Lines:
        return [*(self._complete()[1] if self._in_turn else []), *self._emptied()[1] * self._places_to_pass]

    # --- commands

    @property
    def started(self) -> bool:
        return self.leaves.start is not None

    def load(self, operand: str, tile: Mapping[str, str], at: str, phase: str) -> Lines:
        lines: Lines = []
        unit: str | None = None
        if self._is_pieced(operand):  # moves count pieces
            row = self.computation.row
            pieces = self._wide(operand, tile, at) if self._width(operand) > 1 else "1"
            tile = {**{d: place for d, place in tile.items() if d != row}, PIECE: tile.get(row, "0")}
            tile[f"{TILES} {PIECE}"] = pieces
        elif self._width(operand) > 1:
            tile = {**tile, f"{TILES} {self._side(operand)}": self._wide(operand, tile, at)}
        for command in self.leaves.chain(operand):
            lines += self._order.between(unit, command.instruction.unit) if unit else []
            lines += self._do(command, tile, at, {operand: phase})
            if unit:  # before the tile that the next load puts in the same place
                lines += self._order.between(command.instruction.unit, unit)
            unit = command.instruction.unit
        return lines

    def all_loads(self, operand: str, at: str, phase: str) -> Lines:
        return [] if operand in self.leaves.queued else super().all_loads(operand, at, phase)

    def start(self, tile: Mapping[str, str], at: str, phase: str) -> Lines:
        assert self.leaves.start is not None
        return self._do(self.leaves.start, tile, at, {"result": phase})

    def store(self, tile: Mapping[str, str], at: str, phase: str) -> Lines:
        """The commands that store the tiles of results which one store takes. Where programs order units, and results
        pass further memories, the first one waits for the store of the tiles that had their place there before."""
        signals, waits = self._emptied()
        column, width = self._side("result"), self._width("result")
        finish = self.leaves.finish
        lines = [*waits, *([f"{counter('result')}++;"] if self._passing else [])]
        if width > 1:
            tiles = self._wide("result", tile, at)
            tile = {**tile, f"{TILES} {column}": tiles}
            one = {**tile, column: f"{tile[column]} + {WITHIN}", WITHIN: WITHIN}
            finished = self._in_turn_on(finish, one, at, phase)
            head = f"for (int {WITHIN} = 0; {WITHIN} < {tiles}; {WITHIN}++) {{"
            lines += [head, *finished, "}"] if finished else []
        else:
            lines += self._in_turn_on(finish, tile, at, phase)
        stored = self.leaves.store
        order = self._order.between(finish[-1].instruction.unit, stored.instruction.unit) if finish else []
        return [*lines, *order, *self._do(stored, tile, at, {"result": phase}), *signals]

    def _in_turn_on(self, commands: Sequence[Command], tile: Mapping[str, str], at: str, phase: str) -> Lines:
        """Commands on a tile of results, one after the other."""
        lines: Lines = []
        unit: str | None = None
        for command in commands:
            order = self._order.between(unit, command.instruction.unit)
            lines += [*order, *self._do(command, tile, at, {"result": phase})]
            unit = command.instruction.unit
        return lines

    @property
    def _passing(self) -> tuple[str, ...]:
        """The buffers that results pass on their way out, of several places each."""
        relays = (relay for relay in self.leaves.relays if self.leaves.owner(relay) == "result")
        return tuple(relay for relay in relays if self._buffers()[relay].places > 1)

    @property
    def _places_to_pass(self) -> int:
        """Tiles of results that may be on their way out at a time."""
        relays = [self._buffers()[relay].places for relay in self.leaves.relays if self.leaves.owner(relay) == "result"]
        depth = int(self.leaves.accelerator.settings.get("semaphores.depth", 0))
        return min([*relays, *([depth] if depth else [])], default=0)

    def _emptied(self) -> tuple[Lines, Lines]:
        """The call that says that a tile of results is stored, and the one that waits for it."""
        if not any(self.leaves.owner(relay) == "result" for relay in self.leaves.relays):
            return [], []
        pair = self._order.between(self.leaves.store.instruction.unit, self.leaves.finish[0].instruction.unit)
        return pair[:1], pair[1:]

    def _queue(self, tile: Mapping[str, str], at: str, phases: Mapping[str, str]) -> Lines:
        """The loads of tiles that the next product takes from a queue; those of the first one may have come before."""
        loads = [line for operand in self.leaves.queued for line in self.load(operand, tile, at, phases[operand])]
        return self._if(f"!({self._at_first(at)})", loads) if self.schedule.alone else loads

    def first_alone(self, at: str, phases: Mapping[str, str]) -> Lines:
        if not self.schedule.alone:
            return []
        assert self.leaves.fence is not None
        loads = [line for o in self.leaves.queued for line in self.load(o, self.inner_tile(), at, phases[o])]
        return self._if(self._at_first(at), [*loads, str(self.call(*self.leaves.fence))])

    def _at_first(self, at: str) -> str:
        """The condition that a product is the first of all."""
        counters = self.counters()
        dims = [d for d, tiles in self.grid.tiles.items() if tiles > 1]
        return " && ".join(f"{self._tile(d, counters.get(d, '0'), at)} == 0" for d in dims) or "1"

    @staticmethod
    def _if(condition: str, lines: Lines) -> Lines:
        return [f"if ({condition}) {{", *lines, "}"] if lines else []

    def _product(self, at: str, phases: Mapping[str, str]) -> Lines:
        tile = self.inner_tile()
        reduced = self.computation.reduction
        first = [f"{self._tile(d, tile.get(d, '0'), at)} == 0" for d in reduced if self.grid.tiles[d] > 1]
        loads = self._queue(tile, at, phases)
        product, fresh = self.leaves.product, self._fresh()
        if fresh:
            loads = self._if(fresh, loads)
            again = {n: Varied(FRESH, product.given.operands[n], value) for n, value in self.leaves.again.items()}
            product = replace(product, operands={**product.operands, **again})
        moved = self._moved_on(tile, at, phases)
        when = {FIRST: " && ".join(first) or "1", FRESH: fresh}
        engines = [replace(product, instruction=one) for one in self.leaves.engines]
        lines = self._by_engines([self._do(one, tile, at, phases, when) for one in engines], tile, at)
        if self.leaves.first is not None:
            begun = self._do(self.leaves.first, tile, at, phases, when)
            lines = [f"if ({when[FIRST]}) {{", *begun, "} else {", *lines, "}"]
        return [*loads, *moved, *lines]

    def _by_engines(self, choices: Sequence[Lines], tile: Mapping[str, str], at: str) -> Lines:
        """Products of one result after the other by one engine after the other; all of one result by the same."""
        dims = [dim for dim in self.computation.parallel if self.grid.tiles[dim] > 1]
        number = " + ".join(self._tile(dim, tile.get(dim, "0"), at) for dim in dims) or "0"
        *others, lines = choices
        for engine, other in reversed([*enumerate(others)]):
            lines = [f"if (({number}) % {len(choices)} == {engine}) {{", *other, "} else {", *lines, "}"]
        return lines

    # --- tiles on their way from a panel to products

    def _moved_on(self, tile: Mapping[str, str], at: str, phases: Mapping[str, str]) -> Lines:
        """The commands that move tiles from their panels to where a product reads them, unless that before it did.

        Where programs order units and places are used in turn, a move waits for the products before those that read
        the tile before: the array has said at that tile that they are complete.
        """
        own, near = self.leaves.product.instruction.unit, self.leaves.near
        moves: Lines = []
        for operand in self._moving:
            unit: str | None = None
            lines: Lines = []
            for command in near[operand]:
                lines += [*self._order.between(unit, command.instruction.unit), *self._do(command, tile, at, phases)]
                unit = command.instruction.unit
            moves += self._guarded(self._counted(operand), [f"{counter(operand)}++;"])
            moves += self._guarded(self._moved(operand), lines)
        if not moves or not self._order.is_needed:
            return moves
        ready = [line for unit in self._near_units(-1) for line in self._order.between(unit, own)]
        signals, waits = self._complete()
        before, after = (waits, signals) if self._in_turn else ([*signals, *waits], [])
        return self._guarded(self._moved(self._moving[0]), [*before, *moves, *ready, *after])

    def _complete(self) -> tuple[Lines, Lines]:
        """The calls that say that products are complete, and those that wait for it before tiles move on."""
        own = self.leaves.product.instruction.unit
        pairs = [self._order.between(own, unit) for unit in self._near_units(0)]
        return [pair[0] for pair in pairs if pair], [pair[1] for pair in pairs if pair]

    @property
    def _moving(self) -> tuple[str, ...]:
        """The operands whose tiles move on, those first that do most often."""
        moving = (operand for operand in OPERANDS if self.leaves.near.get(operand))
        return tuple(sorted(moving, key=lambda operand: len(self.grid.idle(operand))))

    def _near_units(self, at: int) -> list[str]:
        """The units that move tiles on: those of the first (0) or the last (-1) commands."""
        units = (self.leaves.near[operand][at].instruction.unit for operand in self._moving)
        return sorted({unit for unit in units if unit})

    @property
    def _in_turn(self) -> bool:
        """True if tiles move on by one command each, to several places in turn."""
        buffers = [relay for relay in self.leaves.relays if self.leaves.owner(relay) != "result"]
        return len(buffers) == len(self._moving) > 0 and all(len(self._places[buffer]) > 1 for buffer in buffers)

    def _moved(self, operand: str) -> Sequence[str]:
        """The loops at whose first iterations a tile moves on, of those in which it stays there."""
        held = self.leaves.held_near(operand, self.grid)
        return tuple(dim for dim in held if dim not in self.grid.dims(operand))

    def _counted(self, operand: str) -> Sequence[str]:
        """The loops at whose first iterations other tiles move on than before."""
        return (*self._moved(operand), *self.leaves.dims_near(operand, self.grid))

    @staticmethod
    def _guarded(dims: Sequence[str], lines: Lines) -> Lines:
        """Lines for the first iterations of some loops alone."""
        first = " && ".join(f"{dim} == 0" for dim in dims)
        return [f"if ({first}) {{", *lines, "}"] if first else lines

    def ordered(self, first: str, later: str) -> Lines:
        leaves = self.leaves
        loading = {leaves.chain(operand)[-1].instruction.unit for operand in OPERANDS}
        starting = {leaves.start.instruction.unit} if leaves.start is not None else set()
        product, storing = {leaves.product.instruction.unit}, leaves.results
        if first == "store":  # until nothing reads the products' sums any more
            names = [any(isinstance(v, Rows) and v.buffer == "result" for v in c.operands.values()) for c in storing]
            storing = tuple(c for c, named in zip(storing, names, strict=True) if named) or storing[:1]
        store = {storing[-1 if first == "store" else 0].instruction.unit}
        units = {"load": loading, "product": product, "store": store}
        if "load" in (first, later) and "store" not in (first, later):  # panels are read by what moves tiles on
            near = {command.instruction.unit for cs in leaves.near.values() for command in cs[:1]}
            whole = starting or any(not leaves.near.get(operand) for operand in OPERANDS)
            units["product"] = near | product if whole else near
        if (first, later) == ("store", "load"):
            units["load"] = starting
        if (first, later) == ("load", "product"):
            units["load"] = loading | starting
        pairs = [(a, b) for a in sorted(units[first], key=str) for b in sorted(units[later], key=str)]
        return [line for a, b in pairs for line in self._order.between(a, b)]

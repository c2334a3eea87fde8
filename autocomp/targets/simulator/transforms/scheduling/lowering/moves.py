"""The commands that configure the machine and move tiles."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.computation import Operand
from autocomp.targets.simulator.transforms.scheduling.lowering.leaves import Configure, MoveLeaf, Setting
from autocomp.targets.simulator.transforms.scheduling.lowering.spelling import CallText, Operands, spelled
from autocomp.targets.simulator.transforms.scheduling.lowering.text import NOW, Lines, address, minimum
from autocomp.targets.simulator.transforms.scheduling.lowering.tiles import Tiles


class Moves(Tiles):
    """Moves of tiles between tensors and local memory."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._streams = self._selectors()
        if (self.grid.defers or self._order.trails(self.schedule)) and not self._pooled_in_order:
            raise NotApplicable("the machine does not order a store that pools by all that it reads")

    @cached_property
    def _pooled_in_order(self) -> bool:
        """True if the machine orders stores that pool: by all rows of each image, wherever it lies."""
        images = range(self.grid.held("result") if self.computation.windows else 0)
        starts = [first + n * self._pitch("result") for first in self._places["result"] for n in images]
        return all(self.leaves.store.orders(start, self.grid.image) for start in starts)

    def _selectors(self) -> Mapping[str, int]:
        """Records of configuration, one for each kind of move that needs one of its own."""
        selectors: dict[str, int] = {}
        taken: dict[str, list[tuple[object, ...]]] = {}
        for stream, leaf in self._loads().items():
            if not leaf.selector:
                continue
            settings = tuple(sorted(self._configured(leaf, stream).items()))
            known = taken.setdefault(leaf.instruction.name, [])
            if settings not in known:
                known.append(settings)
            selectors[stream] = known.index(settings)
            high = next(p.high for p in leaf.instruction.parameters if p.name == leaf.selector)
            if high is not None and len(known) > high + 1:
                raise NotApplicable(f"{leaf.instruction.name} has too few configurations for all that is loaded")
        return selectors

    def _loads(self) -> Mapping[str, MoveLeaf]:
        leaves = {"left": self.leaves.left, "right": self.leaves.right}
        leaves.update({f"added{n}": leaf for n, leaf in enumerate(self.leaves.added)})
        if self._zeroed and self.leaves.zero is not None:
            leaves["zero"] = self.leaves.zero
        return leaves

    @property
    def _zeroed(self) -> bool:
        """True if results start from zeros that a move writes: where a product may be left out, none can start them."""
        if self.computation.added:
            return False
        needed = bool(self.computation.clipped) or not self.leaves.product.starting
        if needed and self.leaves.zero is None:
            raise NotApplicable("the machine writes no zeros for results to start from")
        return needed

    @property
    def started(self) -> bool:
        """True if moves start results, and products only add to them."""
        return bool(self.computation.added) or self._zeroed

    def _configured(self, leaf: MoveLeaf, stream: str, at: str = NOW) -> dict[str, str | int | float]:
        """The operands that configure a move in a step, with its strides and windows put in."""
        values: dict[str, str | int | float] = {}
        windows = self._windows(at) if leaf.windows else {}
        numbers: list[tuple[Setting, str | int]] = [*self._strides(leaf, stream)]
        numbers += [(leaf.windows[word], number) for word, number in windows.items()]
        for configure in leaf.settings:
            for name, value in configure.operands.items():
                if name != configure.selector:
                    values[f"{configure.instruction.name}.{name}"] = value
            for setting, number in numbers:
                if setting.register is not None and setting.register[2] in configure.sets:
                    values[f"{configure.instruction.name}.{configure.sets[setting.register[2]]}"] = number
        return values

    def _strides(self, leaf: MoveLeaf, stream: str) -> list[tuple[Setting, int]]:
        """The numbers that a move takes from settings: bytes between rows of DRAM, rows between blocks of columns."""
        if stream == "zero":
            return []
        operand = self._moved_operand(stream)
        row = self._row_word(operand if operand in ("left", "right") else "result")
        source = self._source(stream)
        stride = source.along(row)
        image = operand == "result" and self.computation.windows
        pitch = self.schedule.tile.get(row, 1) if image else self._pitch(operand)
        return [(leaf.stride, stride), (leaf.pitch, pitch)]

    def _windows(self, at: str) -> dict[str, str]:
        """The words that state the windows which a store pools in a step."""
        windows = self.computation.windows
        if not windows:
            return {}
        lines, row = windows
        count, size = windows[lines].count, self.grid.size[lines]
        ragged, first = count % size != 0, self._window(lines, at)
        stored = minimum(f"{count} - {self.block_name(lines)}{at} * {size}", str(size)) if ragged else str(size)
        above = f"{lines}_first{at} - ({first})" if lines in self.grid.spans else str(windows[lines].before)
        return {
            "lines": stored,
            "line_rows": str(windows[row].count),
            "line_step": str(windows[row].count),
            "image_rows": self.count(lines, at),
            "image_columns": str(self.computation.extents[row]),
            "above": above if windows[lines].before else "0",
            "before": str(windows[row].before),
        }

    @property
    def _pools_alike(self) -> bool:
        """True if the stores of all blocks pool in one way."""
        return all(number.isdigit() for number in self._windows(NOW).values())

    def _source(self, stream: str) -> Operand:
        if stream == "result" and self.computation.pooling is not None:
            return self.computation.pooling.stored
        if stream.startswith("added"):
            return self.computation.added[int(stream[5:])]
        return self.computation.operands[stream]

    @staticmethod
    def _moved_operand(stream: str) -> str:
        return stream if stream in ("left", "right") else "result"

    def configuration(self) -> Lines:
        lines: Lines = []
        for configure in self.leaves.product.settings:
            lines.append(str(self.call(configure.instruction, configure.operands)))
        done: set[tuple[str, int]] = set()
        stores = {"result": self.leaves.store} if self._pools_alike else {}
        for stream, leaf in (*self._loads().items(), *stores.items()):
            number = self._streams.get(stream, 0)
            for configure in leaf.settings:
                if (configure.instruction.name, number) in done:
                    continue
                done.add((configure.instruction.name, number))
                lines.append(str(self.call(configure.instruction, self._setting(configure, leaf, stream, number))))
        return lines

    def _setting(
        self, configure: Configure, leaf: MoveLeaf, stream: str, number: int, at: str = NOW
    ) -> dict[str, str | int | float]:
        values = self._configured(leaf, stream, at)
        operands = {
            name: values.get(f"{configure.instruction.name}.{name}", v) for name, v in configure.operands.items()
        }
        if configure.selector:
            operands[configure.selector] = number
        return operands

    def call(self, instruction: m.Instruction, operands: Operands) -> CallText:
        return spelled(self.leaves.accelerator, instruction, operands)

    def _move(self, stream: str, leaf: MoveLeaf, pointer: str, row: str, columns: str, rows: str) -> str:
        """A move of `rows` rows and `columns` columns."""
        operands: dict[str, str | int | float] = dict(leaf.operands)
        for setting, number in self._strides(leaf, stream):
            if setting.operand:
                operands[setting.operand] = number
        operands[leaf.address] = address(leaf.flags, leaf.space, row)
        if pointer:
            operands[leaf.pointer] = pointer
        operands.update(dict.fromkeys(leaf.rows, rows))
        operands.update(dict.fromkeys(leaf.columns, columns))
        if leaf.selector:
            operands[leaf.selector] = self._streams[stream]
        return str(self.call(leaf.instruction, operands))

    def _element_of(
        self, operand: Operand, tile: Mapping[str, str], at: str, shift: Mapping[int, str] | None = None
    ) -> str:
        """`&T[i][j]` of a tile's first element."""
        places = [self._subscript(s, tile, at) for s in operand.subscripts]
        for dim, more in (shift or {}).items():
            places[dim] += f" + {more}"
        return f"&{operand.tensor.name}" + "".join(f"[{place}]" for place in places)

    # --- moves of a panel

    def _moves(self, operand: str, at: str) -> tuple[tuple[str, ...], list[str]]:
        """The dimensions that a step's moves of an operand go through, and how many there are of each: tiles, and along
        columns groups of them."""
        column, width = self._side(operand), self._width(operand)
        dims = tuple(d for d in self._moved_dims(operand) if self.grid.along(operand, d, self.grid.block) > 1)
        counts = []
        for dim in dims:
            count = self.places(operand, dim, at)
            counts.append(f"({count} + {width - 1}) / {width}" if dim == column and width > 1 else count)
        return dims, counts

    def _moved_dims(self, operand: str) -> tuple[str, ...]:
        """The dimensions of tiles, or of whole images of results, that moves go through."""
        pooled = self.computation.windows if operand == "result" else {}
        return tuple(d for d in self.tile_order(operand) if d not in pooled)

    def unravelled(self, operand: str, number: str, at: str, suffix: str) -> tuple[Lines, dict[str, str]]:
        """The coordinates in a block of the tile that a move begins at, from the move's number."""
        dims, counts = self._moves(operand, at)
        column, width = self._side(operand), self._width(operand)
        lines: Lines = []
        tile: dict[str, str] = {}
        inside = "1"
        for place, dim in reversed(list(enumerate(dims))):
            name = f"{dim}{suffix}"
            value = f"{number} / ({inside})" + (f" % ({counts[place]})" if place else "")
            lines.append(f"const int {name} = ({value}) * {width if dim == column else 1};")
            tile[dim] = name
            inside = f"{inside} * ({counts[place]})"
        return lines, tile

    def within(self, tile: Mapping[str, str], at: str) -> list[str]:
        """The conditions that a tile of a whole block is one of a step's block too, which may be smaller."""
        return [f"{place} < {self.count(dim, at)}" for dim, place in tile.items() if self._ragged(dim)]

    def of_whole_block(self, operand: str, number: str, suffix: str) -> tuple[Lines, dict[str, str], int]:
        """The coordinates of the tile that a move of a whole block begins at, from the move's number; and how many
        moves there are."""
        column, width = self._side(operand), self._width(operand)
        lines: Lines = []
        tile: dict[str, str] = {}
        moves = 1
        for dim in reversed([d for d in self._moved_dims(operand) if self.grid.block[d] > 1]):
            wide = width if dim == column else 1
            count = -(-self.grid.block[dim] // wide)
            lines.append(f"const int {dim}{suffix} = ({number}) / {moves} % {count} * {wide};")
            tile[dim] = f"{dim}{suffix}"
            moves *= count
        return lines, tile, moves

    def total(self, operand: str, at: str) -> str:
        """The number of moves that bring a step's tiles of an operand."""
        _, counts = self._moves(operand, at)
        return " * ".join(f"({count})" for count in counts) or "1"

    def _wide(self, operand: str, tile: Mapping[str, str], at: str) -> str:
        """The tiles of one move. Its extent ends where the dimension does, whatever the number of tiles, if that is
        inside of a tile of the only block."""
        column, width = self._side(operand), self._width(operand)
        if self._is_pieced(operand):
            return minimum(f"{self.places(operand, column, at)} - ({tile.get(column, '0')})", str(width))
        ends = self.computation.extents[column] % self.schedule.tile.get(column, 1) != 0
        if width == 1 or (ends and self.grid.blocks[column] == 1):
            return str(width)
        return minimum(f"{self.count(column, at)} - {tile.get(column, '0')}", str(width))

    def load(self, operand: str, tile: Mapping[str, str], at: str, phase: str) -> Lines:
        """The move that brings some tiles of an operand."""
        leaf = self.leaves.move(operand)
        row = self._row_word(operand)
        wide = self._wide(operand, tile, at)
        columns = self._columns(operand, tile, at, wide)
        rows = wide if self._is_pieced(operand) else self._extent(row, tile.get(row, "0"), at)
        place = self._row(operand, tile, at, phase)
        source = self.computation.operands[operand]
        if operand == "right" or not self.computation.clipped:
            call = self._move(operand, leaf, self._element_of(source, tile, at), place, columns, rows)
            used = self._is_used(tile, at) if operand == "right" else ""
            return [f"if ({used}) {{", call, "}"] if used else [call]
        if self._row_clips and row != self.computation.row:
            raise NotApplicable("rows of an image at its edges lie across the columns of local memory")
        shift: dict[int, str] = {}
        lines: Lines = []
        if self._row_clips:
            lines += self._clipped_rows(tile, at)
            dim = next(n for n, s in enumerate(source.subscripts) if s.factor(row))
            shift = {dim: f"first * {source.subscripts[dim].factor(row)}"}
            rows, place = "rows", f"{place} + first"
        call = self._move(operand, leaf, self._element_of(source, tile, at, shift), place, columns, rows)
        return ["{", *lines, f"if ({self._inside(tile, at)}) {{", call, "}", "}"]

    def comes_at_once(self, operand: str) -> bool:
        """True if all tiles of the first step come before its first product: several steps share them."""
        over_steps = operand == "left" and any(self.grid.blocks[dim] > 1 for dim in self.grid.shared)
        return over_steps or self._is_pieced(operand)  # several products use a piece

    def first_load(self, operand: str, tile: Mapping[str, str]) -> Lines:
        """The moves in front of the first product that uses a tile in the first step."""
        return self.load(operand, tile, NOW, "0")

    def start(self, tile: Mapping[str, str], at: str, phase: str) -> Lines:
        """The moves that start a tile of results."""
        row, column = self.computation.row, self.computation.column
        place = self._row("result", tile, at, phase)
        rows, columns = (self._extent(d, tile.get(d, "0"), at) for d in (row, column))
        if self._zeroed:
            assert self.leaves.zero is not None
            return [self._move("zero", self.leaves.zero, "", place, columns, rows)]
        lines: Lines = []
        for number, leaf in enumerate(self.leaves.added):
            pointer = self._element_of(self.computation.added[number], tile, at)
            lines.append(self._move(f"added{number}", leaf, pointer, place, columns, rows))
        return lines

    def starts(self, tile: Mapping[str, str], at: str, phase: str) -> Lines:
        """The moves that start all tiles of results which one move stores."""
        column, width = self._side("result"), self._width("result")
        if self.computation.windows:
            inner = [d for d in self.computation.windows if self.grid.block[d] > 1]
            heads = [f"for (int {d}_one = 0; {d}_one < {self.count(d, at)}; {d}_one++) {{" for d in inner]
            start = self.start({**tile, **{d: f"{d}_one" for d in inner}}, at, phase)
            return [*heads, *start, *["}"] * len(heads)]
        if width == 1 or column not in tile:
            return self.start(tile, at, phase)
        end = minimum(f"{tile[column]} + {width}", self.count(column, at))
        head = f"for (int {column}_one = {tile[column]}; {column}_one < {end}; {column}_one++) {{"
        return [head, *self.start({**tile, column: f"{column}_one"}, at, phase), "}"]

    def store(self, tile: Mapping[str, str], at: str, phase: str) -> Lines:
        """The move of some tiles of results to their tensor."""
        row = self.computation.row
        columns = self._columns("result", tile, at, self._wide("result", tile, at))
        rows = self._extent(row, tile.get(row, "0"), at)
        leaf, place = self.leaves.store, self._row("result", tile, at, phase)
        if self.computation.pooling is None:
            pointer = self._element_of(self.computation.result, tile, at)
            return [self._move("result", leaf, pointer, place, columns, rows)]
        place = self._row("result", {d: t for d, t in tile.items() if d not in self.computation.windows}, at, phase)
        move = self._move("result", leaf, self._pooled_element(tile, at), place, columns, rows)
        settings = () if self._pools_alike else leaf.settings
        return [*(str(self.call(c.instruction, self._setting(c, leaf, "result", 0, at))) for c in settings), move]

    def _pooled_element(self, tile: Mapping[str, str], at: str) -> str:
        """`&T[i][j]` of the first pooled result of an image."""
        assert self.computation.pooling is not None
        stored, places = self.computation.pooling.stored, []
        for subscript in stored.subscripts:
            name = next(iter(subscript.dims), "")
            if name not in self.computation.windows:
                places.append(self._subscript(subscript, tile, at))
            else:
                split = self.grid.blocks[name] > 1
                places.append(f"{self.block_name(name)}{at} * {self.grid.size[name]}" if split else "0")
        return f"&{stored.tensor.name}" + "".join(f"[{place}]" for place in places)

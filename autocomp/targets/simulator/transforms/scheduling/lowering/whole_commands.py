"""The calls of commands that are taken as they are, with their operands as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.computation import Operand
from autocomp.targets.simulator.transforms.scheduling.lowering.operands import (
    Apart,
    Element,
    Extent,
    Record,
    Rows,
    Several,
    Value,
    Varied,
)
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Command
from autocomp.targets.simulator.transforms.scheduling.lowering.text import Lines, address
from autocomp.targets.simulator.transforms.scheduling.lowering.whole_places import PIECE, WholePlaces

TILES = "tiles"  # that a move brings along a dimension, among the coordinates of the first
_PART = "part"  # in loops over the commands of a tile


@dataclass
class WholeCommands(WholePlaces):
    """Commands for a tile."""

    def _do(
        self,
        command: Command,
        tile: Mapping[str, str],
        at: str,
        phases: Mapping[str, str],
        when: Mapping[str, str] | None = None,
    ) -> Lines:
        """The calls of a command for a tile; `when`: the conditions that a product is the FIRST, or a FRESH one."""

        def text(value: Value, step: int = 0) -> str | int | float:
            return self._text(value, tile, at, phases, when or {}, step)

        parts, settings = command.parts, self._set(command, text)
        if parts is None:
            operands = {name: text(value) for name, value in command.operands.items()}
            return [*settings, str(self.call(command.instruction, operands))]
        operands = {name: text(value, parts.steps.get(name, 0)) for name, value in command.operands.items()}
        head = f"for (int {_PART} = 0; {_PART} < {text(parts.count)}; {_PART}++) {{"
        return [*settings, head, str(self.call(command.instruction, operands)), "}"]

    def _set(self, command: Command, text: Callable[[Value], str | int | float]) -> Lines:
        """The settings that a command needs."""
        return [str(self.call(s.instruction, {n: text(v) for n, v in s.operands.items()})) for s in command.settings]

    def _text(
        self,
        value: Value,
        tile: Mapping[str, str],
        at: str,
        phases: Mapping[str, str],
        when: Mapping[str, str],
        step: int = 0,
    ) -> str | int | float:
        """An operand as text; `step`: what it grows by from one part of the tile to the next."""
        if isinstance(value, Rows):
            phase = phases.get(self.leaves.owner(value.buffer), "0")
            shifts = (f" + {self._tile(d, tile.get(d, '0'), at)} * {rows}" for d, rows in value.shifts)
            row = "".join((self._row_of(value.buffer, tile, at, phase), *shifts))
            return self._address(value, f"{row} + {_PART} * {step}" if step else row)
        if isinstance(value, Record):
            phase = phases.get(self.leaves.owner(value.buffer), "0")
            return f"({self._row_of(value.buffer, tile, at, phase)}) / {value.rows}"
        if isinstance(value, Element):
            source = self._source_of(value.operand)
            element = self._element_of(source, tile, at)
            return f"{element} + {_PART} * {step // source.tensor.element}" if step else element
        if isinstance(value, Extent):
            tiles = tile.get(f"{TILES} {value.dim}", "1")
            place = tile.get(value.dim, "0")
            elements = f"({self._extent(value.dim, place, at, tiles)}) * {value.each}"
            last = f"{self._tile(value.dim, place, at)} + {tiles} == {self.grid.tiles[value.dim]}"
            elements = f"{elements} - {value.less}" if value.less else elements
            return f"{elements} - ({last} ? {value.short} : 0)" if value.short else elements
        if isinstance(value, Several):
            return f"({tile.get(f'{TILES} {PIECE}', '1')}) * {value.each}"
        if isinstance(value, Apart):
            return self._lines_apart
        if not isinstance(value, Varied):
            return value
        if isinstance(value.special, float) or isinstance(value.usual, float):
            raise NotApplicable("a factor differs from tile to tile")
        condition = when.get(value.dim, "")
        if not condition:
            condition = f"{self._tile(value.dim, tile.get(value.dim, '0'), at)} == {self.grid.tiles[value.dim] - 1}"
        return f"(({condition}) ? {value.special} : {value.usual})"

    def _address(self, value: Rows, row: str) -> str:
        """The address of a row in a buffer's memory."""
        lines = self.leaves.interleaved.get(self.leaves.rooms[value.buffer].memory)
        return address(value.flags, value.space, row if lines is None else lines.row(row))

    def _source_of(self, operand: str) -> Operand:
        return self.computation.added[0] if operand == "start" else self.computation.operands[operand]

"""The costs of each line of a kernel, and of each loop and marked region."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from autocomp.targets.profile import Cost, LineProfile, Region
from autocomp.targets.simulator.profile.recording import Recording
from autocomp.targets.simulator.profile.regions import Part, parts
from autocomp.targets.simulator.profile.walk import PathLink

Table = npt.NDArray[np.int64]


class LineTable:
    """Sums by source line, [line] or [line, cause], from which the costs of lines and of parts are read."""

    def __init__(self, recording: Recording, steps: tuple[PathLink, ...], step_causes: Table) -> None:
        commands, accesses = recording.commands, recording.accesses
        self.source = recording.tree.source.splitlines()
        self.names = recording.timing.cause_names
        self.size = max(len(self.source) + 1, int(commands.line.max()) + 1)
        line = np.maximum(commands.line, 0)
        self.commands = self._sum(line, np.ones(len(line)))
        in_dram = accesses.tensor >= 0
        moving, amount = line[accesses.command[in_dram]], accesses.bytes[in_dram]
        writes = accesses.write[in_dram] != 0
        self.read = self._sum(moving[~writes], amount[~writes])
        self.written = self._sum(moving[writes], amount[writes])
        self.busy = self._sum(line, np.where(commands.unit >= 0, commands.completed - commands.started, 0))
        cell = line * len(self.names) + commands.cause
        waits = np.bincount(cell, weights=commands.wait_cycles, minlength=self.size * len(self.names))
        self.waits = waits.astype(np.int64).reshape(self.size, -1)
        self.path = np.zeros_like(self.waits)
        np.add.at(self.path, line[[step.command for step in steps]], step_causes)

    def lines(self) -> tuple[LineProfile, ...]:
        """Of the lines that issue commands, in order."""
        return tuple(
            LineProfile(line, self._text(line), self._cost(line, line))
            for line in np.flatnonzero(self.commands).tolist()
        )

    def regions(self, places: tuple[Part, ...]) -> tuple[Region, ...]:
        """Of the parts, which are in the order of `parts`."""
        return tuple(
            Region(part.kind, part.name, part.first, part.last, _depth(part, places), self._cost(part.first, part.last))
            for part in places
        )

    def _sum(self, lines: Table, amounts: npt.NDArray[np.generic]) -> Table:
        return np.bincount(lines, weights=amounts, minlength=self.size).astype(np.int64)

    def _text(self, line: int) -> str:
        return self.source[line - 1].strip() if 0 < line <= len(self.source) else ""

    def _cost(self, first: int, last: int) -> Cost:
        rows = slice(first, last + 1)
        return Cost(
            int(self.commands[rows].sum()),
            int(self.read[rows].sum()),
            int(self.written[rows].sum()),
            int(self.busy[rows].sum()),
            self._causes(self.waits[rows].sum(axis=0)),
            self._causes(self.path[rows].sum(axis=0)),
        )

    def _causes(self, row: Table) -> dict[str, int]:
        return {self.names[c]: int(row[c]) for c in np.argsort(-row, kind="stable").tolist() if row[c] > 0}


def line_costs(
    recording: Recording, steps: tuple[PathLink, ...], step_causes: Table
) -> tuple[tuple[LineProfile, ...], tuple[Region, ...]]:
    """Lines and regions. Raises KernelError for a region that is not closed."""
    table = LineTable(recording, steps, step_causes)
    return table.lines(), table.regions(parts(recording.tree))


def _depth(part: Part, places: tuple[Part, ...]) -> int:
    return sum(other is not part and other.first <= part.first and part.last <= other.last for other in places)

"""Local memory as the commands of a kernel write it: which command wrote a row, and which result a row belongs to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autocomp.targets.simulator.isa.derived.meaning import Transfer
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Column, Commands
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form
from autocomp.targets.simulator.transforms.scheduling.lifting.moved import Move, extent, move_of, row_axis

BLOCKS = 64  # blocks of columns that one move covers, at most


@dataclass(frozen=True)
class _Writes:
    """Row by row who wrote local memory when, sorted by row and time."""

    key: Column
    command: Column
    time: int

    def last(self, rows: Column, times: Column) -> Column:
        """The command that wrote each row last, up to a time inclusively; -1 where none did."""
        if not len(self.key):
            return np.full(rows.shape, -1)
        at = np.searchsorted(self.key, rows * self.time + times, side="right") - 1
        command = self.command[np.maximum(at, 0)]
        same = (at >= 0) & (self.key[np.maximum(at, 0)] // self.time == rows)
        return np.where(same, command, -1)


class LocalWrites:
    """Commands by what they do, and their writes to local memory. Raises NotApplicable for other commands."""

    def __init__(self, commands: Commands) -> None:
        self.commands = commands
        self._time = len(commands) + 1
        self._memories = {m.name: n for n, m in enumerate(commands.accelerator.local_memories)}
        self._rows = 1 + max((m.rows for m in commands.accelerator.local_memories), default=1)
        self.registers = {m.name for m in commands.accelerator.memories if m.kind == "register"}
        self.of = {n: commands.of(n) for n in range(len(commands.forms))}
        self.loads: dict[int, Move] = {}
        self.stores: dict[int, Move] = {}
        self.computes: dict[int, Transfer] = {}
        self.preloads: dict[int, Transfer] = {}
        for number, form in enumerate(commands.forms):
            self._classify(number, form)
        self.writes = self._written(overwriting=False)
        self.starts = self._written(overwriting=True)
        self.base = self._bases()

    # --- what each form is

    def _classify(self, number: int, form: Form) -> None:
        if form.unclear:
            raise NotApplicable(form.unclear)
        final = [t for t in form.transfers if t.target.memory not in self.registers]
        if len(final) > 1:
            raise NotApplicable(f"{form.name} writes to several memories")
        if not final:
            for transfer in form.transfers:
                if len(transfer.moved) == 1 and transfer.moved[0].source.memory in self._memories:
                    self.preloads[number] = transfer
            return
        transfer = final[0]
        if not transfer.target.pointer and transfer.target.memory not in self._memories:
            raise NotApplicable(f"{form.name} writes through a view of a memory")
        if transfer.product is not None:
            if transfer.moved:
                raise NotApplicable(f"{form.name} adds more than a product")
            self.computes[number] = transfer
        elif transfer.target.pointer:
            self.stores[number] = move_of(form, transfer, transfer.moved[0].source, transfer.target)
        elif not transfer.moved or transfer.moved[0].source.pointer:
            dram = transfer.moved[0].source if transfer.moved else None
            self.loads[number] = move_of(form, transfer, transfer.target, dram)
        else:
            raise NotApplicable(f"{form.name} moves elements between local memories")

    # --- who wrote which row

    def line(self, memory: str, rows: Column) -> Column:
        """Rows of all memories, one after another. Raises NotApplicable for rows that wrap round."""
        if ((rows < 0) | (rows >= self.commands.accelerator.memory(memory).rows)).any():
            raise NotApplicable(f"rows of {memory} wrap round at its end")
        return rows + self._memories[memory] * self._rows

    def _touched(self, number: int) -> tuple[Column, Column]:
        """The rows that commands of a form write: one row of the result for each command, and these."""
        commands, form = self.of[number], self.commands.forms[number]
        if number in self.loads:
            move = self.loads[number]
            base = self.commands.base(commands, form, move.local.base)
            offsets = (np.arange(move.blocks)[:, None] * move.pitch + np.arange(move.rows)[None, :]).ravel()
            memory = move.local.memory
        else:
            transfer = self.computes[number]
            base = self.commands.base(commands, form, transfer.target.base)
            axis, step = row_axis(form, transfer.target)
            offsets = np.arange(extent(form, transfer, axis)) * step
            memory = transfer.target.memory
        return self.line(memory, base)[:, None] + offsets[None, :], commands

    def _written(self, *, overwriting: bool) -> _Writes:
        keys: list[Column] = []
        columns: list[Column] = []
        for number in (*self.loads, *self.computes):
            if overwriting and self._adds(number):
                continue
            rows, commands = self._touched(number)
            keys.append((rows * self._time + commands[:, None]).ravel())
            columns.append(np.repeat(commands, rows.shape[1]))
        if not keys:
            return _Writes(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), self._time)
        key, command = np.concatenate(keys), np.concatenate(columns)
        order = np.argsort(key, kind="stable")
        return _Writes(key[order], command[order], self._time)

    def _adds(self, number: int) -> bool:
        return self.loads[number].adds if number in self.loads else self.computes[number].adds

    def _bases(self) -> Column:
        """The first row that each command writes."""
        base = np.zeros(len(self.commands), dtype=np.int64)
        for number in (*self.loads, *self.computes):
            rows, commands = self._touched(number)
            if len(commands):
                base[commands] = rows[:, 0]
        return base

    def roots(self, commands: Column, lines: Column) -> Column:
        """The results that rows belong to when commands touch them: by the write that started each, and its block of
        columns."""
        start = self.starts.last(lines, commands[:, None])
        if (start < 0).any():
            raise NotApplicable("results are added to rows that nothing has written")
        block = np.zeros(lines.shape, dtype=np.int64)
        offset = lines - self.base[start]
        for number, move in self.loads.items():
            if move.blocks > 1:
                chosen = self.commands.form[start] == number
                block[chosen] = offset[chosen] // move.pitch
        root = start * BLOCKS + block
        if (root != root[:, :1]).any():
            raise NotApplicable("the rows of a result were not started together")
        return root[:, 0]

    def root_row(self, root: Column) -> Column:
        """The first row of results."""
        start, block = np.divmod(root, BLOCKS)
        pitch = np.zeros(len(root), dtype=np.int64)
        for number, move in self.loads.items():
            pitch[self.commands.form[start] == number] = move.pitch
        return np.asarray(self.base[start] + block * pitch, dtype=np.int64)

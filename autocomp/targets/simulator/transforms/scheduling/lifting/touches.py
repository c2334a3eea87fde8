"""Places that commands touch in local memory and in DRAM, as the simulator saw it, and who wrote what they read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from autocomp.simulator import Accesses
from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa.derived.regions import writes
from autocomp.targets.simulator.isa.tree import AddressField, Name, Number
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Column, Commands
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form
from autocomp.targets.simulator.transforms.scheduling.lifting.interleaved import interleaved
from autocomp.targets.simulator.transforms.scheduling.lifting.registers import with_registers

MAX_STRETCHES = 30_000_000  # that all commands together touch


@dataclass(frozen=True)
class Touch:
    """One access of all commands of a form: the memory, the operand that gives the address (empty: none does), and for
    each command the number of the access."""

    memory: str
    operand: str
    write: bool
    accesses: Column


@dataclass(frozen=True)
class Origins:
    """Runs of rows that one command wrote, in what accesses read: the number of the access, and the command. `offset`:
    rows from the first one that the command wrote there to the run. `within`: rows from the access's first one to
    it."""

    access: Column
    command: Column
    offset: Column
    within: Column


def _joined(given: Accesses) -> Accesses:
    """Accesses, those of one command as one where they go on from row to row: the last row of a vector may be short."""
    alike = np.ones(max(0, len(given.command) - 1), dtype=bool)
    for column in (given.command, given.memory, given.write, given.parameter):
        alike &= column[1:] == column[:-1]
    follows = alike & (given.tensor[1:] < 0) & (given.parameter[1:] >= 0) & (given.first[1:] == given.last[:-1])
    begin = np.flatnonzero(np.concatenate((np.ones(min(1, len(given.command)), dtype=bool), ~follows)))
    if not len(begin):
        return given
    end = np.append(begin[1:], len(given.command)) - 1
    picked = {name: getattr(given, name)[begin] for name in given.__dataclass_fields__}
    return Accesses(**{**picked, "last": given.last[end], "points": np.add.reduceat(given.points, begin)})


class Touches:
    """The accesses of a run of commands. Rows of memories that are `interleaved` have numbers in which those of a tile
    follow one another."""

    def __init__(self, commands: Commands) -> None:
        self.commands = commands
        self._memories = commands.accelerator.memories
        joined = _joined(with_registers(commands))
        self.first, self.last = joined.first, joined.last
        self._memory, self._write = joined.memory, joined.write.astype(bool)
        self._parameter, self._command = joined.parameter, joined.command
        self._points, self._bytes = joined.points, joined.bytes
        self._local = np.array([m.kind != "dram" for m in self._memories], dtype=bool)[self._memory]
        self.interleaved = interleaved(joined, commands.forms, self._memories)
        for number, memory in enumerate(self._memories):
            if memory.name in self.interleaved:
                here = self._memory == number
                first = self.interleaved[memory.name].numbers(self.first)
                self.first = np.where(here, first, self.first)
                self.last = np.where(here, first + joined.points, self.last)
        if int((self._to - self._from)[self._local].sum()) > MAX_STRETCHES:
            raise NotApplicable(f"the commands touch more than {MAX_STRETCHES} stretches of local memory")
        self._begin = np.searchsorted(self._command, np.arange(len(commands) + 1))

    @cached_property
    def forms(self) -> Mapping[int, tuple[Touch, ...]]:
        """The touches of each form's commands, in order."""
        return {n: self._of(n) for n in range(len(self.commands.forms))}

    def _of(self, number: int) -> tuple[Touch, ...]:
        commands, form = self.commands.of(number), self.commands.forms[number]
        counts = self._begin[commands + 1] - self._begin[commands]
        if (counts != counts[:1]).any():
            raise NotApplicable(f"{form.name} does not always touch the same memories")
        touches: list[Touch] = []
        for position in range(int(counts[0]) if len(counts) else 0):
            accesses = self._begin[commands] + position
            for column in (self._memory, self._write, self._parameter):
                if (column[accesses] != column[accesses[0]]).any():
                    raise NotApplicable(f"{form.name} does not always touch the same memories")
            one = int(accesses[0])
            parameter = int(self._parameter[one])
            name = form.instruction.parameters[parameter].name if parameter >= 0 else ""
            memory = self._memories[int(self._memory[one])].name
            touches.append(Touch(memory, name, bool(self._write[one]), accesses))
        return tuple(touches)

    def local(self, form: int, *, write: bool) -> tuple[Touch, ...]:
        """The local rows that a form reads or writes, each place once."""
        dram = self.commands.accelerator.dram.name
        touches = [t for t in self.forms[form] if t.write is write and t.memory != dram]
        distinct: list[Touch] = []
        for touch in touches:
            if not any(t.memory == touch.memory and self._alike(t, touch) for t in distinct):
                distinct.append(touch)
        return tuple(distinct)

    def _alike(self, one: Touch, other: Touch) -> bool:
        a, b = one.accesses, other.accesses
        return bool((self.first[a] == self.first[b]).all() and (self.last[a] == self.last[b]).all())

    def dram(self, form: int, *, write: bool) -> tuple[Touch, ...]:
        """The tensors that a form reads or writes."""
        dram = self.commands.accelerator.dram.name
        return tuple(t for t in self.forms[form] if t.write is write and t.memory == dram)

    def pieces(self, touch: Touch) -> tuple[int, int, int]:
        """The DRAM access of the largest of some commands: pieces, bytes of one, and bytes from one to the next."""
        largest = touch.accesses[np.argmax(self._bytes[touch.accesses])]
        count = max(1, int(self._points[largest]))
        size, span = int(self._bytes[largest]) // count, int(self.last[largest] - self.first[largest])
        return count, size, (span - size) // (count - 1) if count > 1 else 0

    # --- who wrote what is read

    @cached_property
    def _ends(self) -> Column:
        """Local rows, those of all memories one after another, at which some access begins or ends. All rows of a
        stretch from one to the next have the same readers and writers."""
        return np.unique(np.concatenate([self._row(self.first), self._row(self.last)]))

    @cached_property
    def _from(self) -> Column:
        """The number of the stretch that each local access begins with."""
        return self._number(self.first)

    @cached_property
    def _to(self) -> Column:
        """That of the stretch after the last one of each local access."""
        return self._number(self.last)

    def _row(self, rows: Column) -> Column:
        """The rows at one end of all local accesses, those of all memories one after another."""
        high = int(self.last[self._local].max(initial=0)) + 1
        return np.asarray((rows + self._memory.astype(np.int64) * high)[self._local], dtype=np.int64)

    def _number(self, rows: Column) -> Column:
        numbers = np.zeros(len(rows), dtype=np.int64)
        numbers[self._local] = np.searchsorted(self._ends, self._row(rows))
        return numbers

    @cached_property
    def _written(self) -> tuple[Column, Column, Column]:
        """Keys of stretch and time of all writes to local memory, in order, the commands, and the first row of each
        write."""
        accesses = np.flatnonzero(self._local & self._write)
        stretch, owner = self._stretches(accesses)
        command = self._command[accesses][owner]
        key = stretch * self._time + command
        order = np.argsort(key, kind="stable")
        return key[order], command[order], self._ends[self._from[accesses][owner]][order]

    @property
    def _time(self) -> int:
        return len(self.commands) + 1

    def _stretches(self, accesses: Column) -> tuple[Column, Column]:
        """The stretches of accesses, and for each the place of its access among these."""
        sizes = self._to[accesses] - self._from[accesses]
        owner = np.repeat(np.arange(len(accesses)), sizes)
        within = np.arange(len(owner)) - (np.cumsum(sizes) - sizes)[owner]
        return self._from[accesses][owner] + within, owner

    def writers(self, accesses: Column) -> Column:
        """The command that wrote all of what each access reads, before the command itself. Raises NotApplicable where
        nothing did, or several."""
        parts = self.parts(accesses)
        if parts.shape[1] > 1:
            raise NotApplicable("a command reads rows that several commands have written")
        return np.asarray(parts[:, 0], dtype=np.int64)

    def parts(self, accesses: Column) -> Column:
        """The commands that wrote what each access reads, before the command itself: one row for each access, in the
        order of the local rows, filled up with -1. Raises NotApplicable where nothing wrote some of it."""
        runs = self.origins(accesses)
        return matrix(runs.access, runs.command, len(accesses))

    def newest(self, accesses: Column) -> tuple[Column, bool]:
        """The same without what is left over of older tiles, where a shorter one took their place, or lies in front of
        one; and True if there is such."""
        runs = self.origins(accesses)
        first = np.zeros(len(accesses), dtype=np.int64)
        first[runs.access[runs.within == 0]] = runs.command[runs.within == 0]
        older = (runs.within > 0) & (runs.command < first[runs.access])
        if len(np.unique(runs.access[older])) == len(accesses):  # commands that do one tile together
            older[:] = False
        left_over = older | (runs.within > 0) & (runs.offset > 0)
        return matrix(runs.access[~left_over], runs.command[~left_over], len(accesses)), bool(left_over.any())

    def origins(self, accesses: Column) -> Origins:
        """Who wrote what accesses read. Raises NotApplicable where nothing wrote some of it."""
        if not len(accesses):
            return Origins(accesses, accesses, accesses, accesses)
        key, command, first = self._written
        stretch, owner = self._stretches(accesses)
        if not len(key):
            raise NotApplicable("a command reads rows that nothing has written")
        at = np.searchsorted(key, stretch * self._time + self._command[accesses][owner], side="left") - 1
        if ((at < 0) | (key[np.maximum(at, 0)] // self._time != stretch)).any():
            raise NotApplicable("a command reads rows that nothing has written")
        begins = np.flatnonzero(np.diff(owner, prepend=-1) | np.diff(command[at], prepend=-1))
        at, owner, rows = at[begins], owner[begins], self._ends[stretch[begins]]
        within = rows - self._ends[self._from[accesses][owner]]
        return Origins(owner, command[at], rows - first[at], within)


def has_rows(product: Form, factor: Touch) -> bool:
    """True if what a product reads at a place has a loop in common with the rows of what it writes."""
    for write in writes(product.accelerator, product.instruction):
        if not all(product.evaluate(condition) == Number(int(wanted)) for condition, wanted in write.path):
            continue
        rows = {part.name for part in algebra.walk(write.target.indices[0]) if isinstance(part, Name)}
        for read in write.reads:
            parts = [part for index in read.element.indices for part in algebra.walk(index)]
            named = {part.parameter for part in parts if isinstance(part, AddressField)}
            here = read.element.memory == factor.memory and (not factor.operand or factor.operand in named)
            if here and any(part.name in rows & write.loops.keys() for part in parts if isinstance(part, Name)):
                return True
    return False


def matrix(owner: Column, values: Column, owners: int) -> Column:
    """The values of each owner as a row, filled up with -1. Those of one owner follow one another."""
    counts = np.bincount(owner, minlength=owners)
    rows = np.full((owners, max(1, int(counts.max(initial=0)))), -1, dtype=np.int64)
    rows[owner, np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]] = values
    return rows

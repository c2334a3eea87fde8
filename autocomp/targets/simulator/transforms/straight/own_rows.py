"""Own rows: every value in local memory gets rows of its own, so that nothing waits for rows to be free."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import chain

from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.timing import memory_number
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.straight.program import Program
from autocomp.targets.simulator.transforms.straight.values import Homes, Value, home, moved, values_of


def own_rows(program: Program) -> Iterator[ast.Kernel]:
    """The kernel with rows for each value that nothing else uses while it is needed. Values keep their memory.

    Factors that the array takes side by side have banks of their own, and successive ones take turns among those, so
    that one can be moved while another is used. Where banks share their adders, and moves add as products do, all
    values lie in one. Rows are used again, those that were free the longest first, where there are too few. Raises
    NotApplicable where not all values that live at once fit."""
    rows = Counter((v.memory, row) for v in values_of(program) for row in range(v.low, v.high + 1))
    if all(count == 1 for count in rows.values()):
        return
    homes: dict[tuple[int, tuple[int, int]], tuple[str, int]] = {}
    for memory in program.facts.accelerator.local_memories:
        values = [value for value in values_of(program) if value.memory == memory.name]
        banks = 1 if _adds_meet(program, memory) else memory.banks
        homes.update(_placed(program, memory.rows // memory.banks * banks, banks, values))
    yield program.kernel(moved(program, homes))


def _adds_meet(program: Program, memory: m.Memory) -> bool:
    """True if two units add to a memory whose banks share their adders: in two banks they would need a fence."""
    adding = {step.unit for step in program.steps for a in step.writes if a.adds and a.memory == memory.name}
    return memory_number(memory.settings, "shared_adders") > 0 and len(adding) > 1


def _placed(program: Program, rows: int, banks: int, values: Sequence[Value]) -> Homes:
    """New places for the values of one memory."""
    busy = [(-1, -1)] * rows  # first and last step of the latest value in each row
    for value in values:
        if not value.movable:
            for row in range(value.low, value.high + 1):
                busy[row] = (min(busy[row][0], value.first), max(busy[row][1], value.last))
    kinds = sorted({_taken_as(program, value) for value in values})
    tops = {  # of what is taken in the banks of each kind, the next one first
        kind: deque(bank * (rows // banks) for bank in range(number % banks, banks, len(kinds)))
        for number, kind in enumerate(kinds)
    }
    homes: dict[tuple[int, tuple[int, int]], tuple[str, int]] = {}
    for value in sorted((v for v in values if v.movable), key=lambda v: v.first):
        turn = tops[_taken_as(program, value)]
        start = _free(busy, turn.popleft(), value)
        if start is None:
            raise NotApplicable(f"{value.memory} has too few rows for all values that live at once")
        busy[start : start + value.rows] = [(value.first, value.last)] * value.rows
        turn.append(start + value.rows)
        for number, access in value.uses:
            assert access.operand is not None
            homes[number, access.operand] = home(access, value.memory, start - value.low)
    return homes


def _taken_as(program: Program, value: Value) -> tuple[int, int]:
    """The operand of a computation that first reads a value; (0, 0) if none does."""
    for number, access in value.readers:
        if program.steps[number].kind == "contraction" and access.operand is not None:
            return access.operand
    return 0, 0


def _free(busy: Sequence[tuple[int, int]], top: int, value: Value) -> int | None:
    """The first row, from `top` on and round the end, with room for a value whose predecessors are over."""
    last = len(busy) - value.rows
    for start in chain(range(top, last + 1), range(min(top, last + 1))):
        if all(end < value.first for _, end in busy[start : start + value.rows]):
            return start
    return None

"""The loops and joins of one function's bytecode, as the emitter lays them out.

A loop is a range of bytecodes that ends in its only way back; the jump in front of the range enters it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.kernel.code.bytecode import Code
from autocomp.targets.simulator.kernel.host.values import Form, Loop

JUMPS = (Code.Jump, Code.JumpIfZero, Code.JumpIfNotZero)
_WITHOUT_RESULT = (*JUMPS, Code.Halt, Code.Store, Code.Return, Code.Issue, Code.HostCall, Code.Assigned, Code.Undefine)


@dataclass(frozen=True)
class Flow:
    """Facts about a function, before its values are followed."""

    loops: dict[int, Loop]  # by their first bytecode
    innermost: list[Loop | None]  # of each bytecode
    sources: dict[int, list[int]]  # forward jumps to a bytecode
    constants: dict[int, Form]  # registers that only ever hold one constant
    writes: dict[int, list[int]]  # where a register is written
    furthest: dict[int, tuple[list[int], list[int]]]

    def runs_each_iteration(self, position: int, loop: Loop) -> bool:
        """True where no jump of the loop leads past a bytecode to a later one of the same iteration."""
        if self.innermost[position] is not loop:
            return False
        jumps, furthest = self.furthest.get(loop.first, ([], []))
        before = bisect_left(jumps, position)
        return before == 0 or furthest[before - 1] <= position

    def written_once(self, register: int, loop: Loop) -> int | None:
        """The only bytecode of a loop that writes a register."""
        places = self.writes.get(register, [])
        low, high = bisect_left(places, loop.first), bisect_right(places, loop.last)
        return places[low] if high - low == 1 else None


def flow_of(code: npt.NDArray[np.int64]) -> Flow:
    rows = code.tolist()
    writes: dict[int, list[int]] = defaultdict(list)
    sources: dict[int, list[int]] = defaultdict(list)
    ends: dict[int, int] = {}
    for position, (operation, target, _, _, immediate) in enumerate(rows):
        if operation not in _WITHOUT_RESULT:
            writes[target].append(position)
        elif operation in JUMPS:
            if immediate <= position:
                ends[immediate] = position
            else:
                sources[immediate].append(position)
    loops, innermost = _loops(len(rows), ends)
    for register, places in writes.items():
        for loop in {id(loop): loop for loop in (innermost[place] for place in places) if loop is not None}.values():
            around: Loop | None = loop
            while around is not None and register not in around.written:
                around.written.add(register)
                around = around.parent
    constants = {
        register: Form(rows[places[0]][4])
        for register, places in writes.items()
        if len(places) == 1 and rows[places[0]][0] in (Code.LoadInt, Code.LoadFloat) and innermost[places[0]] is None
    }
    return Flow(loops, innermost, sources, constants, writes, _furthest(sources, innermost))


def _loops(count: int, ends: dict[int, int]) -> tuple[dict[int, Loop], list[Loop | None]]:
    loops: dict[int, Loop] = {}
    innermost: list[Loop | None] = [None] * count
    current: Loop | None = None
    for position in range(count):
        if position in ends:
            depth = 1 if current is None else current.depth + 1
            current = loops[position] = Loop(position, ends[position], current, depth)
        innermost[position] = current
        while current is not None and current.last == position:
            current = current.parent
    return loops, innermost


def _furthest(sources: dict[int, list[int]], innermost: list[Loop | None]) -> dict[int, tuple[list[int], list[int]]]:
    """By a loop's first bytecode: its own jumps within it, and the furthest target of each and those before."""
    jumps = sorted((jump, target) for target, places in sources.items() for jump in places)
    reaches: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for jump, target in jumps:
        loop = innermost[jump]
        if loop is not None and target <= loop.last:
            places, furthest = reaches[loop.first]
            places.append(jump)
            furthest.append(max(target, furthest[-1] if furthest else 0))
    return reaches

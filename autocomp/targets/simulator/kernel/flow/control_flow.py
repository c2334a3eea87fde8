"""The basic blocks of a function's bytecode, and what each branch decides about.

A branch decides about the blocks between it and the place where its ways meet again (J. Ferrante, K. J. Ottenstein,
J. D. Warren, The Program Dependence Graph, TOPLAS 1987).
"""

from __future__ import annotations

from functools import cached_property

from autocomp.targets.simulator.kernel.code.bytecode import Code
from autocomp.targets.simulator.kernel.code.emitter import FunctionCode

BRANCHES = (Code.JumpIfZero, Code.JumpIfNotZero)
_ENDS = (Code.Halt, Code.Return, Code.Jump, *BRANCHES)


class ControlFlow:
    """The basic blocks of a function, as ranges of bytecodes, and where the ways of a branch meet again."""

    def __init__(self, code: FunctionCode) -> None:
        self.rows: list[list[int]] = code.code.tolist()
        self.lines: list[int] = code.lines.tolist()
        leaders = {0}
        for position, (operation, _, _, _, target) in enumerate(self.rows):
            if operation in _ENDS:
                leaders.add(position + 1)
            if operation in (Code.Jump, *BRANCHES):
                leaders.add(target)
        starts = sorted(leader for leader in leaders if leader < len(self.rows))
        self.blocks = [range(a, b) for a, b in zip(starts, [*starts[1:], len(self.rows)], strict=True)]
        number = {start: block for block, start in enumerate(starts)}
        self.exit = len(self.blocks)  # stands for all ends of the function
        self.after: list[tuple[int, ...]] = []
        for block in self.blocks:
            operation, _, _, _, target = self.rows[block[-1]]
            ways = [number[target]] if operation in (Code.Jump, *BRANCHES) else []
            if operation not in (Code.Halt, Code.Return, Code.Jump):
                ways.append(number.get(block.stop, self.exit))
            self.after.append(tuple(dict.fromkeys(ways)) or (self.exit,))

    @cached_property
    def _always_after(self) -> list[int]:
        """By block: the set of blocks, as bits, that every way from it to the function's end goes through."""
        everything = (1 << (self.exit + 1)) - 1
        sets = [everything] * self.exit + [1 << self.exit]
        changed = True
        while changed:
            changed = False
            for block in reversed(range(self.exit)):
                common = everything
                for way in self.after[block]:
                    common &= sets[way]
                new = common | 1 << block
                changed = changed or new != sets[block]
                sets[block] = new
        return sets

    def decided_by(self, block: int) -> int:
        """The blocks, as bits, that the branch at the end of a block decides about: those on its ways before they meet
        again."""
        meeting = self._always_after[block] & ~(1 << block)
        decided, waiting = 0, list(self.after[block])
        while waiting:
            way = waiting.pop()
            if way == self.exit or decided >> way & 1 or meeting >> way & 1:
                continue
            decided |= 1 << way
            waiting += self.after[way]
        return decided

"""Which commands of a kernel depend on data: a forward analysis of its bytecode that covers every path.

What is loaded from memory is data. It spreads through operations, through functions, and to all that is assigned where
a branch on data decides: between the branch and the place where its ways meet again (J. Ferrante, K. J. Ottenstein,
J. D. Warren, The Program Dependence Graph, TOPLAS 1987; D. E. Denning, P. J. Denning, CACM 1977). A command depends on
data if such a branch decides whether it is issued, or if one of its operands is data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from autocomp.targets.simulator.kernel.bytecode import Code
from autocomp.targets.simulator.kernel.emitter import FunctionCode

_BRANCHES = (Code.JumpIfZero, Code.JumpIfNotZero)
_ENDS = (Code.Halt, Code.Return, Code.Jump, *_BRANCHES)
_WITHOUT_RESULT = frozenset((*_ENDS, Code.Store, Code.Issue, Code.HostCall, Code.Assigned, Code.Undefine, Code.Call))
_CONSTANTS = frozenset((Code.LoadInt, Code.LoadFloat))
_UNARY = frozenset(
    (Code.Move, Code.Neg, Code.BitNot, Code.LogicalNot, Code.FNeg, Code.Extend, Code.ToBool, Code.ToF32)
) | frozenset((Code.IntToFloat, Code.UIntToFloat, Code.FloatToInt))


@dataclass(frozen=True)
class Dependence:
    """A command that depends on data: its line, its instruction, and the operand that is data (None: it is the branch
    in `line` that decides whether it is issued)."""

    line: int
    instruction: int
    operand: int | None


def dependence_on_data(codes: Sequence[FunctionCode], operands: Sequence[int], entry: int) -> Dependence | None:
    """The first command of a program that depends on data. `operands` says how many each instruction takes; a call's
    immediate is an index of `codes`, and callees come before their callers, but for the entry, which is `entry`."""
    return _Analysis(codes, operands).of(entry, 0).found


@dataclass(frozen=True)
class _Result:
    is_data: bool  # what the function returns
    found: Dependence | None


class _Analysis:
    def __init__(self, codes: Sequence[FunctionCode], operands: Sequence[int]) -> None:
        self._flows = [_Flow(code) for code in codes]
        self._operands = operands
        self._known: dict[tuple[int, int], _Result] = {}

    def of(self, function: int, arguments: int) -> _Result:
        """Of one function, whose parameters of the bits in `arguments` are data."""
        key = (function, arguments)
        if key not in self._known:
            self._known[key] = _Function(self, self._flows[function], arguments).run()
        return self._known[key]

    def operands(self, instruction: int) -> int:
        return self._operands[instruction]

    def first_command(self, function: int) -> tuple[int, int] | None:
        """(instruction, line) of a command that a function issues, or one that it calls."""
        flow = self._flows[function]
        for (code, _, _, _, immediate), line in zip(flow.rows, flow.lines, strict=True):
            if code == Code.Issue:
                return immediate, line
            found = self.first_command(immediate) if code == Code.Call else None
            if found is not None:
                return found[0], found[1] or line
        return None


class _Flow:
    """The basic blocks of a function, as ranges of bytecodes, and where the ways of a branch meet again."""

    def __init__(self, code: FunctionCode) -> None:
        self.rows: list[list[int]] = code.code.tolist()
        self.lines: list[int] = code.lines.tolist()
        leaders = {0}
        for position, (operation, _, _, _, target) in enumerate(self.rows):
            if operation in _ENDS:
                leaders.add(position + 1)
            if operation in (Code.Jump, *_BRANCHES):
                leaders.add(target)
        starts = sorted(leader for leader in leaders if leader < len(self.rows))
        self.blocks = [range(a, b) for a, b in zip(starts, [*starts[1:], len(self.rows)], strict=True)]
        number = {start: block for block, start in enumerate(starts)}
        self.exit = len(self.blocks)  # stands for all ends of the function
        self.after: list[tuple[int, ...]] = []
        for block in self.blocks:
            operation, _, _, _, target = self.rows[block[-1]]
            ways = [number[target]] if operation in (Code.Jump, *_BRANCHES) else []
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


class _Function:
    """One function with what is known of its arguments. Sets of registers and of blocks are bits of integers."""

    def __init__(self, analysis: _Analysis, flow: _Flow, arguments: int) -> None:
        self._analysis = analysis
        self._flow = flow
        self._entering = [0] * (flow.exit + 1)  # registers that hold data where a block begins
        self._entering[0] = arguments
        self._decided = 0  # blocks that a branch on data decides about
        self._branch: dict[int, int] = {}  # by such a block: a line of the branch
        self._returns_data = False
        self._found: Dependence | None = None

    def run(self) -> _Result:
        waiting = set(range(self._flow.exit))
        while waiting:
            block = min(waiting)
            waiting.discard(block)
            leaving, on_data = self._through(block)
            for way in self._flow.after[block]:
                if leaving & ~self._entering[way]:
                    self._entering[way] |= leaving
                    waiting |= {way} - {self._flow.exit}
            if on_data:
                waiting |= self._decide(block)
        for block in range(self._flow.exit):
            self._look_for_commands(block)
        return _Result(self._returns_data, self._found)

    def _decide(self, block: int) -> set[int]:
        """The blocks that a branch on data newly decides about."""
        decided = self._flow.decided_by(block)
        new = {b for b in range(self._flow.exit) if decided >> b & 1 and not self._decided >> b & 1}
        self._decided |= decided
        line = self._flow.lines[self._flow.blocks[block][-1]]
        self._branch |= dict.fromkeys(new, line)
        return new

    def _through(self, block: int) -> tuple[int, bool]:
        """The registers that hold data at the end of a block, and whether it ends in a branch on data."""
        data, decided = self._entering[block], bool(self._decided >> block & 1)
        on_data = False
        for position in self._flow.blocks[block]:
            code, a, b, c, immediate = self._flow.rows[position]
            if code in _BRANCHES:
                on_data = bool(data >> a & 1)
            elif code == Code.Return:
                self._returns_data = self._returns_data or bool(data & 1)
            elif code == Code.Call:
                result = self._analysis.of(immediate, data >> a)
                data = _with(data, a, decided or result.is_data)
            elif code not in _WITHOUT_RESULT:
                data = _with(data, a, decided or _is_data(code, data, b, c))
        return data, on_data

    def _look_for_commands(self, block: int) -> None:
        """Commands of a block, or of functions that it calls, that depend on data."""
        data, decided = self._entering[block], bool(self._decided >> block & 1)
        for position in self._flow.blocks[block]:
            if self._found is not None:
                return
            code, a, b, c, immediate = self._flow.rows[position]
            line = self._flow.lines[position]
            if code == Code.Issue:
                operand = next((n for n in range(self._analysis.operands(immediate)) if data >> (a + n) & 1), None)
                if decided:
                    self._found = Dependence(self._branch[block] or line, immediate, None)
                elif operand is not None:
                    self._found = Dependence(line, immediate, operand)
            elif code == Code.Call:
                result = self._analysis.of(immediate, data >> a)
                command = self._analysis.first_command(immediate) if decided else None
                if command is not None:
                    self._found = Dependence(self._branch[block] or line, command[0], None)
                elif result.found is not None:
                    found = result.found
                    self._found = Dependence(found.line or line, found.instruction, found.operand)
                data = _with(data, a, decided or result.is_data)
            elif code not in _WITHOUT_RESULT:
                data = _with(data, a, decided or _is_data(code, data, b, c))


def _is_data(code: int, data: int, b: int, c: int) -> bool:
    """Whether the result of a bytecode is data."""
    if code == Code.Load:
        return True
    if code in _CONSTANTS:
        return False
    return bool(data >> b & 1) or (code not in _UNARY and bool(data >> c & 1))


def _with(data: int, register: int, is_data: bool) -> int:
    return data | 1 << register if is_data else data & ~(1 << register)

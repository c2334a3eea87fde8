"""A forward analysis of a kernel's bytecode that covers every path: what its registers hold, and which commands depend
on something that they must not depend on.

A domain says what states of registers there are, and which states are forbidden: a branch on one, and an operand in
one. The forbidden state spreads through operations and functions, and to all that is assigned where a branch on it
decides (D. E. Denning, P. J. Denning, Certification of Programs for Secure Information Flow, CACM 1977).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from autocomp.targets.simulator.kernel.code.bytecode import Code
from autocomp.targets.simulator.kernel.code.emitter import FunctionCode
from autocomp.targets.simulator.kernel.flow.control_flow import BRANCHES, ControlFlow

WITHOUT_RESULT = frozenset(
    (Code.Halt, Code.Return, Code.Jump, *BRANCHES, Code.Store, Code.Issue, Code.HostCall, Code.Assigned, Code.Undefine)
)
NUMBER = 0  # in every domain: a value that nothing is to be said of; registers that are not listed hold one
States = dict[int, int]  # by register


class Domain(Protocol):
    """States of registers, as integers."""

    @property
    def forbidden(self) -> int:
        """The state that no branch and no operand may have; joined with any other it stays."""
        ...

    def result(self, code: int, left: int, right: int, c: int, immediate: int, marked: bool) -> int:
        """Of a bytecode whose operands b and c have these states. `c` is also the type of a load, `marked` says of
        a constant that it is an address."""
        ...

    def store(self, state: int) -> None:
        """Memory gets a value of this state; later loads may give it."""
        ...

    def join(self, one: int, other: int) -> int:
        """Of a register that different paths leave in different states."""
        ...

    def refuses(self, instruction: int, operand: int, state: int) -> bool:
        """True where an operand of a command must not have this state."""
        ...


@dataclass(frozen=True)
class Dependence:
    """A command that depends on what it must not: its line, its instruction, and the operand that does (None: the
    branch in `line` decides whether it is issued)."""

    line: int
    instruction: int
    operand: int | None


def forbidden_dependence(
    domain: Domain, codes: Sequence[FunctionCode], operands: Sequence[int], entry: int
) -> Dependence | None:
    """The first command of a program with a forbidden dependence. `operands` has the number of operands of each
    instruction; a call's immediate is an index of `codes`, and callees come before their callers, but for the entry,
    which is `entry`."""
    return _Analysis(domain, codes, operands).of(entry, {}).found


@dataclass(frozen=True)
class _Result:
    returned: int
    found: Dependence | None


class _Analysis:
    def __init__(self, domain: Domain, codes: Sequence[FunctionCode], operands: Sequence[int]) -> None:
        self.domain = domain
        self._flows = [ControlFlow(code) for code in codes]
        self._operands = operands
        self._known: dict[tuple[int, frozenset[tuple[int, int]]], _Result] = {}

    def of(self, function: int, arguments: States) -> _Result:
        """Of one function whose parameters have these states."""
        key = (function, frozenset(arguments.items()))
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
            command = self.first_command(immediate) if code == Code.Call else None
            if command is not None:
                return command[0], command[1] or line
        return None


class _Function:
    """One function with the states of its arguments. Sets of blocks are bits of integers."""

    def __init__(self, analysis: _Analysis, flow: ControlFlow, arguments: States) -> None:
        self._analysis = analysis
        self._domain = analysis.domain
        self._flow = flow
        self._entering: list[States | None] = [None] * (flow.exit + 1)  # None: not reached yet
        self._entering[0] = arguments
        self._decided = 0  # blocks that a forbidden branch decides about
        self._branch: dict[int, int] = {}  # by such a block: a line of the branch
        self._returned: int | None = None
        self._found: Dependence | None = None

    def run(self) -> _Result:
        waiting = {0}
        while waiting:
            block = min(waiting)
            waiting.discard(block)
            leaving, forbidden = self._through(block)
            for way in self._flow.after[block]:
                if self._enter(way, leaving):
                    waiting |= {way} - {self._flow.exit}
            if forbidden:
                waiting |= self._decide(block)
        for block in range(self._flow.exit):
            self._look_for_commands(block)
        return _Result(self._returned or NUMBER, self._found)

    def _enter(self, block: int, states: States) -> bool:
        """Joins the states that a way leads to a block with. False: it knew them."""
        known = self._entering[block]
        if known is None:
            self._entering[block] = states
            return True
        joined = {
            register: state
            for register in known.keys() | states.keys()
            if (state := self._domain.join(known.get(register, NUMBER), states.get(register, NUMBER))) != NUMBER
        }
        self._entering[block] = joined
        return joined != known

    def _decide(self, block: int) -> set[int]:
        """The blocks that a forbidden branch newly decides about."""
        decided = self._flow.decided_by(block)
        new = {b for b in range(self._flow.exit) if decided >> b & 1 and not self._decided >> b & 1}
        self._decided |= decided
        line = self._flow.lines[self._flow.blocks[block][-1]]
        self._branch |= dict.fromkeys(new, line)
        return {b for b in new if self._entering[b] is not None}

    def _through(self, block: int) -> tuple[States, bool]:
        """The states at the end of a block, and whether it ends in a forbidden branch."""
        states = dict(self._entering[block] or {})
        forbidden = False
        for position in self._flow.blocks[block]:
            code, a, _, _, _ = row = self._flow.rows[position]
            if code in BRANCHES:
                forbidden = states.get(a) == self._domain.forbidden
            elif code == Code.Return:
                state = states.get(0, NUMBER)
                self._returned = state if self._returned is None else self._domain.join(self._returned, state)
            self._step(row, states, block)
        return states, forbidden

    def _step(self, row: list[int], states: States, block: int) -> None:
        """Brings the states to what they are after a bytecode."""
        code, a, b, c, immediate = row
        decided = bool(self._decided >> block & 1)
        if code == Code.Store:
            self._domain.store(self._domain.forbidden if decided else states.get(a, NUMBER))
        if code in WITHOUT_RESULT:
            return
        if code == Code.Call:
            state = self._analysis.of(immediate, _arguments(states, a)).returned
        else:
            left, right = states.get(b, NUMBER), states.get(c, NUMBER)
            state = self._domain.result(code, left, right, c, immediate, bool(b))
        states[a] = self._domain.forbidden if decided else state
        if states[a] == NUMBER:
            del states[a]

    def _look_for_commands(self, block: int) -> None:
        """Commands of a block, or of functions that it calls, with a forbidden dependence."""
        entering = self._entering[block]
        if entering is None:
            return
        states, decided = dict(entering), bool(self._decided >> block & 1)
        for position in self._flow.blocks[block]:
            if self._found is not None:
                return
            code, a, _, _, immediate = row = self._flow.rows[position]
            line = self._flow.lines[position]
            if code == Code.Issue:
                operand = self._refused_operand(immediate, a, states)
                if decided:
                    self._found = Dependence(self._branch[block] or line, immediate, None)
                elif operand is not None:
                    self._found = Dependence(line, immediate, operand)
            elif code == Code.Call:
                result = self._analysis.of(immediate, _arguments(states, a))
                command = self._analysis.first_command(immediate) if decided else None
                if command is not None:
                    self._found = Dependence(self._branch[block] or line, command[0], None)
                elif result.found is not None:
                    first = result.found
                    self._found = Dependence(first.line or line, first.instruction, first.operand)
            self._step(row, states, block)

    def _refused_operand(self, instruction: int, first: int, states: States) -> int | None:
        operands = range(self._analysis.operands(instruction))
        refuses = self._domain.refuses
        return next((n for n in operands if refuses(instruction, n, states.get(first + n, NUMBER))), None)


def _arguments(states: States, frame: int) -> States:
    """The states of a callee's first registers."""
    return {register - frame: state for register, state in states.items() if register >= frame}

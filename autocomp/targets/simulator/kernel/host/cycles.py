"""Cycles of a function's bytecode on a host, as an optimising compiler for an in-order core leaves it.

Constants are folded. Values that a loop does not change are computed before it, and a value that is linear in its
counter is stepped by an addition. Known values are not computed again, comparisons belong to their branches, and a loop
tests at its end. The compiler is assumed not to inline, unroll, contract float operations or reuse loaded values. The
pass follows the bytecode once; `demand` holds the rules by which a value is charged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.kernel.code.bytecode import DTYPE_INDEX, Code
from autocomp.targets.simulator.kernel.host.costs import HostCosts
from autocomp.targets.simulator.kernel.host.demand import Demand, out_of_loops
from autocomp.targets.simulator.kernel.host.flow import Flow, flow_of
from autocomp.targets.simulator.kernel.host.values import (
    MAX_TERMS,
    Atom,
    Form,
    Induction,
    Loop,
    Merge,
    ProgramPoint,
    Result,
    of_atom,
)

_SCALED = (Code.Mul, Code.Shl)
_FUSED = frozenset((Code.Eq, Code.Ne, Code.Lt, Code.Le, Code.LtU, Code.LeU, Code.LogicalNot, Code.ToBool))
_COPIES = frozenset((Code.Move, Code.ToF32))


@dataclass(frozen=True)
class Signature:
    """The use of registers by commands and calls: operand kinds of each instruction, parameters of each function."""

    instructions: Sequence[tuple[str, ...]]  # "pointer", "address", "int" or "float" of each operand
    fences: frozenset[int]
    functions: Mapping[int, int]


def host_time(code: npt.NDArray[np.int64], signature: Signature, costs: HostCosts) -> npt.NDArray[np.int64]:
    """[n, 2]: cycles of each bytecode, and the cycles more if it jumps, or per element of a host call."""
    return _Walk(code, signature, costs).run()


class _Walk:
    def __init__(self, code: npt.NDArray[np.int64], signature: Signature, costs: HostCosts) -> None:
        self._rows = code.tolist()
        self._signature = signature
        self._costs = costs
        self._flow: Flow = flow_of(code)
        self._demand = Demand(costs, len(self._rows))
        self._more = np.zeros(len(self._rows), dtype=np.int64)
        self._state: dict[int, Form] | None = {}
        self._saved: dict[int, list[tuple[dict[int, Form], ProgramPoint]]] = {}  # by the bytecode that was jumped to
        self._entered: dict[int, dict[int, Form]] = {}  # by a loop's first bytecode
        self._marks: dict[int, int] = {}  # by the jump
        self._results: dict[tuple[object, ...], Result] = {}
        self._atoms = 0
        self._here = ProgramPoint(0, None)
        self._rules: dict[int, Callable[[int, int, int, int], None]] = {
            Code.Jump: self._jump,
            Code.JumpIfZero: self._branch,
            Code.JumpIfNotZero: self._branch,
            Code.Load: self._load,
            Code.Store: self._store,
            Code.Call: self._call,
            Code.Return: self._return,
            Code.Issue: self._issue,
            Code.HostCall: self._host_call,
            Code.Service: self._service,
            **dict.fromkeys((Code.Halt, Code.Assigned, Code.Undefine), lambda a, b, c, immediate: None),
        }

    def run(self) -> npt.NDArray[np.int64]:
        for position, (code, a, b, c, immediate) in enumerate(self._rows):
            loop = self._flow.innermost[position]
            self._here = ProgramPoint(position, loop)
            if position in self._flow.sources:
                self._join(position)
            if position in self._entered:
                self._enter(self._flow.loops[position])
            if self._state is not None:
                rule = self._rules.get(code)
                if rule is not None:
                    rule(a, b, c, immediate)
                elif a not in self._flow.constants:
                    self._state[a] = self._compute(Code(code), b, c, immediate)
            while loop is not None and loop.last == position:
                self._leave(loop)
                loop = loop.parent
        return np.stack([self._demand.cycles, self._more], axis=1)

    # --- values

    def _value(self, register: int) -> Form:
        known = self._flow.constants.get(register)
        if known is not None:
            return known
        assert self._state is not None
        if register not in self._state:  # a parameter, or never written
            self._state[register] = self._opaque()
        return self._state[register]

    def _number(self) -> int:
        self._atoms += 1
        return self._atoms

    def _opaque(self) -> Form:
        return of_atom(Atom(self._number(), self._here.loop))

    def _result(self, code: Code, immediate: int, *operands: Form) -> Form:
        key = (code, immediate, operands)
        if key not in self._results:
            home = Form(0, tuple(term for operand in operands for term in operand.terms)).home
            self._results[key] = Result(self._number(), home, code, immediate, operands)
        return of_atom(self._results[key])

    def _compute(self, code: Code, b: int, c: int, immediate: int) -> Form:
        if code in (Code.LoadInt, Code.LoadFloat):
            return Form(immediate)
        left = self._value(b)
        if code in _COPIES or (code is Code.Extend and immediate >= DTYPE_INDEX["i32"]):
            return left
        if code is Code.Neg:
            return left.times(-1)
        if code is Code.Extend or not self._is_binary(code):
            return self._result(code, immediate, left)
        right = self._value(c)
        linear = self._linear(code, left, right)
        return self._result(code, 0, left, right) if linear is None or len(linear.terms) > MAX_TERMS else linear

    @staticmethod
    def _is_binary(code: Code) -> bool:
        single = (Code.BitNot, Code.LogicalNot, Code.FNeg, Code.ToBool)
        return code < Code.Extend and code not in single

    @staticmethod
    def _linear(code: Code, left: Form, right: Form) -> Form | None:
        if code in (Code.Add, Code.Sub):
            return left + right if code is Code.Add else left - right
        if code is Code.Mul and not left.terms:
            left, right = right, left
        if code in _SCALED and not right.terms:
            factor = right.constant
            return left.times(factor if code is Code.Mul else 1 << (factor & 63))
        return None

    # --- ways

    def _join(self, position: int) -> None:
        """The facts that hold where jumps arrive."""
        jumps = self._flow.sources[position]
        reached = [jump for jump in jumps if jump in self._marks]
        ways = self._saved.pop(position, [])
        if self._state is not None:
            ways.append((self._state, ProgramPoint(position - 1, self._flow.innermost[position - 1])))
        if reached:
            self._demand.forget_since(self._marks[reached[0]], reached[0])
        self._state = self._merged(ways) if ways else None

    def _merged(self, ways: list[tuple[dict[int, Form], ProgramPoint]]) -> dict[int, Form]:
        loop = self._here.loop
        # A loop's counter is at its test what it was stepped to; before the first test, what precedes that.
        stepped = [way for way in ways if loop is None or way[1].position != loop.entry] or ways
        left = any(place.loop is not loop for _, place in ways)  # values of loops that end here
        merged = {}
        for register, form in ways[0][0].items():
            if not left and all(state.get(register) is form for state, _ in ways):
                merged[register] = form
                continue
            counts = loop is not None and register in loop.inductions
            arriving = stepped if counts else ways
            inputs = [(state[register], place) for state, place in arriving if register in state]
            if len(inputs) == len(arriving):
                merged[register] = self._either(inputs)
        return merged

    def _either(self, inputs: list[tuple[Form, ProgramPoint]]) -> Form:
        """A value that came on one of several ways."""
        loop, form = self._here.loop, inputs[0][0]
        known = form.home is None or (loop is not None and loop.within(form.home))
        if known and all(other == form for other, _ in inputs):
            return form
        return of_atom(Merge(self._number(), loop, inputs))

    def _enter(self, loop: Loop) -> None:
        """The registers that change from iteration to iteration."""
        self._state = self._entered.pop(loop.first)
        entry = ProgramPoint(loop.entry, loop.parent)
        for register in loop.written & self._state.keys():
            start = self._state[register]
            position = self._flow.written_once(register, loop)
            step = None if position is None else self._step_at(position, register, loop)
            if step is not None and position is not None:
                counter = Induction(self._number(), loop, start, step, position)
                loop.inductions[register] = counter
                self._state[register] = of_atom(counter)
            else:
                loop.carried[register] = Merge(self._number(), loop, [(start, entry)])
                self._state[register] = of_atom(loop.carried[register])

    def _step_at(self, position: int, register: int, loop: Loop) -> int | None:
        """The constant that a bytecode adds to a register once an iteration."""
        if not self._flow.runs_each_iteration(position, loop):
            return None
        code, _, b, c, immediate = self._rows[position]
        if code == Code.Extend and immediate >= DTYPE_INDEX["i32"] and self._rows[position - 1][1] == b:
            code, _, b, c, _ = self._rows[position - 1]
        if code == Code.Add and c == register:
            b, c = c, b
        if code not in (Code.Add, Code.Sub) or b != register or c not in self._flow.constants:
            return None
        step = self._flow.constants[c].constant
        return step if code == Code.Add else -step

    def _leave(self, loop: Loop) -> None:
        """The end of a loop: its carried values, the register that counts it, and the values it leaves to later
        code."""
        end = ProgramPoint(loop.last, loop)
        state = self._state if self._state is not None else {}
        for register, merge in loop.carried.items():
            if register in state:
                merge.inputs.append((state[register], end))
                if merge.needed:
                    self._demand.need(state[register], end)
        if loop.inductions and not loop.stepped:
            counter = next(iter(loop.inductions.values()))
            self._demand.need(of_atom(counter), end)
        for register in loop.written & state.keys():
            home = state[register].home
            if home is not None and home.within(loop):
                state[register] = of_atom(Merge(self._number(), loop.parent, [(state[register], end)]))
        if self._rows[loop.last][0] == Code.Jump:
            self._state = None

    def _go(self, target: int) -> None:
        """Control goes to a later bytecode."""
        if target > self._here.position:
            assert self._state is not None
            self._marks[self._here.position] = self._demand.mark()
            self._saved.setdefault(target, []).append((dict(self._state), self._here))

    # --- bytecodes

    def _jump(self, a: int, b: int, c: int, target: int) -> None:
        position = self._here.position
        assert self._state is not None
        if position + 1 in self._flow.loops:
            self._entered[position + 1] = dict(self._state)
        elif target != position + 1 and self._rows[target][0] != Code.Return:  # a call's cost includes its way back
            self._demand.charge(position, self._costs.branch)
        self._go(target)
        if target > position:
            self._state = None

    def _branch(self, a: int, b: int, c: int, target: int) -> None:
        position, condition = self._here.position, self._value(a)
        self._go(target)
        if not condition.terms:
            return
        self._demand.charge(position, self._costs.branch)
        if target <= position:
            self._close(condition)
        else:
            for operand in _compared(condition):
                self._demand.need(operand, self._here)

    def _close(self, condition: Form) -> None:
        """The branch that closes a loop compares a stepped register with a limit, whichever register that is."""
        loop, position = self._here.loop, self._here.position
        self._demand.charge(position, self._costs.mispredict)
        self._more[position] -= self._costs.mispredict
        operands = _compared(condition)
        counting = [o for o in operands if o.terms and all(_counts(atom, loop) for atom, _ in o.terms)]
        for operand in operands:
            if operand not in counting:
                self._demand.need(operand, self._here)
        if loop is None or not counting or self._rows[loop.entry][4] == loop.first:
            return
        if not any(operand.at_entry(loop).terms for operand in operands):  # the outcome of the first test is known
            self._demand.charge(loop.entry, -self._costs.branch)

    def _load(self, a: int, b: int, c: int, offset: int) -> None:
        self._demand.need_address(self._value(b), offset, self._here)
        self._demand.charge(self._here.position, self._costs.load)
        assert self._state is not None
        self._state[a] = self._opaque()

    def _store(self, a: int, b: int, c: int, offset: int) -> None:
        self._demand.need(self._value(a), self._here)
        self._demand.need_address(self._value(b), offset, self._here)
        self._demand.charge(self._here.position, self._costs.store)

    def _call(self, a: int, b: int, c: int, function: int) -> None:
        count = self._signature.functions[function]
        for register in range(a, a + count):
            self._demand.need(self._value(register), self._here)
        self._demand.charge(self._here.position, self._costs.call + count * self._costs.integer)
        assert self._state is not None
        self._state = {register: form for register, form in self._state.items() if register < a}
        self._state[a] = self._opaque()

    def _return(self, a: int, b: int, c: int, immediate: int) -> None:
        assert self._state is not None
        if 0 in self._state:
            self._demand.need(self._state[0], self._here)
        self._state = None

    def _host_call(self, a: int, b: int, c: int, builtin: int) -> None:
        for register in range(a, a + (5 if builtin == 0 else 4)):
            self._demand.need(self._value(register), self._here)
        self._demand.charge(self._here.position, self._costs.call)
        self._more[self._here.position] = self._costs.element(builtin)

    def _service(self, a: int, b: int, c: int, service: int) -> None:
        """A call of the system, which costs what it costs: here that of a call."""
        for register in range(a, a + b):
            self._demand.need(self._value(register), self._here)
        self._demand.charge(self._here.position, self._costs.call)
        assert self._state is not None
        self._state[a] = self._opaque()

    def _issue(self, a: int, b: int, c: int, instruction: int) -> None:
        """A command's operands lie in words: a DRAM address in one of its own, other operands as fields of words.

        Fields that do not change make up a word beforehand; one that does is put in, an address at the low end.
        """
        costs, here = self._costs, self._here
        if instruction in self._signature.fences:
            self._demand.charge(here.position, costs.fence)
        fixed = []
        for register, kind in enumerate(self._signature.instructions[instruction], a):
            form = self._value(register)
            if form.terms:
                self._demand.need(form, here)
                if kind != "pointer":
                    self._demand.once((kind, form), out_of_loops(form.home, here), self._field(kind, form))
            elif kind != "pointer":
                fixed.append(form.constant)
            elif form.constant != 0:
                self._demand.once(("constant", form.constant), out_of_loops(None, here), costs.integer)
        if fixed:
            self._demand.once((instruction, *fixed), out_of_loops(None, here), costs.integer)

    def _field(self, kind: str, form: Form) -> int:
        """Cycles of putting an operand into its word: shift, or; 32 bits that were computed are zero-extended first."""
        if kind == "address":
            computed = any(isinstance(atom, Result | Merge) for atom, _ in form.terms)
            return (3 if computed else 1) * self._costs.integer
        return 2 * self._costs.integer + (self._costs.float_move if kind == "float" else 0)


def _counts(atom: Atom, loop: Loop | None) -> bool:
    return isinstance(atom, Induction) and atom.loop is loop


def _compared(condition: Form) -> Sequence[Form]:
    """The values that a branch on a condition compares."""
    [(atom, factor), *more] = condition.terms
    if not more and factor == 1 and condition.constant == 0 and isinstance(atom, Result) and atom.code in _FUSED:
        return atom.operands
    return (condition,)

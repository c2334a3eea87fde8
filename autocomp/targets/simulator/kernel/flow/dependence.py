"""Commands of a kernel that depend on data, or on where tensors lie."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.targets.simulator.kernel.code.bytecode import DTYPE_INDEX, Code, tensor_number
from autocomp.targets.simulator.kernel.code.emitter import FunctionCode
from autocomp.targets.simulator.kernel.flow.data_flow import NUMBER, Dependence, forbidden_dependence

_CONSTANTS = frozenset((Code.LoadInt, Code.LoadFloat))
_UNARY = frozenset(
    (Code.Move, Code.Neg, Code.BitNot, Code.LogicalNot, Code.FNeg, Code.Extend, Code.ToBool, Code.ToF32)
) | frozenset((Code.IntToFloat, Code.UIntToFloat, Code.FloatToInt))
_EQUALITIES = (Code.Eq, Code.Ne)
_COMPARISONS = (*_EQUALITIES, Code.Lt, Code.Le, Code.LtU, Code.LeU)
_TESTS = (Code.ToBool, Code.LogicalNot)
_WHOLE_WORDS = (DTYPE_INDEX["i64"], DTYPE_INDEX["u64"])


def dependence_on_data(codes: Sequence[FunctionCode], operands: Sequence[int], entry: int) -> Dependence | None:
    """The first command that depends on what was loaded from memory; see `forbidden_dependence`."""
    return forbidden_dependence(_Data(), codes, operands, entry)


def dependence_on_places(
    codes: Sequence[FunctionCode], kinds: Sequence[Sequence[str]], entry: int
) -> Dependence | None:
    """The first command that depends on where tensors lie. `kinds` has those of the parameters of each instruction.

    Allowed is what comes to the same wherever they lie: tests of an address for 0, comparisons and differences of
    addresses in one tensor, and steps from one address to another.
    """
    counts = [len(kinds_of_one) for kinds_of_one in kinds]
    places = _Places(kinds)
    while True:
        before = places.memory
        dependence = forbidden_dependence(places, codes, counts, entry)
        if dependence is not None or places.memory == before:
            return dependence


class _Data:
    """A value is data, or it is not."""

    forbidden = 1

    def result(self, code: int, left: int, right: int, c: int, immediate: int, marked: bool) -> int:
        if code == Code.Load:
            return self.forbidden
        if code in _CONSTANTS:
            return NUMBER
        return left if code in _UNARY else left | right

    def store(self, state: int) -> None:
        """All that memory holds is data."""

    def join(self, one: int, other: int) -> int:
        return one | other

    def refuses(self, instruction: int, operand: int, state: int) -> bool:
        return state == self.forbidden


_ZERO = -1
_MIXED = -2  # one of several addresses, or an address or a number
_DEPENDS = -3  # a number that depends on where tensors lie


class _Places:
    """A value is a number, the number 0, an address in one tensor (that tensor's number from 1 on), one of several
    of these, or depends on where tensors lie. Memory as a whole has one state."""

    forbidden = _DEPENDS

    def __init__(self, kinds: Sequence[Sequence[str]]) -> None:
        self._kinds = kinds
        self.memory = NUMBER

    def result(self, code: int, left: int, right: int, c: int, immediate: int, marked: bool) -> int:
        if code == Code.LoadInt:
            return tensor_number(immediate) if marked else NUMBER if immediate else _ZERO
        if code == Code.LoadFloat:
            return NUMBER
        if code == Code.Load:
            whole = self.memory == NUMBER or c in _WHOLE_WORDS
            return self.memory if whole and left != _DEPENDS else _DEPENDS
        if code in _UNARY:
            right = NUMBER
        if _DEPENDS in (left, right):
            return _DEPENDS
        if code == Code.Move:
            return left
        if code in _TESTS or (_is_number(left) and _is_number(right)):
            return NUMBER
        return self._of_addresses(code, left, right)

    def _of_addresses(self, code: int, left: int, right: int) -> int:
        """At least one of the operands is an address."""
        same = left == right > 0
        if code in _COMPARISONS:
            null = code in _EQUALITIES and _ZERO in (left, right)
            return NUMBER if same or null else _DEPENDS
        if code == Code.Add and (_is_number(left) or _is_number(right)):
            return right if _is_number(left) else left
        if code == Code.Sub and _is_number(right):
            return left
        return NUMBER if code == Code.Sub and same else _DEPENDS

    def store(self, state: int) -> None:
        if not _is_number(state):
            self.memory = _DEPENDS if _DEPENDS in (state, self.memory) else _MIXED

    def join(self, one: int, other: int) -> int:
        if one == other or _DEPENDS in (one, other):
            return one if one == other else _DEPENDS
        return NUMBER if _is_number(one) and _is_number(other) else _MIXED

    def refuses(self, instruction: int, operand: int, state: int) -> bool:
        pointer = self._kinds[instruction][operand] == "pointer"
        return state == _DEPENDS or not (pointer or _is_number(state))


def _is_number(state: int) -> bool:
    return state in (NUMBER, _ZERO)

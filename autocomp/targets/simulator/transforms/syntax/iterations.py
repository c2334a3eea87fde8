"""Expressions in all iterations of some loops at once, as C computes them: an exhaustive check of a condition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.syntax.affine import limits
from autocomp.targets.simulator.transforms.syntax.loops import Loop
from autocomp.targets.simulator.transforms.syntax.rewrite import names

Values = npt.NDArray[np.int64]

_MOST = 1 << 22  # iterations that are looked at


class Iterations:
    """The iterations of those of the loops whose variables some expressions use: arrays have an axis for each."""

    def __init__(self, loops: Iterable[Loop], expressions: Iterable[ast.Expression]) -> None:
        used = frozenset[str]().union(*map(names, expressions))
        self.loops = tuple(item for item in loops if item.variable in used)
        if prod(item.trips for item in self.loops) > _MOST:
            raise NotApplicable(f"more than {_MOST} iterations would have to be looked at")
        self._variables = {
            item.variable: np.arange(item.trips, dtype=np.int64).reshape((-1,) + (1,) * (len(self.loops) - 1 - axis))
            for axis, item in enumerate(self.loops)
        }

    def values(self, node: ast.Expression) -> Values:
        """The expression's values; an axis along which they are the same may be missing or of length 1."""
        if isinstance(node, ast.IntLiteral):
            return np.asarray(node.value, dtype=np.int64)
        if isinstance(node, ast.Name) and node.name in self._variables:
            return self._variables[node.name]
        if isinstance(node, ast.Unary) and node.operator in _UNARY:
            return _UNARY[node.operator](self.values(node.operand))
        if isinstance(node, ast.Binary) and node.operator in _BINARY:
            return np.asarray(_BINARY[node.operator](self.values(node.left), self.values(node.right)), dtype=np.int64)
        if isinstance(node, ast.Conditional):
            chosen = self.values(node.condition) != 0
            return np.where(chosen, self.values(node.then), self.values(node.otherwise))
        if isinstance(node, ast.Cast):
            inner, held = self.values(node.operand), limits(node.type)
            if held is not None and held[0] <= inner.min() and inner.max() <= held[1]:
                return inner
        raise NotApplicable("an expression uses more than the counters of loops")

    def first(self, holds: npt.NDArray[np.bool_]) -> dict[str, int]:
        """The counters in the first iteration in which something holds, or in the first of all."""
        shape = tuple(item.trips for item in self.loops)
        place = np.unravel_index(np.argmax(np.broadcast_to(holds, shape)), shape)
        return {item.variable: int(number) for item, number in zip(self.loops, place, strict=True)}


def _quotient(left: Values, right: Values) -> Values:
    """Rounded towards zero, as in C."""
    if not np.all(right):
        raise NotApplicable("an expression may divide by zero")
    return np.asarray(np.abs(left) // np.abs(right) * np.sign(left) * np.sign(right), dtype=np.int64)


_UNARY: Mapping[str, Callable[[Values], Values]] = {
    "+": lambda value: value,
    "-": lambda value: -value,
    "!": lambda value: np.asarray(value == 0, dtype=np.int64),
}
_BINARY: Mapping[str, Callable[[Values, Values], npt.NDArray[np.generic]]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _quotient,
    "%": lambda left, right: left - right * _quotient(left, right),
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "&&": lambda left, right: (left != 0) & (right != 0),
    "||": lambda left, right: (left != 0) | (right != 0),
}

"""Integer expressions as sums of variables, with intervals: what addresses, subscripts and guards are made of.

Sums do not wrap, and neither do subscripts and addresses of a kernel that runs at all.
"""

from __future__ import annotations

from collections.abc import Mapping

from autocomp.linear import Linear
from autocomp.remember import remembered
from autocomp.targets.simulator.kernel.code.types import NAMED, Scalar
from autocomp.targets.simulator.kernel.syntax import ast

Interval = tuple[int, int]  # inclusive
Ranges = Mapping[str, Interval]


class Affine(Linear[ast.Expression]):
    """A sum whose atoms are names, or expressions that are not affine themselves."""

    def coefficient(self, name: str) -> int:
        """The factor of a variable; 0 if it does not occur on its own."""
        return next((factor for atom, factor in self.terms if atom == ast.Name(name)), 0)


@remembered
def affine(expression: ast.Expression) -> Affine:
    """The expression as a sum; what is not linear becomes an atom."""
    if isinstance(expression, ast.IntLiteral):
        return Affine(expression.value)
    if isinstance(expression, ast.Unary) and expression.operator in "+-":
        inner = affine(expression.operand)
        return inner if expression.operator == "+" else inner.times(-1)
    if isinstance(expression, ast.Binary):
        if expression.operator in ("+", "-"):
            left, right = affine(expression.left), affine(expression.right)
            return left + right if expression.operator == "+" else left - right
        if expression.operator == "*":
            left, right = affine(expression.left), affine(expression.right)
            if left.is_constant or right.is_constant:
                return right.times(left.constant) if left.is_constant else left.times(right.constant)
        if expression.operator == "<<":
            right = affine(expression.right)
            if right.is_constant and 0 <= right.constant < 64:
                return affine(expression.left).times(1 << right.constant)
    return Affine(0, ((expression, 1),))


def expression(value: Affine) -> ast.Expression:
    """The shortest expression of a sum: positive terms first, the constant last."""
    ordered = sorted(value.terms, key=lambda term: term[1] < 0)
    constant = value.constant
    result: ast.Expression | None = None
    if constant and (not ordered or ordered[0][1] < 0 or constant >= 1 << 28):
        result, constant = literal(constant), 0
    for atom, factor in ordered:
        size = abs(factor)
        term: ast.Expression = atom if size == 1 else ast.Binary("*", atom, literal(size))
        if result is None:
            result = term if factor > 0 else ast.Unary("-", term)
        else:
            result = ast.Binary("+" if factor > 0 else "-", result, term)
    if result is None:
        return literal(0)
    if constant:
        return ast.Binary("+" if constant > 0 else "-", result, literal(abs(constant)))
    return result


def literal(value: int) -> ast.Expression:
    """An integer literal; large ones are written in hexadecimal, negative ones with a minus."""
    if value < 0:
        return ast.Unary("-", literal(-value))
    return ast.IntLiteral(value, f"0x{value:08x}" if value >= 1 << 28 else str(value))


def interval(node: ast.Expression, ranges: Ranges) -> Interval | None:
    """Bounds of an expression's value, or None where nothing is known. `ranges` bounds the variables."""
    if isinstance(node, ast.IntLiteral):
        return node.value, node.value
    if isinstance(node, ast.Name):
        return ranges.get(node.name)
    if isinstance(node, ast.Cast):
        return _interval_of_cast(node, ranges)
    if isinstance(node, ast.Conditional):
        return _interval_of_choice(node, ranges)
    if isinstance(node, ast.Unary):
        return _interval_of_unary(node, ranges)
    if isinstance(node, ast.Binary):
        return _interval_of_binary(node, ranges)
    return None


def constant_of(node: ast.Expression, ranges: Ranges) -> int | None:
    """The one value that an expression can have, or None."""
    bounds = interval(node, ranges)
    return bounds[0] if bounds is not None and bounds[0] == bounds[1] else None


def limits(kind: ast.Type) -> Interval | None:
    """The least and the greatest value of an integer type of C; None for any other."""
    scalar = None if kind.pointer or kind.extents else NAMED.get(kind.name)
    return (scalar.low, scalar.high) if isinstance(scalar, Scalar) and not scalar.floating else None


def _interval_of_cast(node: ast.Cast, ranges: Ranges) -> Interval | None:
    given, held = interval(node.operand, ranges), limits(node.type)
    fits = given is not None and held is not None and held[0] <= given[0] and given[1] <= held[1]
    return given if fits else held


def interval_of(value: Affine, ranges: Ranges) -> Interval | None:
    """Bounds of a sum, or None where an atom is unbounded."""
    low = high = value.constant
    for atom, factor in value.terms:
        bounds = interval(atom, ranges)
        if bounds is None:
            return None
        ends = (bounds[0] * factor, bounds[1] * factor)
        low, high = low + min(ends), high + max(ends)
    return low, high


def minimum_of(node: ast.Expression) -> tuple[ast.Expression, ast.Expression] | None:
    """(x, y) of `x < y ? x : y` and its mirror images, else None."""
    if not (isinstance(node, ast.Conditional) and isinstance(node.condition, ast.Binary)):
        return None
    left, right = node.condition.left, node.condition.right
    if node.condition.operator in ("<", "<=") and (left, right) == (node.then, node.otherwise):
        return left, right
    if node.condition.operator in (">", ">=") and (left, right) == (node.otherwise, node.then):
        return right, left
    return None


def minimum(left: ast.Expression, right: ast.Expression) -> ast.Expression:
    """`left < right ? left : right`."""
    return ast.Conditional(ast.Binary("<", left, right), left, right)


def narrowed(ranges: Ranges, condition: ast.Expression, holds: bool = True) -> Ranges | None:
    """The bounds of the variables where a condition holds, or does not; None where that cannot be.

    Each variable of a sum is bounded by what the others leave it. Conditions other than comparisons of sums change no
    bounds.
    """
    if isinstance(condition, ast.Unary) and condition.operator == "!":
        return narrowed(ranges, condition.operand, not holds)
    if not isinstance(condition, ast.Binary):
        return ranges
    if condition.operator == ("&&" if holds else "||"):
        first = narrowed(ranges, condition.left, holds)
        return None if first is None else narrowed(first, condition.right, holds)
    operator = condition.operator if holds else _OPPOSITES.get(condition.operator, "")
    difference = affine(condition.left) - affine(condition.right)
    narrow: Ranges | None = ranges
    for sign, most in _AT_MOST.get(operator, ()):
        narrow = None if narrow is None else _at_most(narrow, difference.times(sign), most)
    return narrow


_OPPOSITES = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
# A comparison with 0 as (sign, most): sign * difference <= most.
_AT_MOST = {"<": [(1, -1)], "<=": [(1, 0)], ">": [(-1, -1)], ">=": [(-1, 0)], "==": [(1, 0), (-1, 0)]}


def _at_most(ranges: Ranges, total: Affine, most: int) -> Ranges | None:
    """The bounds of the variables where a sum is at most a number."""
    narrow = dict(ranges)
    for atom, factor in total.terms:
        if not isinstance(atom, ast.Name) or atom.name not in narrow:
            continue
        rest = interval_of(total - Affine(0, ((atom, factor),)), narrow)
        if rest is None:
            continue
        low, high = narrow[atom.name]
        limit = (most - rest[0]) // factor if factor > 0 else -((most - rest[0]) // -factor)
        low, high = (low, min(high, limit)) if factor > 0 else (max(low, limit), high)
        if low > high:
            return None
        narrow[atom.name] = low, high
    return narrow


def possible_bits(bounds: Interval) -> int:
    """The bits that a value between two non-negative bounds may have set."""
    low, high = bounds
    return high | ((1 << (low ^ high).bit_length()) - 1)


def _interval_of_choice(node: ast.Conditional, ranges: Ranges) -> Interval | None:
    """Bounds of a conditional expression: of each side where the condition lets it be chosen."""
    sides = [(node.then, narrowed(ranges, node.condition)), (node.otherwise, narrowed(ranges, node.condition, False))]
    bounds = [interval(side, chosen) for side, chosen in sides if chosen is not None]
    known = [limit for limit in bounds if limit is not None]
    if not known or len(known) < len(bounds):
        return None
    low, high = min(low for low, _ in known), max(high for _, high in known)
    least = minimum_of(node)
    limits = [interval(side, ranges) for side in least] if least is not None else []
    return low, min([high, *(limit[1] for limit in limits if limit is not None)])


def _interval_of_unary(node: ast.Unary, ranges: Ranges) -> Interval | None:
    bounds = interval(node.operand, ranges)
    if node.operator == "!":
        return 0, 1
    if bounds is None or node.operator not in "+-~":
        return None
    if node.operator == "~":
        return ~bounds[1], ~bounds[0]
    return bounds if node.operator == "+" else (-bounds[1], -bounds[0])


def _interval_of_binary(node: ast.Binary, ranges: Ranges) -> Interval | None:
    if node.operator in ("==", "!=", "<", "<=", ">", ">=", "&&", "||"):
        return _interval_of_test(node, ranges)
    if node.operator in ("+", "-"):
        sides = affine(node)
        if sides.terms and not (len(sides.terms) == 1 and sides.terms[0][0] == node):
            return interval_of(sides, ranges)
    left, right = interval(node.left, ranges), interval(node.right, ranges)
    if left is None or right is None:
        return None
    if node.operator in ("+", "-"):
        return (
            (left[0] + right[0], left[1] + right[1])
            if node.operator == "+"
            else (left[0] - right[1], left[1] - right[0])
        )
    if node.operator == "*":
        ends = [a * b for a in left for b in right]
        return min(ends), max(ends)
    if node.operator == "/" and right[0] > 0:  # rounds towards zero
        ends = [a // b if a >= 0 else -(-a // b) for a in left for b in right]
        return min(ends), max(ends)
    if left[0] < 0 or right[0] < 0:
        return None
    if node.operator == "%" and right[0] > 0:
        divisor = right[0]
        if right[1] == divisor and left[0] // divisor == left[1] // divisor:
            return left[0] % divisor, left[1] % divisor
        return left if left[1] < divisor else (0, min(left[1], right[1] - 1))
    if node.operator == "|":
        return max(left[0], right[0]), possible_bits(left) | possible_bits(right)
    if node.operator == "&":
        return 0, min(left[1], right[1])
    if node.operator == "^":
        return 0, possible_bits(left) | possible_bits(right)
    if node.operator == "<<" and right[1] < 64:
        return left[0] << right[0], left[1] << right[1]
    if node.operator == ">>" and right[1] < 64:
        return left[0] >> right[1], left[1] >> right[0]
    return None


def _interval_of_test(node: ast.Binary, ranges: Ranges) -> Interval:
    if node.operator in ("&&", "||"):
        left, right = interval(node.left, ranges) or (0, 1), interval(node.right, ranges) or (0, 1)
        both = (truth(left), truth(right))
        if node.operator == "&&":
            return (0, 0) if False in both else (1, 1) if both == (True, True) else (0, 1)
        return (1, 1) if True in both else (0, 0) if both == (False, False) else (0, 1)
    difference = interval_of(affine(node.left) - affine(node.right), ranges)
    if difference is None:
        return 0, 1
    low, high = difference
    outcome = {
        "<": (high < 0, low >= 0),
        "<=": (high <= 0, low > 0),
        ">": (low > 0, high <= 0),
        ">=": (low >= 0, high < 0),
        "==": (low == high == 0, low > 0 or high < 0),
        "!=": (low > 0 or high < 0, low == high == 0),
    }[node.operator]
    return (1, 1) if outcome[0] else (0, 0) if outcome[1] else (0, 1)


def truth(bounds: Interval) -> bool | None:
    """True if a value between the bounds counts as true in C; None where both are possible."""
    if bounds == (0, 0):
        return False
    return True if bounds[0] > 0 or bounds[1] < 0 else None

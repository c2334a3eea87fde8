"""Simplification of expressions whose variables have known bounds."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from math import gcd

from autocomp.remember import remember
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.syntax.affine import (
    Affine,
    Interval,
    Ranges,
    affine,
    expression,
    interval,
    interval_of,
    limits,
    literal,
    minimum,
    minimum_of,
    possible_bits,
    truth,
)
from autocomp.targets.simulator.transforms.syntax.rewrite import Node, map_expressions, names

_TESTS = ("==", "!=", "<", "<=", ">", ">=", "&&", "||")


def simplify(node: Node, ranges: Ranges) -> Node:
    """The tree with every expression in it folded as far as the bounds of its variables allow."""
    bounds = frozenset((name, ranges[name]) for name in names(node) if name in ranges)
    return remember(node, "simplified", bounds, lambda: _simplified(node, ranges))


def _simplified(node: Node, ranges: Ranges) -> Node:
    if isinstance(node, ast.Call):  # most arguments are those of another version of the kernel, and known
        arguments = tuple([simplify(argument, ranges) for argument in node.arguments])
        same = all(new is old for new, old in zip(arguments, node.arguments, strict=True))
        return node if same else replace(node, arguments=arguments)
    return map_expressions(node, lambda form: _kept(form, _simplify_one(form, ranges)))


def _kept(old: ast.Expression, new: ast.Expression) -> ast.Expression:
    """The old node if the new one says the same, for what is known of it."""
    return old if new == old else new


def _simplify_one(node: ast.Expression, ranges: Ranges) -> ast.Expression:
    if isinstance(node, ast.Conditional):
        return _conditional(node, ranges)
    if isinstance(node, ast.Unary):
        return _unary(node, ranges)
    if isinstance(node, ast.Binary):
        return _binary(node, ranges)
    if isinstance(node, ast.Cast) and not node.type.pointer and _is_integer(node.operand):
        held, given = limits(node.type), interval(node.operand, ranges)
        if held is not None and given is not None and held[0] <= given[0] and given[1] <= held[1]:
            return node.operand
    return node


def _conditional(node: ast.Conditional, ranges: Ranges) -> ast.Expression:
    verdict = truth(interval(node.condition, ranges) or (0, 1))
    if verdict is not None:
        return node.then if verdict else node.otherwise
    if node.then == node.otherwise:
        return node.then
    return _minimum(node, ranges) if minimum_of(node) is not None else node


def _minimum(node: ast.Expression, ranges: Ranges) -> ast.Expression:
    """The minimum of the sums that can be the least one; one order for equal minima: the constant last."""
    sides = [affine(side) for side in _sides(node)]
    kept: list[Affine] = []
    for number, side in enumerate(sides):
        others = (*kept, *sides[number + 1 :])
        if not any((bounds := interval_of(side - other, ranges)) is not None and bounds[0] >= 0 for other in others):
            kept.append(side)
    ordered = sorted(kept, key=lambda side: side.is_constant)
    return reduce(minimum, map(expression, ordered))


def _sides(node: ast.Expression) -> list[ast.Expression]:
    """The values that a nested minimum is the least of."""
    least = minimum_of(node)
    return [node] if least is None else [inner for side in least for inner in _sides(side)]


def replace_sums(node: ast.Expression) -> ast.Expression:
    """The sum in its normal form."""
    return expression(affine(node))


def _unary(node: ast.Unary, ranges: Ranges) -> ast.Expression:
    if node.operator == "~" and isinstance(node.operand, ast.IntLiteral) and node.operand.value == 0:
        return ast.IntLiteral(0xFFFFFFFF, "0xffffffff")
    if node.operator == "~" and isinstance(node.operand, ast.Cast) and node.operand.type.name == "uint32_t":
        inner = node.operand.operand
        if isinstance(inner, ast.IntLiteral):
            return literal(~inner.value & 0xFFFFFFFF)
    if node.operator == "!":
        verdict = truth(interval(node.operand, ranges) or (0, 1))
        return node if verdict is None else literal(int(not verdict))
    return node


def _binary(node: ast.Binary, ranges: Ranges) -> ast.Expression:
    if not (_is_integer(node.left) and _is_integer(node.right)):
        return node
    if node.operator in _TESTS:
        return _test(node, ranges)
    if node.operator in ("+", "-", "*", "<<"):
        return replace_sums(node)
    if node.operator == "^" and isinstance(node.left, ast.Binary) and node.left == replace(node, left=node.left.left):
        return node.left.left  # (x ^ y) ^ y
    bounds = interval(node.left, ranges), interval(node.right, ranges)
    left, right = bounds
    if node.operator in ("/", "%") and right == (1, 1) and isinstance(node.left, ast.Name | ast.Binary):
        return node.left if node.operator == "/" else literal(0)
    if node.operator in ("/", "%") and left is not None and right is not None and right[0] == right[1] > 0:
        return _divide(node, right[0], ranges) if left[0] >= 0 else node
    if node.operator == "|" and left is not None and right is not None and min(left[0], right[0]) >= 0:
        if left == (0, 0) or right == (0, 0):
            return node.right if left == (0, 0) else node.left
        if _constant_distributes(node):
            return _simplify_one(_distributed(node, ranges), ranges)
        if possible_bits(left) & possible_bits(right) == 0:
            return replace_sums(ast.Binary("+", node.left, node.right))
    if node.operator in ("&", "|", "^") and left is not None and right is not None and left[0] >= 0:
        changed = _with_constant_bits(node, left, right)
        if changed is not None:
            return changed
    if left is not None and right is not None and left[0] == left[1] and right[0] == right[1]:
        return _fold(node, left[0], right[0])
    return node


def _with_constant_bits(node: ast.Binary, left: Interval, right: Interval) -> ast.Expression | None:
    """`x | c`, `x & c` and `x ^ c` as a sum, where the bits of x that it changes are always the same."""
    if right[0] != right[1]:
        return None
    constant = right[0]
    touched = ~constant if node.operator == "&" else constant
    varying = (1 << (left[0] ^ left[1]).bit_length()) - 1
    if touched & varying & ((1 << 64) - 1) & (possible_bits(left) if node.operator == "&" else -1):
        return None
    sides = {"&": left[0] & constant, "|": left[0] | constant, "^": left[0] ^ constant}
    return replace_sums(ast.Binary("+", node.left, literal(sides[node.operator] - left[0])))


def _constant_distributes(node: ast.Binary) -> bool:
    return isinstance(node.left, ast.Conditional) and isinstance(node.right, ast.IntLiteral)


def _distributed(node: ast.Binary, ranges: Ranges) -> ast.Expression:
    choice = node.left
    assert isinstance(choice, ast.Conditional)
    then, otherwise = (_binary(replace(node, left=side), ranges) for side in (choice.then, choice.otherwise))
    return ast.Conditional(choice.condition, then, otherwise)


def _fold(node: ast.Binary, left: int, right: int) -> ast.Expression:
    if min(left, right) < 0 or (node.operator == ">>" and right > 63):
        return node
    results = {"&": left & right, "|": left | right, "^": left ^ right, ">>": left >> min(right, 63)}
    return literal(results[node.operator]) if node.operator in results else node


def _test(node: ast.Binary, ranges: Ranges) -> ast.Expression:
    verdict = truth(interval(node, ranges) or (0, 1))
    if verdict is not None:
        return literal(int(verdict))
    if node.operator in ("&&", "||"):
        neutral = node.operator == "&&"
        for side, other in ((node.left, node.right), (node.right, node.left)):
            if truth(interval(side, ranges) or (0, 1)) is neutral:
                return other
        return node
    return _reduced(_without_common_terms(node))


def _without_common_terms(node: ast.Binary) -> ast.Binary:
    """The comparison of sums without the terms common to both sides."""
    left, right = affine(node.left), affine(node.right)
    rest = left - right
    if len(rest.terms) == len(left.terms) + len(right.terms):
        return replace(node, left=expression(left), right=expression(right))
    more = Affine(0, tuple((atom, factor) for atom, factor in rest.terms if factor > 0))
    return replace(node, left=expression(more), right=expression(more - rest))


def _reduced(node: ast.Binary) -> ast.Expression:
    """The test of a sum against a constant without their common factor."""
    total = affine(node.left)
    if not isinstance(node.right, ast.IntLiteral) or node.operator not in ("==", "!=") or total.is_constant:
        return node
    divisor = gcd(node.right.value - total.constant, *(factor for _, factor in total.terms))
    if divisor <= 1 or total.constant % divisor or node.right.value % divisor:
        return node
    terms = tuple((atom, factor // divisor) for atom, factor in total.terms)
    left = expression(Affine(total.constant // divisor, terms))
    return replace(node, left=left, right=literal(node.right.value // divisor))


def _divide(node: ast.Binary, divisor: int, ranges: Ranges) -> ast.Expression:
    """(q * divisor + r) / divisor is q and its remainder r, when 0 <= r < divisor."""
    total = affine(node.left)
    whole = Affine(total.constant // divisor, tuple((a, f // divisor) for a, f in total.terms if f % divisor == 0))
    rest = total - whole.times(divisor)
    bounds = interval_of(rest, ranges)
    if bounds is not None and bounds[0] >= 0 and bounds[1] < divisor:
        return expression(whole if node.operator == "/" else rest)
    if node.operator == "%":
        return ast.Binary("%", expression(rest), node.right) if bounds and bounds[0] >= 0 else node
    return replace(node, left=expression(total))


def _is_integer(node: ast.Expression) -> bool:
    """True if an expression is integer arithmetic for sure (no floats, no pointers)."""
    if isinstance(node, ast.IntLiteral | ast.Name):
        return True
    if isinstance(node, ast.Binary):
        return _is_integer(node.left) and _is_integer(node.right)
    if isinstance(node, ast.Unary):
        return node.operator in "+-!~" and _is_integer(node.operand)
    if isinstance(node, ast.Conditional):
        return _is_integer(node.condition) and _is_integer(node.then) and _is_integer(node.otherwise)
    return isinstance(node, ast.Cast) and not node.type.pointer and node.type.name not in ("float", "double")

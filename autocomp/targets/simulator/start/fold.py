"""Folding of what is already decided: `if (false) …`, `true && x`, `c ? a : b` with a literal condition."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.parser import parse
from autocomp.targets.simulator.kernel.syntax.printer import print_kernel

_Node = TypeVar("_Node")


def folded(text: str, name: str) -> str:
    """A kernel's text without branches that are never taken. Calls and loops are kept as they are; messages call it
    `name`."""
    return print_kernel(_fold(parse(text, name)))


def _fold(node: _Node) -> _Node:
    """A node with everything below it folded, then itself."""
    if not is_dataclass(node) or isinstance(node, type):
        return node
    changes: dict[str, Any] = {}
    for field in fields(node):
        value = getattr(node, field.name)
        folded: Any = value
        if isinstance(value, tuple):
            folded = tuple(statement for item in value for statement in _spread(_fold(item)))
        elif is_dataclass(value):
            folded = _fold(value)
        if folded != value:
            changes[field.name] = folded
    rebuilt: Any = replace(node, **changes) if changes else node
    return _simplify(rebuilt)  # type: ignore[no-any-return]


def _spread(item: Any) -> tuple[Any, ...]:
    """A decided `if` as the statements that it comes to."""
    if isinstance(item, ast.If):
        decided = truth(item.condition)
        if decided is not None:
            chosen = item.then if decided else item.otherwise
            return () if chosen is None else chosen.statements
    return (item,)


def _simplify(node: Any) -> Any:
    if isinstance(node, ast.Conditional):
        decided = truth(node.condition)
        return node if decided is None else node.then if decided else node.otherwise
    if isinstance(node, ast.Binary) and node.operator in ("&&", "||"):
        absorbing = node.operator == "||"
        left, right = truth(node.left), truth(node.right)
        if left is not None:
            return _boolean(absorbing) if left is absorbing else node.right
        if right is not None and right is not absorbing:
            return node.left
        if right is absorbing and _is_pure(node.left):
            return _boolean(absorbing)
    return node


def truth(expression: ast.Expression) -> bool | None:
    """The truth of a condition, if literals alone decide it."""
    if isinstance(expression, ast.Unary) and expression.operator == "!":
        inner = truth(expression.operand)
        return None if inner is None else not inner
    if isinstance(expression, ast.Binary) and expression.operator in ("==", "!="):
        left, right = _literal(expression.left), _literal(expression.right)
        return None if left is None or right is None else (left == right) is (expression.operator == "==")
    value = _literal(expression)
    return None if value is None else bool(value)


def _literal(expression: ast.Expression) -> int | float | None:
    if isinstance(expression, ast.IntLiteral | ast.FloatLiteral):
        return expression.value
    if isinstance(expression, ast.Name) and expression.name in ("true", "false"):
        return int(expression.name == "true")
    if isinstance(expression, ast.Unary) and expression.operator == "-":
        inner = _literal(expression.operand)
        return None if inner is None else -inner
    return None


def _boolean(value: bool) -> ast.Name:
    return ast.Name("true" if value else "false")


def _is_pure(expression: ast.Expression) -> bool:
    if isinstance(expression, ast.Call | ast.Assignment | ast.Increment):
        return False
    if isinstance(expression, ast.Binary):
        return _is_pure(expression.left) and _is_pure(expression.right)
    if isinstance(expression, ast.Unary):
        return _is_pure(expression.operand)
    return True

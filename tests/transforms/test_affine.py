"""Sums, intervals and simplification agree with C's arithmetic wherever it does not wrap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.syntax.affine import affine, expression, interval
from autocomp.targets.simulator.transforms.syntax.arithmetic import simplify

COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]
RANGES = {"x": (0, 7), "y": (0, 3)}


def parse_expression(text: str) -> ast.Expression:
    body = kernel.parse(f"void solution(int8_t A[8]) {{ f({text}); }}").entry.body
    statement = body.statements[0]
    assert isinstance(statement, ast.ExpressionStatement)
    assert isinstance(statement.expression, ast.Call)
    return statement.expression.arguments[0]


@pytest.mark.parametrize(
    ("given_text", "simple"),
    [
        ("x * 16 + 0", "x * 16"),
        ("(x + y) * 4 - y * 4", "x * 4"),
        ("(x * 8 + y) / 8", "x"),
        ("(x * 8 + y) % 8", "y"),
        ("(x * 2 + y * 2 + 1) % 2", "1"),
        ("x / 8", "0"),
        ("y % 4", "y"),
        ("x < 8", "1"),
        ("x == 9", "0"),
        ("x * 16 == 0 ? 1 : 2", "x == 0 ? 1 : 2"),
        ("x < 8 ? 5 : 6", "5"),
        ("0x80000000 | y", "0x80000000 + y"),
        ("(x == 0 ? 0x80000000 : 0x80000010) | 0x40000000", "x == 0 ? 0xc0000000 : 0xc0000010"),
        ("~((uint32_t)0)", "0xffffffff"),
        ("100 - x * 16 < 16 ? 100 - x * 16 : 16", "100 - x * 16 < 16 ? 100 - x * 16 : 16"),
        ("x < 8 && y == 1", "y == 1"),
        ("(int16_t)x < 8", "1"),
        ("(uint8_t)(x + 250) < 250", "(uint8_t)(x + 250) < 250"),
        ("(uint8_t)(x + 250) < 256", "1"),
        ("(x - 3 < 0 ? 3 - x : 0) > 0", "(x - 3 < 0 ? 3 - x : 0) > 0"),
        ("(x - 3 < 0 ? 3 - x : 0) <= 3", "1"),
        ("(x * 4 + y - 2 < 0 ? (3 - x * 4 - y) / 2 : 0) < 2", "1"),
        ("(!(x < 3 || y > 1) ? x : 3) >= 3", "1"),
    ],
)
def test_expressions_fold_as_far_as_the_bounds_of_their_variables_allow(given_text: str, simple: str) -> None:
    assert kernel.print_expression(simplify(parse_expression(given_text), RANGES)) == simple


def expressions() -> st.SearchStrategy[str]:
    leaves = st.sampled_from(["x", "y", "0", "1", "3", "4", "16"])

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pair = st.tuples(inner, inner)
        return st.one_of(
            pair.map(lambda p: f"({p[0]} + {p[1]})"),
            pair.map(lambda p: f"({p[0]} * {p[1]})"),
            pair.map(lambda p: f"({p[0]} | {p[1]})"),
            st.tuples(inner, st.sampled_from([2, 4, 8])).map(lambda p: f"({p[0]} / {p[1]})"),
            st.tuples(inner, st.sampled_from([2, 4, 8])).map(lambda p: f"({p[0]} % {p[1]})"),
            st.tuples(inner, inner).map(lambda p: f"({p[0]} - {p[1]})"),
            st.tuples(inner, st.sampled_from(COMPARISONS), inner, inner, inner).map(
                lambda p: f"({p[0]} {p[1]} {p[2]} ? {p[3]} : {p[4]})"
            ),
        )

    return st.recursive(leaves, extend, max_leaves=8)


def value(node: ast.Expression, x: int, y: int) -> int:
    if isinstance(node, ast.IntLiteral):
        return node.value
    if isinstance(node, ast.Name):
        return {"x": x, "y": y}[node.name]
    if isinstance(node, ast.Conditional):
        return value(node.then if value(node.condition, x, y) else node.otherwise, x, y)
    if isinstance(node, ast.Unary):
        return -value(node.operand, x, y)
    assert isinstance(node, ast.Binary)
    left, right = value(node.left, x, y), value(node.right, x, y)
    operations = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: int(left / right),
        "%": lambda: left - right * int(left / right),
        "|": lambda: left | right,
        "<": lambda: int(left < right),
        "<=": lambda: int(left <= right),
        ">": lambda: int(left > right),
        ">=": lambda: int(left >= right),
        "==": lambda: int(left == right),
        "!=": lambda: int(left != right),
    }
    return operations[node.operator]()


@given(expressions(), st.integers(0, 7), st.integers(0, 3))
def test_simplification_keeps_the_value(text: str, x: int, y: int) -> None:
    node = parse_expression(text)
    assert value(simplify(node, RANGES), x, y) == value(node, x, y)


@given(expressions(), st.integers(0, 7), st.integers(0, 3))
def test_a_value_lies_in_its_interval(text: str, x: int, y: int) -> None:
    node = parse_expression(text)
    bounds = interval(node, RANGES)
    assert bounds is None or bounds[0] <= value(node, x, y) <= bounds[1]


def test_intervals_are_known_unless_a_remainder_may_be_negative() -> None:
    assert interval(parse_expression("(x - y) * 2 + 3"), RANGES) == (-3, 17)
    assert interval(parse_expression("(x - y) / 2"), RANGES) == (-1, 3)
    assert interval(parse_expression("(x - y) % 2"), RANGES) is None


@given(expressions(), st.integers(0, 7), st.integers(0, 3))
def test_a_sum_keeps_the_value(text: str, x: int, y: int) -> None:
    node = parse_expression(text)
    assert value(expression(affine(node)), x, y) == value(node, x, y)

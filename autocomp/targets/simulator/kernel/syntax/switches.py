"""`switch` by the statements that the rest of the compiler knows.

Where every case ends in `break`, `continue` or `return`, a chain of `if`; where one runs into the next, or leaves from
within, a loop that is run once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.walk import children


class Case(NamedTuple):
    """Statements with the labels before them, None being `default`."""

    labels: tuple[ast.Expression | None, ...]
    statements: tuple[ast.Statement, ...]


def lowered(selector: ast.Expression, cases: Sequence[Case], line: int) -> ast.Block:
    """A block that does what a `switch` does. Raises ValueError, with words for the user, where none is known."""
    name = f"switch_{line}"
    value = ast.Declaration((ast.Declarator(name, ast.Type("int64_t"), selector, line),), const=True, line=line)
    separate = all(_leaves(case) for case in cases[:-1]) and not any(_breaks_within(case) for case in cases)
    if separate:
        return ast.Block((value, *_chain(name, cases, line)), line)
    if any(isinstance(node, ast.Continue) for case in cases for node in _outside_loops(case.statements)):
        raise ValueError("'continue' in a switch whose cases run into each other is not supported")
    return ast.Block((value, *_once(name, cases, line)), line)


def _chain(name: str, cases: Sequence[Case], line: int) -> tuple[ast.Statement, ...]:
    """`if (…) {…} else if (…) {…} else {…}`, the default last."""
    default = next((case for case in cases if None in case.labels), None)
    otherwise = ast.Block(_body(default), line) if default is not None else None
    for case in reversed([case for case in cases if case is not default]):
        otherwise = ast.Block((ast.If(_matches(name, case.labels), ast.Block(_body(case), line), otherwise, line),))
    return otherwise.statements if otherwise is not None else ()


def _once(name: str, cases: Sequence[Case], line: int) -> tuple[ast.Statement, ...]:
    met = f"{name}_met"
    declared = ast.Declaration((ast.Declarator(met, ast.Type("bool"), ast.IntLiteral(0), line),), line=line)
    all_labels = tuple(label for case in cases for label in case.labels if label is not None)
    body: list[ast.Statement] = []
    for case in cases:
        matches: ast.Expression = _matches(name, tuple(label for label in case.labels if label is not None))
        if None in case.labels:
            matches = ast.Unary("!", _matches(name, all_labels)) if all_labels else ast.IntLiteral(1)
        known = ast.Assignment(ast.Name(met), ast.Binary("||", ast.Name(met), matches))
        body += [
            ast.ExpressionStatement(known, line),
            ast.If(ast.Name(met), ast.Block(case.statements, line), None, line),
        ]
    return declared, ast.DoWhile(ast.Block(tuple(body), line), ast.IntLiteral(0), line)


def _matches(name: str, labels: Sequence[ast.Expression | None]) -> ast.Expression:
    tests: list[ast.Expression] = [ast.Binary("==", ast.Name(name), label) for label in labels if label is not None]
    result: ast.Expression = tests[0] if tests else ast.IntLiteral(0)
    for test in tests[1:]:
        result = ast.Binary("||", result, test)
    return result


def _body(case: Case) -> tuple[ast.Statement, ...]:
    """A case's statements without the `break` at their end."""
    statements = case.statements
    if statements and isinstance(statements[-1], ast.Break):
        return statements[:-1]
    if len(statements) == 1 and isinstance(statements[0], ast.Block) and not statements[0].region:
        return _body(Case(case.labels, statements[0].statements))
    return statements


def _leaves(case: Case) -> bool:
    last: Any = case.statements[-1] if case.statements else None
    while isinstance(last, ast.Block) and last.statements:
        last = last.statements[-1]
    return isinstance(last, ast.Break | ast.Continue | ast.Return)


def _breaks_within(case: Case) -> bool:
    return any(isinstance(node, ast.Break) for node in _outside_loops(_body(case)))


def _outside_loops(statements: Sequence[Any]) -> Iterator[Any]:
    """All nodes that lie in no loop of these statements."""
    stack: list[Any] = list(statements)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ast.For | ast.While | ast.DoWhile):
            stack.extend(children(node))

"""Loop nests taken apart: what they enclose, and what is around a place in them."""

from __future__ import annotations

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.syntax.loops import Loop, conjuncts, loop
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    Path,
    blocks,
)

Statements = tuple[ast.Statement, ...]


def peel_nest(statement: ast.Statement) -> tuple[tuple[Loop, ...], tuple[ast.Expression, ...], Statements]:
    """The perfectly nested loops and conditions from a statement inwards, and what they enclose."""
    loops: list[Loop] = []
    guards: list[ast.Expression] = []
    current: Statements = (statement,)
    while len(current) == 1:
        only = current[0]
        counted = loop(only)
        if counted is not None and isinstance(only, ast.For):
            loops.append(counted)
            current = only.body.statements
        elif isinstance(only, ast.If) and only.otherwise is None:
            guards.extend(conjuncts(only.condition))
            current = only.then.statements
        else:
            break
    return tuple(loops), tuple(guards), current


def enclosing(body: ast.Block, path: Path) -> tuple[ast.Statement, ...]:
    """The statements around and at a path, outermost first."""
    result: list[ast.Statement] = []
    statements: Statements = body.statements
    for number in path:
        result.append(statements[number])
        statements = tuple(s for held in blocks(statements[number]) for s in held.statements)
    return tuple(result)

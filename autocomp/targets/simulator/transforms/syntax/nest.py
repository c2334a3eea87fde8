"""Loop nests taken apart and put together again: strip-mining, sinking, distribution."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.syntax.affine import literal
from autocomp.targets.simulator.transforms.syntax.loops import Loop, conjuncts, loop, make_if, make_nest
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    Path,
    blocks,
    names,
    substitute,
    with_blocks,
    with_statements,
)

Statements = tuple[ast.Statement, ...]


def strip_mine(
    item: Loop, factor: int, outer: str, inner: str
) -> tuple[Loop, Loop, ast.Expression, ast.Expression | None]:
    """The two loops that replace one, its variable's value in them, and the guard that a remainder needs."""
    blocks_needed = -(-item.trips // factor)
    value = ast.Binary("+", ast.Binary("*", ast.Name(outer), literal(factor)), ast.Name(inner))
    guard = ast.Binary("<", value, literal(item.trips)) if item.trips % factor else None
    return Loop(outer, blocks_needed), Loop(inner, factor), value, guard


def change_loop(
    statements: Statements,
    variable: str,
    change: Callable[[ast.For, Loop], Statements],
    only: Callable[[ast.Statement], bool] = lambda statement: True,
) -> Statements:
    """The statements with the outermost loops over a variable rewritten, of those for which `only` holds.

    Raises NotApplicable without such a loop.
    """
    count = 0

    def visit(given: Statements) -> Statements:
        nonlocal count
        result: list[ast.Statement] = []
        for statement in given:
            counted = loop(statement)
            if counted is not None and counted.variable == variable and only(statement):
                assert isinstance(statement, ast.For)
                count += 1
                result.extend(change(statement, counted))
            else:
                inner = tuple(with_statements(held, visit(held.statements)) for held in blocks(statement))
                result.append(with_blocks(statement, inner))
        return tuple(result)

    changed = visit(statements)
    if not count:
        raise NotApplicable(f"no counted loop over {variable!r} in the kernel")
    return changed


def single_loop(statements: Statements) -> tuple[ast.For, Loop] | None:
    """The loop that a body consists of, or None."""
    if len(statements) != 1:
        return None
    counted = loop(statements[0])
    return (statements[0], counted) if counted is not None and isinstance(statements[0], ast.For) else None


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


@dataclass(frozen=True)
class Sinking:
    """The distribution of statements into nests of their own: inside `loops`, whose `edges` say by variable which
    iterations there are. The loops for which `below` holds are passed: they come to stand outside. A statement
    for which `once` holds does the same however often it is repeated."""

    loops: Sequence[Loop]
    edges: Mapping[str, ast.Expression]
    below: Callable[[Loop], bool]
    once: Callable[[ast.Statement], bool]

    def nest(self, guards: Sequence[ast.Expression], group: Statements) -> Statements:
        """The statements under the loops; what can run once stands outside those that change nothing about it. The
        first iteration of a loop is always one that there is."""
        needed = frozenset(item.variable for item in self.loops)
        if all(map(self.once, group)):
            needed &= names(ast.Block(group)).union(*map(names, guards))
        kept = [item for item in self.loops if item.variable in needed]
        edges = [guard for variable, guard in self.edges.items() if variable in needed]
        return make_nest(kept, make_if((*edges, *guards), group))


def sink(how: Sinking, given: Statements, guards: Sequence[ast.Expression] = ()) -> Statements:
    """Statements, distributed; each stays under the conditions around it."""
    result: list[ast.Statement] = []
    group: list[ast.Statement] = []

    def close() -> None:
        if group:
            result.extend(how.nest(guards, tuple(group)))
            group.clear()

    for statement in given:
        counted = loop(statement)
        if counted is not None and isinstance(statement, ast.For) and how.below(counted):
            close()
            result.extend(make_nest((counted,), sink(how, statement.body.statements, guards)))
        elif isinstance(statement, ast.If) and statement.otherwise is None and _holds(statement, how.below):
            close()
            result.extend(sink(how, statement.then.statements, (*guards, *conjuncts(statement.condition))))
        else:
            if isinstance(statement, ast.Declaration):
                raise NotApplicable(f"a declaration at line {statement.line} is between the loops")
            group.append(statement)
    close()
    return tuple(result)


def _holds(statement: ast.If, below: Callable[[Loop], bool]) -> bool:
    return any((counted := loop(inner)) is not None and below(counted) for inner in statement.then.statements)


def relevant(guards: Sequence[ast.Expression], variables: frozenset[str]) -> tuple[ast.Expression, ...]:
    """The conditions that depend on the given variables alone."""
    return tuple(guard for guard in guards if names(guard) <= variables)


def with_values(statements: Statements, values: dict[str, ast.Expression]) -> Statements:
    """The statements with variables replaced."""
    return tuple(substitute(statement, values) for statement in statements)


def enclosing(body: ast.Block, path: Path) -> tuple[ast.Statement, ...]:
    """The statements around and at a path, outermost first."""
    result: list[ast.Statement] = []
    statements: Statements = body.statements
    for number in path:
        result.append(statements[number])
        statements = tuple(s for held in blocks(statements[number]) for s in held.statements)
    return tuple(result)

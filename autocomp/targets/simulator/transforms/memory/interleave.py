"""Background moves spread over the iterations of a computing nest, one every few iterations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.syntax.affine import affine, expression, literal
from autocomp.targets.simulator.transforms.syntax.loops import (
    Loop,
    linear_index,
    make_constant,
    make_if,
    make_loop,
    make_nest,
)
from autocomp.targets.simulator.transforms.syntax.nest import Statements, peel_nest
from autocomp.targets.simulator.transforms.syntax.rewrite import declared, fresh, names, substitute


@dataclass(frozen=True)
class Moves:
    """A nest of moves, iterations of which can be issued one by one."""

    loops: tuple[Loop, ...]
    guards: tuple[ast.Expression, ...]
    calls: Statements

    @property
    def count(self) -> int:
        return prod(item.trips for item in self.loops)


def moves_of(statement: ast.Statement, *conditions: ast.Expression) -> Moves:
    """The moves that a statement makes, under conditions besides its own."""
    loops, guards, calls = peel_nest(statement)
    return Moves(loops, (*conditions, *guards), calls)


def elsewhere(
    statements: Statements,
    constants: Sequence[ast.Declaration],
    variable: str,
    value: ast.Expression,
    suffix: str,
    taken: set[str],
) -> tuple[tuple[ast.Declaration, ...], Statements]:
    """The statements of a loop's body as they are in another iteration, with the index constants that they need then
    under new names."""
    copies, values = renamed_constants(used_constants(constants, statements), suffix, taken)
    there = {variable: value}
    return (
        tuple(substitute(declaration, there) for declaration in copies),
        tuple(substitute(statement, {**values, **there}) for statement in statements),
    )


def shifted_iteration(
    statements: Statements, constants: Sequence[ast.Declaration], variable: str, value: ast.Expression
) -> Statements:
    """The statements as they are in another iteration of a loop, `value` in place of its variable; `constants` are
    the index constants of the loop's body."""
    values: dict[str, ast.Expression] = {variable: value}
    for declaration in constants:
        for declarator in declaration.declarators:
            if declarator.initializer is not None:
                values[declarator.name] = substitute(declarator.initializer, values)
    return tuple(substitute(statement, values) for statement in statements)


def interleave(
    computing: Statements,
    moves: Sequence[Moves],
    condition: ast.Expression | None,
    taken: set[str],
    *,
    spacing: int = 0,
    rounds: tuple[int, ast.Expression] = (1, literal(0)),
) -> Statements:
    """A computing nest, or statements that compute, with the moves issued between iterations, while `condition` holds
    if there is one.

    `spacing` is the number of iterations from one move to the next. 0 spreads the moves evenly, the last one not in the
    very last iteration. It would end beside what reads the same banks next. A move comes at the end of its interval,
    when the rows that it overwrites are no longer read. Conditions of the nest move inside, so that every iteration has
    its turn. `rounds` is how often the nest runs until all moves are made, and the number of the present time.
    """
    loops, guards, held = peel_nest(computing[0]) if len(computing) == 1 else ((), (), computing)
    times, present = rounds
    once = prod(item.trips for item in loops)
    turns = times * once
    total = sum(item.count for item in moves)
    even = max(1, (turns - 1) // total)
    every = min(spacing or even, even)
    burst = -(-total // turns)
    turn = expression(affine(present).times(once) + affine(linear_index(loops)))
    if burst > 1:
        number = fresh("burst", taken)
        taken.add(number)
        value = expression(affine(turn).times(burst) + affine(ast.Name(number)))
        slot: Statements = (make_loop(number, burst, _choose(moves, value, taken)),)
        slot = make_if((condition,) if condition is not None else (), slot)
    else:
        conditions = [condition] if condition is not None else []
        if every > 1:
            conditions.append(ast.Binary("==", ast.Binary("%", turn, literal(every)), literal(every - 1)))
        chosen = turn if every == 1 else ast.Binary("/", turn, literal(every))
        slot = make_if(conditions, _choose(moves, chosen, taken))
    constants: Statements = () if guards else index_constants(held)  # at the head, where other options look for them
    if names(ast.Block(slot)) & frozenset[str]().union(*map(declared, constants)):
        constants = ()
    return make_nest(loops, (*constants, *slot, *make_if(guards, held[len(constants) :])))


def _choose(moves: Sequence[Moves], value: ast.Expression, taken: set[str]) -> Statements:
    """Statements that issue move number `value` of all the moves in order, if there is one."""
    name = fresh("move", taken)
    taken.add(name)
    number: ast.Expression = ast.Name(name)
    tail: ast.Block | None = None
    end = sum(item.count for item in moves)
    for item in reversed(moves):
        start = end - item.count
        body = _one(item, expression(affine(number)) if not start else ast.Binary("-", number, literal(start)), taken)
        tail = ast.Block((ast.If(ast.Binary("<", number, literal(end)), ast.Block(body), tail),))
        end = start
    return (make_constant(name, value), *(tail.statements if tail is not None else ()))


def _one(item: Moves, number: ast.Expression, taken: set[str]) -> Statements:
    """One iteration of a nest of moves, by its number."""
    inner = item.count
    constants: list[ast.Statement] = []
    values: dict[str, ast.Expression] = {}
    for entry in item.loops:
        inner //= entry.trips
        value = number if inner == 1 else ast.Binary("/", number, literal(inner))
        if entry is not item.loops[0]:
            value = ast.Binary("%", value, literal(entry.trips))
        name = fresh(f"{entry.variable}_moved", taken)
        taken.add(name)
        constants.append(make_constant(name, value))
        values[entry.variable] = ast.Name(name)
    calls = tuple(substitute(call, values) for call in item.calls)
    guards = tuple(substitute(guard, values) for guard in item.guards)
    return (*constants, *make_if(guards, calls))


def renamed_constants(
    constants: Sequence[ast.Declaration], suffix: str, taken: set[str]
) -> tuple[tuple[ast.Declaration, ...], Mapping[str, ast.Expression]]:
    """Copies of declarations under new names, and what replaces the old names."""
    values: dict[str, ast.Expression] = {}
    copies = []
    for declaration in constants:
        for declarator in declaration.declarators:
            name = fresh(f"{declarator.name}_{suffix}", taken)
            taken.add(name)
            if declarator.initializer is not None:
                copies.append(make_constant(name, substitute(declarator.initializer, values)))
            values[declarator.name] = ast.Name(name)
    return tuple(copies), values


def used_constants(constants: Sequence[ast.Declaration], statements: Statements) -> tuple[ast.Declaration, ...]:
    """The constants that statements need, directly or through other constants."""
    needed = set[str]().union(*(names(statement) for statement in statements))
    kept: list[ast.Declaration] = []
    for declaration in reversed(constants):
        if any(declarator.name in needed for declarator in declaration.declarators):
            needed |= names(declaration)
            kept.insert(0, declaration)
    return tuple(kept)


def index_constants(body: Statements) -> tuple[ast.Declaration, ...]:
    """The constants that open a loop's body."""
    constants = []
    for statement in body:
        if not isinstance(statement, ast.Declaration) or not statement.const:
            break
        constants.append(statement)
    return tuple(constants)


def check_indices(rest: Statements, moving: Statements) -> None:
    """Raises NotApplicable if statements of a loop's body, of which `rest` is what follows its index constants, need
    constants that stand further down: what those are in another iteration is not said."""
    hidden = frozenset[str]().union(*(declared(s) for s in rest if isinstance(s, ast.Declaration)))
    needed = hidden & frozenset[str]().union(*(names(s) - declared(s) for s in moving))
    if needed:
        raise NotApplicable(f"moves depend on {min(needed)!r}, which comes after other statements of the loop")


def computing_part(facts: Facts, statements: Statements) -> Statements:
    """The statement with the longest computing nest, or the run of calls from the first that prepares a contraction to
    the last one."""
    wanted = {"contraction", "preload"}
    where = [n for n, s in enumerate(statements) if facts.kinds(s) & wanted]
    if not where:
        return ()
    nests = [statements[n] for n in where if not isinstance(statements[n], ast.ExpressionStatement)]
    if nests:
        return (max(nests, key=lambda s: prod(item.trips for item in peel_nest(s)[0])),)
    return statements[where[0] : where[-1] + 1]


def replaced(statements: Statements, old: Statements, new: Statements, gone: Statements) -> Statements:
    """The statements with a run of them replaced and some left out; by identity, since equal ones may occur."""
    result: list[ast.Statement] = []
    for statement in statements:
        if any(statement is other for other in gone):
            continue
        if statement is old[0]:
            result.extend(new)
        elif not any(statement is other for other in old):
            result.append(statement)
    return tuple(result)

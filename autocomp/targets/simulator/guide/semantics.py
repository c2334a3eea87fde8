"""The semantics of an instruction as a prompt shows them: without what only rules are about, and without formulas that
nobody can read, which are left to the meaning of the operands."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from autocomp.targets.simulator.isa.algebra import walk
from autocomp.targets.simulator.isa.show import show, show_statements
from autocomp.targets.simulator.isa.tree import (
    AddressField,
    Assign,
    Element,
    Expression,
    For,
    Let,
    Name,
    StateField,
    Statement,
    When,
)
from autocomp.targets.simulator.isa.walk import assignments

LONGEST = 400  # characters of a formula that a reader can follow

Field = tuple[str, str]  # of a state: its name and the field's


def shortened(body: Sequence[Statement], read: Collection[Field]) -> str:
    """The statements that affect the fields `read`; `{ ... }` replaces a branch that is left out."""
    kept = _kept(body, read)
    while True:
        used = {node.name for value in _values(kept) for node in walk(value) if isinstance(node, Name)}
        needed = [s for s in kept if not isinstance(s, Let) or s.name in used]
        if needed == kept:
            break
        kept = needed
    return re.sub(r"\{\n\s*\}", "{ ... }", "\n".join(show_statements(kept)))


def copied_records(body: Sequence[Statement]) -> list[str]:
    """The state records of which fields are set to operands of their own names, with an example where it is a field of
    an address."""
    copies = [a for statement in body for a in assignments(statement) if _is_copy(a)]
    examples: dict[str, str] = {}
    for copy in copies:
        record, _, field = show(copy.target).rpartition(".")
        if isinstance(copy.value, AddressField):
            examples[record] = f" (`{field}` from `{show(copy.value)}`)"
        examples.setdefault(record, "")
    return [f"`{record}`{example}" for record, example in sorted(examples.items())]


def fields_read(body: Sequence[Statement]) -> set[Field]:
    """The fields of states that decide what statements compute; rules do not count."""
    nodes = (node for value in _values(body) for node in walk(value))
    return {(node.state, node.field) for node in nodes if isinstance(node, StateField)}


def _kept(body: Sequence[Statement], read: Collection[Field]) -> list[Statement]:
    if any(isinstance(s, For) and _has_long(s) for s in body):
        return []  # what leads up to a formula says nothing without it
    statements: list[Statement] = []
    for statement in body:
        if isinstance(statement, When):
            then, otherwise = _kept(statement.then, read), _kept(statement.otherwise, read)
            if then or otherwise or any(map(_has_long, statement.then)):
                statements.append(When(statement.condition, tuple(then), tuple(otherwise)))
        elif isinstance(statement, For):
            inner = _kept(statement.body, read)
            statements += [replace(statement, body=tuple(inner))] if inner else []
        elif isinstance(statement, Assign):
            target = statement.target
            hidden = isinstance(target, StateField) and (target.state, target.field) not in read
            statements += [] if hidden or _is_copy(statement) or _has_long(statement) else [statement]
        elif isinstance(statement, Let):
            statements.append(statement)
    return statements


def _has_long(statement: Statement) -> bool:
    return any(len(show(assignment.value)) > LONGEST for assignment in assignments(statement))


def _is_copy(statement: Assign) -> bool:
    """True if a field of a state is set to the operand of its own name, or `c_row` to an address's `c.row`."""
    target, value = statement.target, statement.value
    if not isinstance(target, StateField):
        return False
    if isinstance(value, AddressField):
        return target.field == f"{value.parameter}_{value.field}"
    return isinstance(value, Name) and value.name == target.field


def _values(body: Sequence[Statement]) -> Iterator[Expression]:
    """The expressions that decide what the statements compute: no requirements."""
    for statement in body:
        if isinstance(statement, Let | Assign):
            yield statement.value
        if isinstance(statement, Assign) and isinstance(statement.target, Element):
            yield from statement.target.indices
        elif isinstance(statement, For):
            yield from (bound for _, bound in statement.variables)
            yield from _values(statement.body)
        elif isinstance(statement, When):
            yield statement.condition
            yield from _values((*statement.then, *statement.otherwise))

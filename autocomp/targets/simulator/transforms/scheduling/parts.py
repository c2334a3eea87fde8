"""The parts of a kernel between its fences: each may be a computation of its own, and be scheduled by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.analysis.fences import is_fence
from autocomp.targets.simulator.transforms.syntax.heading import heading, with_heading, without_headings
from autocomp.targets.simulator.transforms.syntax.nest import Statements
from autocomp.targets.simulator.transforms.syntax.rewrite import call_of, fresh, names, renamed, with_body


@dataclass(frozen=True)
class Part:
    """Statements of a kernel, those before and those after. `alone` is the kernel that they are by themselves: with the
    same arrays, configured as the statements before leave the machine. `left` configures it as the part leaves it, for
    statements after that do not do so themselves."""

    kernel: ast.Kernel
    before: Statements
    statements: Statements
    after: Statements
    alone: ast.Kernel
    left: Statements = ()

    @property
    def heading(self) -> str:
        """The text of the comment that says which schedule the part was lowered from; empty without one."""
        return next((text for statement in self.statements if (text := heading((statement,)))), "")

    def replaced(self, statements: Statements, text: str) -> ast.Kernel:
        """The kernel with other statements in the part's place, which `text` is the heading of. Declarations of the
        part that others need stay."""
        kept = tuple(s for s in self.statements[: self._head] if self._is_needed(s, statements))
        others = ast.Block((*self.before, *kept, *self.after))
        taken = {d.name for s in others.statements if isinstance(s, ast.Declaration) for d in s.declarators}
        own = [d.name for s in statements if isinstance(s, ast.Declaration) for d in s.declarators]
        new: dict[str, str] = {}
        for name in own:
            new[name] = fresh(name, taken | set(own) - {name} | set(new.values()))
        changed = renamed(ast.Block(statements), {old: name for old, name in new.items() if old != name})
        functions = self.kernel.functions if self.before or self.after else self.kernel.functions[-1:]
        kernel = ast.Kernel(functions, self.kernel.globals, constants=self.kernel.constants)
        own_statements = with_heading(changed.statements, text)
        return with_body(kernel, ast.Block((*self.before, *kept, *own_statements, *self.left, *self.after)))

    @property
    def _head(self) -> int:
        """The statements before the heading, which the part has kept; all where there is no heading."""
        numbers = (n for n, statement in enumerate(self.statements) if heading((statement,)))
        return next(numbers, len(self.statements))

    def _is_needed(self, statement: ast.Statement, statements: Statements) -> bool:
        if not isinstance(statement, ast.Declaration):
            return False
        if self.heading:
            return True
        users = ast.Block((*self.after, *(statements if statement.static else ())))
        return any(d.name in names(users) for d in statement.declarators)


def whole_of_kernel(facts: Facts) -> Part:
    """All of a kernel as one part."""
    return Part(facts.given, (), facts.given.entry.body.statements, (), without_headings(facts.given))


def parts_of(facts: Facts) -> tuple[Part, ...]:
    """The parts of a kernel, each up to a fence that is in no loop."""
    statements = facts.given.entry.body.statements
    ends = [n + 1 for n, statement in enumerate(statements) if _ends(facts, statement)]
    if ends and not any(facts.kinds(statement) for statement in statements[ends[-1] :]):
        ends[-1] = len(statements)
    bounds = [0, *ends, len(statements)]
    return tuple(_part(facts, first, last) for first, last in pairwise(bounds) if first < last)


def _ends(facts: Facts, statement: ast.Statement) -> bool:
    call = call_of(statement)
    return call is not None and is_fence(facts.machine, call)


def _part(facts: Facts, first: int, last: int) -> Part:
    statements = facts.given.entry.body.statements
    before, own, after = statements[:first], statements[first:last], statements[last:]
    body = ast.Block((*_lasting(facts, before), *own))
    alone = without_headings(with_body(facts.given, body))
    return Part(facts.given, before, own, after, alone, tuple(_relied_on(facts, statements[:last], after)))


def _lasting(facts: Facts, before: Statements) -> Iterator[ast.Statement]:
    """The declarations and configurations among statements."""
    for statement in before:
        if isinstance(statement, ast.Declaration) or _configures(facts, statement):
            yield statement


def _relied_on(facts: Facts, before: Statements, after: Statements) -> Iterator[ast.Statement]:
    """The configurations that statements rely on which do not begin with their own."""
    first = next((statement for statement in after if facts.kinds(statement)), None)
    if first is not None and not _configures(facts, first):
        yield from (statement for statement in before if _configures(facts, statement))


def _configures(facts: Facts, statement: ast.Statement) -> bool:
    return facts.kinds(statement) == {"configuration"}

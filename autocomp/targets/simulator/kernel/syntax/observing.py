"""Statements that only observe, which kernels of hand-written tests have: they print, and read the clock to do so.

uint64_t begin = read_cycles(); … printf("%lu\\n", read_cycles() - begin);

A kernel has no output, and its time is measured from outside, so that they are left out. A time that anything else
depends on stays, and is refused by the check.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.walk import rebuilt, walk

PRINTS = frozenset({"printf", "puts", "putchar", "perror"})
EFFECTS = (ast.Assignment, ast.Increment, ast.CallThrough)


def unobserved(kernel: ast.Kernel, clocks: Collection[str]) -> ast.Kernel:
    """The kernel without statements that only observe, whose lines it names as `left_out`; `clocks` are functions that
    read the time. The kernel's own functions are called, whatever their names. A whole program stays as it is."""
    own = {function.name for function in kernel.functions}
    prints, read = PRINTS - own, frozenset(clocks) - own
    if kernel.is_program or not _called(kernel) & (prints | read):
        return kernel
    cut = [_Observations(function, prints, read) for function in kernel.functions]
    functions = tuple(one.without() for one in cut)
    return replace(kernel, functions=functions, left_out=tuple(sorted(line for one in cut for line in one.lines)))


def _called(node: Any) -> set[str]:
    return {part.function for part in walk(node) if isinstance(part, ast.Call)}


class _Observations:
    """The observations of a function, and their lines. Variables that hold times get readings of the clock and what
    follows from them."""

    def __init__(self, function: ast.Function, prints: frozenset[str], clocks: frozenset[str]) -> None:
        self._function = function
        self._prints = prints
        self._clocks = clocks
        self._times = self._held_times()
        self.lines: list[int] = []

    def without(self) -> ast.Function:
        """The function without them. Times that something else uses stay, until no use is left."""
        while True:
            self.lines.clear()
            body = self._cut(self._function.body)
            used = self._times & {node.name for node in walk(body) if isinstance(node, ast.Name)}
            if not used:
                return replace(self._function, body=body)
            self._times -= used

    def _held_times(self) -> frozenset[str]:
        times: set[str] = set()
        before = -1
        while len(times) > before:
            before = len(times)
            times |= {name for name, value in self._given() if self._is_time(value, times)}
        return frozenset(times)

    def _given(self) -> Iterator[tuple[str, Any]]:
        """Variables with values that they get."""
        for node in walk(self._function):
            if isinstance(node, ast.Declarator) and node.initializer is not None:
                yield node.name, node.initializer
            if isinstance(node, ast.Assignment) and isinstance(node.target, ast.Name):
                yield node.target.name, node.value

    def _is_time(self, value: Any, times: Collection[str]) -> bool:
        return any(
            (isinstance(node, ast.Call) and node.function in self._clocks)
            or (isinstance(node, ast.Name) and node.name in times)
            for node in walk(value)
        )

    def _only_read(self, value: Any) -> bool:
        """True if nothing is lost with a value."""
        return _called(value) <= self._clocks and not any(isinstance(node, EFFECTS) for node in walk(value))

    def _cut(self, node: Any) -> Any:
        return rebuilt(node, self._changed)

    def _changed(self, node: Any) -> Any:
        if isinstance(node, ast.Block):
            kept = (self._cut(self._kept(statement)) for statement in node.statements if not self._observes(statement))
            return replace(node, statements=tuple(kept))
        if isinstance(node, ast.ExpressionStatement) and self._observes(node):
            return ast.Block(())
        return None

    def _observes(self, statement: Any) -> bool:
        if isinstance(statement, ast.Declaration):
            observes = all(map(self._is_held_time, statement.declarators))
        elif isinstance(statement, ast.ExpressionStatement):
            observes = self._is_observation(statement.expression)
        else:
            return False
        if observes:
            self.lines.append(statement.line)
        return observes

    def _is_observation(self, expression: Any) -> bool:
        if isinstance(expression, ast.Call):
            known = expression.function in self._prints | self._clocks
            return known and all(map(self._only_read, expression.arguments))
        target = expression.target if isinstance(expression, ast.Assignment) else None
        held = isinstance(target, ast.Name) and target.name in self._times
        return held and self._only_read(expression.value)

    def _is_held_time(self, declarator: ast.Declarator) -> bool:
        return declarator.name in self._times and self._only_read(declarator.initializer)

    def _kept(self, statement: Any) -> Any:
        """A declaration of other variables, too, without those that hold times."""
        if not isinstance(statement, ast.Declaration):
            return statement
        return replace(statement, declarators=tuple(d for d in statement.declarators if not self._is_held_time(d)))

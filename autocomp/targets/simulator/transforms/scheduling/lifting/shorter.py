"""A long kernel's computation from few iterations of its loops.

A loop goes on as it begins where nothing in it but places in tensors depends on its variable after the first iteration,
and these move on by as much each time. Some iterations then show what all of them do. One more iteration shows how the
computation grows with the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf, prod
from typing import Any

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import pointer
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction
from autocomp.targets.simulator.transforms.syntax.affine import Affine
from autocomp.targets.simulator.transforms.syntax.iterations import Iterations
from autocomp.targets.simulator.transforms.syntax.loops import Loop, loop, make_loop
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    children,
    names,
    rewrite_statements,
    walk_statements,
    with_body,
)

_LONG = 1 << 14  # commands; a kernel of more is shortened
_KEPT = 4  # iterations of a shortened loop: the first and the last one differ from those between


@dataclass(frozen=True)
class Shorter:
    """A kernel in normal form, and the loops of which few iterations tell all, by their variables."""

    kernel: ast.Kernel
    loops: Mapping[str, Loop]

    def instance(self, longer: str = "") -> ast.Kernel:
        """The kernel with few iterations of these loops, one more of that whose variable is `longer`."""

        def change(statement: ast.Statement, _: object) -> ast.Statement | None:
            counted = loop(statement)
            if counted is None or counted.variable not in self.loops or not isinstance(statement, ast.For):
                return None
            trips = _KEPT + (counted.variable == longer)
            return make_loop(counted.variable, trips, statement.body.statements)

        return with_body(self.kernel, rewrite_statements(self.kernel.entry.body, change))

    def in_full(self, few: Contraction, computed: Callable[[ast.Kernel], Contraction]) -> Contraction:
        """The computation of all iterations, from that of few; `computed` gives that of a kernel. Raises NotApplicable
        where it does not grow with each loop by itself."""
        extents = dict(few.extents)
        for variable, counted in self.loops.items():
            more = computed(self.instance(variable))
            if more.extents.keys() != extents.keys() or replace(more, dims=few.dims) != few:
                raise NotApplicable(f"what the kernel computes changes with the iterations of {variable!r}")
            for dim, extent in more.extents.items():
                extents[dim] += (extent - few.extents[dim]) * (counted.trips - _KEPT)
        iterations = prod(counted.trips for counted in self.loops.values())
        if prod(extents.values()) * _KEPT ** len(self.loops) != prod(few.extents.values()) * iterations:
            raise NotApplicable("the loops of the kernel do not each lengthen one dimension")
        return replace(few, dims=tuple(replace(dim, extent=extents[dim.name]) for dim in few.dims))


def shorter(kernel: ast.Kernel, most: int = _LONG) -> Shorter | None:
    """A kernel in normal form with outer loops shortened until it has at most some commands; None where it has no more
    than these, or keeps more."""
    loops: dict[str, Loop] = {}
    if _commands(kernel.entry.body, loops) <= most:
        return None
    for counted in _going_on(kernel.entry.body):
        loops[counted.variable] = counted
        if _commands(kernel.entry.body, loops) <= most:
            return Shorter(kernel, loops)
    return None


def _commands(node: Any, shortened: Mapping[str, Loop]) -> float:
    """The calls that a part of a kernel makes, with few iterations of some loops; infinite where that is not known."""
    calls = float(isinstance(node, ast.Call)) + sum(_commands(part, shortened) for part in children(node))
    if not isinstance(node, ast.For | ast.While | ast.DoWhile) or not calls:
        return calls
    counted = loop(node) if isinstance(node, ast.For) else None
    if counted is None:
        return inf
    return calls * (_KEPT if counted.variable in shortened else counted.trips)


def _going_on(body: ast.Block) -> Iterator[Loop]:
    """The loops of more than few iterations that go on as they begin, outer ones first. Those that share a variable are
    left out."""
    found = [(node, counted) for node in walk_statements(body) if (counted := loop(node)) is not None]
    variables = [counted.variable for _, counted in found]
    for node, counted in found:
        alone = variables.count(counted.variable) == 1
        if alone and counted.trips > _KEPT + 1 and _goes_on(node.body, counted):
            yield counted


def _goes_on(node: Any, counted: Loop) -> bool:
    """True if a node depends on a loop's variable in the first iteration alone, or in places that move on."""
    if counted.variable not in names(node):
        return True
    if isinstance(node, ast.Unary) and node.operator == "&":
        place = pointer(node)
        return place is not None and all(_moves_on(subscript, counted.variable) for subscript in place.subscripts)
    if isinstance(node, ast.Expression) and names(node) == {counted.variable}:
        with suppress(NotApplicable):  # of calls, the arguments are looked at
            values = Iterations([counted], [node]).values(node)
            return values.size == 1 or bool((values[1:] == values[1]).all())
    return all(_goes_on(part, counted) for part in children(node))


def _moves_on(subscript: Affine, variable: str) -> bool:
    """True if no variable of a subscript takes it further at a time than one, which is nowhere else in it."""
    if any(variable in names(atom) for atom, _ in subscript.terms if atom != ast.Name(variable)):
        return False
    own = subscript.coefficient(variable)
    return not own or all(own >= abs(factor) for _, factor in subscript.terms)

"""Sums that the host makes of sums of its own, as sums of what these were made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from autocomp.remember import remembered
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.straight.elements import Byte, Computed, Liveness, Term, computed
from autocomp.targets.simulator.transforms.straight.places import TensorByte, element_at
from autocomp.targets.simulator.transforms.straight.program import Program, ProgramStep, program_of

Known = dict[Byte, Computed]  # the sum that an element still is


@remembered
def composed(program: Program) -> Program:
    """The program with sums of sums as sums of their terms, without those of the host's steps that nothing needs then.
    The same program if the host adds up none of its own sums. Raises NotApplicable as `program_of` does."""
    known: Known = {}
    changed: dict[int, list[Computed]] = {}
    for number, step in enumerate(program.steps):
        given = computed(step)
        sums = [_expanded(element, known) for element in given]
        if sums != list(given):
            changed[number] = sums
        _forget(known, step)
        known.update({element.result: element for element in sums})
    if not changed:
        return program
    steps = (
        part
        for number, step in enumerate(program.steps)
        for part in (_statements(program, step, changed[number]) if number in changed else (step,))
    )
    again = program_of(replace(program.facts, given=program.kernel(steps)))
    kept = [step for step, needed in zip(again.steps, _needed(again), strict=True) if needed]
    return program_of(replace(program.facts, given=again.kernel(kept)))


def _expanded(element: Computed, known: Mapping[Byte, Computed]) -> Computed:
    """A sum with terms that are sums themselves as the terms of these."""
    terms: list[Term] = []
    for term in element.terms:
        inner = known.get(term.element)
        same = inner is not None and inner.size == element.size
        terms.extend([Term(t.element, t.sign * term.sign) for t in inner.terms] if inner and same else [term])
    return replace(element, terms=tuple(terms))


def _forget(known: Known, step: ProgramStep) -> None:
    """Drops the sums that a step overwrites, or a term of which."""
    written = {(a.memory, b) for a in step.dram(write=True) for _, first, end in a.spans for b in range(first, end)}
    for result, element in list(known.items()):
        places = (result, *(term.element for term in element.terms))
        if any((memory, byte + n) in written for memory, byte in places for n in range(element.size)):
            del known[result]


def _statements(program: Program, step: ProgramStep, sums: list[Computed]) -> Iterator[ProgramStep]:
    """The sums as statements of the host."""

    def element(place: Byte) -> ast.Expression:
        name = place[0][1:]
        return element_at(TensorByte(name, place[1]), program.arrays[name])

    for one in sums:
        value: ast.Expression | None = None
        for term in one.terms:
            operator = "-" if term.sign < 0 else "+"
            part = element(term.element)
            first = ast.Unary("-", part) if term.sign < 0 else part
            value = first if value is None else ast.Binary(operator, value, part)
        assert value is not None
        yield replace(step, statement=ast.ExpressionStatement(ast.Assignment(element(one.result), value)))


def _needed(program: Program) -> list[bool]:
    """For each step: False if it is one of the host's whose results nothing reads."""
    alive = Liveness(program)
    needed: list[bool] = []
    for step in reversed(program.steps):
        needed.append(step.statement is None or alive.needs(step))
        if needed[-1]:
            alive.before(step)
    return needed[::-1]

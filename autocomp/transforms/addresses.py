"""Moving buffers about in local memory: shifting their addresses, finding them room."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from autocomp.kernel import ast
from autocomp.transforms.affine import Affine, affine, expression, literal
from autocomp.transforms.arithmetic import replace_sums
from autocomp.transforms.facts import Facts, Operand
from autocomp.transforms.local_rows import leaves
from autocomp.transforms.protocol import NotApplicable
from autocomp.transforms.rewrite import Path, call_of, rewrite_statements, with_body

Shift = Callable[[Operand], ast.Expression]


def shift_operands(facts: Facts, operands: Sequence[Operand], shift: Shift) -> ast.Block:
    """The body with `shift(operand)` added to the address of each operand."""
    changes: dict[Path, dict[int, ast.Expression]] = {}
    for operand in operands:
        changes.setdefault(operand.site.path, {})[operand.position] = shift(operand)
    return shift_arguments(facts, changes)


def shift_arguments(facts: Facts, changes: Mapping[Path, Mapping[int, ast.Expression]]) -> ast.Block:
    """The body with amounts added to arguments of calls, given by the calls' paths and argument positions."""

    def change(statement: ast.Statement, path: Path) -> ast.Statement | None:
        call = call_of(statement)
        if call is None or path not in changes:
            return None
        arguments = list(call.arguments)
        for position, amount in changes[path].items():
            arguments[position] = shifted(facts, arguments[position], amount)
        return ast.ExpressionStatement(replace(call, arguments=tuple(arguments)))

    return rewrite_statements(facts.body, change)


def shifted(facts: Facts, address: ast.Expression, amount: ast.Expression) -> ast.Expression:
    """address + amount; an absent operand stays absent."""
    if amount == literal(0) or facts.is_absent(affine(address)):
        return address
    if isinstance(address, ast.Conditional) and any(facts.is_absent(leaf) for leaf in leaves(address)):
        return replace(
            address, then=shifted(facts, address.then, amount), otherwise=shifted(facts, address.otherwise, amount)
        )
    return replace_sums(ast.Binary("+", address, amount))


def linear(variables: Sequence[tuple[str, int]], unit: int) -> ast.Expression:
    """The row offset of an iteration when each takes `unit` rows; variables come with their trips, slowest first."""
    total = Affine(0)
    for name, trips in variables:
        total = total.scaled(trips) + Affine(0, ((ast.Name(name), 1),))
    return expression(total.scaled(unit))


def place(facts: Facts, memory: str, needed: Mapping[int, int], *, by_bank: bool = False) -> dict[int, int]:
    """New first rows for the buffers of a memory: `needed` maps the present first row to the rows required.

    A buffer keeps its place if nothing is in its way. With `by_bank`, every buffer starts a bank of its own, as long
    as there are enough, but those that nothing computes with: they take the first rows that are left. Raises
    NotApplicable if they do not fit.
    """
    total = facts.accelerator.memory(memory).rows
    bank = facts.bank_rows(memory)
    if by_bank:
        passing = {buffer.low for buffer in facts.buffers if buffer.memory == memory and not buffer.is_computed_with}
        starts: dict[int, int] = {}
        next_bank = 0
        for low in sorted(needed.keys() - passing):
            starts[low] = next_bank * bank
            next_bank += -(-needed[low] // bank)
        for low in sorted(needed.keys() & passing):
            taken = sorted((start, start + needed[other]) for other, start in starts.items())
            starts[low] = _first_gap(taken, needed[low])
        top = max((starts[low] + needed[low] for low in needed), default=0)
        if max(next_bank * bank, top) > total:
            raise NotApplicable(f"the operands need {next_bank} banks of {memory}, which has {total // bank}")
        return starts
    order = sorted(needed)
    if all(low + needed[low] <= following for low, following in zip(order, (*order[1:], total), strict=True)):
        return {low: low for low in order}
    starts, top = {}, 0
    for low in order:
        starts[low] = top
        top += needed[low]
    if top > total:
        raise NotApplicable(f"{memory} has {total} rows, and {top} are needed")
    return starts


def _first_gap(taken: Sequence[tuple[int, int]], rows: int) -> int:
    """The lowest row from which so many are free; `taken` are rows from and up to, in their order."""
    top = 0
    for start, end in taken:
        if start - top >= rows:
            break
        top = max(top, end)
    return top


def moved(facts: Facts, starts: Mapping[str, Mapping[int, int]]) -> ast.Block:
    """The body with buffers moved: memory -> present first row -> new first row."""
    changes: dict[Path, dict[int, ast.Expression]] = {}
    for buffer in facts.buffers:
        target = starts.get(buffer.memory, {}).get(buffer.low, buffer.low)
        for operand in buffer.operands if target != buffer.low else ():
            changes.setdefault(operand.site.path, {})[operand.position] = literal(target - buffer.low)
    return shift_arguments(facts, changes)


def make_room(facts: Facts, growing: Mapping[int, int], memory: str) -> Facts:
    """The facts after buffers of a memory were spread out so that those in `growing` (first row -> rows) have room."""
    needed = {b.low: growing.get(b.low, b.rows) for b in facts.buffers if b.memory == memory}
    starts = place(facts, memory, needed)
    if all(low == start for low, start in starts.items()):
        return facts
    return facts.with_kernel(with_body(facts.kernel, moved(facts, {memory: starts})))

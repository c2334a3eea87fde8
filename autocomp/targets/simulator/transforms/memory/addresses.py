"""Moving buffers about in local memory: shifting their addresses, finding them room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Buffer, Facts, Operand
from autocomp.targets.simulator.transforms.analysis.local_rows import leaves
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.syntax.affine import Affine, affine, expression, literal
from autocomp.targets.simulator.transforms.syntax.arithmetic import replace_sums
from autocomp.targets.simulator.transforms.syntax.rewrite import Path, call_of, rewrite_statements, with_body


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
        total = total.times(trips) + Affine(0, ((ast.Name(name), 1),))
    return expression(total.times(unit))


def place(facts: Facts, memory: str, needed: Mapping[int, int]) -> dict[int, int]:
    """New first rows for the buffers of a memory: `needed` maps the present first row to the rows required.

    A buffer keeps its place if nothing is in its way. Those that nothing computes with take the last rows that are
    left. Raises NotApplicable if they do not fit.
    """
    total = facts.accelerator.memory(memory).rows
    order = sorted(needed)
    following = (*order[1:], total)
    if all(low + needed[low] <= after for low, after in zip(order, following, strict=True)):
        return {low: low for low in order}
    passing = {b.low: _further(facts, b) for b in facts.buffers if b.memory == memory and not b.is_computed_with}
    starts: dict[int, int] = {}
    top = 0
    for low in (low for low in order if low not in passing):
        starts[low] = top
        top += needed[low]
    for low in (low for low in order if low in passing):
        taken = [(start, start + needed[other] + passing.get(other, 0)) for other, start in starts.items()]
        starts[low] = _last_gap(taken, needed[low] + passing[low], total)
    if top > total or min(starts.values(), default=0) < 0:
        raise NotApplicable(f"{memory} has {total} rows, and {sum(needed.values())} are needed")
    return starts


def _further(facts: Facts, buffer: Buffer) -> int:
    """Rows after those of a buffer that its wide moves may fill with further blocks of columns."""
    return max(_reach(facts, operand) - operand.height for operand in buffer.operands)


def _reach(facts: Facts, operand: Operand) -> int:
    """Rows from the first to the last that one call can cover, further blocks of columns included."""
    blocks = -(-(operand.site.highest("cols") or 1) // facts.accelerator.memory(operand.memory).cols)
    settings = [s for s in facts.sites if s.kind == "configuration" and s.selector == operand.site.selector]
    apart = [affine(stride) for stride in (s.argument("block stride") for s in settings) if stride is not None]
    known = [value.constant for value in apart if value.is_constant]
    return operand.height + (blocks - 1) * max([facts.tile[0], *known])


def _last_gap(taken: Sequence[tuple[int, int]], rows: int, total: int) -> int:
    """The highest row from which `rows` rows are free, negative without such a row; `taken` are rows from and up to."""
    end = total
    for start, behind in sorted(taken, reverse=True):
        if end - behind >= rows:
            break
        end = min(end, start)
    return end - rows


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

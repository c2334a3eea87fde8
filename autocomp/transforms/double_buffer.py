"""Double-buffer: successive contents of a buffer go to alternate rows, in banks of their own where there are enough."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from autocomp.kernel import ast
from autocomp.transforms.addresses import moved, place, shift_operands
from autocomp.transforms.affine import Affine, affine, expression, interval, literal
from autocomp.transforms.facts import Buffer, Facts, Operand
from autocomp.transforms.loops import loop
from autocomp.transforms.nest import enclosing
from autocomp.transforms.parameters import name_of, names_of
from autocomp.transforms.protocol import NotApplicable, Parameters, Proposal, Rewriting
from autocomp.transforms.rewrite import Path, blocks, names, walk, with_body


class DoubleBuffer(Rewriting):
    name = "double_buffer"
    title = "Alternate between two halves of local memory"

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """All operands, all results, each alone; apart by banks, else side by side."""
        tensors = [b.tensor for b in facts.buffers if b.tensor and not is_doubled(b)]
        inputs = [t for t in tensors if (b := facts.buffer_of(t)) is not None and b.is_input]
        results = [t for t in tensors if t not in inputs]
        groups = [g for g in (tensors, inputs, results) if g] + [[t] for t in tensors]
        candidates: list[Proposal] = []
        for group in groups:
            for apart, where in (("bank", "other banks"), ("rows", "other rows")):
                reason = f"successive blocks of {', '.join(group)} go to {where} in turn"
                candidates.append(Proposal({"tensors": group, "apart": apart}, reason))
        return candidates

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`tensors` alternate; `apart` is "bank" (each half in banks of its own) or "rows" (one behind the other)."""
        tensors = names_of(parameters, "tensors")
        apart = name_of(parameters, "apart", "bank")
        if not tensors:
            raise NotApplicable("no tensor was named")
        if apart not in ("bank", "rows"):
            raise NotApplicable(f"'apart' is bank or rows, not {apart!r}")
        chosen = [_buffer(facts, tensor) for tensor in tensors]
        indices = {buffer.tensor: running_index(facts, buffer) for buffer in chosen}
        distances = {b.tensor: facts.bank_rows(b.memory) if apart == "bank" else b.rows for b in chosen}
        too_big = next((b for b in chosen if b.rows > distances[b.tensor]), None)
        if too_big is not None:
            raise NotApplicable(f"{too_big.tensor} takes {too_big.rows} rows, more than a bank")
        starts = {}
        for memory in {buffer.memory for buffer in chosen}:
            doubled = {b.low: distances[b.tensor] + b.rows for b in chosen if b.memory == memory}
            needed = {b.low: doubled.get(b.low, b.rows) for b in facts.buffers if b.memory == memory}
            starts[memory] = place(facts, memory, needed, by_bank=apart == "bank")
        facts = facts.with_kernel(with_body(facts.kernel, moved(facts, starts)))
        for tensor in tensors:
            buffer = _buffer(facts, tensor)
            parity = ast.Binary("%", indices[tensor], literal(2))
            offset = ast.Binary("*", parity, literal(distances[tensor]))
            body = shift_operands(facts, buffer.operands, lambda operand, amount=offset: amount)  # type: ignore[misc]
            facts = facts.with_kernel(with_body(facts.kernel, body))
        return facts.kernel


def doubled(facts: Facts, tensors: Sequence[str]) -> Facts:
    """The facts after double-buffering tensors: across banks if there are enough of them, else side by side."""
    if not tensors:
        return facts
    try:
        return facts.with_kernel(DoubleBuffer().apply(facts, {"tensors": list(tensors), "apart": "bank"}))
    except NotApplicable:
        return facts.with_kernel(DoubleBuffer().apply(facts, {"tensors": list(tensors), "apart": "rows"}))


def is_doubled(buffer: Buffer) -> bool:
    """Whether the rows of a buffer alternate already."""
    return any(_alternation(operand) for operand in buffer.operands)


def alternates_with(buffer: Buffer, variables: frozenset[str]) -> bool:
    """Whether all rows of a buffer move along with any of the variables: by turns, or with rows for each value."""
    shared = set(buffer.operands[0].row.terms).intersection(*(operand.row.terms for operand in buffer.operands))
    return any(not variables.isdisjoint(names(atom)) for atom, _ in shared)


def runs_ahead(buffer: Buffer) -> bool:
    """Whether a load in a loop fills another half of a buffer than the computation there reads."""
    return _out_of_step(buffer, "load")


def runs_behind(buffer: Buffer) -> bool:
    """Whether a store in a loop reads another half of a buffer than the computation there fills."""
    return _out_of_step(buffer, "store")


def _out_of_step(buffer: Buffer, kind: str) -> bool:
    moves = [_alternation(o) for o in buffer.operands if o.site.kind == kind and o.site.loops]
    uses = [_alternation(o) for o in buffer.operands if o.site.kind != kind]
    return any(move and move not in uses for move in moves)


def _alternation(operand: Operand) -> frozenset[ast.Expression]:
    """The parts of an operand's row that are remainders."""
    return frozenset(
        atom
        for atom, _ in operand.row.terms
        if any(isinstance(node, ast.Binary) and node.operator == "%" for node in walk(atom))
    )


def running_index(facts: Facts, buffer: Buffer) -> ast.Expression:
    """A number that counts the contents of a buffer: one more each time that it is filled anew."""
    prefix = _common_prefix([operand.site.path for operand in buffer.operands])
    sites = buffer.sites("store") or buffer.sites("load")
    once = _single_values(sites[0].guards)
    total = Affine(0)
    for variable, trips in _counters(facts.body, prefix, once):
        if variable not in once:
            total = total.scaled(trips) + Affine(0, ((ast.Name(variable), 1),))
    if total.is_constant:
        raise NotApplicable(f"{buffer.tensor} is filled once only")
    return expression(total)


def _buffer(facts: Facts, tensor: str) -> Buffer:
    buffer = facts.buffer_of(tensor)
    if buffer is None:
        raise NotApplicable(f"{tensor!r} has no rows of its own in local memory")
    if is_doubled(buffer):
        raise NotApplicable(f"{tensor!r} alternates already")
    return buffer


def _common_prefix(paths: Sequence[Path]) -> Path:
    shortest = min(len(path) for path in paths) - 1
    length = 0
    while length < shortest and len({path[: length + 1] for path in paths}) == 1:
        length += 1
    return paths[0][:length]


def _single_values(guards: Sequence[ast.Expression]) -> frozenset[str]:
    """Variables that conditions fix to one value."""
    fixed = set()
    for guard in guards:
        if isinstance(guard, ast.Binary) and guard.operator == "==" and affine(guard.right).is_constant:
            fixed |= {guard.left.name} if isinstance(guard.left, ast.Name) else set()
    return frozenset(fixed)


def _counters(body: ast.Block, prefix: Path, fixed: frozenset[str]) -> list[tuple[str, int]]:
    """The loop variables along a path with their trips; a collapsed loop as its parts if some of them are fixed."""
    found: list[tuple[str, int]] = []
    for statement in enclosing(body, prefix):
        item = loop(statement)
        if item is None:
            continue
        parts: list[tuple[str, int]] = []
        for inner in blocks(statement)[0].statements:
            for declarator in inner.declarators if isinstance(inner, ast.Declaration) and inner.const else ():
                value = declarator.initializer
                whole = prod(count for _, count in parts) == item.trips
                if value is not None and names(value) == {item.variable} and not whole:
                    bounds = interval(value, {item.variable: (0, item.trips - 1)})
                    parts.append((declarator.name, bounds[1] + 1 if bounds is not None else 1))
        found.extend(parts if fixed & {name for name, _ in parts} else [(item.variable, item.trips)])
    return found

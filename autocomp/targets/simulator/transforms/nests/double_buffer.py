"""Double-buffer: successive contents of a buffer go to alternate rows, in banks of their own where there are enough.

More places than two let the units run further apart: a load need not wait for the computation before the last one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.cost import overlap_gain
from autocomp.targets.simulator.transforms.analysis.dependences import never_meet
from autocomp.targets.simulator.transforms.analysis.facts import Buffer, Facts, Operand
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.memory.addresses import moved, place, shift_operands
from autocomp.targets.simulator.transforms.parameters import name_of, names_of, number_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.syntax.affine import Affine, affine, expression, interval, literal
from autocomp.targets.simulator.transforms.syntax.loops import loop
from autocomp.targets.simulator.transforms.syntax.nest import enclosing
from autocomp.targets.simulator.transforms.syntax.rewrite import Path, blocks, names, walk, with_body

_ARRANGEMENTS = (("bank", 4), ("bank", 2), ("rows", 4), ("rows", 2))


class DoubleBuffer(Transformation):
    name = "double_buffer"
    title = "Alternate between two places for a block"
    order = 140
    causes = ("WriteAfterRead", "MemoryLatency", "ReadAfterWrite")
    uses = ("load",)
    prior = 0.1
    after = ("keep_accumulator", "stage_operand")
    guidance = """
    Give a staged block two places, best in different banks, and alternate between them, so that the next block loads
    while this one is used.
    It pays when loads wait for the computation to have finished with the old rows (WriteAfterRead), or when
    computation waits for data (ReadAfterWrite, MemoryLatency).
    Watch for: it doubles the rows of that block; choose the place by the parity of the loop that loads the block, and
    the same parity wherever it is read.
    """
    example = """
    load(block(k), base); use(base);
      ->  load(block(k), base + (k % 2) * ROWS); use(base + (k % 2) * ROWS);
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """All operands, all results, each alone; two places apart by banks, else more of them side by side."""
        able = {b.tensor: b for b in facts.buffers if b.tensor and not is_doubled(b) and _fills(facts, b) > 1}
        inputs = [tensor for tensor, buffer in able.items() if buffer.is_input]
        results = [tensor for tensor in able if tensor not in inputs]
        groups = dict.fromkeys(tuple(group) for group in (able, inputs, results, *([t] for t in able)) if group)
        candidates: list[Proposal] = []
        for group in groups:
            fills = min(_fills(facts, able[tensor]) for tensor in group)
            gain = overlap_gain(facts, [able[tensor] for tensor in group], fills)
            for apart, places in _ARRANGEMENTS:
                where = "two banks" if apart == "bank" else "consecutive rows"
                reason = f"successive blocks of {', '.join(group)} go to {places} places in turn, {where}"
                candidates.append(Proposal({"tensors": list(group), "apart": apart, "places": places}, reason, gain))
        return candidates

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`tensors` alternate between `places` (2), which are apart by "bank" (two banks in turn) or by "rows" (one
        after the other)."""
        tensors = names_of(parameters, "tensors")
        places = number_of(parameters, "places", 2)
        if places < 2:
            raise NotApplicable(f"double buffering needs at least 2 buffers, got {places}")
        apart = name_of(parameters, "apart", "bank")
        if not tensors:
            raise NotApplicable("no tensor was named")
        if apart not in ("bank", "rows"):
            raise NotApplicable(f"'apart' is bank or rows, not {apart!r}")
        chosen = [_buffer(facts, tensor) for tensor in tensors]
        indices = {buffer.tensor: running_index(facts, buffer) for buffer in chosen}
        banks = 2 if apart == "bank" else 1
        held = {b.tensor: -(-places // banks) * b.rows for b in chosen}  # rows in each bank, or in all
        too_big = next((b for b in chosen if banks > 1 and held[b.tensor] > facts.bank_rows(b.memory)), None)
        if too_big is not None:
            raise NotApplicable(f"{too_big.tensor} needs {held[too_big.tensor]} rows, more than a bank")
        starts = {}
        for memory in {buffer.memory for buffer in chosen}:
            further = (banks - 1) * facts.bank_rows(memory)
            spread = {b.low: further + held[b.tensor] for b in chosen if b.memory == memory}
            needed = {b.low: spread.get(b.low, b.rows) for b in facts.buffers if b.memory == memory}
            starts[memory] = _places(facts, memory, needed, must=banks > 1)
        facts = facts.with_kernel(with_body(facts.kernel, moved(facts, starts)))
        for tensor in tensors:
            buffer = _buffer(facts, tensor)
            distance = facts.bank_rows(buffer.memory) if banks > 1 else held[tensor]
            offset = _offset(indices[tensor], held[tensor] // buffer.rows, buffer.rows, banks, distance)
            body = shift_operands(facts, buffer.operands, lambda operand, amount=offset: amount)  # type: ignore[misc]
            facts = facts.with_kernel(with_body(facts.kernel, body))
        return facts.kernel


def _places(facts: Facts, memory: str, needed: Mapping[int, int], *, must: bool) -> dict[int, int]:
    """First rows for all buffers of a memory, each in a bank of its own; unless it `must`, side by side if there are
    not enough banks."""
    try:
        return place(facts, memory, needed, by_bank=True)
    except NotApplicable:
        if must:
            raise
    return place(facts, memory, needed)


def _offset(index: ast.Expression, places: int, rows: int, banks: int, bank: int) -> ast.Expression:
    """Where the contents with a running index go: to the banks in turn, and there to one of several places."""
    turn = ast.Binary("/", index, literal(banks)) if banks > 1 else index
    place_of = ast.Binary("*", ast.Binary("%", turn, literal(places)), literal(rows))
    if banks == 1:
        return place_of
    bank_of = ast.Binary("*", ast.Binary("%", index, literal(banks)), literal(bank))
    return bank_of if places == 1 else ast.Binary("+", bank_of, place_of)


def doubled(facts: Facts, tensors: Sequence[str]) -> Facts:
    """The facts after double-buffering tensors: across banks if there are enough of them, else side by side."""
    if not tensors:
        return facts
    try:
        return facts.with_kernel(DoubleBuffer().apply(facts, {"tensors": list(tensors), "apart": "bank"}))
    except NotApplicable:
        return facts.with_kernel(DoubleBuffer().apply(facts, {"tensors": list(tensors), "apart": "rows"}))


def is_doubled(buffer: Buffer) -> bool:
    """True if the rows of a buffer alternate already."""
    return any(_alternation(operand) for operand in buffer.operands)


def alternates_with(buffer: Buffer, variables: frozenset[str]) -> bool:
    """True if all rows of a buffer move along with any of the variables: by turns, or with rows for each value."""
    shared = set(buffer.operands[0].row.terms).intersection(*(operand.row.terms for operand in buffer.operands))
    return any(not variables.isdisjoint(names(atom)) for atom, _ in shared)


def turns_of(buffer: Buffer) -> frozenset[str]:
    """The variables by which the rows of a buffer alternate."""
    return frozenset[str]().union(*(names(atom) for operand in buffer.operands for atom in _alternation(operand)))


def runs_ahead(buffer: Buffer) -> bool:
    """True if a load in a loop fills another half of a buffer than the computation there reads."""
    return _out_of_step(buffer, "load")


def runs_behind(buffer: Buffer) -> bool:
    """True if a store in a loop reads another half of a buffer than the computation there fills."""
    return _out_of_step(buffer, "store")


def _out_of_step(buffer: Buffer, kind: str) -> bool:
    moves = [o for o in buffer.operands if o.site.kind == kind and o.site.loops]
    uses = [o for o in buffer.operands if o.site.kind != kind]
    turns = [_alternation(use) for use in uses]
    return any(
        ((turn := _alternation(move)) and turn not in turns) or (uses and all(never_meet(move, use) for use in uses))
        for move in moves
    )


def _alternation(operand: Operand) -> frozenset[ast.Expression]:
    """The parts of an operand's row that are remainders."""
    return frozenset(
        atom
        for atom, _ in operand.row.terms
        if any(isinstance(node, ast.Binary) and node.operator == "%" for node in walk(atom))
    )


def running_index(facts: Facts, buffer: Buffer) -> ast.Expression:
    """A number that counts the contents of a buffer: one more each time that it is filled anew."""
    total = Affine(0)
    for variable, trips in _turns(facts, buffer):
        total = total.times(trips) + Affine(0, ((ast.Name(variable), 1),))
    if total.is_constant:
        raise NotApplicable(f"{buffer.tensor} is filled once only")
    return expression(total)


def _fills(facts: Facts, buffer: Buffer) -> int:
    """The number of times that a buffer is filled anew; 1 where that is not known."""
    try:
        return prod(trips for _, trips in _turns(facts, buffer))
    except NotApplicable:
        return 1


def _turns(facts: Facts, buffer: Buffer) -> list[tuple[str, int]]:
    """The loop variables that tell the contents of a buffer apart, slowest first, with their trips."""
    prefix = _common_prefix([operand.site.path for operand in buffer.operands])
    sites = buffer.sites("store") or buffer.sites("load")
    once = _single_values(sites[0].guards)
    counters = _counters(facts.body, prefix, once)
    counted = {variable for variable, _ in counters}.union(item.variable for item in sites[0].loops)
    if not once <= counted:
        raise NotApplicable(f"the contents of {buffer.tensor!r} last while {min(once - counted)!r} changes")
    return [(variable, trips) for variable, trips in counters if variable not in once]


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
            if not isinstance(guard.left, ast.Name):
                raise NotApplicable("contents last for several iterations of a loop")
            fixed.add(guard.left.name)
    return frozenset(fixed)


def _counters(body: ast.Block, prefix: Path, fixed: frozenset[str]) -> list[tuple[str, int]]:
    """The loop variables along a path with their trips; a collapsed loop as its parts if some of them are fixed."""
    counters: list[tuple[str, int]] = []
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
        counters.extend(parts if fixed & {name for name, _ in parts} else [(item.variable, item.trips)])
    return counters

"""Lines of an image in local memory, of which products read a part for each step of a reduction.

Where a step along a filter goes to the next rows of a tile of the left operand, the tiles of all steps overlap. If a
move brings all their rows at once, each step reads its own from one row further on. Products have to take the parts of
several lines as one: some operand says how many lines there are, and another how many rows lie from one to the next. Or
they take all rows from the first line's part to the last line's, and no store takes the results of those between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa.derived.affine import Loops, affine
from autocomp.targets.simulator.isa.derived.regions import Write, writes
from autocomp.targets.simulator.isa.tree import Element, Expression, Name, Number
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction, Operand
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form
from autocomp.targets.simulator.transforms.scheduling.lowering.operands import Rows, Value
from autocomp.targets.simulator.transforms.scheduling.lowering.sizes import counted
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Command, LinesOf, Pieces, Tasks


def lined(computation: Contraction, tasks: Tasks) -> tuple[Contraction, Tasks]:
    """The contraction with moves that bring whole lines of the left operand, where products take several lines."""
    load, room, stored = tasks.loads["left"], tasks.rooms["left"], tasks.store.piece
    if computation.row in tasks.sizes or stored is None or load.piece is None or load.parts is not None:
        return computation, tasks
    if tasks.brings["left"] or tasks.near.get("left") or not room.addressed or room.rows != stored.count:
        return computation, tasks
    across = load.given.turned
    if load.piece.bytes % room.rows if across else load.piece.count != room.rows:
        return computation, tasks
    apart = load.piece.bytes // room.rows if across else load.piece.stride
    shifts = _shifts(computation, apart, room.rows)
    reach = sum(rows * (computation.extents[dim] - 1) for dim, rows in shifts.items())
    lines = _lines(tasks, room.rows) or _with_margins(computation, tasks, room.rows, reach)
    if lines is None:
        return computation, tasks
    names = counted(tasks, load, "left turned" if across else "left", "row", computation.row, room.rows)
    longer = dict.fromkeys(names, room.rows + reach)
    highest = [p.high for p in load.instruction.parameters if p.name in names and p.high is not None]
    allowed = bool(names) and min(highest, default=room.rows + reach) >= room.rows + reach
    if not allowed or not load.given.requires({**load.given.operands, **longer}):
        return computation, replace(tasks, lines=lines) if lines.apart else tasks
    piece = load.piece
    piece = (
        Pieces(piece.count, piece.bytes + reach * apart, piece.stride)
        if across
        else replace(piece, count=piece.count + reach)
    )
    load = replace(load, operands={**load.operands, **longer}, piece=piece)
    return (
        replace(computation, left=_without(computation.left, frozenset(shifts))),
        replace(
            tasks,
            loads={**tasks.loads, "left": load},
            product=_shifted(tasks.product, shifts),
            first=None if tasks.first is None else _shifted(tasks.first, shifts),
            rooms={**tasks.rooms, "left": replace(room, rows=room.rows + reach)},
            lines=lines,
        ),
    )


def _shifts(computation: Contraction, apart: int, size: int) -> Mapping[str, int]:
    """The reduced dimensions a step along which goes less than `size` rows on in a line, and how many rows."""
    if computation.clipped or not apart:
        return {}
    steps = {dim: computation.left.along(dim) for dim in computation.reduction}
    return {dim: step // apart for dim, step in steps.items() if step % apart == 0 and 0 < step < size * apart}


def _without(operand: Operand, dims: frozenset[str]) -> Operand:
    """The operand at the first coordinate of some dimensions."""
    subscripts = (replace(s, terms=tuple(t for t in s.terms if t[0] not in dims)) for s in operand.subscripts)
    return replace(operand, subscripts=tuple(subscripts))


def _shifted(product: Command, shifts: Mapping[str, int]) -> Command:
    def value(known: Value) -> Value:
        reads = isinstance(known, Rows) and known.buffer == "left"
        return replace(known, shifts=tuple(shifts.items())) if reads and isinstance(known, Rows) else known

    return replace(product, operands={name: value(known) for name, known in product.operands.items()})


# --- products of several lines


def _lines(tasks: Tasks, size: int) -> LinesOf | None:
    """The operands of the product that say how many lines of `size` rows it takes, and the rows between them."""
    form = tasks.product.given
    left = next((n for n, v in tasks.product.operands.items() if isinstance(v, Rows) and v.buffer == "left"), "")
    for write in writes(tasks.accelerator, form.instruction):
        if not all(form.evaluate(condition) == Number(int(wanted)) for condition, wanted in write.path):
            continue
        for line, bound in write.loops.items():
            apart = _between(form, write, line, left, size)
            if isinstance(bound, Name) and form.operands.get(bound.name) == 1 and apart:
                return LinesOf(bound.name, apart, _most(form, bound.name))
    return None


def _with_margins(computation: Contraction, tasks: Tasks, size: int, reach: int) -> LinesOf | None:
    """The operand of the product that says how many rows it takes, those between lines of `size` rows too."""
    names = counted(tasks, tasks.product, "product", "row", computation.row, size)
    if len(names) != 1 or not reach or tasks.store.parts is not None:
        return None
    (name,) = names
    high = next(p.high for p in tasks.product.instruction.parameters if p.name == name)
    return LinesOf(name, "", ((high or size) + reach) // (size + reach))


def _between(form: Form, write: Write, line: str, left: str, size: int) -> str:
    """The operand that says how many rows lie between lines, if a loop is over lines, one after the other in results;
    else empty."""
    inside = _beside(form, write.target, write.loops, line, Number(size))
    apart: Expression | None = None
    for read in write.reads:
        if read.element.memory == write.target.memory and read.element == write.target:
            continue
        steps = [_steps(index, read.loops) for index in read.element.indices]
        if not any(line in each for each in steps):
            continue
        row = steps[0]
        addressed = left in {p.parameter for p in algebra.walk(read.element.indices[0]) if hasattr(p, "parameter")}
        if apart is not None or not addressed or any(line in each for each in steps[1:]):
            return ""
        if not any(form.evaluate(row[name]) == algebra.ONE for name in inside if name in row):
            return ""
        apart = row[line]
    integers = {p.name for p in form.instruction.parameters if p.kind == "integer"}
    return apart.name if isinstance(apart, Name) and apart.name in integers else ""


def _beside(form: Form, target: Element, loops: Loops, line: str, size: Expression) -> frozenset[str]:
    """The loops over the rows of a line: they step by one where a line steps by as many as they are."""
    found: set[str] = set()
    for index in target.indices:
        steps = _steps(index, loops)
        if line in steps and form.evaluate(steps[line]) == size:
            ones = {name for name, step in steps.items() if form.evaluate(step) == algebra.ONE and name != line}
            found |= {name for name in ones if form.evaluate(loops[name]) == size}
    return frozenset(found)


def _steps(index: Expression, loops: Loops) -> Mapping[str, Expression]:
    """The steps of an index along loops; empty where it does more than to step."""
    known = affine(index, loops)
    if known is None or not all(term.whole for term in known.terms):
        return {}
    return {term.variable: term.stride for term in known.terms}


def _most(form: Form, name: str) -> int:
    """Lines at most: by the range of the operand and by what the instruction requires."""
    most = next(p.high for p in form.instruction.parameters if p.name == name) or 1
    while most > 1 and not form.requires({**form.operands, name: most}):
        most -= 1
    return most

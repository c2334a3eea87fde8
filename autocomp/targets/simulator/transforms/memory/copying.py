"""Copies of tensors in DRAM by the accelerator's own moves: in to local memory, out to another place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.calls import as_written, element_of, with_roles
from autocomp.targets.simulator.transforms.analysis.facts import Facts, Site
from autocomp.targets.simulator.transforms.analysis.fences import make_fence
from autocomp.targets.simulator.transforms.analysis.limits import largest
from autocomp.targets.simulator.transforms.analysis.settings import in_force
from autocomp.targets.simulator.transforms.analysis.tensors import Tensor, declaration
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.straight.footprint import Change
from autocomp.targets.simulator.transforms.straight.program import program_of
from autocomp.targets.simulator.transforms.straight.values import address_in
from autocomp.targets.simulator.transforms.syntax.affine import Affine, expression, literal, minimum
from autocomp.targets.simulator.transforms.syntax.loops import Loop, linear_index, make_nest
from autocomp.targets.simulator.transforms.syntax.nest import Statements
from autocomp.targets.simulator.transforms.syntax.rewrite import all_names, fresh, with_arguments, with_body

_PLACES = 4  # in local memory, that pieces of the tensor go through in turn


@dataclass(frozen=True)
class Copy:
    """A tensor goes into another one, from the element at `corner` on, through `memory` by calls like two that the
    kernel has: `load` moves the tensor in, `store` something out."""

    source: Tensor
    target: Tensor
    corner: tuple[int, ...]
    load: Site
    store: Site
    memory: str


@dataclass(frozen=True)
class _Pieces:
    """Pieces of a copy: `rows` indices of dimension `along` by `cols` elements that follow one another."""

    along: int
    rows: int
    cols: int
    moves: int


def copied(facts: Facts, copy: Copy) -> Statements:
    """Statements for the head of the kernel: they configure both moves, copy, and wait. The widest moves are taken that
    the description says copy elements as they are. Raises NotApplicable if none do."""
    width = facts.accelerator.memory(copy.memory).cols
    rows = min(facts.tile[0], *(largest(site, "rows") or 1 for site in (copy.load, copy.store)))
    widest = min(largest(site, "cols") or 1 for site in (copy.load, copy.store)) // width * width
    fence = make_fence(facts.machine)  # nothing else orders stores to DRAM against loads
    if fence is None:
        raise NotApplicable("the machine has no fence, so that nothing orders a copy against its use")
    reason = NotApplicable(f"no move is as wide as {copy.memory}")
    for cols in range(widest, 0, -width):
        pieces = _pieces(copy, rows, cols)
        try:
            _check(facts, copy, pieces)
        except NotApplicable as error:
            reason = error
            continue
        return (*_settings(facts, copy, pieces), *_nest(facts, copy, pieces), fence)
    raise reason


def _pieces(copy: Copy, rows: int, cols: int) -> _Pieces:
    """Rows along the dimension that takes the fewest moves: the innermost one in which the target is larger, or the one
    around it."""
    extents, strides = copy.source.extents, copy.source.strides
    larger = [n for n, extent in enumerate(copy.target.extents) if extent != extents[n]]
    sizes = []
    for along in {max(0, larger[-1] - 1), larger[-1]}:
        height, run = min(rows, extents[along]), strides[along]
        moves = prod(extents[:along]) * -(-extents[along] // height) * -(-run // cols)
        sizes.append(_Pieces(along, height, min(cols, run), moves))
    return min(sizes, key=lambda pieces: (pieces.moves, pieces.along))


def _settings(facts: Facts, copy: Copy, pieces: _Pieces) -> Statements:
    """The configuring calls that both moves rely on, for the copy: strides of its own, elements as they are."""
    calls: list[ast.Statement] = []
    for site, whole in ((copy.load, copy.source), (copy.store, copy.target)):
        if site.argument("dram stride") is not None:
            continue
        settings = in_force(facts, site)
        if len(settings) != 1:
            raise NotApplicable(f"{site.call.function} is not configured once, outside of all loops")
        stride = literal(whole.strides[pieces.along] * whole.size)
        one = ast.FloatLiteral(1.0, single=True, text="1.0f")
        values = {"dram stride": stride, "block stride": literal(facts.tile[0]), "scale": one}
        setting = replace(settings[0], call=as_written(facts, settings[0]))
        calls.append(ast.ExpressionStatement(with_roles(setting, values)))
    return tuple(calls)


def _nest(facts: Facts, copy: Copy, pieces: _Pieces) -> Statements:
    """The loops over all pieces, each of which goes through the next place in local memory."""
    extents, run = copy.source.extents, copy.source.strides[pieces.along]
    taken = set(all_names(facts.kernel))
    loops: list[Loop] = []
    for number, extent in enumerate(extents[: pieces.along]):
        loops.append(Loop(fresh(f"index{number}", taken), extent))
    heights = Loop(fresh("piece", taken), -(-extents[pieces.along] // pieces.rows))
    widths = Loop(fresh("part", taken), -(-run // pieces.cols))
    loops += [heights, widths]
    at = [Affine(0, ((ast.Name(item.variable), 1),)) for item in loops[: pieces.along]]
    at.append(Affine(0, ((ast.Name(heights.variable), pieces.rows),)))
    behind = Affine(0, ((ast.Name(widths.variable), pieces.cols),))
    rows = minimum(expression(Affine(extents[pieces.along]) - at[-1]), literal(pieces.rows))
    cols = minimum(expression(Affine(run) - behind), literal(pieces.cols))
    unit = facts.tile[0] * -(-pieces.cols // facts.accelerator.memory(copy.memory).cols)
    first, places = _room(facts, copy.memory, unit)
    turn = ast.Binary("%", linear_index(loops), literal(places))
    row = ast.Binary("+", ast.Binary("*", turn, literal(unit)), literal(first))
    calls = _moves(facts, copy, pieces, (at, behind), row, (rows, cols))
    return make_nest(loops, calls)


def _moves(
    facts: Facts,
    copy: Copy,
    pieces: _Pieces,
    start: tuple[Sequence[Affine], Affine],
    row: ast.Expression,
    size: tuple[ast.Expression, ast.Expression],
) -> Statements:
    """The piece at a start, of a size, into local memory and out again."""
    at, behind = start
    last = len(copy.source.extents) - 1
    calls: list[ast.Statement] = []
    for site, whole, corner in (
        (copy.load, copy.source, (0,) * (last + 1)),
        (copy.store, copy.target, copy.corner),
    ):
        subscripts = [*at, *(Affine(0),) * (last + 1 - len(at))]
        subscripts[last] += behind  # it may run over into the dimensions around it: elements follow one another
        place = [expression(part + Affine(margin)) for part, margin in zip(subscripts, corner, strict=True)]
        stride = literal(whole.strides[pieces.along] * whole.size)
        pointer = element_of(whole.name, place)
        call = with_roles(site, {"pointer": pointer, "rows": size[0], "cols": size[1], "dram stride": stride})
        number, address = _address(facts, copy, site)
        local = ast.Binary("+", literal(address), row) if address else row
        calls.append(ast.ExpressionStatement(with_arguments(call, {number: local})))
    return tuple(calls)


def _address(facts: Facts, copy: Copy, site: Site) -> tuple[int, int]:
    """The number of a move's argument that names local rows, and the address of the memory's first row there."""
    for number, parameter in enumerate(site.parameters):
        if parameter is not None and parameter.kind == "address" and parameter.space is not None:
            space = facts.accelerator.space(parameter.space)
            if copy.memory in (name for name, _, _ in space.memories):
                return number, address_in(space, copy.memory, 0)
    raise NotApplicable(f"{site.call.function} does not move rows of {copy.memory}")


def _room(facts: Facts, memory: str, unit: int) -> tuple[int, int]:
    """The free rows at the end of a memory, after all that the kernel keeps there: the first one, and the number of
    places of `unit` rows."""
    total = facts.accelerator.memory(memory).rows
    kept = max((buffer.high + 1 for buffer in facts.buffers if buffer.memory == memory), default=0)
    places = min(_PLACES, (total - kept) // unit)
    if places < 1:
        raise NotApplicable(f"{memory} has no {unit} rows left for a copy to go through")
    return total - places * unit, places


def _check(facts: Facts, copy: Copy, pieces: _Pieces) -> None:
    """Raises NotApplicable unless the largest piece is copied as it is, by the semantics in the description."""
    at, behind = [Affine(0)] * (pieces.along + 1), Affine(0)
    size = literal(pieces.rows), literal(pieces.cols)
    first = literal(_room(facts, copy.memory, 1)[0])
    moves = _moves(facts, copy, pieces, (at, behind), first, size)
    body = (declaration(copy.target), *_settings(facts, copy, pieces), *moves)
    steps = program_of(facts.with_kernel(with_body(facts.kernel, ast.Block(body)))).steps
    if [step.kind for step in steps] != ["load", "store"]:
        raise NotApplicable("the copy cannot be followed")
    load, store = steps
    for step, whole, corner in ((load, copy.source, (0,)), (store, copy.target, copy.corner)):
        start = whole.offset([Affine(number) for number in corner]).constant
        stride = whole.strides[pieces.along]
        expected = {start + row * stride + col for row in range(pieces.rows) for col in range(pieces.cols)}
        touched = {byte for access in step.dram(write=step is store) for _, byte in access.cells()}
        wanted = {number * whole.size + byte for number in expected for byte in range(whole.size)}
        if touched != wanted or step.change != Change(1.0):
            raise NotApplicable(f"{step.calls[0].function} does not copy {pieces.cols} elements of a row as they are")
    cells = [{cell for a in step.local(write=step is load) for cell in a.cells()} for step in steps]
    if cells[0] != cells[1]:
        raise NotApplicable(
            f"{store.calls[0].function} finds a wide piece laid out otherwise than {load.calls[0].function} leaves it"
        )

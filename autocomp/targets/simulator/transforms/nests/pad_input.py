"""Pad input: a copy of a tensor with zeros around it, so that no tile leaves out what would lie outside.

Tiles at an edge then have all of their rows; the products that are added are products with zeros.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.calls import element_of
from autocomp.targets.simulator.transforms.analysis.facts import Facts, Operand, Site
from autocomp.targets.simulator.transforms.analysis.settings import dram_stride
from autocomp.targets.simulator.transforms.analysis.tensors import Tensor, declaration, known_tensor
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.memory.copying import Copy, copied
from autocomp.targets.simulator.transforms.parameters import name_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Rewriting
from autocomp.targets.simulator.transforms.straight.program import program_of
from autocomp.targets.simulator.transforms.syntax.affine import Affine, affine, expression, interval_of, literal
from autocomp.targets.simulator.transforms.syntax.iterations import Iterations
from autocomp.targets.simulator.transforms.syntax.loops import Loop, conjuncts, make_if
from autocomp.targets.simulator.transforms.syntax.nest import Statements, enclosing
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    Path,
    all_names,
    blocks,
    fresh,
    names,
    rewrite_statements,
    substitute,
    walk,
    walk_statements,
    with_arguments,
    with_body,
)

Holds = npt.NDArray[np.bool_]
_ROW = "·row"  # of a tile, as an axis of its iterations


class PadInput(Rewriting):
    name = "pad_input"
    takes = ("tensor",)

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """Each input of which conditions leave a part out."""
        tensors = [b.tensor for b in facts.buffers if b.is_input and any(site.guards for site in b.sites("load"))]
        reason = "tiles of a padded copy of {} are whole, and steps along a row of it follow one another"
        return [Proposal({"tensor": name}, reason.format(name)) for name in tensors]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`tensor` is copied to a local array, with zeros around it, by the accelerator's own moves at the head of the
        kernel. Conditions and sizes that mark its ends are removed, and only those: all iterations are checked."""
        tile, padding = _proven(facts, name_of(parameters, "tensor"))
        extents = tuple(sum(sides) for sides in zip(tile.tensor.extents, *padding.margins, strict=True))
        name = fresh(f"{tile.tensor.name}_padded", all_names(facts.kernel))
        target = replace(tile.tensor, name=name, extents=extents)
        calls = {site.path: _whole(facts, tile, padding, site, name) for site in tile.sites}
        _check_sums(facts, tile, padding, target, calls.values())
        whole = _whole_tiles(facts, tile, padding, calls)
        memory = facts.operands_of(tile.load)[0].memory
        copy = copied(facts, Copy(tile.tensor, target, padding.margins[0], tile.load, tile.store, memory))
        return with_body(facts.kernel, ast.Block((declaration(target), *copy, *whole.statements)))


@dataclass(frozen=True)
class _Tile:
    """A product and how it reads a tensor. Row number i of the tile is that of the result's, with `base` as the
    subscripts of row 0 and `step` indices of dimension `along` from row to row; it begins in row `first`."""

    tensor: Tensor
    load: Site
    store: Site  # of the result
    sites: tuple[Site, ...]  # the calls of the product, in order
    operands: tuple[Operand, ...]  # of those calls: the tensor's rows
    results: tuple[Operand, ...]  # and the results'
    first: Affine
    base: tuple[Affine, ...]
    along: int
    step: int

    @property
    def rows(self) -> ast.Expression:
        """Rows of the tile."""
        return _given(self.load, "rows")

    @property
    def result_rows(self) -> ast.Expression:
        """Rows of the result."""
        return _given(self.store, "rows")


@dataclass(frozen=True)
class _Padding:
    """Zeros before and after each dimension, the conditions that they make superfluous, and an iteration that is
    run."""

    margins: tuple[tuple[int, ...], tuple[int, ...]]
    dropped: frozenset[ast.Expression]
    iteration: Mapping[str, int]


def _given(site: Site, word: str) -> ast.Expression:
    argument = site.argument(word)
    if argument is None:
        raise NotApplicable(f"{site.call.function} does not say how many {word} it moves")
    return argument


def _proven(facts: Facts, name: str) -> tuple[_Tile, _Padding]:
    """The product that a tensor is moved in for, and the padding for it. Raises NotApplicable."""
    reason = NotApplicable(f"rows of {name!r} as far apart as they are loaded are not along one of its dimensions")
    for tile in _tiles(facts, name):
        try:
            return tile, _padding(tile, _constants(facts, tile.load))
        except NotApplicable as error:
            reason = error
    raise reason


def _constants(facts: Facts, site: Site) -> Mapping[str, ast.Expression]:
    """The values of the constants that are declared around a call, over the counters of loops."""
    values: dict[str, ast.Expression] = {}
    for statement in enclosing(facts.body, site.path):
        for held in blocks(statement):
            for inner in held.statements:
                if isinstance(inner, ast.Declaration) and inner.const:
                    initial = {d.name: d.initializer for d in inner.declarators if d.initializer is not None}
                    values.update({name: substitute(value, values) for name, value in initial.items()})
    return values


def _tiles(facts: Facts, name: str) -> list[_Tile]:
    """The product that a tensor is moved in for, with rows along each dimension that they may be along."""
    array = known_tensor(facts, name)
    buffer = facts.buffer_of(name)
    if buffer is None or not buffer.is_input or len(buffer.sites("load")) != 1:
        raise NotApplicable(f"{name!r} is not loaded into rows of its own by one call")
    if any(_changes(facts, node, name) for node in walk(facts.body)):
        raise NotApplicable(f"{name!r} changes while the kernel runs, and a copy would not")
    (load,) = buffer.sites("load")
    sites = tuple(site for site in facts.sites if site.path[:-1] == load.path[:-1])
    if not {"contraction"} <= {site.kind for site in sites} <= {"load", "preload", "contraction"}:
        raise NotApplicable(f"the load of {name!r} is not next to the product that it serves")
    if any(operand.site not in sites for operand in buffer.operands):
        raise NotApplicable(f"{name!r} is used elsewhere than where it is loaded")
    if not any(operand.site.kind == "contraction" for operand in buffer.operands):
        raise NotApplicable(f"{name!r} is not the operand whose rows are those of the result")
    results = [b for b in facts.buffers if b.is_result and any(o.site in sites for o in b.operands)]
    stores = [site for result in results for site in result.sites("store")]
    if len(stores) != 1:
        raise NotApplicable("the product's result is not stored by one call")
    stored = next(operand.row for operand in results[0].operands if operand.site is stores[0])
    products = tuple(operand for operand in results[0].operands if operand.site in sites)
    offsets = {operand.row - stored for operand in products}
    pointer = load.pointer
    if len(offsets) != 1 or pointer is None or len(pointer.subscripts) != len(array.extents):
        raise NotApplicable(f"it is not known which rows of the result the rows of {name!r} belong to")
    (first,) = offsets
    tile = _Tile(array, load, stores[0], sites, buffer.operands, products, first, pointer.subscripts, 0, 0)
    return [_with_rows_along(tile, *rows) for rows in _row_steps(array, dram_stride(facts, load))]


def _with_rows_along(tile: _Tile, along: int, step: int) -> _Tile:
    """The tile with its rows along a dimension."""
    base = tuple(part - tile.first.times(step * (n == along)) for n, part in enumerate(tile.base))
    return replace(tile, base=base, along=along, step=step)


def _changes(facts: Facts, node: object, name: str) -> bool:
    """True if a statement or expression writes to a tensor."""
    if isinstance(node, ast.Assignment | ast.Increment):
        return not isinstance(node.target, ast.Name) and name in names(node.target)
    if not isinstance(node, ast.Call) or all(name not in names(argument) for argument in node.arguments):
        return False
    role = facts.machine.roles.get((node.function, len(node.arguments)))
    return role is None or role.kind != "load"


def _row_steps(array: Tensor, stride: int) -> list[tuple[int, int]]:
    """The dimensions along which the rows of a tile may follow one another, and how many indices apart."""
    elements, rest = divmod(stride, array.size)
    steps = [(number, elements // apart) for number, apart in enumerate(array.strides[:-1]) if elements % apart == 0]
    return [(number, step) for number, step in reversed(steps) if step and not rest]


def _padding(tile: _Tile, constants: Mapping[str, ast.Expression]) -> _Padding:
    """The zeros that make all rows of all tiles exist. Raises NotApplicable unless the rows that are left out are
    exactly those outside of the tensor."""
    extents, row = tile.tensor.extents, ast.Name(_ROW)
    steps = [Affine(0, ((row, tile.step),)) if n == tile.along else Affine(0) for n in range(len(extents))]
    index = [substitute(expression(base + step), constants) for base, step in zip(tile.base, steps, strict=True)]
    if not frozenset[str]().union(*map(names, map(expression, tile.base))) <= {
        item.variable for item in tile.load.loops
    }:
        raise NotApplicable(f"the subscripts of {tile.tensor.name!r} are not sums of the loops' counters")
    leaving = [number for number in range(len(extents)) if not _stays(tile, number)]
    if len(extents) - 1 in leaving:
        raise NotApplicable(f"it is not rows of {tile.tensor.name!r} that are left out")
    heights = tile.load.highest("rows"), tile.store.highest("rows")
    if heights[0] is None or heights[1] is None:
        raise NotApplicable(f"it is not known how many rows tiles of {tile.tensor.name!r} have")
    sizes = [substitute(size, constants) for size in (expression(tile.first), tile.rows, tile.result_rows)]
    conditions = {guard: substitute(guard, constants) for guard in tile.load.guards}
    used = [row, *sizes, *conditions.values(), *(index[number] for number in leaving)]
    space = Iterations((*tile.load.loops, Loop(_ROW, max(heights[0], heights[1]))), used)
    number = space.values(row)
    first, rows, result_rows = map(space.values, sizes)
    indices = {n: space.values(index[n]) for n in leaving}
    inside = _all((values >= 0) & (values < extents[n]) for n, values in indices.items())
    exists = number < result_rows
    guards = {guard: space.values(condition) != 0 for guard, condition in conditions.items()}
    kept = {guard: holds for guard, holds in guards.items() if np.any(inside & exists & ~holds)}
    run = _all(kept.values())
    taken = _all(guards.values()) & (number >= first) & (number < first + rows)
    if np.any(run & exists & (taken != inside)) or np.any(run & ~exists & taken):
        raise NotApplicable(f"what is left out is not exactly what lies outside of {tile.tensor.name!r}")
    reached = {n: np.where(run & exists, values, 0) for n, values in indices.items()}
    before = tuple(max(0, -int(reached[n].min())) if n in reached else 0 for n in range(len(extents)))
    behind = tuple(max(0, int(reached[n].max()) + 1 - e) if n in reached else 0 for n, e in enumerate(extents))
    if not any(before) and not any(behind):
        raise NotApplicable(f"no tile reaches beyond {tile.tensor.name!r}")
    return _Padding((before, behind), frozenset(guards.keys() - kept.keys()), space.first(run & exists))


def _all(conditions: Iterable[Holds]) -> Holds:
    """Where all of the conditions hold."""
    return reduce(np.logical_and, conditions, np.asarray(True))


def _stays(tile: _Tile, number: int) -> bool:
    """True if no row of a tile can leave a dimension."""
    bounds = interval_of(tile.base[number], tile.load.ranges)
    return number != tile.along and bounds is not None and bounds[0] >= 0 and bounds[1] < tile.tensor.extents[number]


def _whole_tiles(facts: Facts, tile: _Tile, padding: _Padding, calls: Mapping[Path, ast.Call]) -> ast.Block:
    """The body with the product's calls exchanged, without the conditions that are dropped."""
    for statement in enclosing(facts.body, tile.load.path):
        if _drops(statement, padding):
            inner = [node for node in walk_statements(statement) if isinstance(node, ast.ExpressionStatement)]
            if len(inner) != len(calls):
                raise NotApplicable("more depends on the conditions than one product")
            break

    def change(statement: ast.Statement, path: Path) -> ast.Statement | Statements | None:
        if path in calls:
            return ast.ExpressionStatement(calls[path])
        if tile.load.path[: len(path)] == path and isinstance(statement, ast.If) and _drops(statement, padding):
            left = [part for part in conjuncts(statement.condition) if part not in padding.dropped]
            return make_if(left, statement.then.statements)
        return None

    return _without_unused(rewrite_statements(facts.body, change))


def _without_unused(body: ast.Block) -> ast.Block:
    """The body without constants that nothing uses any more."""
    uses = Counter(node.name for node in walk(body) if isinstance(node, ast.Name))

    def change(statement: ast.Statement, path: Path) -> Statements | None:
        if not isinstance(statement, ast.Declaration) or not statement.const:
            return None
        return None if any(uses[declarator.name] for declarator in statement.declarators) else ()

    left = rewrite_statements(body, change)
    return body if left is body else _without_unused(left)


def _drops(statement: ast.Statement, padding: _Padding) -> bool:
    """True if a statement is an `if` whose condition loses a part."""
    return isinstance(statement, ast.If) and not padding.dropped.isdisjoint(conjuncts(statement.condition))


def _check_inside(facts: Facts, site: Site) -> None:
    """Raises NotApplicable if the load of another operand relies on the conditions to stay inside its tensor."""
    pointer = site.pointer
    if site.kind != "load" or pointer is None:
        return
    for subscript, extent in zip(pointer.subscripts, known_tensor(facts, pointer.tensor).extents, strict=False):
        bounds = interval_of(subscript, site.ranges)
        if bounds is None or bounds[0] < 0 or bounds[1] >= extent:
            raise NotApplicable(f"without the conditions, {pointer.tensor!r} might be read beyond its end")


def _whole(facts: Facts, tile: _Tile, padding: _Padding, site: Site, name: str) -> ast.Call:
    """A call of the product on all rows of the result, of which the operand lies in the copy of that name."""
    changes: dict[int, ast.Expression] = {}
    results = {operand.position for operand in tile.results if operand.site is site}
    sizes = {
        operand.rows_at[0] for operand in (*tile.operands, *tile.results) if operand.site is site and operand.rows_at
    }
    for number, argument in enumerate(site.call.arguments):
        if number in results and tile.first != Affine(0):
            changes[number] = expression(affine(argument) - tile.first)
        elif argument == tile.rows and (number in sizes or not isinstance(argument, ast.IntLiteral)):
            changes[number] = tile.result_rows
    if site is not tile.load:
        _check_inside(facts, site)
        return with_arguments(site.call, changes)
    place = [expression(base + Affine(margin)) for base, margin in zip(tile.base, padding.margins[0], strict=True)]
    pointer = element_of(name, place)
    return with_arguments(site.call, {**changes, site.role.arguments.index("pointer"): pointer})


def _check_sums(facts: Facts, tile: _Tile, padding: _Padding, target: Tensor, calls: Iterable[ast.Call]) -> None:
    """Raises NotApplicable unless the product adds to its results: only then is one with zeros as good as none."""
    settings = [site.call for site in facts.sites if site.kind == "configuration" and not site.loops]
    commands = ast.Block(tuple(ast.ExpressionStatement(call) for call in (*settings, *calls)))
    counters = {item.variable: literal(padding.iteration.get(item.variable, 0)) for item in tile.load.loops}
    first = substitute(substitute(commands, _constants(facts, tile.load)), counters)
    body = ast.Block((declaration(target), *first.statements))
    product = program_of(facts.with_kernel(with_body(facts.kernel, body))).steps[-1]
    if not all(access.adds for access in product.local(write=True)):
        raise NotApplicable("the product overwrites its results, so that it matters which of them are left out")

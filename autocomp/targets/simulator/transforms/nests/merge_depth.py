"""Merge depth: steps of a reduction that follow one another in memory become fewer, deeper ones.

A product over all taps of a row of a convolution, or over taps and channels, then fills the array's depth although
each tap by itself does not. It takes elements of both operands that lie side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from autocomp.targets.simulator.isa.derived.contractions import summed_along_columns
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.calls import element_of
from autocomp.targets.simulator.transforms.analysis.facts import Buffer, Facts, Operand, Site
from autocomp.targets.simulator.transforms.analysis.settings import dram_stride
from autocomp.targets.simulator.transforms.analysis.tensors import known_tensor
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.memory.addresses import make_room
from autocomp.targets.simulator.transforms.nests.pad_input import PadInput
from autocomp.targets.simulator.transforms.parameters import name_of, names_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Rewriting, applied
from autocomp.targets.simulator.transforms.syntax.affine import Affine, affine, expression, literal, minimum
from autocomp.targets.simulator.transforms.syntax.iterations import Iterations
from autocomp.targets.simulator.transforms.syntax.loops import Loop, conjunction, conjuncts, make_loop
from autocomp.targets.simulator.transforms.syntax.nest import peel_nest
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    Path,
    all_names,
    fresh,
    map_expressions,
    names,
    replace_at,
    statement_at,
    substitute,
    with_body,
)

_WITHIN = ("load", "elementwise", "preload", "contraction", "synchronisation")


class MergeDepth(Rewriting):
    name = "merge_depth"
    takes = ("loops", "pad")

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """The most loops that can be merged, on a padded copy of an input where conditions are in the way. The fewest
        products come first."""
        proposals: list[Proposal] = []
        before = _products(facts)
        for site in facts.contractions[:1]:
            padded = [b.tensor for b in facts.buffers if b.is_input and any(s.guards for s in b.sites("load"))]
            for pad in ("", *padded):
                for count in range(len(site.loops), 0, -1):
                    loops = [item.variable for item in site.loops[-count:]]
                    parameters = {"loops": loops, "pad": pad} if pad else {"loops": loops}
                    try:
                        after = applied(self, facts, parameters)
                    except NotApplicable:
                        continue
                    now, order = _products(after), ", ".join(loops)
                    reason = f"steps over {order} follow one another in memory: {now:,} products in place of {before:,}"
                    proposals.append(Proposal(parameters, reason, float(before - now)))
                    break
        return sorted(proposals, key=lambda proposal: -proposal.gain)

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`loops` are those directly around a product, outermost first; they become one over tiles of full depth. `pad`
        names a tensor to pad before that."""
        pad = name_of(parameters, "pad")
        if pad:
            facts = applied(PadInput(), facts, {"tensor": pad})
        order = names_of(parameters, "loops")
        reduction = _reduction(facts, order)
        if -(-reduction.extent // facts.tile[2]) >= prod(item.trips for item in reduction.loops):
            raise NotApplicable(f"steps over {', '.join(order)} fill the depth of the array as they are")
        for name in [operand.tensor for operand in reduction.operands if not operand.in_columns]:
            buffer = facts.buffer_of(name)
            if buffer is None:
                raise NotApplicable(f"{name!r} is not loaded into rows of its own")
            rows = max(buffer.rows, min(reduction.extent, facts.tile[2]))
            facts = make_room(facts, {buffer.low: rows}, buffer.memory)
        return _merged(facts, _reduction(facts, order))


def _products(facts: Facts) -> int:
    """The number of products of a kernel."""
    return sum(prod(item.trips for item in site.loops) for site in facts.contractions)


@dataclass(frozen=True)
class _Operand:
    """An operand that is loaded beside its product: the depth goes along its columns, or along its rows, which are
    indices of dimension `along` of its tensor."""

    tensor: str
    load: Site
    in_columns: bool
    along: int


@dataclass(frozen=True)
class _Reduction:
    """A product in loops that take `extent` steps of depth, one after another in all operands."""

    path: Path  # of the outermost loop
    loops: tuple[Loop, ...]
    sites: tuple[Site, ...]
    extent: int
    operands: tuple[_Operand, ...]
    depth: ast.Expression  # of a step as it is


def _reduction(facts: Facts, order: Sequence[str]) -> _Reduction:
    """The loops of these names around a product. Raises NotApplicable if these cannot be merged."""
    if not order:
        raise NotApplicable("no loop was named")
    for contraction in facts.contractions:
        inner = contraction.loops[-len(order) :]
        if [item.variable for item in inner] != list(order):
            continue
        path = contraction.loop_paths[-len(order)]
        loops, guards, held = peel_nest(statement_at(facts.body, path))
        sites = tuple(site for site in facts.sites if site.path[:-1] == contraction.path[:-1])
        if loops != inner or guards or len(held) != len(sites) or not {site.kind for site in sites} <= set(_WITHIN):
            raise NotApplicable(f"the loops over {', '.join(order)} hold more than one product and its loads")
        left = _deep_columns(facts, contraction)
        loads = [(s, not left.isdisjoint(_buffer(facts, s).operands)) for s in sites if s.kind == "load"]
        deep = [contraction.argument("depth"), *(load.argument("cols") for load, in_left in loads if in_left)]
        depth = next((argument for argument in deep if argument is not None), None)
        if depth is None:
            raise NotApplicable(f"{contraction.call.function} does not say how deep it is")
        steps, extent = _steps(inner, depth)
        operands = tuple(_operand(facts, load, steps, depth, in_left) for load, in_left in loads)
        return _Reduction(path, inner, sites, extent, operands, depth)
    raise NotApplicable(f"no product is directly inside loops over {', '.join(order)}")


def _deep_columns(facts: Facts, contraction: Site) -> frozenset[Operand]:
    """The operand of a product along whose columns the depth is; of the other one it is along the rows."""
    operands = facts.operands_of(contraction)
    instruction = facts.accelerator.instruction(contraction.role.instruction)
    deep = summed_along_columns(facts.accelerator, instruction) if instruction is not None else frozenset()
    named = {o for o in operands if (p := contraction.parameters[o.position]) is not None and p.name in deep}
    return frozenset(named or operands[:1])


def _steps(loops: Sequence[Loop], depth: ast.Expression) -> tuple[dict[str, int], int]:
    """The distance between steps of each loop in a reduction without gaps, and the depth of the whole reduction."""
    inner = loops[-1]
    space = Iterations((inner,), [depth, ast.Name(inner.variable)])
    depths = (space.values(depth) + 0 * space.values(ast.Name(inner.variable))).tolist()
    if any(size != depths[0] for size in depths[:-1]) or not 0 < depths[-1] <= depths[0]:
        raise NotApplicable(f"steps over {inner.variable!r} are not equally deep")
    steps, extent = {inner.variable: int(depths[0])}, int(sum(depths))
    for item in reversed(loops[:-1]):
        steps[item.variable] = extent
        extent *= item.trips
    return steps, extent


def _operand(facts: Facts, load: Site, steps: Mapping[str, int], depth: ast.Expression, in_columns: bool) -> _Operand:
    """A load's operand, with the direction of the depth. Raises NotApplicable unless steps follow one another there."""
    where = load.pointer
    if where is None:
        raise NotApplicable(f"it is not known what {load.call.function} moves")
    array = known_tensor(facts, where.tensor)
    offset = array.offset(where.subscripts)
    steps_of_operand = {name: offset.coefficient(name) for name in steps}
    rest = offset - Affine(0, tuple((ast.Name(name), factor) for name, factor in steps_of_operand.items()))
    if not steps.keys().isdisjoint(names(expression(rest))):
        raise NotApplicable(f"the subscripts of {where.tensor!r} are not sums of the loops' counters")
    apart, odd = (1, 0) if in_columns else divmod(dram_stride(facts, load), array.size)
    along = [number for number, stride in enumerate(array.strides) if stride == apart]
    fits = not odd and load.argument("cols" if in_columns else "rows") == depth
    if not along or not fits or steps_of_operand != {name: step * apart for name, step in steps.items()}:
        raise NotApplicable(f"steps over {', '.join(steps)} do not follow one another in {where.tensor!r}")
    return _Operand(where.tensor, load, in_columns, along[-1])


def _deeper(facts: Facts, reduction: _Reduction, site: Site, counter: str, depth: ast.Expression) -> ast.Call:
    """A call of the product for a tile of full depth, of which `counter` is the number."""
    arguments = list(site.call.arguments)
    for number in _depth_arguments(facts, reduction, site):
        if arguments[number] != reduction.depth:
            raise NotApplicable(f"{site.call.function} is not as deep as its product")
        arguments[number] = depth
    operand = next((operand for operand in reduction.operands if operand.load == site), None)
    if operand is not None and site.pointer is not None:
        start = {item.variable: literal(0) for item in reduction.loops}
        left_out = len(known_tensor(facts, operand.tensor).extents) - len(site.pointer.subscripts)
        subscripts = [affine(substitute(expression(part), start)) for part in site.pointer.subscripts]
        subscripts += [Affine(0)] * left_out
        subscripts[operand.along] += Affine(0, ((ast.Name(counter), facts.tile[2]),))
        where = element_of(site.pointer.tensor, [expression(part) for part in subscripts])
        arguments[site.role.arguments.index("pointer")] = where
    merged = frozenset(item.variable for item in reduction.loops)
    call = map_expressions(replace(site.call, arguments=tuple(arguments)), lambda node: _first(node, merged, counter))
    if not merged.isdisjoint(names(call)):
        raise NotApplicable(f"{site.call.function} does something else in each of the steps")
    assert isinstance(call, ast.Call)
    return call


def _depth_arguments(facts: Facts, reduction: _Reduction, site: Site) -> list[int]:
    """The arguments of a call that say how deep it is: of a contraction those for each operand that is present."""
    words = site.role.arguments
    if site.kind == "load":
        return [words.index("cols" if o.in_columns else "rows") for o in reduction.operands if o.load == site]
    if site.kind == "contraction":
        deep = [number for number, word in enumerate(words) if word == "depth"]
        addresses = [n for n, p in enumerate(site.parameters) if p is not None and p.kind == "address"]
        if len(deep) != len(addresses):
            return deep[:1]
        pairs = zip(addresses, deep, strict=True)
        return [number for where, number in pairs if not facts.is_absent(affine(site.call.arguments[where]))]
    positions: list[int] = []
    for operand in facts.operands_of(site):
        given = next((o for o in reduction.operands if operand in _buffer(facts, o.load).operands), None)
        if given is not None and given.in_columns:
            raise NotApplicable(f"{site.call.function} takes an operand whose columns are the depth")
        positions += operand.rows_at if given is not None else ()
    return positions


def _first(node: ast.Expression, merged: frozenset[str], counter: str) -> ast.Expression:
    """That all merged loops are in their first iteration, as a condition on the loop that they become."""
    parts = conjuncts(node)
    tests = [part for part in parts if not merged.isdisjoint(names(part))]
    first = {ast.Binary("==", ast.Name(variable), literal(0)) for variable in merged}
    if set(tests) != first:
        return node
    others = [part for part in parts if part not in first]
    return conjunction([*others, ast.Binary("==", ast.Name(counter), literal(0))])


def _buffer(facts: Facts, load: Site) -> Buffer:
    """The rows that a load fills. Raises NotApplicable where they are not known."""
    operands = facts.operands_of(load)
    for buffer in facts.buffers:
        if len(operands) == 1 and operands[0] in buffer.operands:
            return buffer
    raise NotApplicable(f"it is not known which rows {load.call.function} fills")


def _merged(facts: Facts, reduction: _Reduction) -> ast.Kernel:
    """The kernel with one loop over tiles of full depth."""
    full, counter = facts.tile[2], fresh("depth", all_names(facts.kernel))
    rest = expression(Affine(reduction.extent, ((ast.Name(counter), -full),)))
    depth = minimum(rest, literal(full)) if reduction.extent % full else literal(full)
    calls = [ast.ExpressionStatement(_deeper(facts, reduction, site, counter, depth)) for site in reduction.sites]
    nest = make_loop(counter, -(-reduction.extent // full), calls)
    return with_body(facts.kernel, replace_at(facts.body, reduction.path, nest))

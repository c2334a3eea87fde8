"""Subscripts that may reach beyond a row, as C allows them: as one subscript of the tensor's elements.

The dialect's tensors are contiguous, and kernels use that: `&A[0][16]` of `int8_t A[4][8]` is `&A[2][0]`. In C it
is beyond an array.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.walk import walk
from autocomp.targets.simulator.transforms.syntax.affine import Affine, Interval, Ranges, affine, expression, interval
from autocomp.targets.simulator.transforms.syntax.loops import progression
from autocomp.targets.simulator.transforms.syntax.rewrite import assigned, map_expressions, shared


def flattened(function: ast.Function, known: Mapping[str, int | float]) -> ast.Function:
    """The function with one subscript for elements whose several ones may reach beyond a row. `known` are constants."""
    constants = {name: (value, value) for name, value in known.items() if isinstance(value, int)}
    named = [node for node in walk(function) if isinstance(node, ast.Declarator | ast.KernelParameter)]
    once = {name for name, times in Counter(node.name for node in named).items() if times == 1}
    arrays = {node.name: node.type for node in named if node.name in once and len(node.type.extents) > 1}
    extents = {name: _sizes(kind, constants) for name, kind in arrays.items()}
    ranges = _ranges(function, constants)

    def change(node: ast.Expression) -> ast.Expression:
        name, subscripts = _element(node)
        sizes = extents.get(name)
        if sizes is None or len(subscripts) != len(sizes):
            return node
        inner = [interval(subscript, ranges) for subscript in subscripts[1:]]
        if all(b is not None and b[0] >= 0 and b[1] < size for b, size in zip(inner, sizes[1:], strict=True)):
            return node
        place = Affine(0)
        for size, subscript in zip(sizes, subscripts, strict=True):
            place = place.times(size) + affine(subscript)
        first = ast.Cast(replace(arrays[name], pointer=1, extents=()), ast.Name(name))
        return ast.Index(first, expression(place))

    return replace(function, body=map_expressions(function.body, change))


def _element(node: ast.Expression) -> tuple[str, list[ast.Expression]]:
    """The array's name and all subscripts of an access; an empty name for other expressions."""
    subscripts: list[ast.Expression] = []
    while isinstance(node, ast.Index):
        subscripts.insert(0, node.index)
        node = node.base
    return (node.name if isinstance(node, ast.Name) and subscripts else ""), subscripts


def _sizes(kind: ast.Type, constants: Ranges) -> tuple[int, ...] | None:
    sizes = [interval(extent, constants) for extent in kind.extents]
    known = tuple(size[0] for size in sizes if size is not None and size[0] == size[1])
    return known if len(known) == len(sizes) else None


def _ranges(function: ast.Function, constants: Ranges) -> Ranges:
    """Bounds of the variables that keep them wherever they are in scope: those of counting loops, and constants of one
    declaration."""
    ranges: dict[str, Interval] = dict(constants)
    counts: dict[str, list[Interval]] = {}
    declared = Counter(node.name for node in walk(function) if isinstance(node, ast.Declarator | ast.KernelParameter))
    for node in walk(function.body):
        values = progression(node) if isinstance(node, ast.For) else None
        if values is not None:
            ends = values.start, values.start + values.step * (values.trips - 1)
            counts.setdefault(values.variable, []).append((min(ends), max(ends)))
    for name in declared:
        ranges.pop(name, None)
        every = counts.get(name, [])
        if len(every) == declared[name]:
            ranges[name] = min(low for low, _ in every), max(high for _, high in every)
    changing = assigned(function.body) | shared(function.body)
    for node in walk(function.body):
        if isinstance(node, ast.Declarator) and node.initializer is not None and declared[node.name] == 1:
            bounds = None if node.name in changing else interval(node.initializer, ranges)
            if bounds is not None:
                ranges.setdefault(node.name, bounds)
    return ranges

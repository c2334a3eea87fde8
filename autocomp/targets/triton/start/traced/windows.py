"""Kernels that look at a window for each result: pooling, and convolutions of few channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from autocomp.targets.triton.start.traced.graph import VIEWS, Graph, Node, Ref
from autocomp.targets.triton.start.traced.index import Index, split, symbol
from autocomp.targets.triton.start.traced.loops import NEUTRAL
from autocomp.targets.triton.start.traced.values import Scope, both, unsupported

UNROLLED = 32  # elements of a window up to which each gets instructions of its own, with constant places
FAR = 8  # elements between the windows of neighbours from which threads share the elements of a window
HELD = 2048  # elements that the tile of such windows has


@dataclass(frozen=True)
class Windows:
    """A kernel of windows: its lines, of which the last is the value of a result, and how many results a program has
    where that is not to be chosen."""

    scope: Scope
    lines: list[str]
    columns: int | None


def windows(graph: Graph, node: Node, stored: dict[str, str], last: Node) -> Windows:
    """A pooled result, or one of a convolution of few channels: for a block of results, over what each looks at. The
    value is that of `last`, a node with as many elements that may come after it."""
    scope = Scope(graph, stored, {}, "offs < count")
    reach = Reach.of(graph, node)
    place = split(symbol("offs", node.elements), node.shape)
    columns = None
    if node.op == "convolution":
        lines = _convolved(scope, node, place, reach)
    elif reach.stride[-1] < FAR:
        lines = _pooled(scope, node, reach)
    else:
        columns, lines = _held(scope, node, reach)
    result = "acc"
    if node.op.startswith("avg"):
        result = "(acc / seen)" if any(line.startswith("seen") for line in lines) else f"(acc / {reach.divisor})"
    bias = node.args[2] if node.op == "convolution" else None
    if isinstance(bias, Ref):
        result = f"(acc + {scope.value(bias.name, (place[1],))})"
    if last is not node:
        scope.held[node.name] = (scope.name("window", result), place)
        result = scope.value(last.name, split(symbol("offs", last.elements), last.shape))
    return Windows(scope, [*lines, *scope.lines, result], columns)


def _convolved(scope: Scope, node: Node, place: Sequence[Index], reach: Reach) -> list[str]:
    """The sum of a window's products, in `acc`."""
    graph = scope.graph
    source, weight = graph[node.args[0]], graph[node.args[1]]
    body = scope.child("step", scope.mask)
    step = split(symbol("step", reach.steps), (reach.depth, *reach.kernel))
    inside, spots = reach.spots(place[2:], step[1:], source.shape[2:])
    group = place[1].divide(node.shape[1] // reach.groups)[0]
    channel = group.times(reach.depth) + step[0] if reach.groups > 1 else step[0]
    along = (
        (channel, place[1].divide(weight.shape[1])[1], *step[1:])
        if reach.transposed
        else (place[1], step[0], *step[1:])
    )
    x = _element(body, source, (place[0], channel, *spots), inside, "0.0")
    body.lines.append(f"acc += {x} * {body.value(weight.name, along)}")
    return _looped(scope, body, "0.0", "(BLOCK,)", reach.steps)


def _pooled(scope: Scope, node: Node, reach: Reach) -> list[str]:
    """The largest element of a window, or the sum of all, in `acc`; the number of these in `seen` where it differs."""
    body = scope.child("step", scope.mask)
    taps = split(symbol("step", reach.steps), reach.kernel)
    head = _pool(body, node, reach, symbol("offs", node.elements), taps, "(BLOCK,)")
    return [*head, *_looped(scope, body, _neutral(node), "(BLOCK,)", reach.steps)]


def _held(scope: Scope, node: Node, reach: Reach) -> tuple[int, list[str]]:
    """The same for windows that lie far apart: their last axis is one of a tile, so that threads read neighbours. And
    how many windows a tile has."""
    taps, steps = reach.kernel[-1], reach.steps // reach.kernel[-1]
    padded = 1 << (taps - 1).bit_length()
    shape = f"(COLUMNS, {padded})"
    body = scope.child("step", f"(offs[:, None] < count) & (tap[None, :] < {taps})")
    places = (*split(symbol("step", steps), reach.kernel[:-1]), symbol("tap[None, :]", taps))
    head = _pool(body, node, reach, symbol("offs[:, None]", node.elements), places, shape)
    lines = [f"tap = tl.arange(0, {padded})", *head, *_looped(scope, body, _neutral(node), shape, steps)]
    lines.append(f"acc = tl.{'max' if node.op.startswith('max') else 'sum'}(acc, axis=1)")
    lines += ["seen = tl.sum(seen, axis=1)"] if head else []
    return max(1, HELD // padded), lines


def _pool(body: Scope, node: Node, reach: Reach, offs: Index, taps: Sequence[Index], shape: str) -> list[str]:
    """Adds to a body what it does with one element of each window; returns the lines in front of the loop."""
    source = body.graph[node.args[0]]
    place = split(offs, node.shape)
    inside, spots = reach.spots(place, taps, source.shape)
    value = _element(body, source, (*place[: -len(spots)], *spots), inside, _neutral(node))
    if node.op.startswith("max"):
        body.lines.append(f"acc = tl.maximum(acc, {value})")
        return []
    body.lines.append(f"acc += {value}")
    if reach.counts_padding or not inside:
        return []
    body.lines.append(f"seen += tl.where({both(body.mask, inside)}, 1.0, 0.0)")
    return [f"seen = tl.full({shape}, 0.0, dtype=tl.float32)"]


def _neutral(node: Node) -> str:
    return NEUTRAL["amax" if node.op.startswith("max") else "sum"]


def _element(body: Scope, source: Node, place: tuple[Index, ...], inside: str, neutral: str) -> str:
    """An element of an image, a neutral one outside of it."""
    value = body.value(source.name, place, neutral, both(body.mask, inside) if inside else None)
    if inside and not _is_loaded(body, source):
        return body.name("kept", f"tl.where({inside}, {value}, {neutral})")
    return value


def _is_loaded(scope: Scope, node: Node) -> bool:
    """True for a node that is what memory holds, which a masked load replaces by itself."""
    while node.name not in scope.stored and node.op in VIEWS:
        node = scope.graph[node.args[0]]
    return node.name in scope.stored


def _looped(scope: Scope, body: Scope, first: str, shape: str, steps: int) -> list[str]:
    """The loop with a body's lines, after those of the scope."""
    before, scope.lines = scope.lines, []
    rounds = f"tl.static_range({steps})" if steps <= UNROLLED else f"range(0, {steps})"
    start = f"acc = tl.full({shape}, {first}, dtype=tl.float32)"
    return [start, *before, f"for step in {rounds}:", *(f"    {line}" for line in body.lines)]


@dataclass(frozen=True)
class Reach:
    """The elements that one result of a window reads: along each axis of an image, a kernel's taps."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    depth: int = 1
    groups: int = 1
    transposed: bool = False
    counts_padding: bool = True
    divisor: int = 1

    @property
    def steps(self) -> int:
        return self.depth * math.prod(self.kernel)

    @classmethod
    def of(cls, graph: Graph, node: Node) -> Reach:
        if node.op == "convolution":
            weight = graph[node.args[1]]
            stride, padding, dilation, transposed, _, groups = node.args[3:9]
            depth = weight.shape[0] // groups if transposed else weight.shape[1]
            rank = len(weight.shape) - 2
            return cls(
                weight.shape[2:],
                _each(stride, rank),
                _each(padding, rank),
                _each(dilation, rank),
                depth,
                groups,
                bool(transposed),
            )
        rank = 3 if "3d" in node.op else 2
        kernel = _each(node.args[1], rank)
        stride = _each(node.option("stride", 2) or kernel, rank)
        padding = _each(node.option("padding", 3, 0), rank)
        if node.op.startswith("max"):
            return cls(kernel, stride, padding, _each(node.option("dilation", 4, 1), rank))
        if node.option("divisor_override", 6) or node.option("ceil_mode", 4, False):
            raise unsupported("averages over windows that end outside of the image")
        counted = bool(node.option("count_include_pad", 5, True))
        return cls(kernel, stride, padding, (1,) * rank, counts_padding=counted, divisor=math.prod(kernel))

    def spots(self, place: Sequence[Index], taps: Sequence[Index], extents: Sequence[int]) -> tuple[str, list[Index]]:
        """The condition for an element to be inside of the image, and where it is along each axis."""
        conditions, places = [], []
        place = place[-len(self.kernel) :]
        for axis, extent in enumerate(extents[-len(self.kernel) :]):
            tap = taps[axis].times(self.dilation[axis])
            if self.transposed:
                spot = (place[axis] - tap).plus(self.padding[axis])
                stride = self.stride[axis]
                if stride > 1:
                    text = spot.text({})
                    conditions.append(f"(({text}) % {stride} == 0)")
                    conditions.append(f"({text} >= 0)")
                    spot = symbol(f"(({text}) // {stride})", max(extent, 2))
                    conditions.append(f"({spot.text({})} < {extent})")
                    places.append(spot)
                    continue
            else:
                spot = (place[axis].times(self.stride[axis]) + tap).plus(-self.padding[axis])
            low = spot.constant + sum(min(by, 0) * (part.modulus - 1) for part, by in spot.terms)
            if low < 0:
                conditions.append(f"({spot.text({})} >= 0)")
            if spot.most >= extent:
                conditions.append(f"({spot.text({})} < {extent})")
            places.append(spot)
        return " & ".join(conditions), places


def _each(value: object, rank: int) -> tuple[int, ...]:
    numbers = tuple(int(one) for one in value) if isinstance(value, tuple) else (int(str(value)),)
    return numbers * rank if len(numbers) == 1 else numbers

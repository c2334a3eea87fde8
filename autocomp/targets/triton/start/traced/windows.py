"""Kernels that look at a window for each result: pooling, and convolutions of few channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from autocomp.targets.triton.start.traced.graph import Graph, Node, Ref
from autocomp.targets.triton.start.traced.index import Index, split, symbol
from autocomp.targets.triton.start.traced.loops import NEUTRAL
from autocomp.targets.triton.start.traced.values import Scope, both, unsupported

UNROLLED = 32  # elements of a window up to which each gets instructions of its own, with constant places


def window(graph: Graph, node: Node, stored: dict[str, str], last: Node) -> tuple[Scope, list[str]]:
    """A pooled result, or one of a convolution of few channels: for a block of results, over what each looks at. The
    last line is the value of `last`, a node with as many elements that may come after it."""
    source = graph[node.args[0]]
    scope = Scope(graph, stored, {}, "offs < count")
    place = split(symbol("offs", node.elements), node.shape)
    reach = Reach.of(graph, node)
    step = split(symbol("step", reach.steps), (reach.depth, *reach.kernel))
    body = scope.child("step", scope.mask)
    inside, spots = reach.spots(place[2:], step[1:], source.shape[2:])
    if node.op == "convolution":
        group = place[1].divide(node.shape[1] // reach.groups)[0]
        channel = group.times(reach.depth) + step[0] if reach.groups > 1 else step[0]
        weight = graph[node.args[1]]
        along = (
            (channel, place[1].divide(weight.shape[1])[1], *step[1:])
            if reach.transposed
            else (place[1], step[0], *step[1:])
        )
        mask = both(body.mask, inside) if inside else None
        x = body.value(source.name, (place[0], channel, *spots), "0.0", mask)
        if inside and source.name not in stored:
            x = body.name("kept", f"tl.where({inside}, {x}, 0.0)")
        body.lines.append(f"acc += {x} * {body.value(weight.name, along)}")
    else:
        lowest = node.op.startswith("max")
        mask = both(body.mask, inside) if inside else None
        value = body.value(source.name, (*place[: -len(spots)], *spots), '-float("inf")' if lowest else "0.0", mask)
        if inside and source.name not in stored:
            value = body.name("kept", f"tl.where({inside}, {value}, {NEUTRAL['amax' if lowest else 'sum']})")
        body.lines.append(f"acc = tl.maximum(acc, {value})" if lowest else f"acc += {value}")
        if not lowest and not reach.counts_padding and inside:
            scope.lines.append("seen = tl.full((BLOCK,), 0.0, dtype=tl.float32)")
            body.lines.append(f"seen += tl.where({inside}, 1.0, 0.0)")
    first = '-float("inf")' if node.op.startswith("max") else "0.0"
    lines = [f"acc = tl.full((BLOCK,), {first}, dtype=tl.float32)", *scope.lines]
    steps = f"tl.static_range({reach.steps})" if reach.steps <= UNROLLED else f"range(0, {reach.steps})"
    lines += [f"for step in {steps}:", *(f"    {line}" for line in body.lines)]
    scope.lines = []
    result = "acc"
    if node.op.startswith("avg"):
        result = "(acc / seen)" if any(line.startswith("seen") for line in lines) else f"(acc / {reach.divisor})"
    bias = node.args[2] if node.op == "convolution" else None
    if isinstance(bias, Ref):
        result = f"(acc + {scope.value(bias.name, (place[1],))})"
    if last is not node:
        scope.held[node.name] = (scope.name("window", result), place)
        result = scope.value(last.name, split(symbol("offs", last.elements), last.shape))
    return scope, [*lines, *scope.lines, result]


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

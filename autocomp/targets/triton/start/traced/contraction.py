"""Kernels of products of matrices and of convolutions: one program a tile of the result, one loop over the depth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from autocomp.targets.triton.start.traced.graph import VIEWS, Graph, Node, Ref
from autocomp.targets.triton.start.traced.index import Index, join, split, symbol
from autocomp.targets.triton.start.traced.values import Coordinates, Scope, both
from autocomp.targets.triton.start.traced.windows import Reach

FEWEST = 8  # columns of the result; with fewer of them a tile is mostly empty
PRODUCTS = frozenset({"mm", "bmm"})
CONVERSIONS = ("_to_copy", "convert_element_type")


@dataclass(frozen=True)
class Contraction:
    """The sizes of a product, batches or groups being independent ones, and where its elements are."""

    m: int
    n: int
    k: int
    batches: int
    left: Coordinates
    right: Coordinates
    result: Coordinates
    inside: str = ""  # of the image, for elements on the left
    across: bool = False  # the left operand and the result are tiles of depth or columns by rows

    @classmethod
    def of(cls, graph: Graph, node: Node) -> Contraction:
        return _convolution(graph, node) if node.op == "convolution" else _product(graph, node)


def _symbols(m: int, n: int, k: int) -> tuple[Index, Index, Index, Index, Index, Index]:
    """Rows and depth as the left operand has them, depth and columns as the right, rows and columns of the result."""
    rows, columns = symbol("offs_m[:, None]", m), symbol("offs_n[None, :]", n)
    return rows, symbol("offs_k[None, :]", k), symbol("offs_k[:, None]", k), columns, rows, columns


def _product(graph: Graph, node: Node) -> Contraction:
    a, b = graph[node.args[0]], graph[node.args[1]]
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    batches = a.shape[0] if node.op == "bmm" else 1
    rows, deep, depth, columns, _, _ = _symbols(m, n, k)
    batch = (symbol("batch", batches),) if node.op == "bmm" else ()
    return Contraction(m, n, k, batches, (*batch, rows, deep), (*batch, depth, columns), (*batch, rows, columns))


def _convolution(graph: Graph, node: Node) -> Contraction:
    """Neighbours in memory are those along an image: tiles have them as columns."""
    source = graph[node.args[0]]
    reach = Reach.of(graph, node)
    images, filters, *extents = node.shape
    m, n, k = images * math.prod(extents), filters // reach.groups, reach.steps
    pixels, depth = symbol("offs_m[None, :]", m), symbol("offs_k[:, None]", k)
    columns, stored = symbol("offs_n[None, :]", n), symbol("offs_n[:, None]", n)
    group = symbol("batch", reach.groups)
    image, *spot = split(pixels, (images, *extents))
    channel, *taps = split(depth, (reach.depth, *reach.kernel))
    first, second = (
        (group.times(reach.depth) + channel, columns) if reach.transposed else (group.times(n) + columns, channel)
    )
    right = (first, second, *taps)
    inside, spots = reach.spots(spot, taps, source.shape[2:])
    left = (image, group.times(reach.depth) + channel, *spots)
    result = (image, group.times(n) + stored, *spot)
    return Contraction(m, n, k, reach.groups, left, right, result, inside, across=True)


class Tiles:
    """The lines of one kernel: `head` before the loop, then `loop`, and what follows in the scope of the result."""

    def __init__(self, graph: Graph, node: Node, stored: dict[str, str]) -> None:
        self.node, self.sizes = node, Contraction.of(graph, node)
        sizes = self.sizes
        names = {extent: name for name, extent in (("M", sizes.m), ("N", sizes.n), ("K", sizes.k)) if extent > 1}
        a, b = graph[node.args[0]], graph[node.args[1]]
        left = "(offs_m[:, None] < M) & (offs_k[None, :] < K)"
        right = "(offs_k[:, None] < K) & (offs_n[None, :] < N)"
        result = "(offs_m[:, None] < M) & (offs_n[None, :] < N)"
        if sizes.across:
            left, result = (
                "(offs_k[:, None] < K) & (offs_m[None, :] < M)",
                "(offs_n[:, None] < N) & (offs_m[None, :] < M)",
            )
        self.scope = Scope(graph, stored, names, result)
        exact = not node.is_float and _of_bytes(graph, a) and _of_bytes(graph, b)
        raw = is_stored(graph, a, stored) and is_stored(graph, b, stored)
        loads = []
        for operand, place, mask, inner in (
            (a, sizes.left, both(left, sizes.inside) if sizes.inside else left, "offs_"),
            (b, sizes.right, right, "offs_"),
        ):
            body = self.scope.child(inner, mask)
            body.outer, body.raw = None, raw
            value = body.value(operand.name, place)
            if not is_stored(graph, operand, stored):
                kept = f"tl.where({mask}, {value}, 0).to(tl.int8)" if exact else f"tl.where({mask}, {value}, 0.0)"
                value = body.name("kept", kept)
            loads.append((body, value))
        first = f"tl.trans({loads[0][1]})" if sizes.across else loads[0][1]
        how = "out_dtype=tl.int32" if exact else 'input_precision="ieee"'
        dot = f"tl.dot({first}, {loads[1][1]}, acc, {how})"
        self.loop = [
            f"acc = tl.zeros((BLOCK_M, BLOCK_N), dtype={'tl.int32' if exact else 'tl.float32'})",
            "for k in range(0, K, BLOCK_K):",
            "    offs_k = k + tl.arange(0, BLOCK_K)",
            *(f"    {line}" for body, _ in loads for line in body.lines),
            f"    acc = {dot}",
        ]
        value = self.scope.name("tile", "tl.trans(acc)") if sizes.across else "acc"
        self.scope.held[node.name] = (value, sizes.result)
        bias = node.args[2] if node.op == "convolution" else None
        if isinstance(bias, Ref):
            biased = self.scope.name("biased", f"{value} + {self.scope.value(bias.name, (sizes.result[1],))}")
            self.scope.held[node.name] = (biased, sizes.result)

    @property
    def head(self) -> list[str]:
        lines = [
            "pid_m = tl.program_id(0)",
            "pid_n = tl.program_id(1)",
            "offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)",
            "offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)",
        ]
        return [*lines, "batch = tl.program_id(2).to(tl.int64)"] if self.sizes.batches > 1 else lines

    def store(self, node: Node, output: str) -> list[str]:
        """Lines that store a node of the result's size, which may come after the product."""
        return store_lines(self.scope, self.sizes.result, self.node.shape, node, output)


def value_at(scope: Scope, result: Coordinates, shape: tuple[int, ...], node: Node) -> str:
    """The variable that holds a node at the places of a product's tile, whose result has a `shape`."""
    return scope.value(node.name, result if node.shape == shape else split(join(result, shape), node.shape))


def store_lines(scope: Scope, result: Coordinates, shape: tuple[int, ...], node: Node, output: str) -> list[str]:
    """The lines of a scope, and the one that stores a node at the places of a product's tile, whose result has a
    `shape`."""
    place = join(result, shape)
    value = value_at(scope, result, shape, node)
    target = f"tl.store({output}_ptr + {place.text(scope.names)}, {value}.to({output}_ptr.dtype.element_ty)"
    return [*scope.lines, f"{target}, mask={scope.mask})"]


def _of_bytes(graph: Graph, node: Node) -> bool:
    """True for integers that are bytes before they are converted: tensor cores multiply those, and add 32 bits."""
    while node.op in (*VIEWS, *CONVERSIONS):
        node = graph[node.args[0]]
    return node.dtype == "int8"


def is_stored(graph: Graph, node: Node, stored: Mapping[str, str]) -> bool:
    """True for what is read from memory as it is, by way of views."""
    while node.name not in stored and node.op in VIEWS:
        node = graph[node.args[0]]
    return node.name in stored

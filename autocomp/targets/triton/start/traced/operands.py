"""Products in a form that suits tensor cores: long sums in parts, and operands of float32 with their depth contiguous.

Tensor cores read tiles of float32 along the depth of a product. An operand that lies in another order is copied first:
the copy moves each element once, and the product reads it many times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from autocomp.targets.triton.start.traced.graph import VIEWS, Graph, Node, Ref
from autocomp.targets.triton.start.traced.index import join, split, symbol
from autocomp.targets.triton.start.traced.kernels import Kernel
from autocomp.targets.triton.start.traced.values import Scope, moved

PACK = "pack"  # an operand as [rows or columns, depth], the depth filled up with zeros
LEAST_WORK = 1 << 30  # multiplications of a product from which copies of its operands pay
LEAST_REUSE = 128  # products that each element of a copied operand takes part in, at least
ALIGNED = 4  # float32 numbers to which rows are aligned, for copies of 16 bytes
FILLED = 32  # multiple to which a depth is filled up
SPLIT_TILES = 64  # tiles of a result below which most multiprocessors have none
SPLIT_DEPTH = 8192  # terms of a sum from which it is worth to be split
TILE = (128, 64)


def with_split_sums(graph: Graph) -> Graph:
    """Products of few tiles and long sums as several products, whose results are added."""
    nodes: dict[str, Node] = {}
    for node in graph.nodes.values():
        parts = _parts(graph, node) if node.op == "mm" else 1
        if parts == 1:
            nodes[node.name] = node
            continue
        m, n = node.shape
        depth = graph[node.args[0]].shape[-1] // parts
        made = (
            Node(f"{node.name}_left", "view", (node.args[0], (m, parts, depth)), {}, (m, parts, depth), node.dtype),
            Node(
                f"{node.name}_rows",
                "permute",
                (Ref(f"{node.name}_left"), (1, 0, 2)),
                {},
                (parts, m, depth),
                node.dtype,
            ),
            Node(f"{node.name}_right", "view", (node.args[1], (parts, depth, n)), {}, (parts, depth, n), node.dtype),
            Node(
                f"{node.name}_products",
                "bmm",
                (Ref(f"{node.name}_rows"), Ref(f"{node.name}_right")),
                {},
                (parts, m, n),
                node.dtype,
            ),
            replace(node, op="sum", args=(Ref(f"{node.name}_products"), (0,))),
        )
        nodes |= {one.name: one for one in made}
    return Graph(nodes, graph.outputs)


def _parts(graph: Graph, node: Node) -> int:
    """The number of parts of a product's sums: enough to keep a device busy, each a multiple of what is filled up."""
    depth = graph[node.args[0]].shape[-1]
    tiles = math.prod(math.ceil(extent / size) for extent, size in zip(node.shape, TILE, strict=True))
    if tiles > SPLIT_TILES or depth < SPLIT_DEPTH:
        return 1
    most = 8 * SPLIT_TILES // tiles
    return next((parts for parts in range(most, 1, -1) if depth % (parts * FILLED) == 0), 1)


def with_packed_operands(graph: Graph) -> Graph:
    """Large products with copies of operands whose depth is not contiguous, or not aligned."""
    nodes: dict[str, Node] = {}
    for node in graph.nodes.values():
        if node.op not in ("mm", "bmm") or not _is_large(graph, node):
            nodes[node.name] = node
            continue
        left, right = node.args[0], node.args[1]
        depth = graph[left].shape[-1]
        full = depth if depth % ALIGNED == 0 else -(-depth // FILLED) * FILLED
        if full != depth or not _deep(graph, left, -1):
            left = _packed(nodes, graph, left, full, False)
        if full != depth or not _deep(graph, right, -2):
            right = _packed(nodes, graph, right, full, True)
        nodes[node.name] = replace(node, args=(left, right))
    return Graph(nodes, graph.outputs)


def _is_large(graph: Graph, node: Node) -> bool:
    depth = graph[node.args[0]].shape[-1]
    return node.elements * depth >= LEAST_WORK and min(node.shape[-2:]) >= LEAST_REUSE


def _deep(graph: Graph, ref: Ref, axis: int) -> bool:
    """True where neighbours along an axis are neighbours in memory, or nothing lies in memory."""
    node = graph[ref]
    place = tuple(symbol(f"axis{position}", extent) for position, extent in enumerate(node.shape))
    wanted = f"axis{len(node.shape) + axis}"
    extent = node.shape[axis]
    while node.op in VIEWS:
        place, node = moved(graph, node, place), graph[node.args[0]]
    if node.op != "input":
        return True
    factors = [(part, by) for part, by in join(place, node.shape).terms if part.symbol.text == wanted]
    return len(factors) == 1 and factors[0][1] == 1 and factors[0][0].modulus == extent


def _packed(nodes: dict[str, Node], graph: Graph, ref: Ref, full: int, right: bool) -> Ref:
    """Add the copy of an operand, and for a right one the view that has its depth in front."""
    source = graph[ref]
    outer, kept = source.shape[:-2], source.shape[-1 if right else -2]
    name = f"{source.name}_packed"
    nodes[name] = Node(name, PACK, (ref, right), {}, (*outer, kept, full), source.dtype)
    if not right:
        return Ref(name)
    order: Sequence[int] = (*range(len(outer)), len(outer) + 1, len(outer))
    view = f"{name}_view"
    nodes[view] = Node(view, "permute", (Ref(name), tuple(order)), {}, (*outer, full, kept), source.dtype)
    return Ref(view)


def packing(graph: Graph, node: Node, stored: Mapping[str, str], output: str) -> Kernel:
    """A copy in which the depth of an operand is contiguous, filled up with zeros."""
    source = graph[node.args[0]]
    kept, full = node.shape[-2:]
    deep = source.shape[-2 if node.args[1] else -1]
    batches = math.prod(node.shape[:-2])
    across, down = symbol("offs_x[None, :]", kept), symbol("offs_d[:, None]", deep)
    batch = split(symbol("batch", batches), node.shape[:-2])
    scope = Scope(graph, stored, {}, f"(offs_d[:, None] < {deep}) & (offs_x[None, :] < {kept})", raw=True)
    value = scope.value(source.name, (*batch, *((down, across) if node.args[1] else (across, down))))
    place = join((*batch, across, symbol("offs_d[:, None]", full)), node.shape).text({})
    mask = f"(offs_d[:, None] < {full}) & (offs_x[None, :] < {kept})"
    lines = [
        "offs_x = tl.program_id(0) * BLOCK_X + tl.arange(0, BLOCK_X)",
        "offs_d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)",
        *(["batch = tl.program_id(2).to(tl.int64)"] if batches > 1 else []),
        *scope.lines,
        f"tl.store({output}_ptr + {place}, {value}, mask={mask})",
    ]
    grid = f"(triton.cdiv({kept}, BLOCK_X), triton.cdiv({full}, BLOCK_D), {batches})"
    return Kernel(scope, lines, grid, {"BLOCK_X": "BLOCK_X", "BLOCK_D": "BLOCK_D"})

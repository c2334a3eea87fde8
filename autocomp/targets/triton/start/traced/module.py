"""The module of a traced operation: which kernels there are, what they keep in memory, and the launches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from autocomp.targets.triton.start.text import module
from autocomp.targets.triton.start.traced.chains import end_of_chain
from autocomp.targets.triton.start.traced.contraction import (
    FEWEST,
    PRODUCTS,
    Contraction,
    Tiles,
)
from autocomp.targets.triton.start.traced.convolution import Convolution, Kernel
from autocomp.targets.triton.start.traced.elementwise import HELPERS
from autocomp.targets.triton.start.traced.graph import KEEP, Graph, Node, graph_of, once
from autocomp.targets.triton.start.traced.index import join, split, symbol
from autocomp.targets.triton.start.traced.kept import with_kept
from autocomp.targets.triton.start.traced.kernels import Kernels
from autocomp.targets.triton.start.traced.loops import REDUCTIONS, SCANS, Loops, Space, space_of
from autocomp.targets.triton.start.traced.operands import PACK, with_packed_operands, with_split_sums
from autocomp.targets.triton.start.traced.parts import with_parts
from autocomp.targets.triton.start.traced.simplified import simplified
from autocomp.targets.triton.start.traced.tile import FEW_HELD, LONGEST_HELD, Tile
from autocomp.targets.triton.start.traced.values import LONGEST, NotHere, Scope, is_inline, unsupported
from autocomp.targets.triton.start.traced.windows import windows

POOLS = frozenset({"max_pool2d_with_indices", "max_pool3d_with_indices", "avg_pool2d", "avg_pool3d"})
CONSTANTS = {
    "BLOCK": 1024,
    "ELEMENTS": 512,
    "BLOCK_M": 64,
    "BLOCK_N": 64,
    "BLOCK_K": 32,
    "SHALLOW": 16,
    "BLOCK_X": 64,
    "BLOCK_D": 64,
}


def traced_kernel(
    document: Mapping[str, object], outputs: Sequence[str], wide: bool = False, tf32: bool = False
) -> str:
    """The text of a starting kernel for a worker's answer to `trace`. `outputs` names the results as the workload has
    them; `wide` says that all floats are float32, `tf32` that convolutions may round them to that. Raises ConfigError
    for operators that it has no kernel for."""
    graph = with_split_sums(simplified(once(graph_of(document))))
    if wide:
        graph = with_packed_operands(graph)
    return _Writer(with_kept(once(with_parts(graph))), outputs, wide, tf32).text()


class _Writer:
    def __init__(self, graph: Graph, outputs: Sequence[str], wide: bool, tf32: bool) -> None:
        self.graph = graph
        self.wide, self.tf32 = wide, tf32
        self.results = dict(zip(graph.outputs, outputs, strict=True))
        self.needed = graph.needed()
        self.stored = {node.name: node.name for node in graph.nodes.values() if node.op == "input"}
        self.inputs = list(self.stored)
        self.parts = 0
        self.kernels = Kernels()
        self.launches: list[str] = []
        self.helpers: set[str] = set()
        self.functions: set[str] = set()
        self.constants: set[str] = set()
        self.written: set[str] = set()

    def text(self) -> str:
        waiting = [node for node in self.needed if node.op != "input" and not is_inline(node)]
        while waiting:
            group = self._group(waiting)
            if group[0].name not in self.stored:  # by the kernel of a node before it
                self._write(group)
            waiting = [node for node in waiting if node not in group]
        for name, output in self.results.items():
            if output not in self.written:
                self._elementwise(self.graph[name], output)
        return self._module()

    # --- what goes into one kernel -------------------------------------------------------------------------------

    def _group(self, waiting: list[Node]) -> list[Node]:
        """The first of some nodes, and those after it that go over the same space and need nothing from outside."""
        first = waiting[0]
        if first.op not in REDUCTIONS:
            return [first]
        group, names = [first], {first.name}
        space = space_of(self.graph, first)
        for node in waiting[1:]:
            if node.op not in REDUCTIONS or space_of(self.graph, node) != space:
                continue
            if all(need in names or need in self.stored for need in self._needs(node)):
                group.append(node)
                names.add(node.name)
        return group

    def _needs(self, node: Node) -> set[str]:
        """The nodes that must be stored, or held, for a node to be computed."""
        names: set[str] = set()
        for name in node.refs():
            other = self.graph[name]
            names |= self._needs(other) if is_inline(other) and name not in self.stored else {name}
        return names

    def _follower(self, group: Sequence[Node]) -> tuple[Node, str] | None:
        """A result that the kernel of some nodes can write by itself: it needs nothing else that is not stored."""
        names = {node.name for node in group}
        for name, output in self.results.items():
            node = self.graph[name]
            if output in self.written or not is_inline(node):
                continue
            needs = self._needs(node)
            if needs & names and needs <= names | set(self.stored):
                return node, output
        return None

    def _last(self, node: Node) -> tuple[Node, str]:
        """The node that the kernel of another stores: a result and its name, else the end of a chain after it."""
        return self._follower([node]) or (end_of_chain(self.graph, self.needed, node, self.stored), "")

    def _write(self, group: list[Node]) -> None:
        first = group[0]
        if first.op in REDUCTIONS:
            if not self._reductions(group, self._follower(group)) and not self._reductions(group, None):
                for node in group:
                    if not self._reductions([node], None):
                        raise unsupported(f"{node.op} of what lies in other places")
        elif first.op in SCANS:
            self._scan(first)
        elif first.op in PRODUCTS or (first.op == "convolution" and Contraction.of(self.graph, first).n >= FEWEST):
            self._convolve(first) if self.wide and first.op == "convolution" else self._tiles(first)
        elif first.op == PACK:
            self._pack(first)
        elif first.op == KEEP:
            room = self._room(first)
            self._elementwise(first, room)
            self._keep(first, room)
        elif first.op in POOLS or first.op == "convolution":
            self._window(first)
        else:
            raise unsupported(f"PyTorch's operator {first.op}")

    # --- kernels -------------------------------------------------------------------------------------------------

    def _reductions(self, group: Sequence[Node], follower: tuple[Node, str] | None) -> bool:
        """Reductions over one space in one kernel, with the result that follows them. False where a value is needed at
        another place than the kernel holds it at."""
        space, waves = space_of(self.graph, group[0]), self._waves(group)
        passes = len(waves) + (follower is not None and follower[0].elements > space.results)
        held = not space.rows and space.length <= LONGEST_HELD and (passes > 1 or space.results <= FEW_HELD)
        loops = (Tile if held else Loops)(self.graph, space, self.stored)
        inside = {node.name for node in group}
        try:
            for wave in waves:
                loops.reduce(wave)
            outputs = []
            if follower is not None:
                loops.store(*follower)
                outputs.append(follower[1])
            for node in group:
                if self._used_outside(node, inside, follower):
                    outputs.append(self._buffer(node))
                    loops.store(node, outputs[-1])
        except NotHere:
            for node in group:
                self.stored.pop(node.name, None)
            return False
        self.written.update(outputs)
        self._add_loops(loops, group[0].op, outputs, group)
        return True

    def _waves(self, group: Sequence[Node]) -> list[list[Node]]:
        """The nodes of a group, each after those that it needs; nodes of one wave need none of each other."""
        waves: list[list[Node]] = []
        level: dict[str, int] = {}
        for node in group:
            level[node.name] = 1 + max((level[need] for need in self._needs(node) if need in level), default=-1)
            if level[node.name] == len(waves):
                waves.append([])
            waves[level[node.name]].append(node)
        return waves

    def _used_outside(self, node: Node, group: set[str], follower: tuple[Node, str] | None) -> bool:
        if node.name in self.results or follower is None:
            return node.name in self.results or any(
                node.name in self._needs(other) for other in self.needed if other.name not in group
            )
        return any(
            node.name in self._needs(other)
            for other in self.needed
            if other.name not in group
            and other is not follower[0]
            and (not is_inline(other) or other.name in self.results)
        )

    def _scan(self, node: Node) -> None:
        axis = int(node.args[1]) % len(node.shape)
        loops = Loops(self.graph, Space(node.shape, (axis,)), self.stored)
        output = self._buffer(node)
        try:
            loops.scan(node, output)
        except NotHere as missing:
            raise unsupported(f"{node.op} needs {missing}") from None
        self._add_loops(loops, node.op, [output], [node])

    def _add_loops(self, loops: Loops, word: str, outputs: list[str], group: Sequence[Node]) -> None:
        self.functions |= loops.functions
        results = loops.space.results
        lines = [*loops.head(), *loops.scope.lines]
        if isinstance(loops, Tile):
            extra, blocks = {"count": str(results)}, {"COLUMNS": str(loops.columns)}
            grid = f"(triton.cdiv({results}, {loops.columns}),)"
        elif loops.rows:
            extra, blocks = {"cols": str(loops.space.length)}, {"BLOCK": "BLOCK"}
            grid = f"({results},)"
        else:
            extra, blocks = {"count": str(results), "length": str(loops.space.length)}, {"BLOCK": "ELEMENTS"}
            grid = f"(triton.cdiv({results}, ELEMENTS),)"
        self._add(word, loops.scope, lines, outputs, extra, grid, blocks)

    def _tiles(self, node: Node) -> None:
        last, output = self._last(node)
        tiles = Tiles(self.graph, node, self.stored)
        try:
            output = output or self._room(last)
            lines = tiles.store(last, output) if last.elements == node.elements else None
        except NotHere:
            lines = None
        if lines is None:  # what follows is another kernel
            tiles = Tiles(self.graph, node, self.stored)
            last, output = node, self._room(node)
            lines = tiles.store(node, output)
        self._keep(last, output)
        sizes = tiles.sizes
        extra = {"M": str(sizes.m), "N": str(sizes.n), "K": str(sizes.k)}
        blocks = {name: name for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K")}
        blocks |= {name: "SHALLOW" for name, extent in (("BLOCK_M", sizes.m), ("BLOCK_N", sizes.n)) if extent <= 16}
        grid = f"triton.cdiv({sizes.m}, {blocks['BLOCK_M']}), triton.cdiv({sizes.n}, {blocks['BLOCK_N']})"
        grid = f"({grid}, {sizes.batches})" if sizes.batches > 1 else f"({grid})"
        word = "matmul" if node.op in PRODUCTS else node.op
        self._add(word, tiles.scope, [*tiles.head, *tiles.loop, *lines], [output], extra, grid, blocks)

    def _convolve(self, node: Node) -> None:
        """A convolution of float32 by copies of its operands, with the result that follows it."""
        convolution = Convolution(self.graph, node, self.stored, self.tf32)
        image, filters = (
            self._workspace(shape, "float32") for shape in (convolution.shape_of_image, convolution.shape_of_filters)
        )
        self.functions |= convolution.functions
        self._launch("image", convolution.image(image), image)
        self._launch("filters", convolution.filters(filters), filters)
        last, output = self._last(node)
        output = output or self._room(last)
        try:
            kernel = convolution.products(image, filters).kernel(last, output)
        except NotHere:
            last, output = node, self._room(node)
            kernel = convolution.products(image, filters).kernel(node, output)
        self._keep(last, output)
        self._launch("convolution", kernel, output)

    def _launch(self, word: str, kernel: Kernel, output: str) -> None:
        self._add(
            word, kernel.scope, kernel.lines, [output], kernel.numbers, kernel.grid, kernel.blocks, kernel.descriptors
        )

    def _pack(self, node: Node) -> None:
        """A copy in which the depth of an operand is contiguous, filled up with zeros."""
        source = self.graph[node.args[0]]
        kept, full = node.shape[-2:]
        deep = source.shape[-2 if node.args[1] else -1]
        batches = math.prod(node.shape[:-2])
        across, down = symbol("offs_x[None, :]", kept), symbol("offs_d[:, None]", deep)
        batch = split(symbol("batch", batches), node.shape[:-2])
        scope = Scope(self.graph, self.stored, {}, f"(offs_d[:, None] < {deep}) & (offs_x[None, :] < {kept})", raw=True)
        value = scope.value(source.name, (*batch, *((down, across) if node.args[1] else (across, down))))
        output = self._buffer(node)
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
        self._add(PACK, scope, lines, [output], {}, grid, {"BLOCK_X": "BLOCK_X", "BLOCK_D": "BLOCK_D"})

    def _window(self, node: Node) -> None:
        last, output = self._last(node)
        if last.elements != node.elements:
            last, output = node, ""
        try:
            found = windows(self.graph, node, self.stored, last)
        except NotHere:
            last, output = node, ""
            found = windows(self.graph, node, self.stored, node)
        output = output or self._room(last)
        self._keep(last, output)
        lines = [*found.lines[:-1], _store(output, "offs", found.lines[-1])]
        self._blocks(node, found.scope, lines, output, found.columns)

    def _elementwise(self, node: Node, output: str) -> None:
        offs = symbol("offs", node.elements)
        scope = Scope(self.graph, self.stored, {}, "offs < count")
        value = scope.value(node.name, split(offs, node.shape))
        where = join(split(offs, node.shape), node.shape).text({})
        self.written.add(output)
        self._blocks(node, scope, [*scope.lines, _store(output, where, value)], output)

    def _blocks(self, node: Node, scope: Scope, lines: list[str], output: str, columns: int | None = None) -> None:
        """A kernel of which each program has a block of results, of as many `columns` as it says."""
        widest = max(self.graph[name].elements for name in (node.name, *scope.loaded))
        program = "tl.program_id(0).to(tl.int64)" if widest >= LONGEST else "tl.program_id(0)"
        size = "COLUMNS" if columns else "BLOCK"
        head = f"offs = {program} * {size} + tl.arange(0, {size})"
        each = str(columns) if columns else "ELEMENTS"
        grid = f"(triton.cdiv({node.elements}, {each}),)"
        word = node.op if not is_inline(node) else "elementwise"
        self._add(word, scope, [head, *lines], [output], {"count": str(node.elements)}, grid, {size: each})

    # --- the module ----------------------------------------------------------------------------------------------

    def _buffer(self, node: Node) -> str:
        """The name of the memory that holds a node: an output, or a workspace in float32 or integers."""
        output = self._room(node)
        self._keep(node, output)
        return output

    def _room(self, node: Node) -> str:
        """Memory for a node, in which kernels look for it once it is kept there."""
        if node.name in self.stored or node.name in self.results:
            return self.results.get(node.name) or self.stored[node.name]
        dtype = "float32" if node.is_float else "int8" if node.dtype == "bool" else node.dtype
        return self._workspace(node.shape, dtype)

    def _keep(self, node: Node, output: str) -> None:
        self.stored[node.name] = output
        self.written.add(output)

    def _workspace(self, extents: Sequence[int], dtype: str) -> str:
        """The name of memory that the host makes."""
        self.parts += 1
        name = f"part{self.parts}"
        shape = ", ".join(str(extent) for extent in extents) + ("," if len(extents) == 1 else "")
        device = self.inputs[0]
        self.launches.append(f"{name} = torch.empty(({shape}), dtype=torch.{dtype}, device={device}.device)")
        return name

    def _add(
        self,
        word: str,
        scope: Scope,
        lines: Sequence[str],
        outputs: Sequence[str],
        extra: Mapping[str, str],
        grid: str,
        blocks: Mapping[str, str],
        descriptors: Mapping[str, str] | None = None,
    ) -> None:
        """A kernel and its launch; `extra` are numbers that it is given, `blocks` sizes and the constants that they
        are, `descriptors` those of tensors that it reads by tiles."""
        described = descriptors or {}
        self.helpers |= scope.helpers
        self.constants.update(blocks.values())
        tensors = list(dict.fromkeys([*(scope.stored[node] for node in self.stored if node in scope.loaded), *outputs]))
        body = "\n".join(f"    {line}" for line in lines)
        pointers = [*(f"{name}_desc" for name in described), *(f"{tensor}_ptr" for tensor in tensors)]
        word = f"{word.split('2d')[0].split('3d')[0].strip('_')}_kernel"
        sizes = (*extra.values(), *blocks.values())
        name = self.kernels.name_of(word, [*pointers, *extra], list(blocks), body, sizes)
        given = ", ".join(
            [*described.values(), *tensors, *extra.values(), *(f"{block}={value}" for block, value in blocks.items())]
        )
        self.launches.append(f"{name}[{grid}](\n        {given}\n    )")

    def _module(self) -> str:
        constants = "\n".join(f"{name} = {value}" for name, value in CONSTANTS.items() if name in self.constants)
        wanted = dict.fromkeys(text for helper in sorted(self.helpers) for text in HELPERS[helper])
        functions = [text.strip() + "\n" for text in (*wanted, *sorted(self.functions))]
        parameters = ", ".join([*self.inputs, *self.results.values()])
        solution = f"def solution({parameters}):\n" + "\n".join(f"    {line}" for line in self.launches) + "\n"
        return module("\n\n".join([constants + "\n", *functions, *self.kernels.texts, solution]))


def _store(output: str, where: str, value: str) -> str:
    return f"tl.store({output}_ptr + {where}, {value}.to({output}_ptr.dtype.element_ty), mask=offs < count)"

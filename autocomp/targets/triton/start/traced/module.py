"""The module of a traced operation: which kernels there are, what they keep in memory, and the launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autocomp.targets.triton.residency import LARGEST_BLOCK
from autocomp.targets.triton.start.text import module
from autocomp.targets.triton.start.traced.blocks import MOMENTS
from autocomp.targets.triton.start.traced.channels import Channels, over_channels
from autocomp.targets.triton.start.traced.contraction import (
    FEWEST,
    PRODUCTS,
    Contraction,
    Tiles,
)
from autocomp.targets.triton.start.traced.convolution import Convolution
from autocomp.targets.triton.start.traced.elementwise import HELPERS
from autocomp.targets.triton.start.traced.graph import KEEP, Graph, Node, Ref, graph_of, once
from autocomp.targets.triton.start.traced.grouping import Grouping
from autocomp.targets.triton.start.traced.index import join, split, symbol
from autocomp.targets.triton.start.traced.kept import with_kept
from autocomp.targets.triton.start.traced.kernels import Kernel, Kernels
from autocomp.targets.triton.start.traced.loops import REDUCTIONS, SCANS, Loops, Space, space_of
from autocomp.targets.triton.start.traced.moments import with_moments
from autocomp.targets.triton.start.traced.operands import PACK, packing, with_packed_operands, with_split_sums
from autocomp.targets.triton.start.traced.parts import with_parts
from autocomp.targets.triton.start.traced.simplified import simplified
from autocomp.targets.triton.start.traced.summed import with_summed_operands
from autocomp.targets.triton.start.traced.tile import Tile, is_held
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
    graph = with_split_sums(with_summed_operands(simplified(once(graph_of(document))), tf32))
    if not wide:
        return _written(graph, outputs, wide, tf32)
    graph = with_packed_operands(graph)
    try:
        return _written(with_moments(graph, tf32), outputs, wide, tf32)
    except NotHere:  # what follows a convolution is not stored in its place
        return _written(graph, outputs, wide, tf32)


def _written(graph: Graph, outputs: Sequence[str], wide: bool, tf32: bool) -> str:
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
        self.grouping = Grouping(graph, self.needed, self.results, self.stored, self.written)

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
        """The first of some nodes, and those after it that go over the same space and need nothing from outside. That
        of a convolution are its channels."""
        first = waiting[0]
        if first.op not in REDUCTIONS and not self._is_tiled(first):
            return [first]
        space = space_of(self.graph, first) if first.op in REDUCTIONS else over_channels(first)
        return self.grouping.over(space, waiting)

    def _is_tiled(self, node: Node) -> bool:
        """True for a convolution of which a tile has all channels."""
        return self._is_copied(node) and Convolution(self.graph, node, self.stored, self.tf32).fits_a_tile

    def _is_copied(self, node: Node) -> bool:
        """True for a convolution whose operands are copied."""
        return self.wide and node.op == "convolution" and Contraction.of(self.graph, node).n >= FEWEST

    def _write(self, group: list[Node]) -> None:
        first = group[0]
        if first.op in REDUCTIONS:
            if not self._reductions(group, self._row_follower(group)) and not self._reductions(group, None):
                for node in group:
                    if not self._reductions([node], None):
                        raise unsupported(f"{node.op} of what lies in other places")
        elif first.op in SCANS:
            self._scan(first)
        elif first.op in PRODUCTS or (first.op == "convolution" and Contraction.of(self.graph, first).n >= FEWEST):
            self._convolve(group) if self._is_copied(first) else self._tiles(first)
        elif first.op == PACK:
            output = self._buffer(first)
            self._launch(PACK, packing(self.graph, first, self.stored, output), [output])
        elif first.op == KEEP:
            room = self._room(first)
            self._elementwise(first, room)
            self._keep(first, room)
        elif first.op in POOLS or first.op == "convolution":
            self._window(first)
        elif first.op in MOMENTS:
            raise NotHere(first.name)
        else:
            raise unsupported(f"PyTorch's operator {first.op}")

    def _row_follower(self, group: Sequence[Node]) -> tuple[Node, str] | None:
        """The result that the kernel of reductions writes. A pass over a long row finds nothing of the one before it in
        registers: then a kernel of its own has more programs to share the work."""
        space, found = space_of(self.graph, group[0]), self.grouping.follower(group)
        long = space.rows and space.length > LARGEST_BLOCK and len(self.grouping.waves(group)) == 1
        return None if found and long and found[0].elements > space.results else found

    # --- kernels -------------------------------------------------------------------------------------------------

    def _reductions(self, group: Sequence[Node], follower: tuple[Node, str] | None) -> bool:
        """Reductions over one space in one kernel, with the result that follows them. False where a value is needed at
        another place than the kernel holds it at."""
        space = space_of(self.graph, group[0])
        passes = len(self.grouping.waves(group)) + (follower is not None and follower[0].elements > space.results)
        loops = (Tile if is_held(space, passes) else Loops)(self.graph, space, self.stored)
        outputs = self._reduce(loops, group, follower)
        if outputs:
            self._add_loops(loops, group[0].op, outputs)
        return bool(outputs)

    def _reduce(self, loops: Loops, group: Sequence[Node], follower: tuple[Node, str] | None) -> list[str]:
        """Lines that make the nodes of a group and what follows them, and the memory that they fill: none where a value
        is needed at another place than the kernel holds it at."""
        inside = {node.name for node in group}
        outputs = []
        try:
            for wave in self.grouping.waves([node for node in group if node.op in REDUCTIONS]):
                loops.reduce(wave)
            if follower is not None:
                last, output = follower
                outputs.append(output or self._room(last))
                loops.store(last, outputs[-1])
                if not output:
                    self._keep(last, outputs[-1])
            for node in group:
                if self.grouping.used_outside(node, inside, follower):
                    outputs.append(self._buffer(node))
                    loops.store(node, outputs[-1])
        except NotHere:
            for node in (*group, *([follower[0]] if follower else ())):
                self.stored.pop(node.name, None)
            return []
        self.written.update(outputs)
        return outputs

    def _scan(self, node: Node) -> None:
        axis = int(node.args[1]) % len(node.shape)
        loops = Loops(self.graph, Space(node.shape, (axis,)), self.stored)
        output = self._buffer(node)
        try:
            loops.scan(node, output)
        except NotHere as missing:
            raise unsupported(f"{node.op} needs {missing}") from None
        self._add_loops(loops, node.op, [output])

    def _add_loops(self, loops: Loops, word: str, outputs: list[str]) -> None:
        self.functions |= loops.functions
        results = loops.space.results
        lines = [*loops.head(), *loops.scope.lines]
        if isinstance(loops, Tile):
            extra, blocks = {"count": str(results)}, {loops.size: str(loops.results)}
            grid = f"(triton.cdiv({results}, {loops.results}),)"
        elif loops.rows:
            extra, blocks = {"cols": str(loops.space.length)}, {"BLOCK": "BLOCK"}
            grid = f"({results},)"
        else:
            extra, blocks = {"count": str(results), "length": str(loops.space.length)}, {"BLOCK": "ELEMENTS"}
            grid = f"(triton.cdiv({results}, ELEMENTS),)"
        self._add(word, loops.scope, lines, outputs, extra, grid, blocks)

    def _tiles(self, node: Node) -> None:
        last, output = self.grouping.last(node)
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

    def _convolve(self, group: list[Node]) -> None:
        """A convolution of float32 by copies of its operands, with what follows it: reductions over its channels, else
        the result or the end of a chain."""
        node, reductions = group[0], group[1:]
        convolution = Convolution(self.graph, node, self.stored, self.tf32)
        image, filters = (
            self._workspace(shape, "float32") for shape in (convolution.shape_of_image, convolution.shape_of_filters)
        )
        self.functions |= convolution.functions
        self._launch("image", convolution.image(image), [image])
        self._launch("filters", convolution.filters(filters), [filters])
        if reductions and self._channels(group, convolution, image, filters):
            return
        last, output = self.grouping.last(node)
        moments = {one.op: one for one in self.needed if one.op in MOMENTS and one.args[0] == Ref(last.name)}
        read = self.grouping.is_read(last, {one.name for one in moments.values()})
        output = (output or self._room(last)) if read else ""
        kept = {op: self._buffer(one) for op, one in moments.items()}
        try:
            kernel = convolution.products(image, filters).kernel(last, output, kept)
        except NotHere:
            if moments:
                raise
            last, output = node, self._room(node)
            kernel = convolution.products(image, filters).kernel(node, output)
        if output:
            self._keep(last, output)
        self._launch("convolution", kernel, [*([output] if output else []), *kept.values()])
        if reductions:
            self._write(reductions)

    def _channels(self, group: list[Node], convolution: Convolution, image: str, filters: str) -> bool:
        """A convolution, reductions over its channels and what follows these in one kernel. False where a value is
        needed at another place than its tile holds it at."""
        follower = self.grouping.follower(group)
        if follower is None and (last := self.grouping.end(group)):
            follower = (last, "")
        before = len(self.launches)
        for following in (follower, None) if follower else (None,):
            products = convolution.products(image, filters, whole=True)
            channels = Channels(self.graph, products, self.stored)
            outputs = self._reduce(channels, group, following)
            if outputs:
                self.functions |= channels.functions
                self._launch("convolution", products.launch(channels.scope.lines), outputs)
                return True
            del self.launches[before:]  # memory for what could not be stored
        return False

    def _launch(self, word: str, kernel: Kernel, outputs: Sequence[str]) -> None:
        self._add(
            word, kernel.scope, kernel.lines, outputs, kernel.numbers, kernel.grid, kernel.blocks, kernel.descriptors
        )

    def _window(self, node: Node) -> None:
        last, output = self.grouping.last(node)
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
        functions = [text.strip() + "\n" for text in dict.fromkeys((*wanted, *sorted(self.functions)))]
        parameters = ", ".join([*self.inputs, *self.results.values()])
        solution = f"def solution({parameters}):\n" + "\n".join(f"    {line}" for line in self.launches) + "\n"
        return module("\n\n".join([constants + "\n", *functions, *self.kernels.texts, solution]))


def _store(output: str, where: str, value: str) -> str:
    return f"tl.store({output}_ptr + {where}, {value}.to({output}_ptr.dtype.element_ty), mask=offs < count)"

"""A loop over products, written out in Gluon: one warp loads tiles, groups of four warps multiply their own rows.

Here are the parts that do not depend on how products are added: what is read of the kernel, the warp that loads, how
the groups are started, and the launch.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from autocomp.targets.triton.language.module import dotted
from autocomp.targets.triton.rewrites.groups.common import (
    barriers,
    describe_for_groups,
    import_gluon,
    in_gluon,
    indented,
    only_on_device,
    specialised,
)
from autocomp.targets.triton.rewrites.rewrite import refuse
from autocomp.targets.triton.rewrites.syntax.tree import (
    bounds,
    called,
    calls_in,
    constexprs,
    drop_keyword,
    expression,
    fresh,
    function_of,
    has_dot,
    launches_of,
    loops_in,
    names_in,
    set_grid,
    set_keyword,
    statements,
    stores_of,
    text_of,
)


@dataclass(frozen=True)
class Operand:
    """A tile of a product: the descriptor, its coordinates, and whether the product reads it transposed."""

    descriptor: str
    place: tuple[str, str]
    transposed: bool


class GroupedLoop(ABC):
    """A kernel of one loop: tiles loaded by descriptors and multiplied with one left operand; a result stored by a
    descriptor. Raises NotApplicable for others."""

    def __init__(self, tree: ast.Module, kernel: str) -> None:
        self.tree = tree
        self.kernel = function_of(tree, kernel)
        launches = launches_of(tree, kernel)
        if len(launches) != 1 or launches[0].node.args:
            raise refuse(f"{kernel!r} is not launched once, with its arguments by name")
        self.launch = launches[0]
        loops = [loop for loop in loops_in(self.kernel) if has_dot([loop])]
        if len(loops) != 1 or loops[0] not in self.kernel.body:
            raise refuse(f"{kernel!r} has {len(loops)} loops with products at its top level, expected 1")
        self.loop = loops[0]
        self.index = text_of(self.loop.target)
        self.start, self.end, self.step = (text_of(value) for value in bounds(self.loop))
        position = self.kernel.body.index(self.loop)
        self.before, self.after = self.kernel.body[:position], self.kernel.body[position + 1 :]
        self.program = self._find_program()
        self.left, self.rights = self.find_operands()
        self.rows, self.row = self._find_row()

    @abstractmethod
    def find_operands(self) -> tuple[Operand, tuple[Operand, ...]]:
        """The left operand, and the right ones of the loop's products."""

    @abstractmethod
    def multiplied(self, chain: int) -> str:
        """The statements of a group for one tile, from its place to the sums of its rows."""

    # --- what there is -------------------------------------------------------------------------------------------

    def _find_program(self) -> str:
        """The name that holds the program's number, on a grid of one axis."""
        first, grid = self.before[0], self.launch.grid
        flat = isinstance(grid, ast.Tuple) and len(grid.elts) == 1
        if not flat or not isinstance(first, ast.Assign) or text_of(first.value) != "tl.program_id(0)":
            raise refuse(f"{self.kernel.name!r} does not begin with its number on a grid of one axis")
        return text_of(first.targets[0])

    def operands(self, dots: Sequence[ast.Call]) -> tuple[Operand, tuple[Operand, ...]]:
        """The operands of products that share their left one, each loaded by a descriptor in the loop."""
        loads = {}
        for node in self.loop.body:
            if isinstance(node, ast.Assign) and (tile := loaded(node.value)) is not None:
                loads[text_of(node.targets[0])] = tile

        def operand(argument: ast.expr) -> Operand:
            turned = called(argument, "trans")
            name = text_of(argument.args[0] if turned and isinstance(argument, ast.Call) else argument)
            if name not in loads:
                raise refuse(f"{name!r} is not a tile that a descriptor loads in the loop")
            load = loads[name]
            return Operand(load.descriptor, load.place, load.transposed != turned)

        lefts = {operand(dot.args[0]) for dot in dots}
        rights = tuple(operand(dot.args[1]) for dot in dots)
        left = lefts.pop()
        if lefts or left.transposed or left.descriptor in {right.descriptor for right in rights}:
            raise refuse("the left operand is transposed, or another one's, or one tensor with the right one")
        return left, rights

    def _find_row(self) -> tuple[str, str]:
        """The constant number of rows of a tile, and the name that counts tiles along the rows."""
        place = expression(self.left.place[0])
        if isinstance(place, ast.BinOp) and isinstance(place.op, ast.Mult):
            names = [text_of(place.left), text_of(place.right)]
            constant = [name for name in names if name in constexprs(self.kernel)]
            counted = [name for name in names if name in stores_of(self.before)]
            if len(constant) == 1 and len(counted) == 1:
                return constant[0], counted[0]
        raise refuse(f"the rows {self.left.place[0]} of the left operand are not a tile's size times its number")

    # --- what comes of it ----------------------------------------------------------------------------------------

    def convert(self, groups: int, chain: int, stages: int, programs: int) -> None:
        """Put the functions in Gluon in the kernel's place, and launch them."""
        taken = names_in([self.tree])
        stem = self.kernel.name.removesuffix("_descriptors")
        load, multiply, main = (fresh(f"{stem}_{word}", taken) for word in ("load", "multiply", "groups"))
        texts = [self._loading(load), self._multiplying(multiply, chain), self._main(main, load, multiply, groups)]
        position = self.tree.body.index(self.kernel)
        self.tree.body[position : position + 1] = [node for text in texts for node in statements(text)]
        self._host(main, groups, stages, programs)
        import_gluon(self.tree)

    def _parameters(self) -> tuple[list[str], list[str]]:
        """The kernel's parameters: values, then compile-time constants."""
        constant = constexprs(self.kernel)
        names = [argument.arg for argument in self.kernel.args.args]
        return [n for n in names if n not in constant], [n for n in names if n in constant]

    def _heading(self, name: str, added: Sequence[str], constants: Sequence[str]) -> str:
        values, constant = self._parameters()
        given = [*values, *added, *(f"{c}: gl.constexpr" for c in (*constant, *constants))]
        return f"@gluon.jit\ndef {name}({', '.join(given)}):\n"

    def _loading(self, name: str) -> str:
        rows, depth = self.left.place
        places = [text for operand in (self.left, *self.rights) for text in operand.place]
        needed = _needed(self.before, [*places, self.start, self.end, self.step])
        body = "\n".join(in_gluon(node) for node in needed if text_of(node.targets[0]) != self.program)
        left, other = self.left.descriptor, self.rights[0].descriptor
        count = f"{len(self.rights)} * " if len(self.rights) > 1 else ""
        copies = "\n".join(
            f"            tma.async_copy_global_to_shared({right.descriptor}, [{', '.join(right.place)}], "
            f"ready.index(stage), {self._right_tile('stage', position)})"
            for position, right in enumerate(self.rights)
        )
        return (
            self._heading(name, ["tiles", "left_tiles", "right_tiles", "ready", "free"], ["STAGES", "PARTS"])
            + f"""\
    count = 0
    for {self.program} in range(gl.program_id(0), tiles, gl.num_programs(0)):
{indented(body, 2)}
        for {self.index} in range({self.start}, {self.end}, {self.step}):
            stage = count % STAGES
            mbarrier.wait(free.index(stage), ((count // STAGES) & 1) ^ 1)
            mbarrier.expect(ready.index(stage),
                PARTS * {left}.block_type.nbytes + {count}{other}.block_type.nbytes)
            for part in gl.static_range(PARTS):
                tma.async_copy_global_to_shared({left}, [{rows} + part * ({self.rows} // PARTS), {depth}],
                    ready.index(stage), left_tiles.index(stage * PARTS + part))
{copies}
            count += 1
"""
        )

    def _right_tile(self, stage: str, position: int) -> str:
        """The part of a stage's shared memory that one right operand lies in."""
        tile = f"right_tiles.index({stage})"
        if len(self.rights) == 1:
            return tile
        extent = f"{self.rights[position].descriptor}.block_type.shape[0]"
        return f"{tile}.slice({position} * {extent}, {extent}, dim=0)"

    def _multiplying(self, name: str, chain: int) -> str:
        heading = self._heading(
            name, ["tiles", "left_tiles", "right_tiles", "result_tiles", "ready", "free"], ["STAGES", "PARTS", "PART"]
        )
        left = self.left.descriptor
        return (
            heading
            + f"""\
    mma: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1],
        instr_shape=[16, {self.columns}, 256 // {left}.dtype.primitive_bitwidth])
    count = 0
    for {self.program} in range(gl.program_id(0), tiles, gl.num_programs(0)):
{indented(self.multiplied(chain), 2)}
{indented(self._stored(), 2)}
    tma.store_wait(0)
"""
        )

    @property
    @abstractmethod
    def columns(self) -> str:
        """The columns of a group's sums."""

    def placed(self, without: Sequence[ast.stmt]) -> str:
        """The statements in front of the loop, with the number of the group's own rows in that of the tile's."""
        own = [node for node in self.before[1:] if node not in without]
        last = max(i for i, node in enumerate(own) if self.row in stores_of([node]))
        lines = [in_gluon(node) for node in own]
        lines.insert(last + 1, f"{self.row} = {self.row} * PARTS + PART")
        return "\n".join(lines)

    def right_tile(self, stage: str) -> str:
        """All right operands of a stage, as a product reads them."""
        return f"right_tiles.index({stage}){'.permute([1, 0])' if self.rights[0].transposed else ''}"

    def _stored(self) -> str:
        """The statements after the loop, with results stored by way of shared memory."""
        lines, stores = [], 0
        for node in self.after:
            call = node.value if isinstance(node, ast.Expr) else None
            if isinstance(call, ast.Call) and dotted(call.func).endswith("_desc.store"):
                descriptor = dotted(call.func).removesuffix(".store")
                place, value = (in_gluon(argument) for argument in call.args[:2])
                stores += 1
                lines += [
                    "tma.store_wait(0)",
                    f"result_tiles.index(PART).store({value})",
                    "fence_async_shared()",
                    f"tma.async_copy_shared_to_global({descriptor}, {place}, result_tiles.index(PART))",
                ]
            elif any(True for _ in calls_in([node], "store")):
                raise refuse("results are stored through pointers, not descriptors")
            else:
                lines.append(in_gluon(node))
        if stores != 1:
            raise refuse(f"{stores} results are stored, expected 1")
        return "\n".join(lines)

    def _result(self) -> str:
        return next(
            dotted(node.value.func).removesuffix(".store")
            for node in self.after
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        )

    def _main(self, name: str, load: str, multiply: str, groups: int) -> str:
        values, constant = self._parameters()
        left, right, result = self.left.descriptor, self.rights[0].descriptor, self._result()
        shared = ["tiles", "left_tiles", "right_tiles"]

        def entry(function: str, added: Sequence[str], rows: str, end: Sequence[str]) -> str:
            constants = [rows if name == self.rows else name for name in constant]
            return f"({function}, ({', '.join([*values, *added, *constants, *end])}))"

        own = f"{self.rows} // PARTS"
        multiplying = [
            entry(multiply, [*shared, "result_tiles", "ready", "free"], own, ["STAGES", "PARTS", str(part)])
            for part in range(groups)
        ]
        loading = entry(load, [*shared, "ready", "free"], self.rows, ["STAGES", "PARTS"])
        several = f"{len(self.rights)} * " if len(self.rights) > 1 else ""
        return (
            self._heading(name, ["tiles"], ["STAGES", "PARTS"])
            + f"""\
    left_tiles = gl.allocate_shared_memory({left}.dtype, [STAGES * PARTS] + {left}.block_shape, {left}.layout)
    right_tiles = gl.allocate_shared_memory({right}.dtype,
        [STAGES, {several}{right}.block_shape[0], {right}.block_shape[1]], {right}.layout)
    result_tiles = gl.allocate_shared_memory({result}.dtype, [PARTS] + {result}.block_shape, {result}.layout)
{barriers(["ready", "free"], "STAGES")}
    for i in gl.static_range(STAGES):
        mbarrier.init(ready.index(i), count=1)
        mbarrier.init(free.index(i), count=PARTS)
    fence_async_shared()
    {specialised(multiplying[0], [*multiplying[1:], loading])}
"""
        )

    def _host(self, main: str, groups: int, stages: int, programs: int) -> None:
        host = function_of(self.tree, self.launch.host)
        call = self.launch.node
        assert isinstance(call.func, ast.Subscript)
        assert isinstance(self.launch.grid, ast.Tuple)
        call.func.value = ast.Name(main, ast.Load())
        tiles = self.launch.grid.elts[0]
        set_grid(self.launch, expression(f"(min({text_of(tiles)}, {programs}),)"))
        for name in ("num_stages", "maxnreg", "num_warps"):
            drop_keyword(call, name)
        describe_for_groups(self.launch, {self.left.descriptor, self._result()}, groups)
        for name, value in (("tiles", tiles), ("STAGES", stages), ("PARTS", groups), ("num_warps", 4)):
            set_keyword(call, name, value if isinstance(value, ast.expr) else ast.Constant(value))
        only_on_device(host, self.launch)


def loaded(value: ast.AST | None) -> Operand | None:
    """The tile of `x_desc.load([row, column])`, transposed or not."""
    turned = isinstance(value, ast.Attribute) and value.attr == "T"
    call = value.value if turned and isinstance(value, ast.Attribute) else value
    if not isinstance(call, ast.Call) or not dotted(call.func).endswith("_desc.load"):
        return None
    place = call.args[0]
    if not isinstance(place, ast.List) or len(place.elts) != 2:
        return None
    return Operand(dotted(call.func).removesuffix(".load"), (text_of(place.elts[0]), text_of(place.elts[1])), turned)


def zeros_of(before: Sequence[ast.stmt], name: str) -> ast.Assign:
    """The assignment that clears a sum."""
    for node in before:
        if isinstance(node, ast.Assign) and text_of(node.targets[0]) == name and called(node.value, "zeros"):
            return node
    raise refuse(f"{name!r} does not begin as zeros")


def columns_of(zeros: ast.Assign) -> str:
    """The number of columns of a sum that begins as zeros."""
    assert isinstance(zeros.value, ast.Call)
    shape = zeros.value.args[0]
    if not isinstance(shape, (ast.Tuple, ast.List)) or len(shape.elts) != 2:
        raise refuse(f"{text_of(zeros.targets[0])!r} does not begin as zeros of rows and columns")
    return text_of(shape.elts[1])


def _needed(before: Sequence[ast.stmt], texts: Sequence[str]) -> list[ast.Assign]:
    """The assignments that expressions follow from."""
    names = names_in([expression(text) for text in texts])
    assignments: list[ast.Assign] = []
    for node in reversed(before):
        if isinstance(node, ast.Assign) and names & set(stores_of([node])):
            assignments.insert(0, node)
            names |= names_in([node.value])
    return assignments

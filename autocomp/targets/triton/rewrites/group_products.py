"""Products by groups of warps, written out in Gluon: one warp loads tiles, groups of four multiply their own rows."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autocomp.targets.triton.language.module import Module, dotted
from autocomp.targets.triton.rewrites.groups import (
    HOPPER,
    barriers,
    describe_for_groups,
    import_gluon,
    in_gluon,
    indented,
    only_on_device,
    specialised,
)
from autocomp.targets.triton.rewrites.rewrite import Offer, Rewrite, Setting, refuse, wanted
from autocomp.targets.triton.rewrites.tree import (
    bounds,
    called,
    calls_in,
    constexprs,
    drop_keyword,
    edited,
    expression,
    fresh,
    function_of,
    has_dot,
    launches_of,
    loops_in,
    main_kernels,
    names_in,
    set_grid,
    set_keyword,
    statements,
    stores_of,
    text_of,
)


class WarpGroups(Rewrite):
    name = "warp_groups"
    doc = (
        "Write the kernel in Gluon: one warp copies tiles by descriptors and runs ahead, two or three groups of four "
        "warps multiply 64 rows each, and each adds its scaled products while others use the tensor cores; `chain` "
        "products of a group are in flight by turns (Shah et al., FlashAttention-3, 2024; measured here: scaled "
        "products 15 to 25 % faster). For products scaled one by one, on Hopper, whose operands and results go "
        "through descriptors."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        if setting.capability[0] != HOPPER:
            return ()
        choices = []
        for kernel in main_kernels(module):
            for groups, chain, stages in ((2, 2, 5), (3, 1, 4)):
                given = {"kernel": kernel, "groups": groups, "chain": chain, "stages": stages}
                given["programs"] = setting.multiprocessors
                if not self.applies(module, given):
                    break
                choices.append(Offer(given, f"{groups} groups of warps of {kernel} multiply, one warp loads", 0.2))
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel = wanted(parameters, "kernel", str)
        numbers = {name: wanted(parameters, name, int) for name in ("groups", "chain", "stages", "programs")}
        if not 1 <= numbers["groups"] <= 3 or not 1 <= numbers["chain"] <= 2 or numbers["stages"] < 2:
            raise refuse("expected 1 to 3 groups, chains of 1 or 2 products, and at least 2 stages")

        def edit(tree: ast.Module) -> None:
            _Products(tree, kernel).convert(**numbers)

        return edited(module, edit)


@dataclass(frozen=True)
class _Operand:
    """A tile of a product: the descriptor, its coordinates, and whether the product reads it transposed."""

    descriptor: str
    place: tuple[str, str]
    transposed: bool


class _Products:
    """A kernel of one loop: two tiles loaded by descriptors, multiplied, scaled and added; results stored by
    descriptors."""

    def __init__(self, tree: ast.Module, kernel: str) -> None:
        self._tree = tree
        self._kernel = function_of(tree, kernel)
        launches = launches_of(tree, kernel)
        if len(launches) != 1 or launches[0].node.args:
            raise refuse(f"{kernel!r} is not launched once, with its arguments by name")
        self._launch = launches[0]
        loops = [loop for loop in loops_in(self._kernel) if has_dot([loop])]
        if len(loops) != 1 or loops[0] not in self._kernel.body:
            raise refuse(f"{kernel!r} has {len(loops)} loops with products at its top level, expected 1")
        self._loop = loops[0]
        position = self._kernel.body.index(self._loop)
        self._before, self._after = self._kernel.body[:position], self._kernel.body[position + 1 :]
        self._program = self._find_program()
        self._find_sum()
        self._left, self._right = self._operands()
        self._rows, self._row = self._find_row()

    # --- what there is -------------------------------------------------------------------------------------------

    def _find_program(self) -> str:
        """The name that holds the program's number, on a grid of one axis."""
        first = self._before[0]
        grid = self._launch.grid
        flat = isinstance(grid, ast.Tuple) and len(grid.elts) == 1
        if not flat or not isinstance(first, ast.Assign) or text_of(first.value) != "tl.program_id(0)":
            raise refuse(f"{self._kernel.name!r} does not begin with its number on a grid of one axis")
        return text_of(first.targets[0])

    def _find_sum(self) -> None:
        last = self._loop.body[-1]
        if not isinstance(last, ast.AugAssign) or not isinstance(last.value, ast.BinOp):
            raise refuse("the loop does not end with a sum of scaled products")
        sides = [last.value.left, last.value.right]
        dots = [side for side in sides if called(side, "dot")]
        if not isinstance(last.value.op, ast.Mult) or len(dots) != 1 or not isinstance(dots[0], ast.Call):
            raise refuse("the loop does not add one product, times its scale")
        self._sum, self._dot = text_of(last.target), dots[0]
        self._scale = text_of(next(side for side in sides if side is not dots[0]))

    def _operands(self) -> tuple[_Operand, _Operand]:
        loads = {}
        for node in self._loop.body[:-1]:
            if isinstance(node, ast.Assign) and (operand := _loaded(node.value)) is not None:
                loads[text_of(node.targets[0])] = operand
        operands = []
        for argument in self._dot.args[:2]:
            turned = called(argument, "trans")
            name = text_of(argument.args[0] if turned and isinstance(argument, ast.Call) else argument)
            if name not in loads:
                raise refuse(f"{name!r} is not a tile that a descriptor loads in the loop")
            load = loads[name]
            operands.append(_Operand(load.descriptor, load.place, load.transposed != turned))
        if operands[0].transposed or operands[0].descriptor == operands[1].descriptor:
            raise refuse("the left operand is transposed, or both are one tensor")
        self._others = [n for n in self._loop.body[:-1] if _loaded(getattr(n, "value", None)) is None]
        return operands[0], operands[1]

    def _find_row(self) -> tuple[str, str]:
        """The constant number of rows of a tile, and the name that counts tiles along the rows."""
        place = expression(self._left.place[0])
        if isinstance(place, ast.BinOp) and isinstance(place.op, ast.Mult):
            names = [text_of(place.left), text_of(place.right)]
            constant = [name for name in names if name in constexprs(self._kernel)]
            counted = [name for name in names if name in stores_of(self._before)]
            if len(constant) == 1 and len(counted) == 1:
                return constant[0], counted[0]
        raise refuse(f"the rows {self._left.place[0]} of the left operand are not a tile's size times its number")

    # --- what comes of it ----------------------------------------------------------------------------------------

    def convert(self, groups: int, chain: int, stages: int, programs: int) -> None:
        taken = names_in([self._tree])
        stem = self._kernel.name.removesuffix("_descriptors")
        load, multiply, main = (fresh(f"{stem}_{word}", taken) for word in ("load", "multiply", "groups"))
        texts = [self._loading(load), self._multiplying(multiply, chain), self._main(main, load, multiply, groups)]
        position = self._tree.body.index(self._kernel)
        functions = [node for text in texts for node in statements(text)]
        self._tree.body[position : position + 1] = functions
        self._host(main, groups, stages, programs)
        import_gluon(self._tree)

    def _parameters(self) -> tuple[list[str], list[str]]:
        """The kernel's parameters: values, then compile-time constants."""
        constant = constexprs(self._kernel)
        names = [argument.arg for argument in self._kernel.args.args]
        return [n for n in names if n not in constant], [n for n in names if n in constant]

    def _heading(self, name: str, added: Sequence[str], constants: Sequence[str]) -> str:
        values, constant = self._parameters()
        given = [*values, *added, *(f"{c}: gl.constexpr" for c in (*constant, *constants))]
        return f"@gluon.jit\ndef {name}({', '.join(given)}):\n"

    def _loading(self, name: str) -> str:
        start, end, step = (text_of(value) for value in bounds(self._loop))
        rows, (_, depth) = self._left.place[0], self._left.place
        needed = _needed(self._before, [*self._left.place, *self._right.place, start, end, step])
        body = "\n".join(in_gluon(node) for node in needed if text_of(node.targets[0]) != self._program)
        right = ", ".join(self._right.place)
        left, other = self._left.descriptor, self._right.descriptor
        return (
            self._heading(name, ["tiles", "left_tiles", "right_tiles", "ready", "free"], ["STAGES", "PARTS"])
            + f"""\
    count = 0
    for {self._program} in range(gl.program_id(0), tiles, gl.num_programs(0)):
{indented(body, 2)}
        for {text_of(self._loop.target)} in range({start}, {end}, {step}):
            stage = count % STAGES
            mbarrier.wait(free.index(stage), ((count // STAGES) & 1) ^ 1)
            mbarrier.expect(ready.index(stage), PARTS * {left}.block_type.nbytes + {other}.block_type.nbytes)
            for part in gl.static_range(PARTS):
                tma.async_copy_global_to_shared({left}, [{rows} + part * ({self._rows} // PARTS), {depth}],
                    ready.index(stage), left_tiles.index(stage * PARTS + part))
            tma.async_copy_global_to_shared({other}, [{right}], ready.index(stage), right_tiles.index(stage))
            count += 1
"""
        )

    def _multiplying(self, name: str, chain: int) -> str:
        start, end, step = (text_of(value) for value in bounds(self._loop))
        index = text_of(self._loop.target)
        zeros = _zeros(self._before, self._sum)
        columns = _columns(zeros)
        left = self._left.descriptor
        own = [node for node in self._before[1:] if node is not zeros]
        last = max(i for i, n in enumerate(own) if self._row in stores_of([n]))
        before = [in_gluon(node) for node in own]
        before.insert(last + 1, f"{self._row} = {self._row} * PARTS + PART")
        others = "\n".join(in_gluon(node) for node in self._others)
        turned = ".permute([1, 0])" if self._right.transposed else ""

        def started(ahead: int, product: str, scale: str) -> str:
            turn = f"turn + {ahead}" if ahead else "turn"
            return f"""\
{index} = {_value(start, turn, step)}
at = count{f" + {ahead}" if ahead else ""}
mbarrier.wait(ready.index(at % STAGES), (at // STAGES) & 1)
{product} = warpgroup_mma(left_tiles.index(at % STAGES * PARTS + PART), right_tiles.index(at % STAGES){turned},
    gl.zeros([{self._rows}, {columns}], gl.float32, mma), use_acc=False, is_async=True)
{others}
{scale} = {in_gluon(self._scale)}
"""

        def added(product: str, scale: str, waiting: int, stage: str) -> str:
            return f"""\
{product} = warpgroup_mma_wait({waiting}, deps=[{product}])
mbarrier.arrive(free.index(({stage}) % STAGES))
{self._sum} += {product} * {scale}
"""

        alone = started(0, "product", "factor") + added("product", "factor", 0, "count") + "count += 1\n"
        pair = (
            started(0, "product", "factor")
            + started(1, "following", "next_factor")
            + added("product", "factor", 1, "count")
            + added("following", "next_factor", 0, "count + 1")
            + "count += 2\n"
        )
        turns = f"        rounds = {_rounds(start, end, step)}\n"
        if chain == 2:
            turns += f"        for turn in range(0, rounds // 2 * 2, 2):\n{indented(pair, 3)}\n"
            turns += f"        for turn in range(rounds // 2 * 2, rounds):\n{indented(alone, 3)}\n"
        else:
            turns += f"        for turn in range(0, rounds):\n{indented(alone, 3)}\n"
        heading = self._heading(
            name, ["tiles", "left_tiles", "right_tiles", "result_tiles", "ready", "free"], ["STAGES", "PARTS", "PART"]
        )
        return (
            heading
            + f"""\
    mma: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1],
        instr_shape=[16, {columns}, 256 // {left}.dtype.primitive_bitwidth])
    count = 0
    for {self._program} in range(gl.program_id(0), tiles, gl.num_programs(0)):
{indented(chr(10).join(before), 2)}
        {self._sum} = gl.zeros([{self._rows}, {columns}], gl.float32, mma)
{turns}{indented(self._stored(), 2)}
    tma.store_wait(0)
"""
        )

    def _stored(self) -> str:
        """The statements after the loop, with results stored by way of shared memory."""
        lines, stores = [], 0
        for node in self._after:
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
            for node in self._after
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        )

    def _main(self, name: str, load: str, multiply: str, groups: int) -> str:
        values, constant = self._parameters()
        left, right, result = self._left.descriptor, self._right.descriptor, self._result()
        shared = ["tiles", "left_tiles", "right_tiles"]

        def entry(function: str, added: Sequence[str], rows: str, end: Sequence[str]) -> str:
            constants = [rows if name == self._rows else name for name in constant]
            return f"({function}, ({', '.join([*values, *added, *constants, *end])}))"

        own = f"{self._rows} // PARTS"
        multiplying = [
            entry(multiply, [*shared, "result_tiles", "ready", "free"], own, ["STAGES", "PARTS", str(part)])
            for part in range(groups)
        ]
        loading = entry(load, [*shared, "ready", "free"], self._rows, ["STAGES", "PARTS"])
        return (
            self._heading(name, ["tiles"], ["STAGES", "PARTS"])
            + f"""\
    left_tiles = gl.allocate_shared_memory({left}.dtype, [STAGES * PARTS] + {left}.block_shape, {left}.layout)
    right_tiles = gl.allocate_shared_memory({right}.dtype, [STAGES] + {right}.block_shape, {right}.layout)
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
        host = function_of(self._tree, self._launch.host)
        call = self._launch.node
        assert isinstance(call.func, ast.Subscript)
        assert isinstance(self._launch.grid, ast.Tuple)
        call.func.value = ast.Name(main, ast.Load())
        tiles = self._launch.grid.elts[0]
        set_grid(self._launch, expression(f"(min({text_of(tiles)}, {programs}),)"))
        for name in ("num_stages", "maxnreg", "num_warps"):
            drop_keyword(call, name)
        describe_for_groups(self._launch, {self._left.descriptor, self._result()}, groups)
        for name, value in (("tiles", tiles), ("STAGES", stages), ("PARTS", groups), ("num_warps", 4)):
            set_keyword(call, name, value if isinstance(value, ast.expr) else ast.Constant(value))
        only_on_device(host, self._launch)


def _loaded(value: ast.AST | None) -> _Operand | None:
    """The tile of `x_desc.load([row, column])`, transposed or not."""
    turned = isinstance(value, ast.Attribute) and value.attr == "T"
    call = value.value if turned and isinstance(value, ast.Attribute) else value
    if not isinstance(call, ast.Call) or not dotted(call.func).endswith("_desc.load"):
        return None
    place = call.args[0]
    if not isinstance(place, ast.List) or len(place.elts) != 2:
        return None
    return _Operand(dotted(call.func).removesuffix(".load"), (text_of(place.elts[0]), text_of(place.elts[1])), turned)


def _needed(before: Sequence[ast.stmt], texts: Sequence[str]) -> list[ast.Assign]:
    """The assignments that expressions follow from."""
    names = names_in([expression(text) for text in texts])
    assignments: list[ast.Assign] = []
    for node in reversed(before):
        if isinstance(node, ast.Assign) and names & set(stores_of([node])):
            assignments.insert(0, node)
            names |= names_in([node.value])
    return assignments


def _value(start: str, turn: str, step: str) -> str:
    """The loop's variable in a turn."""
    scaled = turn if step == "1" else f"({turn}) * {step}"
    return scaled if start == "0" else f"{start} + {scaled}"


def _rounds(start: str, end: str, step: str) -> str:
    """The number of turns of a loop."""
    length = end if start == "0" else f"{end} - ({start})"
    return length if step == "1" else f"gl.cdiv({length}, {step})"


def _zeros(before: Sequence[ast.stmt], name: str) -> ast.Assign:
    """The assignment that clears a sum."""
    for node in before:
        if isinstance(node, ast.Assign) and text_of(node.targets[0]) == name and called(node.value, "zeros"):
            return node
    raise refuse(f"{name!r} does not begin as zeros")


def _columns(zeros: ast.Assign) -> str:
    """The number of columns of a sum that begins as zeros."""
    assert isinstance(zeros.value, ast.Call)
    shape = zeros.value.args[0]
    if not isinstance(shape, (ast.Tuple, ast.List)) or len(shape.elts) != 2:
        raise refuse(f"{text_of(zeros.targets[0])!r} does not begin as zeros of rows and columns")
    return text_of(shape.elts[1])

"""Rewrites of loops: pipelining stages, flattening, warp specialisation; and results stored in halves."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from autocomp.targets.triton.language.module import Module
from autocomp.targets.triton.rewrites.descriptors import multiplied_loads
from autocomp.targets.triton.rewrites.rewrite import Offer, Rewrite, Setting, refuse, wanted
from autocomp.targets.triton.rewrites.syntax.tree import (
    blocks,
    calls_in,
    edited,
    expression,
    fresh,
    function_of,
    has_dot,
    insert_parameters,
    launches_of,
    loops_in,
    main_kernels,
    names_in,
    set_keyword,
    statement,
    statements,
    text_of,
)

OPTIONS = {"num_stages": int, "flatten": bool, "loop_unroll_factor": int, "disallow_acc_multi_buffer": bool}


class LoopOptions(Rewrite):
    name = "loop_options"
    doc = (
        "Give a loop its own options: pipelining stages (loads of later rounds start early; for loops without products "
        "this needs `tl.range`), flattening into the loop around it, unrolling (triton.language.range)."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices = []
        for kernel in main_kernels(module):
            function = module.kernels[kernel]
            for position, loop in enumerate(loops_in(function)):
                inner = [n for n in ast.walk(loop) if isinstance(n, ast.For) and n is not loop]
                if has_dot([loop]) or inner or not any(True for _ in calls_in([loop], "load")):
                    continue
                present = _option(loop, "num_stages")
                for stages in (3, 2, 4):
                    if stages != present:
                        given = {"kernel": kernel, "loop": position, "num_stages": stages}
                        choices.append(Offer(given, f"{stages} stages for loop {position + 1} of {kernel}", 0.05))
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel, position = wanted(parameters, "kernel", str), wanted(parameters, "loop", int, 0)
        options = {k: v for k, v in parameters.items() if k not in ("kernel", "loop")}
        unknown = [name for name in options if name not in OPTIONS]
        if unknown or not options:
            raise refuse(f"options of a loop are {', '.join(OPTIONS)}, got {', '.join(options) or 'none'}")

        def edit(tree: ast.Module) -> None:
            loops = loops_in(function_of(tree, kernel))
            if not 0 <= position < len(loops):
                raise refuse(f"{kernel!r} has {len(loops)} loops, there is no loop {position}")
            _set_options(loops[position], options)

        return edited(module, edit)


def _option(loop: ast.For, name: str) -> Any:
    assert isinstance(loop.iter, ast.Call)
    values = [k.value for k in loop.iter.keywords if k.arg == name]
    return values[0].value if values and isinstance(values[0], ast.Constant) else None


def _set_options(loop: ast.For, options: Mapping[str, Any]) -> None:
    assert isinstance(loop.iter, ast.Call)
    loop.iter.func = expression("tl.range")
    for name, value in options.items():
        set_keyword(loop.iter, name, ast.Constant(value))


class SplitStore(Rewrite):
    name = "split_store"
    doc = (
        "Store a tile of results in two halves: the first half's registers are free, and its copy under way, while the "
        "second is converted; the buffer in shared memory is half as large, which leaves room for another stage "
        "(epilogue subtiling in Triton's tutorial 09)."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices = []
        for kernel in main_kernels(module):
            if not self.applies(module, {"kernel": kernel}):
                continue
            choices.append(Offer({"kernel": kernel}, f"{kernel} stores its tile in halves", 0.03))
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel = wanted(parameters, "kernel", str)

        def edit(tree: ast.Module) -> None:
            function = function_of(tree, kernel)
            place, position, call = _descriptor_store(function)
            assert isinstance(call.func, ast.Attribute)
            descriptor = text_of(call.func.value)
            rows, cols = _block(tree, kernel, descriptor)
            coordinates, value = call.args[0], call.args[1]
            if not isinstance(coordinates, ast.List) or len(coordinates.elts) != 2:
                raise refuse(f"the store of {kernel!r} is not of rows and columns")
            if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "to"):
                raise refuse(f"what {kernel!r} stores is not one converted tile")
            tile, kind = text_of(value.func.value), text_of(value.args[0])
            taken = names_in([function])
            left, right = fresh("left_half", taken), fresh("right_half", taken)
            row, col = (text_of(part) for part in coordinates.elts)
            place[position : position + 1] = statements(
                f"{left}, {right} = tl.split(tl.permute(tl.reshape({tile}, ({rows}, 2, {cols} // 2)), (0, 2, 1)))\n"
                f"{descriptor}.store([{row}, {col}], {left}.to({kind}))\n"
                f"{descriptor}.store([{row}, {col} + {cols} // 2], {right}.to({kind}))\n"
            )
            for launch in launches_of(tree, kernel):
                block = _host_block(launch.keywords[descriptor])
                block.elts[1] = expression(f"{text_of(block.elts[1])} // 2")

        return edited(module, edit)


def _descriptor_store(function: ast.FunctionDef) -> tuple[list[ast.stmt], int, ast.Call]:
    """The only store through a descriptor."""
    calls = []
    for block in blocks(function):
        for position, node in enumerate(block):
            call = node.value if isinstance(node, ast.Expr) else None
            stores = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "store"
            if stores and isinstance(call, ast.Call) and text_of(call.func) != "tl.store":
                calls.append((block, position, call))
    if len(calls) != 1:
        raise refuse(f"{function.name!r} has {len(calls)} stores through descriptors, expected 1")
    return calls[0]


def _host_block(descriptor: ast.expr) -> ast.List:
    if isinstance(descriptor, ast.Call) and len(descriptor.args) == 4 and isinstance(descriptor.args[3], ast.List):
        return descriptor.args[3]
    raise refuse("the descriptor is not made where the kernel is launched")


def _block(tree: ast.Module, kernel: str, descriptor: str) -> tuple[str, str]:
    """The kernel's own names of the extents of a descriptor's block."""
    launches = launches_of(tree, kernel)
    if not launches or descriptor not in launches[0].keywords:
        raise refuse(f"{descriptor!r} is not an argument of {kernel!r}")
    block = _host_block(launches[0].keywords[descriptor])
    keywords = {text_of(value): name for name, value in launches[0].keywords.items()}
    try:
        rows, cols = (keywords[text_of(extent)] for extent in block.elts)
    except (KeyError, ValueError):
        raise refuse(f"the block of {descriptor!r} is not made of constants of {kernel!r}") from None
    return rows, cols


class WarpSpecialise(Rewrite):
    name = "warp_specialise"
    doc = (
        "Let one group of warps load and two others multiply, each on half of the rows: loading, the softmax of "
        "attention, and sums that scale each product overlap with tensor cores (Shah et al., FlashAttention-3, 2024; "
        "measured here: 10 to 15 % on products with scales for blocks, nothing on plain ones). Triton 3.6 does it for "
        "one loop whose operands come through descriptors, with 4 warps at the launch, tiles of 128 rows, and at most "
        "4 stages. Look twice at what it gives: with this version of Triton a tile was left unwritten now and then."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        if setting.capability < (9, 0):
            return ()
        choices = []
        for kernel in main_kernels(module):
            if not self.applies(module, {"kernel": kernel}):
                continue
            chain = sum(1 for _ in calls_in([module.kernels[kernel]], "dot")) > 1
            choices.append(Offer({"kernel": kernel}, f"warps of {kernel} load or multiply", 0.25 if chain else 0.03))
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel = wanted(parameters, "kernel", str)

        def edit(tree: ast.Module) -> None:
            function = function_of(tree, kernel)
            loops = [loop for loop in loops_in(function) if has_dot([loop])]
            outer = [loop for loop in loops if not any(loop in ast.walk(other) for other in loops if other is not loop)]
            if len(outer) != 1:
                raise refuse(f"{kernel!r} has {len(outer)} loops with products, expected 1")
            if _option(outer[0], "warp_specialize"):
                raise refuse(f"{kernel!r} is specialised already")
            if any(isinstance(node, ast.If) for node in ast.walk(function)):
                raise refuse(f"{kernel!r} branches, which the compiler does not specialise")
            if any(text.startswith("tl.load") for text in multiplied_loads(function)):
                raise refuse(f"{kernel!r} loads operands of products through pointers, not descriptors")
            if any(
                text_of(call.func).endswith("_desc.store") for call in ast.walk(function) if isinstance(call, ast.Call)
            ):
                raise refuse(f"{kernel!r} stores through a descriptor, which the compiler cannot halve")
            _describe_in_kernel(tree, function, kernel)
            _set_options(outer[0], {"warp_specialize": True})
            for launch in launches_of(tree, kernel):
                set_keyword(launch.node, "num_warps", ast.Constant(4))

        return edited(module, edit)


def _describe_in_kernel(tree: ast.Module, function: ast.FunctionDef, kernel: str) -> None:
    """Make the descriptors of left operands in the kernel."""
    lefts = {text_of(call.args[0]) for call in calls_in([function], "dot")}
    for node in list(ast.walk(function)):
        if not (isinstance(node, ast.Assign) and text_of(node.targets[0]) in lefts):
            continue
        loads = [c for c in ast.walk(node.value) if isinstance(c, ast.Call) and text_of(c.func).endswith("_desc.load")]
        if len(loads) == 1 and isinstance(loads[0].func, ast.Attribute):
            _describe(tree, function, kernel, text_of(loads[0].func.value))


def _describe(tree: ast.Module, function: ast.FunctionDef, kernel: str, descriptor: str) -> None:
    """Replace a descriptor that the host gives by a pointer, extents and strides, and one made from them before its
    load. Dimensions outside of the tile become an offset of the pointer, as the compiler halves flat tiles alone."""
    if descriptor not in {a.arg for a in function.args.args}:
        return
    origin = _origin(tree, function, kernel)
    stem, taken = descriptor.removesuffix("_desc"), names_in([function])
    pointer = fresh(f"{stem}_ptr", taken)
    launches = launches_of(tree, kernel)
    if descriptor not in launches[0].keywords:
        raise refuse(f"the launch of {kernel!r} does not give {descriptor!r} by its name")
    keywords = {text_of(value): name for name, value in launches[0].keywords.items()}
    block = [keywords.get(text_of(e), text_of(e)) for e in _host_block(launches[0].keywords[descriptor]).elts]
    outer = len(block) - 2
    extents = [fresh(f"{stem}_{name}", taken) for name in ("rows", "columns")]
    strides = [fresh(f"{stem}_stride_{axis}", taken) for axis in range(outer + 1)]
    load = _only_load(function, descriptor)
    indices = load.args[0].elts if isinstance(load.args[0], ast.List) else []
    offset = "".join(f" + {_wide(text_of(indices[axis]))} * {strides[axis]}" for axis in range(outer))
    row, column = indices[outer:]
    load.args[0] = ast.List([expression(f"{text_of(row)} + {origin}"), column], ast.Load())
    made = statement(
        f"{descriptor} = tl.make_tensor_descriptor({pointer}{offset}, [{', '.join(extents)}], "
        f"[{strides[-1]}, 1], [{', '.join(block[outer:])}])"
    )
    _insert_before_use(function, load, made)
    next(a for a in function.args.args if a.arg == descriptor).arg = pointer
    insert_parameters(function, [*extents, *strides])
    for launch in launches:
        call = launch.keywords[descriptor]
        if not isinstance(call, ast.Call) or not all(isinstance(arg, ast.List) for arg in call.args[1:3]):
            raise refuse(f"the descriptor {descriptor!r} is not made where {kernel!r} is launched")
        shape, steps = call.args[1], call.args[2]
        for keyword in launch.node.keywords:
            if keyword.arg == descriptor:
                keyword.arg, keyword.value = pointer, call.args[0]
        assert isinstance(shape, ast.List)
        assert isinstance(steps, ast.List)
        for name, value in zip([*extents, *strides], [*shape.elts[outer:], *steps.elts[:-1]], strict=True):
            set_keyword(launch.node, name, value)


def _origin(tree: ast.Module, function: ast.FunctionDef, kernel: str) -> str:
    """A parameter that is always 0, added to the row that a halved operand is loaded from. The compiler moves that row
    for the second half. Were it the very value that other offsets are made of, it would move those as well (seen with
    Triton 3.6: the second half of the rows was not written)."""
    name = "origin"
    if name not in {a.arg for a in function.args.args}:
        insert_parameters(function, [name])
        for launch in launches_of(tree, kernel):
            set_keyword(launch.node, name, ast.Constant(0))
    return name


def _only_load(function: ast.FunctionDef, descriptor: str) -> ast.Call:
    loads = [n for n in ast.walk(function) if isinstance(n, ast.Call) and text_of(n.func) == f"{descriptor}.load"]
    if len(loads) != 1:
        raise refuse(f"{descriptor!r} has {len(loads)} loads, expected 1")
    return loads[0]


def _wide(index: str) -> str:
    """An index in 64 bits: offsets into large tensors do not fit into 32."""
    inner = re.fullmatch(r"tl\.cast\((.*), tl\.int32\)", index)
    return f"tl.cast({inner.group(1) if inner else index}, tl.int64)"


def _insert_before_use(function: ast.FunctionDef, load: ast.Call, made: ast.stmt) -> None:
    """In front of the statement with the load, or of the loops around it."""
    for position, node in enumerate(function.body):
        if any(part is load for part in ast.walk(node)):
            function.body.insert(position, made)
            return
    raise refuse("the load is not in the function")

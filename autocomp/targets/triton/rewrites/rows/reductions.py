"""Rewrites of kernels that go through rows: one block in place of a loop, one pass in place of two, several rows at
once."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from autocomp.targets.triton.language.module import Module
from autocomp.targets.triton.rewrites.rewrite import Offer, Rewrite, Setting, refuse, wanted
from autocomp.targets.triton.rewrites.syntax.cleaning import drop_unused
from autocomp.targets.triton.rewrites.syntax.tree import (
    block_of,
    bound_arguments,
    bounds,
    calls_in,
    edited,
    expression,
    fresh,
    function_of,
    has_dot,
    launches_of,
    loads_of,
    loops_in,
    main_kernels,
    names_in,
    rename,
    set_keyword,
    statements,
    stores_of,
    text_of,
)

LOWEST = "-3.0e+38"  # in place of -inf where a difference of two running maxima is taken


class OneBlock(Rewrite):
    name = "one_block"
    doc = (
        "Hold a whole row in registers: a block as wide as the row takes the place of loops over blocks, and what "
        "several loops load is loaded once. Bound by memory, a kernel then takes the time of one pass (Triton's "
        "tutorial 02). Rows of up to about 64 thousand elements fit."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices = []
        for kernel in main_kernels(module):
            if has_dot([module.kernels[kernel]]):
                continue
            if not self.applies(module, {"kernel": kernel}):
                continue
            wide = max(setting.dims.values(), default=0)
            passes = len(loops_in(module.kernels[kernel]))
            gain = 0.6 if passes > 1 and wide <= 16_384 else 0.1
            choices.append(
                Offer({"kernel": kernel}, f"{kernel} holds a row in registers in place of {passes} passes", gain)
            )
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel = wanted(parameters, "kernel", str)

        def edit(tree: ast.Module) -> None:
            function, launches = function_of(tree, kernel), launches_of(tree, kernel)
            loops = loops_in(function)
            if not loops:
                raise refuse(f"{kernel!r} has no loops")
            if has_dot([function]):
                raise refuse(f"{kernel!r} multiplies matrices, whose sums do not fit into one block")
            extent, block = _common_range(loops, kernel)
            for loop in loops:
                place, position = block_of(function, loop)
                zero = {text_of(loop.target): ast.Constant(0)}
                place[position : position + 1] = [_without_zero(_replaced(node, zero)) for node in loop.body]
            _load_once(function)
            drop_unused(function)
            for launch in launches:
                host = bound_arguments(launch, function)[extent]
                set_keyword(launch.node, block, expression(f"triton.next_power_of_2({text_of(host)})"))

        return edited(module, edit)


def _common_range(loops: Sequence[ast.For], kernel: str) -> tuple[str, str]:
    """The extent and the step that all loops have in common, both parameters."""
    spans = set()
    for loop in loops:
        start, end, step = bounds(loop)
        if text_of(start) != "0" or not isinstance(end, ast.Name) or not isinstance(step, ast.Name):
            raise refuse(f"a loop of {kernel!r} does not go from 0 to a parameter in blocks")
        if any(isinstance(node, ast.For) for inner in loop.body for node in ast.walk(inner)):
            raise refuse(f"{kernel!r} has loops in loops")
        spans.add((end.id, step.id))
        uses = loads_of(loop.body)[text_of(loop.target)]
        ranges = sum(text_of(c.args[1]) == step.id for c in calls_in(loop.body, "arange"))
        if uses == 0 or ranges == 0:
            raise refuse(f"a loop of {kernel!r} does not take a block of its range in each round")
    if len(spans) != 1:
        raise refuse(f"the loops of {kernel!r} have different ranges")
    return next(iter(spans))


def _replaced(node: ast.stmt, values: Mapping[str, ast.expr]) -> ast.stmt:
    class Replace(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.AST:
            return copy.deepcopy(values[name.id]) if name.id in values else name

    result: ast.stmt = Replace().visit(copy.deepcopy(node))
    return result


def _without_zero(node: ast.stmt) -> ast.stmt:
    """`0 + x` is `x`."""

    class Simplify(ast.NodeTransformer):
        def visit_BinOp(self, part: ast.BinOp) -> ast.AST:
            self.generic_visit(part)
            zero = isinstance(part.left, ast.Constant) and part.left.value == 0 and isinstance(part.op, ast.Add)
            return part.right if zero else part

    result: ast.stmt = Simplify().visit(node)
    return result


def _load_once(function: ast.FunctionDef) -> None:
    """Drop assignments that give a name the value it has: nothing that they read was assigned or stored since."""
    kept: list[ast.stmt] = []
    known: dict[str, str] = {}  # a name, and the text of what it holds
    for node in function.body:
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
            text = text_of(node.value)
            if known.get(target.id) == text:
                continue
            known = {n: t for n, t in known.items() if target.id not in names_in([expression(t)])}
            known[target.id] = text
        else:
            changed = set(stores_of([node]))
            if any(True for _ in calls_in([node], "store", "atomic_add")):
                known = {n: t for n, t in known.items() if "tl.load" not in t}
            known = {n: t for n, t in known.items() if n not in changed and not changed & names_in([expression(t)])}
        kept.append(node)
    function.body = kept


class OnlineSoftmax(Rewrite):
    name = "online_softmax"
    doc = (
        "Find the largest element of a row and the sum of exponentials in one pass: when the maximum grows, the sum "
        "so far is scaled down (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018). Saves a "
        "pass over rows that do not fit into registers."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices = []
        for kernel in main_kernels(module):
            if not self.applies(module, {"kernel": kernel}):
                continue
            choices.append(Offer({"kernel": kernel}, f"{kernel} needs one pass for maximum and sum", 0.35))
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel = wanted(parameters, "kernel", str)

        def edit(tree: ast.Module) -> None:
            function = function_of(tree, kernel)
            loops = loops_in(function)
            for first, second in pairwise(loops):
                merged = _merged(function, first, second)
                if merged is not None:
                    return
            raise refuse(f"{kernel!r} has no loop for a maximum followed by one for a sum of exponentials")

        return edited(module, edit)


def _merged(function: ast.FunctionDef, first: ast.For, second: ast.For) -> bool | None:
    """Merge a loop that finds a maximum with the one that sums exponentials; None where they are something else."""
    if text_of(first.iter) != text_of(second.iter) or text_of(first.target) != text_of(second.target):
        return None
    head, maximum = first.body[:-1], first.body[-1]
    last = _after_same(head, second.body)
    name, block_max = _running_maximum(maximum)
    total, summed = _running_sum(last) if last is not None else ("", None)
    if not name or not total or summed is None or name not in names_in([summed]):
        return None
    taken = names_in([function])
    new = fresh("new", taken)
    body = statements(
        f"{new} = tl.maximum({name}, {block_max})\n"
        f"{total} = {total} * tl.exp({name} - {new}) + {text_of(_renamed(summed, name, new))}\n"
        f"{name} = {new}\n"
    )
    place, position = block_of(function, first)
    other, after = block_of(function, second)
    if place is not other or after <= position:
        return None
    between = place[position + 1 : after]
    if name in stores_of(between) or not all(isinstance(node, ast.Assign) for node in between):
        return None
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and text_of(node.targets[0]) == name and node.lineno < first.lineno:
            node.value = expression(LOWEST)
    first.body = [*head, *body]
    place[position : after + 1] = [*between, first]
    return True


def _after_same(head: Sequence[ast.stmt], body: Sequence[ast.stmt]) -> ast.stmt | None:
    """The last statement of a body that begins as another does, but for names, with what it computes in between in
    place of names; None where it begins otherwise."""
    same: dict[str, str] = {}
    values: dict[str, ast.expr] = {}
    for position, node in enumerate(copy.deepcopy(list(body))):
        rename([node], same)
        node = _replaced(node, values)
        if position == len(body) - 1:
            return node if position >= len(head) else None
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if not (isinstance(node, ast.Assign) and isinstance(target, ast.Name)):
            return None
        if position >= len(head):
            values[target.id] = node.value
            continue
        other = head[position]
        if not (isinstance(other, ast.Assign) and isinstance(other.targets[0], ast.Name)):
            return None
        same[target.id] = other.targets[0].id
        if text_of(node.value) != text_of(other.value):
            return None
    return None


def _renamed(node: ast.expr, old: str, new: str) -> ast.expr:
    renamed = copy.deepcopy(node)
    rename([renamed], {old: new})
    return renamed


def _running_maximum(node: ast.stmt) -> tuple[str, str]:
    """`m = tl.maximum(m, tl.max(x, axis=0))`: the name and the maximum of the block."""
    if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)):
        return "", ""
    calls = list(calls_in([node.value], "maximum"))
    if len(calls) != 1 or calls[0] is not node.value or len(calls[0].args) != 2:
        return "", ""
    name = node.targets[0].id
    others = [arg for arg in calls[0].args if text_of(arg) != name]
    if len(others) != 1 or not any(True for _ in calls_in(others, "max")):
        return "", ""
    return name, text_of(others[0])


def _running_sum(node: ast.stmt) -> tuple[str, ast.expr | None]:
    """`s += tl.sum(…)`: the name and what is added."""
    if not (isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name)):
        return "", None
    sums = all(any(True for _ in calls_in([node.value], *names)) for names in (("sum",), ("exp", "exp2")))
    return (node.target.id, node.value) if sums else ("", None)


class CacheHints(Rewrite):
    name = "cache_hints"
    doc = (
        "Say how long data may stay in the caches. Data read once: `evict_first` leaves room for others, "
        "`evict_last` keeps lines until the results that replace them are written; vectors that all rows share want "
        "`evict_last`. Which is better depends on what is written beside it (PTX ISA, cache eviction priority hints; "
        "measured here)."
    )
    policies = ("evict_first", "evict_last")

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices = []
        for kernel in main_kernels(module):
            if has_dot([module.kernels[kernel]]):
                continue
            for policy in self.policies:
                given = {"kernel": kernel, "policy": policy}
                if self.applies(module, given) and self.apply(module, given).text != module.text:
                    choices.append(Offer(given, f"loads of {kernel}: {policy}", 0.05))
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel, policy = wanted(parameters, "kernel", str), wanted(parameters, "policy", str)
        if policy not in self.policies:
            raise refuse(f"the policy is {policy!r}, expected {' or '.join(self.policies)}")

        def edit(tree: ast.Module) -> None:
            function = function_of(tree, kernel)
            loads = list(calls_in([function], "load"))
            if not loads:
                raise refuse(f"{kernel!r} loads nothing through pointers")
            rows = _names_of_programs(function)
            for load in loads:
                streams = bool(names_in([load.args[0]]) & rows)
                set_keyword(load, "eviction_policy", ast.Constant(policy if streams else "evict_last"))

        return edited(module, edit)


def _names_of_programs(function: ast.FunctionDef) -> set[str]:
    """Names whose values differ between programs."""
    names: set[str] = set()
    changed = True
    while changed:
        changed = False
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                value, targets = node.value, [n.id for n in ast.walk(node.targets[0]) if isinstance(n, ast.Name)]
            elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
                value, targets = node.iter, [node.target.id]
            else:
                continue
            differs = any(True for _ in calls_in([value], "program_id")) or names_in([value]) & names
            if differs and not set(targets) <= names:
                names |= set(targets)
                changed = True
    return names


class RowsPerProgram(Rewrite):
    name = "rows_per_program"
    doc = (
        "Give each program several rows as a tile: more independent loads are in flight, and reductions work on all "
        "rows at once. Pays for short rows, and where programs are many (Triton's tutorial 05 on layer norm; "
        "measured here)."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices = []
        for kernel in main_kernels(module):
            if not self.applies(module, {"kernel": kernel, "rows": 2}):
                continue
            short = setting.dims.get("width", 1 << 20) <= 1024
            for rows, gain in ((8, 0.5), (16, 0.45), (4, 0.4)) if short else ((2, 0.05), (4, 0.03)):
                choices.append(
                    Offer({"kernel": kernel, "rows": rows}, f"{rows} rows for each program of {kernel}", gain)
                )
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        from autocomp.targets.triton.rewrites.rows.lift import lift

        kernel, rows = wanted(parameters, "kernel", str), wanted(parameters, "rows", int)
        if rows < 2 or rows & (rows - 1):
            raise refuse(f"the number of rows is {rows}, expected a power of two from 2")

        def edit(tree: ast.Module) -> None:
            function, launches = function_of(tree, kernel), launches_of(tree, kernel)
            lift(tree, function, launches, rows)

        return edited(module, edit)


class JoinPairs(Rewrite):
    name = "join_pairs"
    doc = (
        "Load neighbouring elements that are handled as pairs in one contiguous piece, and split them in registers; "
        "store pairs joined. Halves the number of instructions on memory, each of which uses whole sectors (CUDA "
        "best practices guide, coalesced access)."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices = []
        for kernel in main_kernels(module):
            if not self.applies(module, {"kernel": kernel}):
                continue
            choices.append(Offer({"kernel": kernel}, f"{kernel} loads and stores pairs in one piece", 0.2))
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        from autocomp.targets.triton.rewrites.rows.pairs import join_pairs

        kernel = wanted(parameters, "kernel", str)

        def edit(tree: ast.Module) -> None:
            join_pairs(function_of(tree, kernel))

        return edited(module, edit)

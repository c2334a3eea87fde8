"""The same values by cheaper instructions."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from typing import Any

from autocomp.targets.triton.language.module import Module, parameters
from autocomp.targets.triton.rewrites.rewrite import Offer, Rewrite, Setting, refuse, wanted
from autocomp.targets.triton.rewrites.syntax.ranks import rank, ranks_of
from autocomp.targets.triton.rewrites.syntax.tree import (
    called,
    calls_in,
    edited,
    expression,
    function_of,
    main_kernels,
    replace_calls,
    stores_of,
    text_of,
)

LOG2_E = "1.4426950408889634"
LN_2 = "0.6931471805599453"


class Exp2(Rewrite):
    name = "exp2"
    doc = (
        "Compute exponentials and logarithms to base 2, as the hardware does: the factor is multiplied into each "
        "side of a difference, where it becomes part of a fused multiply-add. Pays where special functions limit: "
        "attention, softmax, cross entropy (Shah et al., FlashAttention-3, 2024, on the throughput of the special "
        "function units)."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices = []
        for kernel in main_kernels(module):
            count = sum(1 for _ in calls_in([module.kernels[kernel]], "exp"))
            if count:
                choices.append(Offer({"kernel": kernel}, f"{count} exponentials of {kernel} to base 2", 0.06))
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel = wanted(parameters, "kernel", str)

        def edit(tree: ast.Module) -> None:
            function = function_of(tree, kernel)
            if not any(True for _ in calls_in([function], "exp")):
                raise refuse(f"{kernel!r} has no exponential to base e")
            replace_calls(function.body, _to_base_two)

        return edited(module, edit)


def _to_base_two(call: ast.Call) -> ast.expr | None:
    if called(call, "exp"):
        value = call.args[0]
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub):
            return expression(f"tl.exp2({_times(value.left)} - {_times(value.right)})")
        return expression(f"tl.exp2(({text_of(value)}) * {LOG2_E})")
    if called(call, "log"):
        return expression(f"tl.log2({text_of(call.args[0])}) * {LN_2}")
    return None


def _times(node: ast.expr) -> str:
    simple = isinstance(node, (ast.Name, ast.Subscript, ast.Call, ast.Attribute))
    return f"{text_of(node)} * {LOG2_E}" if simple else f"({text_of(node)}) * {LOG2_E}"


class Reciprocal(Rewrite):
    name = "reciprocal"
    doc = "Divide a row by a number once and multiply by the reciprocal: one division a row in place of one an element."

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices = []
        for kernel in main_kernels(module):
            if not self.applies(module, {"kernel": kernel}):
                continue
            choices.append(Offer({"kernel": kernel}, f"{kernel} multiplies by reciprocals", 0.03))
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel = wanted(parameters, "kernel", str)

        def edit(tree: ast.Module) -> None:
            function = function_of(tree, kernel)
            ranks = ranks_of(function)
            changed = _Reciprocals(ranks)
            for node in function.body:
                changed.visit(node)
            if not changed.count:
                raise refuse(f"{kernel!r} divides no vector by a scalar")

        return edited(module, edit)


class _Reciprocals(ast.NodeTransformer):
    def __init__(self, ranks: Mapping[str, int]) -> None:
        self._ranks = ranks
        self.count = 0

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        divisor, placed = node.right, ""
        if isinstance(divisor, ast.Subscript):  # `x / sums[:, None]`
            placed, divisor = f"[{text_of(divisor.slice).strip('()')}]", divisor.value
        if not isinstance(divisor, ast.Name) or rank(node.left, self._ranks) <= rank(divisor, self._ranks):
            return node
        self.count += 1
        left = text_of(node.left) if not isinstance(node.left, ast.BinOp) else f"({text_of(node.left)})"
        return expression(f"{left} * (1.0 / {divisor.id}){placed}")


class DeferScale(Rewrite):
    name = "defer_scale"
    doc = (
        "Leave a positive factor of the scores out until it is needed: the maximum is taken before it is applied, "
        "and the exponent's own multiplication takes it in. One multiplication less for each score (the form that "
        "FlashAttention-2 has). The factor must be positive."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices = []
        for kernel in main_kernels(module):
            if not self.applies(module, {"kernel": kernel}):
                continue
            choices.append(Offer({"kernel": kernel}, f"{kernel} scales its scores in the exponent", 0.04))
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel = wanted(parameters, "kernel", str)

        def edit(tree: ast.Module) -> None:
            function = function_of(tree, kernel)
            for node in ast.walk(function):
                if isinstance(node, ast.Assign) and _scaled_dot(node, function):
                    assert isinstance(node.targets[0], ast.Name)
                    assert isinstance(node.value, ast.BinOp)
                    _defer(function, node, node.targets[0].id, text_of(node.value.right))
                    return
            raise refuse(f"{kernel!r} does not multiply a product by a scalar")

        return edited(module, edit)


def _scaled_dot(node: ast.Assign, function: ast.FunctionDef) -> bool:
    """`scores = tl.dot(…) * scale`, where the scale is a parameter or a number."""
    value = node.value
    if not (isinstance(node.targets[0], ast.Name) and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult)):
        return False
    scalar = isinstance(value.right, ast.Constant) or text_of(value.right) in parameters(function)
    return called(value.left, "dot") and scalar


def _defer(function: ast.FunctionDef, definition: ast.Assign, name: str, factor: str) -> None:
    """Drop the factor where it is applied, and apply it where the product is used. Raises NotApplicable."""
    assert isinstance(definition.value, ast.BinOp)
    definition.value = definition.value.left
    masked = [
        n
        for n in ast.walk(function)
        if isinstance(n, ast.Assign)
        and text_of(n.targets[0]) == name
        and n is not definition
        and called(n.value, "where")
    ]
    if stores_of([function])[name] != 1 + len(masked):
        raise refuse(f"{name!r} is assigned in more ways than by a product and by masks")
    untouched = {id(part) for n in masked for part in ast.walk(n)}

    class Scale(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            if id(node) in untouched or node is definition:
                return node
            if called(node, "max") and isinstance(node, ast.Call) and text_of(node.args[0]) == name:
                return expression(f"{text_of(node)} * {factor}")
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and text_of(node.left) == name:
                right = node.right
                if isinstance(right, ast.Constant):
                    return expression(f"{name} * ({factor} * {text_of(right)})")
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                return expression(f"({name} * {factor})")
            visited: ast.AST = super().visit(node)
            return visited

    scale = Scale()
    for node in function.body:
        scale.visit(node)


class UniformIndex(Rewrite):
    name = "uniform_index"
    doc = (
        "Where all elements of a block share an index, as those of a block of scales do, load one scalar in place of a "
        "vector. Holds as long as blocks do not straddle the boundary."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices = []
        for kernel in main_kernels(module):
            if not self.applies(module, {"kernel": kernel}):
                continue
            choices.append(Offer({"kernel": kernel}, f"{kernel} loads one scale for a whole block of columns", 0.1))
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel = wanted(parameters, "kernel", str)

        def edit(tree: ast.Module) -> None:
            function = function_of(tree, kernel)
            definitions = {
                n.targets[0].id: n.value
                for n in ast.walk(function)
                if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
            }
            for node in ast.walk(function):
                if (
                    isinstance(node, ast.Assign)
                    and called(node.value, "load")
                    and isinstance(node.targets[0], ast.Name)
                ) and _uniform(function, node, definitions):
                    return
            raise refuse(f"{kernel!r} loads no vector through an index divided by a number")

        return edited(module, edit)


def _uniform(function: ast.FunctionDef, node: ast.Assign, definitions: Mapping[str, ast.expr]) -> bool:
    """Replace `load(p + (start + range) // number …)` by the load of one scalar, and its broadcasts by the scalar."""
    assert isinstance(node.value, ast.Call)
    assert isinstance(node.targets[0], ast.Name)
    divisions = [
        n
        for n in ast.walk(node.value.args[0])
        if isinstance(n, ast.BinOp) and isinstance(n.op, ast.FloorDiv) and isinstance(n.right, ast.Constant)
    ]
    for division in divisions:
        if not isinstance(division.left, ast.Name):
            continue
        start = _start_of(definitions.get(division.left.id))
        if start is None:
            continue
        division.left = start
        node.value.keywords = [k for k in node.value.keywords if k.arg not in ("mask", "other")]
        node.value.args = node.value.args[:1]
        _Scalar(node.targets[0].id).visit(function)
        return True
    return False


def _start_of(value: ast.expr | None) -> ast.expr | None:
    """`start` of `start + tl.arange(0, n)`."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and called(value.right, "arange"):
        return copy.deepcopy(value.left)
    return None


class _Scalar(ast.NodeTransformer):
    """Takes the broadcasts of a name away."""

    def __init__(self, name: str) -> None:
        self._name = name

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == self._name:
            return node.value
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """`tile * column[:, None] * scalar` is `tile * (column * scalar)[:, None]`: one product an element less."""
        self.generic_visit(node)
        inner = node.left
        products = isinstance(node.op, ast.Mult) and isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mult)
        if products and isinstance(inner, ast.BinOp) and text_of(node.right) == self._name:
            placed = inner.right
            if isinstance(placed, ast.Subscript):
                inner.right = ast.Subscript(
                    ast.BinOp(placed.value, ast.Mult(), ast.Name(self._name, ast.Load())), placed.slice, ast.Load()
                )
                return inner
        return node

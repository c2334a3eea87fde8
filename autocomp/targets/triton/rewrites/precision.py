"""Rewrites of how products of matrices are computed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from autocomp.targets.triton.language.module import Module
from autocomp.targets.triton.rewrites.rewrite import Offer, Rewrite, Setting, refuse, wanted
from autocomp.targets.triton.rewrites.syntax.tree import calls_in, edited, function_of, has_dot, main_kernels

EXACT, THREE_PASSES = "ieee", "tf32x3"


class ProductPrecision(Rewrite):
    name = "product_precision"
    doc = (
        "Multiply float32 on tensor cores: each number is split into a large and a small part of tf32, and three "
        "products take the place of one. About as exact as float32, and faster than its multiply-adds (Triton's "
        "`tl.dot`; Ootomo and Yokota, 2022)."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        if setting.element_bytes != 4 or setting.capability < (8, 0):
            return []
        kernels = [k for k in main_kernels(module) if has_dot([module.kernels[k]])]
        return [
            Offer({"kernel": kernel}, f"{kernel} multiplies float32 in three passes on tensor cores", 0.5)
            for kernel in kernels
            if any(True for _ in _exact(module.kernels[kernel]))
        ]

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel = wanted(parameters, "kernel", str)

        def edit(tree: ast.Module) -> None:
            products = list(_exact(function_of(tree, kernel)))
            if not products:
                raise refuse(f"{kernel!r} has no product with input_precision={EXACT!r}")
            for keyword in products:
                keyword.value = ast.Constant(THREE_PASSES)

        return edited(module, edit)


def _exact(function: ast.FunctionDef) -> Iterator[ast.keyword]:
    """The keywords that ask for float32's own products."""
    for call in calls_in([function], "dot"):
        for keyword in call.keywords:
            exact = isinstance(keyword.value, ast.Constant) and keyword.value.value == EXACT
            if keyword.arg == "input_precision" and exact:
                yield keyword

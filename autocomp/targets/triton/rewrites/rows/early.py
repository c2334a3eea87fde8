"""Loads that start before a reduction which they do not depend on."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from autocomp.targets.triton.language.module import Module
from autocomp.targets.triton.rewrites.rewrite import Offer, Rewrite, Setting, refuse, wanted
from autocomp.targets.triton.rewrites.syntax.tree import (
    blocks,
    calls_in,
    edited,
    expression,
    fresh,
    function_of,
    has_dot,
    loads_of,
    main_kernels,
    names_in,
    replace_calls,
    statement,
    stores_of,
    text_of,
)

REDUCTIONS = ("sum", "max", "min", "reduce")


class EarlyLoads(Rewrite):
    name = "early_loads"
    doc = (
        "Start loads before the reduction in front of them where they do not depend on it: their latency passes while "
        "warps wait for each other. What was loaded holds registers meanwhile, in its stored type. Pays for the "
        "weights of normalised rows (measured here)."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        kernels = [kernel for kernel in main_kernels(module) if not has_dot([module.kernels[kernel]])]
        return [
            Offer({"kernel": kernel}, f"loads of {kernel} start before the reductions in front of them", 0.02)
            for kernel in kernels
            if self.applies(module, {"kernel": kernel})
        ]

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel = wanted(parameters, "kernel", str)

        def edit(tree: ast.Module) -> None:
            function = function_of(tree, kernel)
            if not sum(_moved(function, block) for block in blocks(function)):
                raise refuse(f"no load of {kernel!r} waits for a reduction that it does not depend on")

        return edited(module, edit)


def _moved(function: ast.FunctionDef, block: list[ast.stmt]) -> int:
    """Move the loads of a block as far to its front as they can go; how many passed a reduction."""
    moved = 0
    for node in list(block):
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)):
            continue
        for load in list(calls_in([node.value], "load")):
            position = block.index(node)
            first = _earliest(block, position, load)
            if any(True for _ in calls_in(block[first:position], *REDUCTIONS)):
                name = fresh(f"{node.targets[0].id}_early", names_in([function]))
                _give_name(node, load, name)
                block.insert(first, statement(f"{name} = {text_of(load)}"))
                moved += 1
    return moved


def _give_name(node: ast.stmt, load: ast.Call, name: str) -> None:
    """Put a name in the place of a load."""

    def named(call: ast.Call) -> ast.expr | None:
        return expression(name) if call is load else None

    replace_calls([node], named)


def _earliest(block: Sequence[ast.stmt], position: int, load: ast.Call) -> int:
    """The first position from which nothing is assigned that a load reads, nothing written or waited for, and the
    function not left."""
    read = set(loads_of([load]))
    while position > 0:
        before = block[position - 1]
        if set(stores_of([before])) & read or any(_acts(node) for node in ast.walk(before)):
            break
        position -= 1
    return position


def _acts(node: ast.AST) -> bool:
    """True for a call without a value, such as a store or a wait, for an atomic, and where control leaves."""
    if isinstance(node, ast.Attribute):
        return node.attr.startswith("atomic")
    call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    return call or isinstance(node, (ast.Return, ast.Break, ast.Continue))

"""Loops of which a mask hides a part: do not run it, and do not mask the rest."""

from __future__ import annotations

import ast
import copy
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from autocomp.targets.triton.language.module import Module
from autocomp.targets.triton.rewrites.rewrite import Offer, Rewrite, Setting, refuse, wanted
from autocomp.targets.triton.rewrites.syntax.tree import (
    argument,
    block_of,
    bounds,
    called,
    calls_in,
    edited,
    expression,
    function_of,
    loops_in,
    main_kernels,
    text_of,
)


@dataclass(frozen=True)
class _Causal:
    """A loop over blocks of columns, of which rows see those up to their own. `row` is the first row of the program's
    tile, `height` how many it has; `rows` and `cols` are the vectors that the mask compares."""

    loop: ast.For
    where: ast.Call
    row: str
    height: str
    rows: str
    cols: str

    @property
    def step(self) -> str:
        return text_of(bounds(self.loop)[2])


def _find(function: ast.FunctionDef) -> list[_Causal]:
    definitions = {
        n.targets[0].id: n.value
        for n in ast.walk(function)
        if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
    }
    loops = []
    for loop in loops_in(function):
        for where in calls_in(loop.body, "where"):
            for part in _conjuncts(where.args[0]):
                pair = _compared(part)
                if pair is None:
                    continue
                row, col = (_block(definitions.get(name)) for name in pair)
                if row and col and col[0] == text_of(loop.target) and col[1] == text_of(bounds(loop)[2]):
                    loops.append(_Causal(loop, where, row[0], row[1], *pair))
    return loops


def _conjuncts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        return [*_conjuncts(node.left), *_conjuncts(node.right)]
    return [node]


def _compared(node: ast.expr) -> tuple[str, str] | None:
    """`rows` and `cols` of `rows[:, None] >= cols[None, :]`."""
    if not (isinstance(node, ast.Compare) and len(node.ops) == 1):
        return None
    left, right = node.left, node.comparators[0]
    if isinstance(node.ops[0], ast.LtE):
        left, right = right, left
    elif not isinstance(node.ops[0], ast.GtE):
        return None
    sides = [(s.value, text_of(s.slice)) for s in (left, right) if isinstance(s, ast.Subscript)]
    if len(sides) != 2 or "None" not in sides[0][1].split(",")[1] or "None" not in sides[1][1].split(",")[0]:
        return None
    names = [side.id for side, _ in sides if isinstance(side, ast.Name)]
    return (names[0], names[1]) if len(names) == 2 else None


def _block(value: ast.expr | None) -> tuple[str, str] | None:
    """`start` and `n` of `start + tl.arange(0, n)`."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and called(value.right, "arange"):
        extent = argument(value.right, 1, "end") if isinstance(value.right, ast.Call) else None
        return (text_of(value.left), text_of(extent)) if extent is not None else None
    return None


def _causal(function: ast.FunctionDef, why: str) -> _Causal:
    loops = _find(function)
    if not loops:
        raise refuse(f"{function.name!r} {why}")
    return loops[0]


class _OfCausal(Rewrite):
    gain: ClassVar[float]
    says: ClassVar[str]

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices = []
        for kernel in main_kernels(module):
            if not self.applies(module, {"kernel": kernel}):
                continue
            choices.append(Offer({"kernel": kernel}, f"{kernel}: {self.says}", self.gain))
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel = wanted(parameters, "kernel", str)
        return edited(module, lambda tree: self.change(function_of(tree, kernel)))

    @abstractmethod
    def change(self, function: ast.FunctionDef) -> None:
        """Rewrite a kernel in place. Raises NotApplicable."""


class SkipMasked(_OfCausal):
    name = "skip_masked"
    doc = (
        "End a loop where a mask hides all of what follows: a row of causal attention sees columns up to its own "
        "alone, which halves the work of long sequences (Dao, FlashAttention-2, 2023)."
    )
    gain = 0.5
    says = "blocks beyond the diagonal are not computed"

    def change(self, function: ast.FunctionDef) -> None:
        causal = _causal(function, "masks no loop so that blocks beyond a row's own hold nothing")
        start, end, step = bounds(causal.loop)
        if "tl.minimum" in text_of(end) or causal.row in text_of(end):
            raise refuse(f"a loop of {function.name!r} ends at the diagonal already")
        assert isinstance(causal.loop.iter, ast.Call)
        limit = expression(f"tl.minimum({text_of(end)}, {causal.row} + {causal.height})")
        causal.loop.iter.args = [start, limit, step]


class SplitMasked(_OfCausal):
    name = "split_masked"
    doc = (
        "Run the blocks that a mask leaves whole in a loop without the mask, and the blocks on the diagonal in a "
        "second one (Dao, FlashAttention-2, 2023)."
    )
    gain = 0.06
    says = "blocks in front of the diagonal are not masked"

    def change(self, function: ast.FunctionDef) -> None:
        causal = _causal(function, "masks no loop along a diagonal")
        if causal.row not in text_of(bounds(causal.loop)[1]):
            raise refuse(f"a loop of {function.name!r} runs beyond the diagonal", "apply skip_masked first")
        start, end, step = bounds(causal.loop)
        if text_of(start) != "0":
            raise refuse(f"a loop of {function.name!r} does not start at 0; it is split already")
        place, position = block_of(function, causal.loop)
        whole = copy.deepcopy(causal.loop)
        boundary = f"({causal.row}) // {causal.step} * {causal.step}"
        assert isinstance(whole.iter, ast.Call)
        assert isinstance(causal.loop.iter, ast.Call)
        whole.iter.args = [start, expression(boundary), step]
        causal.loop.iter.args = [expression(boundary), end, step]
        target = text_of(causal.where)
        _Unmask(target).visit(whole)
        place.insert(position, whole)


class _Unmask(ast.NodeTransformer):
    """`x = tl.where(mask, x, -inf)` is gone, `tl.where(mask, x, …)` elsewhere is `x`."""

    def __init__(self, where: str) -> None:
        self._where = where

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return node.args[1] if text_of(node) == self._where else node


class ImpliedMask(_OfCausal):
    name = "implied_mask"
    doc = (
        "Leave out the part of a mask that another part implies: columns up to a row's own lie within the tensor if "
        "the row does, and results of other rows are not stored."
    )
    gain = 0.03
    says = "the end of the tensor is implied by the diagonal"

    def change(self, function: ast.FunctionDef) -> None:
        causal = _causal(function, "masks no loop along a diagonal")
        parts = _conjuncts(causal.where.args[0])
        limits = [part for part in parts if self._limit(part, causal.cols) is not None]
        if len(parts) != 2 or len(limits) != 1:
            raise refuse(f"the mask of {function.name!r} is not a diagonal and the end of the tensor")
        limit = self._limit(limits[0], causal.cols)
        for store in calls_in([function], "store"):
            mask = argument(store, 2, "mask")
            if mask is None or all(self._limit(part, causal.rows) != limit for part in _conjuncts(mask)):
                raise refuse(f"{function.name!r} stores rows beyond the end of the tensor")
        kept = next(part for part in parts if part is not limits[0])
        causal.where.args[0] = kept

    @staticmethod
    def _limit(node: ast.expr, vector: str) -> str | None:
        """The end that a vector is compared with."""
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Lt):
            left = node.left
            if isinstance(left, ast.Subscript) and text_of(left.value) == vector:
                return text_of(node.comparators[0])
        return None

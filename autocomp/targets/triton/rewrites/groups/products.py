"""Products by groups of warps: one warp loads, groups of four multiply, and none keeps in step with the others."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from autocomp.targets.triton.language.module import Module
from autocomp.targets.triton.rewrites.groups.common import HOPPER, in_gluon, indented
from autocomp.targets.triton.rewrites.groups.loops import GroupedLoop, Operand, columns_of, loaded, zeros_of
from autocomp.targets.triton.rewrites.rewrite import Offer, Rewrite, Setting, refuse, wanted
from autocomp.targets.triton.rewrites.syntax.tree import (
    called,
    calls_in,
    constexprs,
    edited,
    function_of,
    has_dot,
    main_kernels,
    text_of,
)

SCALED = ((2, 2, 5), (3, 1, 4))  # groups, products of each in flight, stages: of products that are scaled one by one
ADDED = ((2, 1, 4),)  # of products that tensor cores add


class WarpGroups(Rewrite):
    name = "warp_groups"
    doc = (
        "Write the kernel in Gluon: one warp copies tiles by descriptors and runs ahead, two or three groups of four "
        "warps multiply 64 rows each. Groups that scale their products before they add them do so while others use "
        "the tensor cores; `chain` products of a group are in flight by turns (Shah et al., FlashAttention-3, 2024; "
        "measured here: scaled products 15 to 25 % faster). Two products of the same rows become one that is twice as "
        "wide (measured here: a fused MLP is 4 % faster). On Hopper, for operands and results that go "
        "through descriptors; before `split_store`, `persistent`."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        if setting.capability[0] != HOPPER:
            return ()
        choices = []
        for kernel in main_kernels(module):
            joined = sum(1 for _ in calls_in([module.kernels[kernel]], "dot")) > 1
            for groups, chain, stages in ADDED if joined else SCALED:
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
            scales = any(isinstance(n, ast.AugAssign) and has_dot([n]) for n in ast.walk(function_of(tree, kernel)))
            (_Scaled if scales else _Added)(tree, kernel).convert(**numbers)

        return edited(module, edit)


class _Scaled(GroupedLoop):
    """Products that are scaled one by one, and added to a sum by the warps."""

    def find_operands(self) -> tuple[Operand, tuple[Operand, ...]]:
        last = self.loop.body[-1]
        if not isinstance(last, ast.AugAssign) or not isinstance(last.value, ast.BinOp):
            raise refuse("the loop does not end with a sum of scaled products")
        sides = [last.value.left, last.value.right]
        dots = [side for side in sides if called(side, "dot") and isinstance(side, ast.Call)]
        if not isinstance(last.value.op, ast.Mult) or len(dots) != 1:
            raise refuse("the loop does not add one product, times its scale")
        self._sum = text_of(last.target)
        self._scale = text_of(next(side for side in sides if side is not dots[0]))
        self._others = [n for n in self.loop.body[:-1] if loaded(getattr(n, "value", None)) is None]
        return self.operands([dot for dot in dots if isinstance(dot, ast.Call)])

    @property
    def columns(self) -> str:
        return columns_of(zeros_of(self.before, self._sum))

    def multiplied(self, chain: int) -> str:
        zeros = zeros_of(self.before, self._sum)
        alone = self._started(0, "product", "factor") + self._added("product", "factor", 0, "count") + "count += 1\n"
        pair = (
            self._started(0, "product", "factor")
            + self._started(1, "following", "next_factor")
            + self._added("product", "factor", 1, "count")
            + self._added("following", "next_factor", 0, "count + 1")
            + "count += 2\n"
        )
        turns = f"rounds = {_rounds(self.start, self.end, self.step)}\n"
        if chain == 2:
            turns += f"for turn in range(0, rounds // 2 * 2, 2):\n{indented(pair, 1)}\n"
            turns += f"for turn in range(rounds // 2 * 2, rounds):\n{indented(alone, 1)}"
        else:
            turns += f"for turn in range(0, rounds):\n{indented(alone, 1)}"
        cleared = f"{self._sum} = gl.zeros([{self.rows}, {self.columns}], gl.float32, mma)"
        return "\n".join((self.placed([zeros]), cleared, turns))

    def _started(self, ahead: int, product: str, scale: str) -> str:
        turn = f"turn + {ahead}" if ahead else "turn"
        others = "\n".join(in_gluon(node) for node in self._others)
        return f"""\
{self.index} = {_value(self.start, turn, self.step)}
at = count{f" + {ahead}" if ahead else ""}
mbarrier.wait(ready.index(at % STAGES), (at // STAGES) & 1)
{product} = warpgroup_mma(left_tiles.index(at % STAGES * PARTS + PART), {self.right_tile("at % STAGES")},
    gl.zeros([{self.rows}, {self.columns}], gl.float32, mma), use_acc=False, is_async=True)
{others}
{scale} = {in_gluon(self._scale)}
"""

    def _added(self, product: str, scale: str, waiting: int, stage: str) -> str:
        return f"""\
{product} = warpgroup_mma_wait({waiting}, deps=[{product}])
mbarrier.arrive(free.index(({stage}) % STAGES))
{self._sum} += {product} * {scale}
"""


class _Added(GroupedLoop):
    """One product or two of the same rows, added by the tensor cores. Two are made as one, with their columns side by
    side, and taken apart after the loop: wide products read their left operand once for both."""

    def find_operands(self) -> tuple[Operand, tuple[Operand, ...]]:
        self._sums: list[str] = []
        dots: list[ast.Call] = []
        for node in self.loop.body:
            if loaded(getattr(node, "value", None)) is not None:
                continue
            value = node.value if isinstance(node, ast.Assign) else None
            if not (isinstance(node, ast.Assign) and isinstance(value, ast.Call) and called(value, "dot")):
                raise refuse(f"the loop does more than to load and to add products: {text_of(node)}")
            target = text_of(node.targets[0])
            if len(value.args) != 3 or text_of(value.args[2]) != target:
                raise refuse(f"{target!r} is not a sum that products are added to")
            self._sums.append(target)
            dots.append(value)
        left, rights = self.operands(dots)
        if len(rights) > 2 or (len(rights) == 2 and not all(right.transposed for right in rights)):
            raise refuse("expected one product, or two whose right operands are transposed")
        return left, rights

    @property
    def columns(self) -> str:
        width = columns_of(self._zeros[0])
        return f"{len(self._sums)} * {width}" if len(self._sums) > 1 else width

    @property
    def _zeros(self) -> list[ast.Assign]:
        zeros = [zeros_of(self.before, name) for name in self._sums]
        if len({columns_of(one) for one in zeros}) > 1:
            raise refuse("the sums differ in their columns")
        return zeros

    def multiplied(self, chain: int) -> str:
        if chain != 1:
            raise refuse(f"products that tensor cores add are in flight one after the other, got chains of {chain}")
        if columns_of(self._zeros[0]) not in constexprs(self.kernel):
            raise refuse("the kernel has no constant for the columns of a tile")
        first = self._sums[0]
        taken_apart = ""
        if len(self._sums) > 1:
            shape = f"[{self.rows}, 2, {columns_of(self._zeros[0])}]"
            taken_apart = f"\n{', '.join(self._sums)} = {first}.reshape({shape}).permute([0, 2, 1]).split()"
        return f"""\
{self.placed(self._zeros)}
{first} = gl.zeros([{self.rows}, {self.columns}], gl.float32, mma)
for {self.index} in range({self.start}, {self.end}, {self.step}):
    stage = count % STAGES
    mbarrier.wait(ready.index(stage), (count // STAGES) & 1)
    {first} = warpgroup_mma(left_tiles.index(stage * PARTS + PART), {self.right_tile("stage")},
        {first}, use_acc={self.index} > {self.start}, is_async=True)
    {first} = warpgroup_mma_wait(1, deps=[{first}])
    mbarrier.arrive(free.index((count - 1) % STAGES), pred={self.index} > {self.start})
    count += 1
{first} = warpgroup_mma_wait(0, deps=[{first}])
mbarrier.arrive(free.index((count - 1) % STAGES), pred={self.end} > {self.start}){taken_apart}"""


def _value(start: str, turn: str, step: str) -> str:
    """The loop's variable in a turn."""
    scaled = turn if step == "1" else f"({turn}) * {step}"
    return scaled if start == "0" else f"{start} + {scaled}"


def _rounds(start: str, end: str, step: str) -> str:
    """The number of turns of a loop."""
    length = end if start == "0" else f"{end} - ({start})"
    return length if step == "1" else f"gl.cdiv({length}, {step})"

"""Attention by groups of warps, written out in Gluon, as FlashAttention-3 orders its work."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from autocomp.targets.triton.language.module import Launch, Module
from autocomp.targets.triton.rewrites.groups.common import (
    DESCRIPTOR,
    HOPPER,
    barriers,
    import_gluon,
    layout,
    specialised,
)
from autocomp.targets.triton.rewrites.rewrite import Offer, Rewrite, Setting, refuse, wanted
from autocomp.targets.triton.rewrites.syntax.tree import (
    block_of,
    bound_arguments,
    edited,
    fresh,
    function_of,
    launch_statement,
    launches_of,
    main_kernels,
    names_in,
    statement,
    statements,
    text_of,
)
from autocomp.targets.triton.start.attention import ATTENTION_KERNEL, attention

ROWS = 128  # of queries in a program, and of keys in a block: only blocks on the diagonal are masked
GROUPS = 2  # of warps that multiply, 64 rows each
STAGES = 2  # blocks of keys and of values in shared memory
WIDTHS = (64, 128)

_FREE = ("tl", "range", "float")  # names that stand for themselves

_VALUES = "q_desc, k_desc, v_desc, o_desc, scale, length, rows, heads"
_SHARED = "q_tiles, k_tiles, v_tiles, o_tiles, q_ready, q_free, k_ready, k_free, v_ready, v_free"
_CONSTANTS = ("WIDTH", "ROWS", "PARTS", "STAGES", "CAUSAL")
_TYPED = ", ".join(f"{name}: gl.constexpr" for name in _CONSTANTS)

# Programs take turns on the tiles, in alternating directions: rows with the longest loops come first.
_PLACE = """
@gluon.jit
def PLACE(turn, rows, heads):
    programs = gl.num_programs(0)
    number = gl.program_id(0)
    tile = turn * programs + gl.where(turn % 2 == 0, number, programs - 1 - number)
    return tile, rows - 1 - tile // heads, tile % heads
"""

_LOAD = f"""
@gluon.jit
def LOAD({_VALUES}, {_SHARED}, {_TYPED}):
    count = 0
    for turn in range(0, gl.cdiv(rows * heads, gl.num_programs(0))):
        tile, row, head = PLACE(turn, rows, heads)
        if tile < rows * heads:
            base = head * length
            blocks = rows
            if CAUSAL:
                blocks = row + 1
            mbarrier.wait(q_free.index(0), turn & 1 ^ 1)
            mbarrier.expect(q_ready.index(0), PARTS * q_desc.block_type.nbytes)
            for part in gl.static_range(PARTS):
                tma.async_copy_global_to_shared(
                    q_desc, [base + row * ROWS + part * (ROWS // PARTS), 0], q_ready.index(0), q_tiles.index(part)
                )
            for i in range(0, blocks):
                stage = count % STAGES
                phase = count // STAGES & 1 ^ 1
                start = base + (blocks - 1 - i) * ROWS
                mbarrier.wait(k_free.index(stage), phase)
                mbarrier.expect(k_ready.index(stage), k_desc.block_type.nbytes)
                tma.async_copy_global_to_shared(k_desc, [start, 0], k_ready.index(stage), k_tiles.index(stage))
                mbarrier.wait(v_free.index(stage), phase)
                mbarrier.expect(v_ready.index(stage), v_desc.block_type.nbytes)
                tma.async_copy_global_to_shared(v_desc, [start, 0], v_ready.index(stage), v_tiles.index(stage))
                count += 1
"""

# The scores of a block are started before the weights of the one before are multiplied with its values, so that the
# softmax of one overlaps with the products of the other (Shah et al., FlashAttention-3, 2024, section 3.2).
_ATTEND = f"""
@gluon.jit
def ATTEND({_VALUES}, {_SHARED}, {_TYPED}, PART: gl.constexpr):
    OWN: gl.constexpr = ROWS // PARTS
    s_mma: gl.constexpr = gl.NVMMADistributedLayout(
        version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, ROWS, 16]
    )
    o_mma: gl.constexpr = gl.NVMMADistributedLayout(
        version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, WIDTH, 16]
    )
    operand: gl.constexpr = gl.DotOperandLayout(0, o_mma, 2)
    o_row: gl.constexpr = gl.SliceLayout(1, o_mma)
    count = 0
    for turn in range(0, gl.cdiv(rows * heads, gl.num_programs(0))):
        tile, row, head = PLACE(turn, rows, heads)
        if tile < rows * heads:
            base = head * length
            first = row * ROWS + PART * OWN
            blocks = rows
            if CAUSAL:
                blocks = row + 1
            q = q_tiles.index(PART)
            mbarrier.wait(q_ready.index(0), turn & 1)
            stage = count % STAGES
            mbarrier.wait(k_ready.index(stage), count // STAGES & 1)
            scores = warpgroup_mma(
                q, k_tiles.index(stage).permute([1, 0]), gl.zeros([OWN, ROWS], gl.float32, s_mma),
                use_acc=False, is_async=True,
            )
            scores = warpgroup_mma_wait(0, deps=[scores])
            mbarrier.arrive(k_free.index(stage))
            if CAUSAL:
                offs_m = first + gl.arange(0, OWN, gl.SliceLayout(1, s_mma))
                offs_n = row * ROWS + gl.arange(0, ROWS, gl.SliceLayout(0, s_mma))
                scores = gl.where(offs_m[:, None] >= offs_n[None, :], scores, -float("inf"))
            largest = gl.max(scores, axis=1) * scale
            weights = gl.exp2(scores * scale - largest[:, None])
            total = gl.sum(weights, axis=1)
            left = gl.convert_layout(weights.to(q_desc.dtype), operand)
            acc = gl.zeros([OWN, WIDTH], gl.float32, o_mma)
            for i in range(1, blocks):
                later = count + 1
                next_stage = later % STAGES
                mbarrier.wait(k_ready.index(next_stage), later // STAGES & 1)
                following = warpgroup_mma(
                    q, k_tiles.index(next_stage).permute([1, 0]), gl.zeros([OWN, ROWS], gl.float32, s_mma),
                    use_acc=False, is_async=True,
                )
                mbarrier.wait(v_ready.index(stage), count // STAGES & 1)
                growing = warpgroup_mma(left, v_tiles.index(stage), acc, is_async=True)
                scores = warpgroup_mma_wait(1, deps=[following])
                mbarrier.arrive(k_free.index(next_stage))
                new = gl.maximum(largest, gl.max(scores, axis=1) * scale)
                weights = gl.exp2(scores * scale - new[:, None])
                shrink = gl.exp2(largest - new)
                total = total * shrink + gl.sum(weights, axis=1)
                largest = new
                acc = warpgroup_mma_wait(0, deps=[growing])
                mbarrier.arrive(v_free.index(stage))
                left = gl.convert_layout(weights.to(q_desc.dtype), operand)
                acc = acc * gl.convert_layout(shrink, o_row)[:, None]
                count = later
                stage = next_stage
            mbarrier.arrive(q_free.index(0))
            mbarrier.wait(v_ready.index(stage), count // STAGES & 1)
            growing = warpgroup_mma(left, v_tiles.index(stage), acc, is_async=True)
            acc = warpgroup_mma_wait(0, deps=[growing])
            mbarrier.arrive(v_free.index(stage))
            count += 1
            acc = acc * gl.convert_layout(1.0 / total, o_row)[:, None]
            tma.store_wait(0)
            o_tiles.index(PART).store(acc.to(o_desc.dtype))
            fence_async_shared()
            tma.async_copy_shared_to_global(o_desc, [base + first, 0], o_tiles.index(PART))
    tma.store_wait(0)
"""


def _main() -> str:
    """The kernel that allocates shared memory and starts the groups."""
    tiles = {"q": ("PARTS", "ROWS // PARTS"), "k": ("STAGES", "ROWS"), "v": ("STAGES", "ROWS")}
    tiles["o"] = tiles["q"]
    allocated = "\n".join(
        f"    {name}_tiles = gl.allocate_shared_memory({name}_desc.dtype, [{depth}, {rows}, WIDTH], {name}_desc.layout)"
        for name, (depth, rows) in tiles.items()
    )
    given = f"({_VALUES}, {_SHARED}, {', '.join(_CONSTANTS)}"
    attending = [f"(ATTEND, {given}, {part}))" for part in range(GROUPS)]
    return f"""
@gluon.jit
def MAIN({_VALUES}, {_TYPED}):
{allocated}
{barriers(["q_ready", "q_free"], "1")}
{barriers(["k_ready", "k_free", "v_ready", "v_free"], "STAGES")}
    mbarrier.init(q_ready.index(0), count=1)
    mbarrier.init(q_free.index(0), count=PARTS)
    for i in gl.static_range(STAGES):
        mbarrier.init(k_ready.index(i), count=1)
        mbarrier.init(k_free.index(i), count=PARTS)
        mbarrier.init(v_ready.index(i), count=1)
        mbarrier.init(v_free.index(i), count=PARTS)
    fence_async_shared()
    {specialised(attending[0], [*attending[1:], f"(LOAD, {given}))"])}
"""


class AttentionGroups(Rewrite):
    name = "attention_groups"
    doc = (
        "Write a plain attention kernel in Gluon: one warp copies blocks of keys and values by descriptors and runs "
        "ahead, two groups of four warps have 64 rows each; the scores of the next block are started before the "
        "softmax of this one, only blocks on the diagonal are masked, and programs stay for several tiles, the "
        "longest first (Shah et al., FlashAttention-3, 2024; measured here: three times as fast as the plain one). For "
        "16-bit floats, widths of 64 and 128, and lengths that are multiples of 128; others keep the plain kernel."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        if setting.capability[0] != HOPPER:
            return ()
        choices = []
        for kernel in main_kernels(module):
            given = {"kernel": kernel, "programs": setting.multiprocessors}
            if not self.applies(module, given):
                continue
            choices.append(Offer(given, f"{kernel} by groups of warps: one loads, two multiply", 0.6))
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel, programs = wanted(parameters, "kernel", str), wanted(parameters, "programs", int)

        def edit(tree: ast.Module) -> None:
            _convert(tree, kernel, programs)

        return edited(module, edit)


def _convert(tree: ast.Module, kernel: str, programs: int) -> None:
    function = function_of(tree, kernel)
    causal, names = _matched(function)
    launches = launches_of(tree, kernel)
    if len(launches) != 1:
        raise refuse(f"{kernel!r} is launched {len(launches)} times, expected once")
    given = {name: text_of(bound_arguments(launches[0], function)[own]) for name, own in names.items()}
    if not re.fullmatch(r"\w+ \*\* \(?-0\.5\)?", given["scale"]):
        raise refuse(f"scores are scaled by {given['scale']}, expected the width to the power of -0.5")
    taken = names_in([tree])
    roles = {role: fresh(f"{kernel}_{role.lower()}", taken) for role in ("PLACE", "LOAD", "ATTEND")}
    roles["MAIN"] = fresh(f"{kernel}_groups", taken)
    text = _PLACE + _LOAD + _ATTEND + _main()
    for role, name in roles.items():
        text = re.sub(rf"\b{role}\b", name, text)
    position = tree.body.index(function)
    tree.body[position + 1 : position + 1] = statements(text)
    _dispatch(tree, launches[0], roles["MAIN"], given, programs, causal)
    import_gluon(tree)


def _dispatch(
    tree: ast.Module, launch: Launch, main: str, given: Mapping[str, str], programs: int, causal: bool
) -> None:
    """Launch the groups for tensors that they are made for, else the kernel that there was."""
    host = function_of(tree, launch.host)
    place, position = block_of(host, launch_statement(host, launch))
    tensors = {name: given[f"{name}_ptr"] for name in "qkvo"}
    length, width, q = given["length"], given["WIDTH"], tensors["q"]
    described = []
    for name, tensor in tensors.items():
        rows = ROWS // GROUPS if name in "qo" else ROWS
        described.append(
            f"{DESCRIPTOR}({tensor}, [{tensor}.numel() // {width}, {width}], [{width}, 1], [{rows}, {width}], "
            f"{layout(tensor)})"
        )
    heads = f"{q}.numel() // ({length} * {width})"
    tiles = f"{q}.numel() // ({ROWS} * {width})"
    numbers = f"WIDTH={width}, ROWS={ROWS}, PARTS={GROUPS}, STAGES={STAGES}, CAUSAL={causal}, num_warps=4"
    test = (
        f"{q}.is_cuda and {q}.element_size() == 2 and {length} % {ROWS} == 0 "
        f"and ({' or '.join(f'{width} == {known}' for known in WIDTHS)})"
    )
    launched = (
        f"{main}[(min({tiles}, {programs}),)]({', '.join(described)}, {given['scale']} * 1.4426950408889634, {length}, "
        f"{length} // {ROWS}, {heads}, {numbers})"
    )
    chosen = statement(f"if {test}:\n    {launched}\nelse:\n    pass")
    assert isinstance(chosen, ast.If)
    chosen.orelse = [place[position]]
    place[position] = chosen


def _matched(function: ast.FunctionDef) -> tuple[bool, dict[str, str]]:
    """True for causal attention, and the names of the parameters by those of the starting kernel. Raises NotApplicable
    where the kernel differs from the starting kernel in more than names."""
    for causal in (True, False):
        start = ast.parse(attention({"width": WIDTHS[0]}, {"causal": causal}))
        pattern = function_of(start, ATTENTION_KERNEL)
        names: dict[str, str] = {}
        if _same(pattern.body, function.body, names):
            return causal, {a.arg: names.get(a.arg, "") for a in pattern.args.args}
    raise refuse(f"{function.name!r} is not attention as plain as it is generated")


def _same(pattern: Any, pairs: Any, names: dict[str, str]) -> bool:
    """True if two trees differ only in names, and each name always replaces the same other name."""
    if isinstance(pattern, list):
        if not isinstance(pairs, list) or len(pattern) != len(pairs):
            return False
        return all(_same(one, other, names) for one, other in zip(pattern, pairs, strict=True))
    if isinstance(pattern, ast.Name) and isinstance(pairs, ast.Name) and pattern.id not in _FREE:
        own = names.setdefault(pattern.id, pairs.id)
        return own == pairs.id and list(names.values()).count(own) == 1
    if isinstance(pattern, ast.AST):
        if type(pattern) is not type(pairs):
            return False
        fields = [field for field in pattern._fields if field not in ("ctx", "type_comment")]
        return all(_same(getattr(pattern, field), getattr(pairs, field), names) for field in fields)
    return bool(pattern == pairs)

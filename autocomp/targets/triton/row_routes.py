"""Routes of kernels that memory limits: rows in registers, or blocks of them."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from autocomp.targets.triton.language import Module
from autocomp.targets.triton.residency import LARGEST_BLOCK
from autocomp.targets.triton.rewrites import Setting
from autocomp.targets.triton.rewrites.syntax.ranks import rank, ranks_of
from autocomp.targets.triton.rewrites.syntax.tree import (
    bound_arguments,
    bounds,
    calls_in,
    constexprs,
    has_dot,
    launches_of,
    loops_in,
    main_kernels,
    text_of,
)
from autocomp.targets.triton.way import Route, Way

MOST_EACH = 128  # elements that a thread holds: more of them spill, and take minutes to compile
FEWEST_EACH = 4  # elements that a thread holds: fewer leave it waiting
BEST_EACH = {"whole": 24, "block": 48, "short": 8}  # elements that a thread held where it was fastest, on an H200
BLOCKS = (8192, 4096, 2048)  # of rows that do not fit into registers, the fastest first
EARLY = 0.001  # gain of loads that start before the reduction in front of them
WIDEST = 16_384  # elements of a row that one block still holds well

# Elements of a block, and warps, of kernels whose sizes the launch states: the fastest first, measured on an H200. Four
# elements a thread are one load of 16 bytes; columns of a reduction are few, and want many small programs. Windows are
# read from places that are not aligned, each element by itself: two a thread are best.
SIZES: Mapping[str, Sequence[tuple[int, int]]] = {
    "elements": ((512, 4), (1024, 8), (256, 2), (1024, 4)),
    "columns": ((256, 2), (512, 4), (128, 1), (1024, 8)),
    "windows": ((256, 4), (512, 8), (256, 8), (512, 4)),
    "rows": ((4096, 8), (8192, 8), (2048, 4), (8192, 16)),
    "scan": ((1024, 4), (2048, 4), (8192, 8), (4096, 8)),
}
WARPS_OF_TILES = (8, 2, 16, 1)  # of tiles of rows or columns, which start with four
WARPS = (1.0, 0.5, 2.0, 4.0)  # of rows in registers, relative to those that have the best number of elements a thread


def row_routes(module: Module, setting: Setting) -> Iterator[Route]:
    """One row in registers, or one pass in blocks, with each policy of the caches and numbers of warps and rows."""
    if states_sizes(module):
        yield from _settled(module, setting)
        return
    start = Way(module, setting)
    start.each("join_pairs")
    whole, looped = start.copy(), start.copy()
    for kernel in _row_kernels(module):
        whole.take("one_block", kernel=kernel)
        if not looped.take("online_softmax", kernel=kernel):
            looped.take("one_block", kernel=kernel)
    short = setting.dims.get("width", 1 << 20) <= 1024
    for way, blocks in ((whole, (0,)), (looped, BLOCKS)):
        for name in ("exp2", "reciprocal"):
            way.each(name)
        for block in blocks:
            if block and way.module.text == whole.module.text:
                continue
            yield from _row_settings(way, block, short)


def _row_settings(way: Way, block: int, short: bool) -> Iterator[Route]:
    rows = (8, 16, 4) if short else (1, 2)
    dims = way.setting.dims
    widest = dims["width"] if short else max(dims.values(), default=0)
    first = _row_kernels(way.module)[0]
    best = BEST_EACH["block" if block else "short" if short else "whole"]
    policies = (
        ("evict_last", "evict_first", "") if _stores_rows(way.module, first) else ("evict_first", "", "evict_last")
    )
    for count, policy, warps in itertools.product(rows if not block else (1,), policies, (2, 4, 8, 16, 32)):
        each = count * (block or widest) / (32 * warps)
        if not (FEWEST_EACH <= each <= MOST_EACH):
            continue
        settings = way.copy()
        if count > 1 and not settings.each("rows_per_program", rows=count):
            continue
        if policy:
            settings.each("cache_hints", policy=policy)
        values = {"num_warps": warps} | ({"BLOCK": block} if block else {})
        settings.take("set_parameters", kernel=first, values=values)
        if way.setting.capability >= (9, 0):
            settings.take("overlap_launches")
        what = f"blocks of {block}" if block else "whole rows"
        reason = f"{what} in registers, {count} at a time, {warps} warps" + (f", {policy}" if policy else "")
        gain = 0.9 - 0.015 * rows.index(count) - 0.03 * policies.index(policy) - 0.02 * abs(math.log2(each / best))
        gain -= 0.01 * BLOCKS.index(block) if block else 0.0
        gain -= 0.2 if bool(block) != (widest > WIDEST) else 0.0
        yield settings.done(reason, gain)
        if not block and settings.each("early_loads"):
            yield settings.done(f"{reason}, early loads", gain + EARLY)


def _stores_rows(module: Module, kernel: str) -> bool:
    """True for a kernel that writes rows as it reads them, False where it writes one number for each."""
    function = module.kernels[kernel]
    ranks = ranks_of(function)
    return any(call.args and rank(call.args[0], ranks) > 0 for call in calls_in([function], "store"))


def _row_kernels(module: Module) -> Sequence[str]:
    """The main kernels, those with the most work first: kernels launched on one program come last."""
    return sorted(main_kernels(module), key=lambda kernel: len(module.kernels[kernel].args.args) <= 4)


# --- kernels whose sizes the launch states, such as those of a traced operation ---------------------------------------


def states_sizes(module: Module) -> bool:
    """True where every launch gives its kernel numbers alone, besides tensors."""
    literal = []
    for kernel in main_kernels(module):
        function = module.kernels[kernel]
        for launch in launches_of(module.tree, kernel):
            given = bound_arguments(launch, function)
            names = [
                name for name in given if not name.endswith(("_ptr", "_desc")) and name not in constexprs(function)
            ]
            literal += [isinstance(given[name], ast.Constant) for name in names]
    return bool(literal) and all(literal)


def settle(way: Way, choice: int, whole: bool = True) -> None:
    """Give each kernel without products the sizes that suit it; `choice` counts from the best. Rows that fit are held
    in registers if they are to be `whole`. Long ones have to be read more than once for that to pay."""
    for kernel in main_kernels(way.module):
        if has_dot([way.module.kernels[kernel]]):
            continue
        if {"COLUMNS", "ROWS"} & {*constexprs(way.module.kernels[kernel])}:
            way.take("set_parameters", kernel=kernel, values={"num_warps": WARPS_OF_TILES[choice]})
            continue
        length = _length(way.module, kernel)
        longest = LARGEST_BLOCK if _passes(way.module, kernel) > 1 else WIDEST
        fits = whole and 0 < length <= longest and not _scans(way.module, kernel)
        if fits and way.take("one_block", kernel=kernel):
            padded = 1 << (length - 1).bit_length()
            warps = padded / (32 * BEST_EACH["whole"]) * WARPS[choice]
            way.take("set_parameters", kernel=kernel, values={"num_warps": _power(warps)})
            continue
        way.take("online_softmax", kernel=kernel)
        block, warps = SIZES[_kind(way.module, kernel, length)][choice]
        if "BLOCK" in constexprs(way.module.kernels[kernel]):
            way.take("set_parameters", kernel=kernel, values={"BLOCK": block, "num_warps": warps})


def _settled(module: Module, setting: Setting) -> Iterator[Route]:
    """Every kernel in its best sizes, then in the next best; rows in registers or in blocks, with and without hints."""
    in_blocks = Way(module, setting)
    settle(in_blocks, 0, whole=False)
    for choice in range(len(WARPS)):
        way = Way(module, setting)
        settle(way, choice)
        rank_of = f"the sizes that suit each kernel{', next best' if choice else ''}"
        yield way.done(rank_of, 0.95 - 0.04 * choice)
        if choice == 0 and any(_length(module, kernel) for kernel in main_kernels(module)):
            way.each("cache_hints", policy="evict_first")
            yield way.done(f"{rank_of}, what is read once leaves the cache first", 0.93)
            if in_blocks.module.text != way.module.text:
                yield in_blocks.done("rows in blocks", 0.9)


def _passes(module: Module, kernel: str) -> int:
    """The times that a kernel goes over a row in blocks."""
    return sum(1 for loop in loops_in(module.kernels[kernel]) if text_of(bounds(loop)[2]) == "BLOCK")


def _length(module: Module, kernel: str) -> int:
    """The length of the rows that a kernel goes over in blocks, 0 where it does something else."""
    function = module.kernels[kernel]
    given = bound_arguments(launches_of(module.tree, kernel)[0], function)
    for loop in loops_in(function):
        _, end, step = bounds(loop)
        extent = given.get(text_of(end))
        if text_of(step) == "BLOCK" and isinstance(extent, ast.Constant) and isinstance(extent.value, int):
            return extent.value
    return 0


def _kind(module: Module, kernel: str, length: int) -> str:
    if length:
        return "scan" if _scans(module, kernel) else "rows"
    ends = [bounds(loop)[1] for loop in loops_in(module.kernels[kernel])]
    if any(text_of(end) == "length" for end in ends):
        return "columns"
    return "windows" if ends else "elements"


def _scans(module: Module, kernel: str) -> bool:
    return any(True for _ in calls_in([module.kernels[kernel]], "cumsum", "cumprod", "associative_scan"))


def _power(number: float) -> int:
    """The power of two that is nearest, as a number of warps."""
    return min(32, max(1, 1 << round(math.log2(max(number, 1.0)))))

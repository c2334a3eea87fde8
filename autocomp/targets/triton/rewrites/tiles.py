"""Tiles of products that are worth trying, in the order in which they were fast on Hopper."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from autocomp.targets.triton.rewrites.rewrite import Setting
from autocomp.targets.triton.rewrites.syntax.tree import calls_in, has_dot, text_of

PRODUCTS = (  # rows, columns, depth, warps, stages: in the order in which they were fast on Hopper
    (128, 256, 64, 8, 3, 0.6),
    (128, 256, 64, 8, 4, 0.57),
    (128, 128, 64, 4, 4, 0.55),
    (64, 256, 64, 4, 4, 0.5),
    (256, 128, 64, 8, 3, 0.45),
    (128, 128, 64, 8, 4, 0.4),
    (64, 128, 64, 4, 4, 0.3),
    (128, 64, 64, 4, 4, 0.3),
)
WIDE = (  # of float32, whose tiles take twice the memory: multiplied in three passes on tensor cores
    (128, 64, 32, 4, 4, 0.6),
    (128, 128, 32, 8, 4, 0.57),
    (128, 64, 32, 8, 3, 0.55),
    (64, 64, 32, 4, 4, 0.5),
    (256, 64, 32, 8, 3, 0.45),
    (128, 128, 32, 8, 3, 0.4),
)
ROUNDED = (  # of float32 rounded to tf32, which tensor cores multiply in one pass
    (128, 128, 32, 4, 3, 0.6),
    (256, 128, 32, 8, 3, 0.58),
    (128, 128, 32, 8, 4, 0.56),
    (256, 64, 32, 8, 3, 0.5),
    (128, 64, 32, 8, 4, 0.45),
    (64, 128, 32, 4, 4, 0.4),
)
IN_PARTS = (  # of float32 as the sum of two such numbers: several programs share a multiprocessor
    (128, 128, 32, 8, 3, 0.6),
    (128, 64, 32, 4, 3, 0.58),
    (64, 64, 32, 4, 4, 0.55),
    (128, 64, 32, 4, 2, 0.5),
    (128, 128, 32, 4, 3, 0.45),
    (64, 128, 32, 4, 4, 0.4),
)
SCALED = (
    (64, 128, 4, 4, 0.5),
    (64, 128, 4, 3, 0.45),
    (128, 128, 8, 4, 0.4),
    (128, 128, 8, 5, 0.35),
    (64, 64, 4, 3, 0.3),
    (128, 64, 8, 4, 0.25),
)
SCALE_BLOCK = 128  # rows and columns that share a scale in products of 8-bit floats: then a tile's depth too
MANY = 1 << 30  # columns, where they are not known
MOST_STAGES = 4  # of a tile of which two fit
NARROWEST = 16  # columns of a tile that tensor cores multiply


def sums_of_products(function: ast.FunctionDef) -> int:
    """The number of sums that the products of a kernel are added to: several may be parts of one."""
    calls = list(calls_in([function], "dot"))
    return len({text_of(call.args[2]) if len(call.args) > 2 else text_of(call) for call in calls})


def tiles_read(function: ast.FunctionDef, sums: int) -> tuple[int, int]:
    """The tiles of left and of right operands that a round of the loop over products reads."""
    calls = list(calls_in([function], "dot"))
    if len(calls) > sums:  # operands in parts
        lefts, rights = ({text_of(call.args[at]) for call in calls} for at in range(2))
        return len(lefts), len(rights)
    return max(1, sum(1 for _ in calls_in(_loops_with_products(function), "load")) - sums), sums


def _loops_with_products(function: ast.FunctionDef) -> list[ast.stmt]:
    return [node for node in ast.walk(function) if isinstance(node, ast.For) and has_dot([node])]


def roles_of(names: set[str]) -> dict[str, str]:
    """The kernel's constants that are the tile's rows, columns and depth, by the usual endings of their names."""
    roles: dict[str, str] = {}
    for role, endings in (("BLOCK_M", ("_M", "M")), ("BLOCK_N", ("_N", "N")), ("BLOCK_K", ("_K", "K"))):
        fitting = sorted(n for n in names if n.upper().startswith("B") and n.upper().endswith(endings))
        if fitting:
            roles[role] = fitting[0]
    return roles


def product_tiles(
    known: Mapping[str, int],
    names: set[str],
    setting: Setting,
    extents: tuple[int, int],
    products: int,
    read: tuple[int, int],
    tiles: Sequence[tuple[int, int, int, int, int, float]],
) -> list[tuple[dict[str, int], float]]:
    """Tiles for a product, none much larger than it. Several products of a loop share the width of a tile; a left
    operand may be made of several tiles that are read. Tiles that have all columns, by a number in the kernel, have as
    many results as others. The second of these lets two programs share a multiprocessor: one works on its results while
    the other multiplies."""
    role = roles_of(names)
    depth = known[role["BLOCK_K"]]
    if setting.element_bytes == 1 and depth == SCALE_BLOCK:
        return [
            ({role["BLOCK_M"]: m, role["BLOCK_N"]: n, "num_warps": w, "num_stages": s}, gain)
            for m, n, w, s, gain in SCALED
        ]
    settings: list[tuple[dict[str, int], float]] = []
    tallest = max(known[role["BLOCK_M"]], 1 << (extents[0] - 1).bit_length())
    widest = max(NARROWEST, 1 << (extents[1] - 1).bit_length())

    def bytes_of(m: int, n: int, k: int) -> int:
        """The bytes of a stage."""
        return (m * read[0] + n * read[1]) * k * setting.element_bytes

    for wanted_rows, wanted_columns, deepest, warps, stages, gain in tiles:
        m, n = min(wanted_rows, tallest), min(wanted_columns // products, widest)
        if "BLOCK_N" not in role:
            m, n = max(NARROWEST, m * n // widest), widest
        k = min(deepest, depth) if setting.element_bytes == 4 else deepest
        tile = _tile(role, m, n, k, warps, stages)
        same = any(tile == other for other, _ in settings)
        if not same and bytes_of(m, n, k) * stages <= setting.shared_bytes:
            settings.append((tile, gain))
            if len(settings) == 1 and "BLOCK_N" not in role:
                fitting = min(MOST_STAGES, setting.shared_bytes // (2 * bytes_of(m, n, k)))
                settings += [(_tile(role, m, n, k, 8, fitting), gain - 0.01)] if fitting > 1 else []
    return settings


def _tile(role: Mapping[str, str], m: int, n: int, k: int, warps: int, stages: int) -> dict[str, int]:
    sizes = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}
    return {role[size]: value for size, value in sizes.items() if size in role} | {
        "num_warps": warps,
        "num_stages": stages,
    }

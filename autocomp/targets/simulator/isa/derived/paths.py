"""Conditions on the way to an access."""

from __future__ import annotations

from autocomp.targets.simulator.isa.tree import Expression

Path = tuple[tuple[Expression, bool], ...]  # conditions, with the value that each must have


def merged(paths: list[Path]) -> list[Path]:
    """Paths that together are taken when the given ones are, without conditions that complete each other."""
    remaining = list(dict.fromkeys(paths))
    while (pair := _complementary(remaining)) is not None:
        first, second, common = pair
        remaining = list(dict.fromkeys(common if p in (first, second) else p for p in remaining))
    return [p for p in remaining if not any(q != p and set(q) <= set(p) for q in remaining)]


def _complementary(paths: list[Path]) -> tuple[Path, Path, Path] | None:
    """Two paths that differ in the value of one condition only, and what they share."""
    for path in paths:
        for position, (condition, wanted) in enumerate(path):
            other = (*path[:position], (condition, not wanted), *path[position + 1 :])
            if other in paths:
                return path, other, (*path[:position], *path[position + 1 :])
    return None

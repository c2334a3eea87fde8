"""The nearest of many points in the sum of absolute differences, by a k-d tree.

J. L. Bentley, "Multidimensional binary search trees used for associative searching", CACM 18(9), 1975.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")
Point = tuple[float, ...]
LEAF = 8  # points that are compared one by one


@dataclass(frozen=True)
class Tree(Generic[Item]):
    """A leaf with members, or two subtrees on either side of a plane, the low one including it."""

    members: Sequence[tuple[Point, Item]] = ()
    axis: int = 0
    plane: float = 0.0
    sides: tuple[Tree[Item], Tree[Item]] | None = None


def build(members: Sequence[tuple[Point, Item]]) -> Tree[Item]:
    """Split at the median of the axis with the widest spread."""
    if len(members) <= LEAF:
        return Tree(members)
    axes = range(len(members[0][0]))
    spread = [max(p[axis] for p, _ in members) - min(p[axis] for p, _ in members) for axis in axes]
    if max(spread, default=0.0) == 0.0:
        return Tree(members)
    axis = spread.index(max(spread))
    ordered = sorted(members, key=lambda member: member[0][axis])
    values = [point[axis] for point, _ in ordered]
    half = (len(ordered) - 1) // 2
    plane = values[half] if values[half] < values[-1] else max(v for v in values if v < values[-1])
    low = [member for member in ordered if member[0][axis] <= plane]
    return Tree(axis=axis, plane=plane, sides=(build(low), build(ordered[len(low) :])))


def nearest(
    trees: Sequence[Tree[Item]], point: Point, accepts: Callable[[Item], bool] = lambda item: True
) -> tuple[float, Item] | None:
    """The accepted item of the trees at the smallest distance, with that distance; of equals one of the first tree."""
    best: tuple[float, Item] | None = None
    pending: list[tuple[float, Point, Tree[Item]]] = [(0.0, (0.0,) * len(point), tree) for tree in reversed(trees)]
    while pending:
        bound, offsets, node = pending.pop()
        if best is not None and bound >= best[0]:
            continue
        for member, item in node.members:
            distance = sum(abs(a - b) for a, b in zip(point, member, strict=True))
            if (best is None or distance < best[0]) and accepts(item):
                best = distance, item
        if node.sides is not None:
            axis, beyond = node.axis, point[node.axis] - node.plane
            near, far = node.sides if beyond <= 0 else node.sides[::-1]
            offset = max(offsets[axis], abs(beyond))
            farther = (*offsets[:axis], offset, *offsets[axis + 1 :])
            pending.append((sum(farther), farther, far))
            pending.append((bound, offsets, near))
    return best

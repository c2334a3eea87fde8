"""The computations that a flow of values carries out, exactly.

A fingerprint checks that every product of a computation is there, and none twice. With random weights for all
coordinates, the weights of the products that the commands form must add up, modulo 2^64, to those of all products of
the computation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction, Tensor
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Column
from autocomp.targets.simulator.transforms.scheduling.lifting.fit import Fit
from autocomp.targets.simulator.transforms.scheduling.lifting.flow import (
    Added,
    Flow,
    Products,
    Stored,
    Tiles,
    tensors_of,
)

Weights = Mapping[str, npt.NDArray[np.uint64]]
Ranges = Mapping[str, tuple[int, int]]  # of coordinates, by dimension
_SEED = 20240229
_MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Lifted:
    """A contraction, and the parts of the flow that carry it out."""

    computation: Contraction
    products: tuple[Products, ...]
    added: tuple[Added, ...]
    stored: tuple[Stored, ...]


def contractions_of(flow: Flow) -> tuple[Lifted, ...]:
    """The contractions of a flow, in the order of their first products. Raises NotApplicable for anything else."""
    tensors = (*tensors_of(flow.commands), *(image.tensor for image in flow.images.values()))
    groups: dict[int, list[Products]] = {}
    for part in flow.products:
        groups.setdefault(part.result.tensor, []).append(part)
    results = {s.result.tensor for s in flow.stored}
    if results != groups.keys():
        raise NotApplicable("results are stored that no product adds to")
    ordered = sorted(groups.items(), key=lambda item: min(int(p.commands[0]) for p in item[1]))
    return tuple(_lifted(flow, tensors, tensor, parts) for tensor, parts in ordered)


def _lifted(flow: Flow, tensors: Sequence[Tensor], result: int, parts: Sequence[Products]) -> Lifted:
    added = tuple(a for a in flow.added if a.result.tensor == result)
    stored = tuple(s for s in flow.stored if s.result.tensor == result)
    if len({(p.left.tensor, p.right.tensor) for p in parts}) > 1:
        raise NotApplicable("a result is the sum of products of several tensors")
    if len({s.function for s in stored}) > 1:
        raise NotApplicable("results are stored in different ways")
    fit = Fit(tensors, parts, stored, flow.images.get(result))
    functions = [a.function for a in added if a.source is not None]
    if any(function is not None for function in functions):
        raise NotApplicable("what results start from is changed on the way")
    sources = tuple(dict.fromkeys(a.source.tensor for a in added if a.source is not None))
    operands = tuple(
        fit.source(tensor, [a for a in added if a.source and a.source.tensor == tensor]) for tensor in sources
    )
    computation = fit.contraction(operands, stored[0].function)
    _Check(computation, fit).all(parts, added, stored)
    return Lifted(computation, tuple(parts), added, stored)


class _Check:
    """A check that commands form all products of a computation, and each once."""

    def __init__(self, computation: Contraction, fit: Fit) -> None:
        self._computation = computation
        self._fit = fit
        random = np.random.default_rng(_SEED)
        self._extents = fit.extents()
        self._weights: Weights = {
            name: random.integers(0, 1 << 63, extent, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
            for name, extent in self._extents.items()
        }
        zero = np.zeros(1, dtype=np.uint64)
        self._sums = {name: np.concatenate([zero, np.cumsum(w, dtype=np.uint64)]) for name, w in self._weights.items()}

    def all(self, parts: Sequence[Products], added: Sequence[Added], stored: Sequence[Stored]) -> None:
        """Raises NotApplicable where something is left out or done twice."""
        names = [self._fit.names["result", dim] for dim in range(len(self._fit.used["result"].extents))]
        boxes = self._boxes(names)
        whole = _total(self._box(names, box) for box in boxes)
        total = _total(self._products(part) for part in parts)
        if total != _total(self._expected(box) for box in boxes):
            raise NotApplicable("the products of a result are not those of one nest of loops")
        first = [part for part in parts if not part.adds]
        started = [self._added(a) for a in added if a.starts]
        started += [self._results(p.result, p.axes[p.row], p.axes[p.column]) for p in first]
        if _total(started) != whole:
            raise NotApplicable("results are started twice, or not at all")
        out = _total(self._results(s.result, s.rows, s.columns) for s in stored) if not self._fit.image else whole
        if out != whole:
            raise NotApplicable("not every element of a result is stored once")
        for tensor in {a.source.tensor for a in added if a.source is not None}:
            parts_of = [a for a in added if a.source is not None and a.source.tensor == tensor]
            if _total(self._added(a) for a in parts_of) != whole:
                raise NotApplicable("a tensor is not added to all results once")

    def _boxes(self, names: Sequence[str]) -> Sequence[Ranges]:
        """The results: all of one tensor, or of images the part that each store pools."""
        if self._fit.image is None:
            return ({},)
        boxes = enumerate(self._fit.image.boxes)
        return [dict(zip(names, ((number, number + 1), *box), strict=True)) for number, box in boxes]

    def _box(self, names: Sequence[str], ranges: Ranges) -> int:
        """The weight of the coordinates along some dimensions, of those within ranges where there are."""
        return prod(int(self._within(name, ranges).sum(dtype=np.uint64)) for name in names) & _MASK

    def _within(self, name: str, ranges: Ranges) -> npt.NDArray[np.uint64]:
        return self._weights[name][slice(*ranges.get(name, (None, None)))]

    def _range(self, name: str, first: Column, count: int) -> npt.NDArray[np.uint64]:
        ends = np.minimum(first + count, self._extents[name])
        if (first + count > self._extents[name]).any() or (first < 0).any():
            raise NotApplicable("a tile reaches beyond its tensor")
        sums: npt.NDArray[np.uint64] = self._sums[name][ends] - self._sums[name][first]
        return sums

    def _products(self, part: Products) -> int:
        coordinates = self._fit.coordinates(part)
        counts = {"i": part.axes[part.row], "j": part.axes[part.column], "k": part.axes[part.depth]}
        total = np.ones(len(part.commands), dtype=np.uint64)
        for name, values in coordinates.items():
            total = total * self._range(name, values, counts.get(name, 1))
        return int(total.sum(dtype=np.uint64))

    def _results(self, tiles: Tiles, rows: int, columns: int) -> int:
        total = np.ones(len(tiles.byte), dtype=np.uint64)
        for dim, values in enumerate(self._fit.used["result"].indices(tiles.byte)):
            name = self._fit.names["result", dim]
            total = total * self._range(name, values, {"i": rows, "j": columns}.get(name, 1))
        return int(total.sum(dtype=np.uint64))

    def _added(self, part: Added) -> int:
        return self._results(part.result, part.rows, part.columns)

    def _expected(self, ranges: Ranges) -> int:
        """The weights of all products of results within ranges, those left out whose left operand would lie outside of
        its tensor."""
        computation = self._computation
        left = [*computation.clipped]
        groups: list[set[str]] = []
        for subscript, _ in left:
            joined = set(subscript.dims).union(*(g for g in groups if g & subscript.dims))
            groups = [g for g in groups if not g & subscript.dims] + [joined]
        free = [name for name in self._extents if not any(name in group for group in groups)]
        total = int(self._box(free, ranges))
        for group in groups:
            names = sorted(group)
            weights = [self._within(name, ranges) for name in names]
            size = prod(len(each) for each in weights)
            if size > 1 << 24:
                raise NotApplicable("too many coordinates decide together what lies outside of a tensor")
            first = [ranges.get(name, (0, 0))[0] for name in names]
            points = (np.arange(len(each)) + at for each, at in zip(weights, first, strict=True))
            grids = np.meshgrid(*points, indexing="ij")
            inside = np.ones(grids[0].shape, dtype=bool)
            for subscript, extent in left:
                if subscript.dims <= group:
                    at = subscript.constant + sum(grids[names.index(n)] * f for n, f in subscript.terms)
                    inside &= (at >= 0) & (at < extent)
            weight = np.ones(inside.shape, dtype=np.uint64)
            for each, grid, at in zip(weights, grids, first, strict=True):
                weight = weight * each[grid - at]
            total = total * int(weight[inside].sum(dtype=np.uint64)) & _MASK
        return total


def _total(parts: Iterable[int]) -> int:
    return sum(parts) & _MASK

"""Coordinates of tiles, from their places in tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction, Dim, Operand, Subscript, Tensor
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Column, Commands
from autocomp.targets.simulator.transforms.scheduling.lifting.covered import indices
from autocomp.targets.simulator.transforms.scheduling.lifting.fit import fitted
from autocomp.targets.simulator.transforms.scheduling.lifting.flow import tensors_of

_REDUCED = "krstuv"


@dataclass(frozen=True)
class _Sides:
    """The factors in an order, by name, with the coordinates of products and their extents."""

    order: tuple[str, ...]
    operands: Mapping[str, Operand]
    known: dict[str, Column]
    extents: dict[str, int]


class Coordinates:
    """The coordinates of tiles along dimensions.

    `factors` and `stored` are tensors and bytes of the tiles' first elements, `result` the number of the stored tile
    that each product adds to. `halves` are the dimensions whose last tile is two of half the size. Raises
    NotApplicable where tiles are not those of one grid.
    """

    def __init__(
        self,
        commands: Commands,
        factors: Sequence[tuple[Column, Column]],
        stored: tuple[Column, Column],
        result: Column,
    ) -> None:
        self._tensors = tensors_of(commands)
        self.extents: dict[str, int] = {}
        self.halves: set[str] = set()
        self._reduced: list[str] = []
        self._result, self.of_results = self._parallel(stored)
        self.of_products = {name: values[result] for name, values in self.of_results.items()}
        self.order, self._operands = self._fitted(factors)

    def _tensor(self, places: tuple[Column, Column]) -> Tensor:
        if (places[0] != places[0][0]).any():
            raise NotApplicable("tiles of one kind come from several tensors")
        return self._tensors[int(places[0][0])]

    def _parallel(self, stored: tuple[Column, Column]) -> tuple[Operand, dict[str, Column]]:
        """The result along the coordinates of its tiles: i and j for its last dimensions, n, p … for others."""
        tensor = self._tensor(stored)
        last = len(tensor.shape) - 1
        if last < 1:
            raise NotApplicable("a result has one dimension")
        others = iter("npqlmo")
        subscripts: list[Subscript] = []
        columns: dict[str, Column] = {}
        for dim, given in enumerate(indices(tensor, stored[1])):
            values = _of_whole_tiles(given, tensor.shape[dim])
            step = int(np.gcd.reduce(values))
            if not step and dim < last - 1:
                subscripts.append(Subscript())
                continue
            name = {last - 1: "i", last: "j"}.get(dim) or next(others)
            if values is not given:
                self.halves.add(name)
            columns[name] = values // max(1, step)
            self.extents[name] = int(columns[name].max()) + 1
            subscripts.append(Subscript(0, ((name, step),) if step else ()))
        return Operand(tensor, tuple(subscripts)), columns

    def _fitted(self, factors: Sequence[tuple[Column, Column]]) -> tuple[tuple[str, ...], Mapping[str, Operand]]:
        """The two factors along the coordinates: the left one, which has the rows of the result, and the right one.
        Where both may be either, the left one has what is neither rows nor columns, as lines of an image."""
        fits, failures = list[_Sides](), list[NotApplicable]()
        for order in (("left", "right"), ("right", "left")):
            try:
                fits.append(self._sides(order, dict(zip(order, factors, strict=True))))
            except NotApplicable as error:
                failures.append(error)
        if not fits:
            raise failures[-1]
        others = self.of_results.keys() - {"i", "j"}
        best = min(fits, key=lambda sides: len(others & (sides.operands["right"].dims - sides.operands["left"].dims)))
        self._reduced = [name for name in best.known if name not in self.of_products]
        self.of_products, self.extents = best.known, best.extents
        return best.order, best.operands

    def _sides(self, order: tuple[str, ...], named: Mapping[str, tuple[Column, Column]]) -> _Sides:
        """The factors with one of them as the left one. Raises NotApplicable where that does not fit."""
        known, extents = dict(self.of_products), dict(self.extents)
        right = self._operand(named["right"], known, extents, iter(_REDUCED))
        left = self._operand(named["left"], known, extents, iter(""))
        _check(known, extents)
        if "i" in right.dims - left.dims or "j" in left.dims - right.dims:
            raise NotApplicable("neither factor has the rows of the result")
        return _Sides(order, {"left": left, "right": right}, known, extents)

    def _operand(
        self, places: tuple[Column, Column], known: dict[str, Column], extents: dict[str, int], names: Iterator[str]
    ) -> Operand:
        """A tensor's tiles along coordinates; what does not follow from those that are known is a new one."""
        tensor = self._tensor(places)
        subscripts: list[Subscript] = []
        for dim, given in enumerate(indices(tensor, places[1])):
            values = _of_whole_tiles(given, tensor.shape[dim])
            try:
                subscripts.append(fitted(values, known, extents, {}))
                continue
            except NotApplicable:
                name = next(names, None)
                if name is None:
                    raise
            step = int(np.gcd.reduce(values))
            known[name] = values // step
            extents[name] = int(known[name].max()) + 1
            subscripts.append(Subscript(0, ((name, step),)))
        return Operand(tensor, tuple(subscripts))

    def added(self, places: tuple[Column, Column]) -> Operand:
        """The operand that results start from, along their coordinates."""
        return self._operand(places, dict(self.of_results), dict(self.extents), iter(""))

    def contraction(self, added: tuple[Operand, ...]) -> Contraction:
        parallel, reduced = list(self.of_results), list(self._reduced)
        if not reduced:
            reduced = ["k"]
            self.extents["k"] = 1
            self.of_products["k"] = np.zeros_like(next(iter(self.of_products.values())))
        left, right = self._operands["left"], self._operands["right"]
        column = next((d for d in reversed(parallel) if d in right.dims and d != "i"), "j")
        row = next((d for d in reversed(parallel) if d in left.dims and d != column), "i" if column != "i" else "j")
        dims = [Dim(name, self.extents[name], False) for name in parallel]
        dims += [Dim(name, self.extents[name], True) for name in reduced]
        return Contraction(tuple(dims), row, column, reduced[-1], self._result, left, right, added, None)


def _of_whole_tiles(values: Column, extent: int) -> Column:
    """The places of tiles as if all had one size, where the last one is two of half the size; else as they are."""
    places = np.unique(values)
    sizes = np.diff(np.append(places, extent))
    halves = len(sizes) > 2 and (sizes[:-2] == sizes[0]).all() and (2 * sizes[-2:] == sizes[0]).all()
    return np.where(values == places[-1], values + sizes[-1], values) if halves else values


def _check(coordinates: Mapping[str, Column], extents: Mapping[str, int]) -> None:
    """Raises NotApplicable unless the products with these coordinates are all points of the grid, each once."""
    products = len(next(iter(coordinates.values())))
    number = np.zeros(products, dtype=np.int64)
    for name, values in coordinates.items():
        number = number * extents[name] + values
    if products != prod(extents.values()) or len(np.unique(number)) != products:
        raise NotApplicable("the products of a result are not those of one nest of loops")

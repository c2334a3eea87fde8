"""From tiles of tensors to dimensions and subscripts, which are fitted to the places of all tiles and hold for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.isa.tree import Expression
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.computation import (
    Contraction,
    Dim,
    Operand,
    Pooling,
    Subscript,
    Tensor,
)
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Column
from autocomp.targets.simulator.transforms.scheduling.lifting.covered import Used, covered, indices
from autocomp.targets.simulator.transforms.scheduling.lifting.flow import Added, Products, Stored, Tiles
from autocomp.targets.simulator.transforms.scheduling.lifting.images import Image

_SEED = 20240229
_SAMPLE = 4096  # tiles that subscripts are fitted to; all are checked
_NONE = 1e-9  # of a column's length: no more than rounding
STORE = "store"  # the dimension of images that are pooled by different stores


class Fit:
    """The dimensions of products, and subscripts along them."""

    def __init__(
        self, tensors: Sequence[Tensor], parts: Sequence[Products], stored: Sequence[Stored], image: Image | None
    ) -> None:
        self._tensors = tensors
        self.parts = parts
        self.image = image
        self.result = tensors[parts[0].result.tensor]
        self.left, self.right = self._deep(tensors[parts[0].left.tensor], tensors[parts[0].right.tensor])
        self._given = self.result
        self.result, self.left = self._joined()
        self.row_dim, self.row_step = self._stepped(self.result, [(p.result, p.axes[p.row]) for p in parts])
        self.column_dim = len(self.result.shape) - 1
        self._left_steps = self._axis_dims(self.left, [p.left for p in parts])
        self._right_steps = self._axis_dims(self.right, [p.right for p in parts])
        if self.row_step != 1 or self.row_dim == self.column_dim:
            raise NotApplicable("the rows of a result do not follow one another in its tensor")
        self.used = self._used(stored)
        self.names = self._names()

    def _deep(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        """Both operands, with dimensions folded where one tile covers the end of an index and the start of the next: as
        deep as the taps of a filter with their channels are."""
        rows = [(p.right, p.axes[p.depth]) for p in self.parts if p.right.rows == p.depth]
        columns = [(p.left, p.axes[p.depth]) for p in self.parts if p.left.columns == p.depth]
        dim = self._stepped(right, rows)[0] if rows else 0
        folded = right
        while _crossed(folded, dim, rows):
            deeper = folded.folded(dim)
            if deeper == folded:
                raise NotApplicable(f"a tile reaches beyond {right.name!r}")
            folded = deeper
        last = len(left.shape) - 1
        if folded != right or _crossed(left, last, columns):
            for _ in left.shape:
                left = left.folded(last)
        return left, folded

    def _joined(self) -> tuple[Tensor, Tensor]:
        """The result and the left operand, with the dimensions outside of their rows' folded into these as far as rows
        of both follow one another there too. Where a filter has one pixel, all pixels of all images are rows of one
        matrix, and a tile need not end where a line of an image does."""
        result, left = self.result, self.left
        if self.image or any(p.left.rows != p.row for p in self.parts):
            return result, left
        row, _ = self._stepped(result, [(p.result, p.axes[p.row]) for p in self.parts])
        other, step = self._stepped(left, [(p.left, p.axes[p.row]) for p in self.parts])
        while True:
            deeper = result.folded(row), left.folded(other)
            if result in deeper or left in deeper or not self._follow((deeper[0], row), (deeper[1], other), step):
                return result, left
            result, left = deeper

    def _follow(self, result: tuple[Tensor, int], left: tuple[Tensor, int], step: int) -> bool:
        """True if all tiles of the right operand meet every row of a result that any meets, which follow one another,
        at one distance from the row of the left operand. Taps of a filter at several distances share lines of an image,
        so these stay apart. Dimensions are those of rows, with `step` rows of the left operand to one of the result."""
        rows, others = (
            np.concatenate([indices(tensor, getattr(p, role).byte)[dim] for p in self.parts])
            for role, (tensor, dim) in (("result", result), ("left", left))
        )
        _, number = np.unique(np.concatenate([p.right.byte for p in self.parts]), return_inverse=True)
        counts = np.concatenate([np.full(len(p.commands), p.axes[p.row]) for p in self.parts])
        met = np.bincount(number, weights=counts)
        first = np.concatenate([p.result.byte for p in self.parts]) // result[0].strides[-2]  # all dimensions as rows
        every = int((first + counts).max() - first.min())
        return len(np.unique(others - step * rows)) == 1 and bool((met == every).all())

    def _used(self, stored: Sequence[Stored]) -> Mapping[str, Used]:
        """The part of the right operand that products read, and that of the result that is stored, with columns in
        groups if these differ."""
        places = {"row": (self.row_dim, self.row_step), "column": (self.column_dim, 1)}
        results = [(each.result, places, {"row": each.rows, "column": each.columns}) for each in stored]
        used = {
            "right": covered(self.right, [(p.right, self._right_steps, p.axes) for p in self.parts]),
            "result": Used.whole(self.result) if self.image else covered(self.result, results),
        }
        alike = 0 if self.image else self._columns_alike(used)
        if alike:
            used = {role: replace(part, alike=alike) for role, part in used.items()}
        return used

    def _columns_alike(self, used: Mapping[str, Used]) -> int:
        """The number of columns of a result, from a multiple of it on, that see the same columns of the left operand.
        It is 0 if all do; groups of channels with filters of their own see others."""
        if any((p.left.columns, p.right.rows, p.right.columns) != (p.depth, p.depth, p.column) for p in self.parts):
            return 0
        depth = self._right_steps[self.parts[0].depth][0]
        places = (("result", used["result"], -1), ("left", Used.whole(self.left), -1), ("right", used["right"], depth))
        columns, seen, first = (
            np.concatenate([part.indices(getattr(p, role).byte)[dim] for p in self.parts]) for role, part, dim in places
        )
        pairs = np.unique(np.stack([columns, seen - first]), axis=1)
        if len(pairs[0]) > len(np.unique(pairs[0])):
            return 0
        _, starts = np.unique(pairs[1], return_index=True)
        size = int(np.gcd.reduce(pairs[0][starts]))
        extents = {part.shape[-1] for part in used.values()}
        return size if size and len(extents) == 1 and extents.pop() % size == 0 else 0

    def _stepped(self, tensor: Tensor, tiles: Sequence[tuple[Tiles, int]]) -> tuple[int, int]:
        """The dimension of a tensor that the rows of tiles go along, and how many of its elements at a time."""
        apart = np.unique(
            np.concatenate([tile.apart[:] for tile, rows in tiles if rows > 1] or [np.zeros(0, np.int64)])
        )
        if len(apart) > 1:
            raise NotApplicable(f"the rows of tiles of {tensor.name!r} are not always equally far apart")
        if not len(apart):  # tiles of one row: the innermost dimension but for the columns
            return max(0, len(tensor.shape) - 2), 1
        for dim, stride in enumerate(tensor.strides):
            if apart[0] and apart[0] % stride == 0 and apart[0] // stride < max(2, tensor.shape[dim]):
                return dim, int(apart[0] // stride)
        raise NotApplicable(f"the rows of tiles of {tensor.name!r} do not follow one of its dimensions")

    def _axis_dims(self, tensor: Tensor, tiles: Sequence[Tiles]) -> Mapping[str, tuple[int, int]]:
        """The dimension of a tensor along each axis of its tiles, and elements at a time."""
        dims = self._stepped(tensor, [(t, self._rows(t)) for t in tiles])
        if any((t.rows, t.columns) != (tiles[0].rows, tiles[0].columns) for t in tiles):
            raise NotApplicable(f"tiles of {tensor.name!r} are used in different ways")
        return {tiles[0].rows: dims, tiles[0].columns: (len(tensor.shape) - 1, 1)}

    def _rows(self, tiles: Tiles) -> int:
        return next(p.axes[tiles.rows] for p in self.parts if tiles is p.left or tiles is p.right)

    def _names(self) -> Mapping[tuple[str, int], str]:
        """Names of dimensions, by the tensor's role and its dimension: i, j and k for those of tiles, then others."""
        part = self.parts[0]
        right, result = (len(self.used[role].extents) for role in ("right", "result"))
        alike = self.used["right"].alike
        column = right - 1 if alike else self._right_steps[part.column][0]
        names = {("result", self.row_dim): "i", ("result", result - 1): "j", ("right", column): "j"}
        names["right", self._right_steps[part.depth][0]] = "k"
        others = iter("npqlmo")
        if self.image:
            names["result", 0] = STORE
        for dim in range(result):
            names.setdefault(("result", dim), "") or names.update({("result", dim): next(others)})
        if alike:
            names["right", right - 2] = names["result", result - 2]
        inner = iter("rstuvw")
        for dim in range(right):
            names.setdefault(("right", dim), "") or names.update({("right", dim): next(inner)})
        return names

    def coordinates(self, part: Products) -> dict[str, Column]:
        """The coordinates of the first element of each product, by dimension."""
        columns: dict[str, Column] = {}
        for role, tiles in (("right", part.right), ("result", part.result)):
            for dim, values in enumerate(self.used[role].indices(tiles.byte)):
                name = self.names[role, dim]
                if role == "result" and name in columns and (columns[name] != values).any():
                    raise NotApplicable("columns of a result are sums over other columns of an operand")
                columns[name] = values
        return columns

    def extents(self) -> dict[str, int]:
        roles = ((role, self.used[role]) for role in ("right", "result"))
        return {self.names[role, dim]: extent for role, part in roles for dim, extent in enumerate(part.extents)}

    def contraction(self, added: tuple[Operand, ...], function: Expression | None) -> Contraction:
        extents = self.extents()
        part = self.parts[0]
        steps: dict[int, dict[str, int]] = {}
        for axis, (dim, step) in self._left_steps.items():
            steps.setdefault(dim, {})[self._name_of(part, axis)] = step
        coordinates = [self.coordinates(p) for p in self.parts]
        joined = {name: np.concatenate([c[name] for c in coordinates]) for name in coordinates[0] if name != STORE}
        places = [
            np.concatenate(parts) for parts in zip(*(indices(self.left, p.left.byte) for p in self.parts), strict=True)
        ]
        left = Operand(self.left, tuple(fitted(v, joined, extents, steps.get(dim, {})) for dim, v in enumerate(places)))
        right, result = self._operand("right"), self._operand("result")
        if "j" in left.dims:  # as in a convolution with a filter for each channel
            raise NotApplicable(f"each column of a result has elements of {self.left.name!r} of its own")
        parallel = [name for (role, _), name in sorted(self.names.items()) if role == "result" and name != STORE]
        reduced = [n for (role, _), n in sorted(self.names.items()) if role == "right" and n not in parallel]
        pooling = self._pooling()
        windows = {} if pooling is None else pooling.windows
        extents.update({n: min(extents[n], w.first(0) + w.reach(w.count)) for n, w in windows.items()})
        needed = {"i", "j", "k", *windows}
        dims = [Dim(name, extents[name], False) for name in parallel if extents[name] > 1 or name in needed]
        dims += [Dim(name, extents[name], True) for name in _ordered(reduced) if extents[name] > 1 or name in needed]
        sides = (result, left, right, added, function)
        return Contraction(tuple(dims), "i", "j", "k", *sides, pooling=pooling)

    def _pooling(self) -> Pooling | None:
        """The windows that stores pool, and where they store them."""
        if self.image is None:
            return None
        if self.row_dim != len(self.result.shape) - 2:
            raise NotApplicable("the rows of an image that is pooled lie across its lines")
        names = [self.names["result", dim + 1] for dim in range(len(self.image.pooled.shape))]
        windows = dict(zip(names[self.image.lines :], self.image.windows, strict=False))
        subscripts = tuple(
            Subscript(0, ((name, 1),)) if extent > 1 or name in windows else Subscript()
            for name, extent in zip(names, self.image.pooled.shape, strict=True)
        )
        return Pooling(windows, Operand(self.image.pooled, subscripts))

    def _operand(self, role: str) -> Operand:
        """The right operand or the result: a dimension a subscript, but groups and their columns have one together."""
        used = self.used[role]
        names = [self.names[role, dim] for dim in range(len(used.extents))]
        if role == "result" and self.image:
            return Operand(replace(used.tensor, shape=used.tensor.shape[1:]), used.subscripts(names)[1:])
        return Operand(used.tensor, used.subscripts(names))

    @staticmethod
    def _name_of(part: Products, axis: str) -> str:
        return {part.row: "i", part.column: "j", part.depth: "k"}[axis]

    def source(self, number: int, parts: Sequence[Added]) -> Operand:
        """The operand that is added to results, along their dimensions."""
        tensor = self._tensors[number]
        if tensor.shape == self._given.shape:
            tensor = replace(tensor, shape=self.result.shape)
        extents = {self.names["result", dim]: extent for dim, extent in enumerate(self.used["result"].extents)}
        columns: dict[str, list[Column]] = {}
        places: list[list[Column]] = [[] for _ in tensor.shape]
        for part in parts:
            assert part.source is not None
            for dim, values in enumerate(self.used["result"].indices(part.result.byte)):
                columns.setdefault(self.names["result", dim], []).append(values)
            for dim, values in enumerate(indices(tensor, part.source.byte)):
                places[dim].append(values)
        joined = {name: np.concatenate(values) for name, values in columns.items() if name != STORE}
        rows = [(p.source, p.rows) for p in parts if p.source is not None and p.source.apart.any()]
        steps = {len(tensor.shape) - 1: {"j": 1}}
        if rows:
            dim, step = self._stepped(tensor, rows)
            steps[dim] = {"i": step}
        subscripts = tuple(
            fitted(np.concatenate(v), joined, extents, steps.get(dim, {})) for dim, v in enumerate(places)
        )
        return Operand(tensor, subscripts)


def _ordered(names: Sequence[str]) -> list[str]:
    """The names with that of the depth last."""
    return [name for name in names if name != "k"] + ["k"] * ("k" in names)


def _crossed(tensor: Tensor, dim: int, tiles: Sequence[tuple[Tiles, int]]) -> bool:
    """True if some tile has more elements along a dimension than there are from its first one on."""
    return any((indices(tensor, tile.byte)[dim] + count > tensor.shape[dim]).any() for tile, count in tiles)


def fitted(
    values: Column, coordinates: Mapping[str, Column], extents: Mapping[str, int], known: Mapping[str, int]
) -> Subscript:
    """Values as a sum of coordinates; `known` are terms of it. Raises NotApplicable for values that are not such a
    sum."""
    terms = dict(known)
    rest = values - sum(coordinates[name] * factor for name, factor in terms.items())
    varied = [n for n, c in coordinates.items() if n not in terms and extents.get(n, 1) > 1 and (c != c[0]).any()]
    matrix = np.stack([np.ones_like(values)] + [coordinates[name] for name in varied], axis=1)
    some = np.random.default_rng(_SEED).permutation(len(rest))[:_SAMPLE]
    free = _independent(matrix[some].astype(float))
    varied, matrix = [varied[n - 1] for n in free[1:]], matrix[:, free]
    solution = np.linalg.lstsq(matrix[some].astype(float), rest[some].astype(float), rcond=None)[0]
    factors = np.rint(solution).astype(np.int64)
    if (matrix @ factors != rest).any():
        raise NotApplicable("where an operand is read is not a sum of the coordinates of its products")
    terms.update({name: int(f) for name, f in zip(varied, factors[1:], strict=True) if f})
    kept = tuple((name, factor) for name, factor in terms.items() if extents.get(name, 1) > 1)
    return Subscript(int(factors[0]), kept)


def _independent(columns: npt.NDArray[np.float64]) -> list[int]:
    """The columns that those before them, multiplied by numbers, do not add up to. Where padding is as wide as a
    filter, the first pixel of a result that a tap meets follows from the tap."""
    left = np.abs(np.diagonal(np.linalg.qr(columns, mode="r")))
    return [n for n, norm in enumerate(np.linalg.norm(columns, axis=0)) if n < len(left) and left[n] > _NONE * norm]

"""The computation of a kernel, with the machine's local memory seen through.

    result[x] = function(sum of added[x] + sum over y of left[x, y] * right[x, y])

x are the coordinates of the parallel dimensions, y those of the reduction. Subscripts are sums of coordinates; products
whose left operand lies outside of its tensor are left out, as in the padding of a convolution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from autocomp.targets.simulator.isa.tree import Expression


@dataclass(frozen=True)
class Tensor:
    """An array in DRAM; `element` is bytes."""

    name: str
    shape: tuple[int, ...]
    element: int

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one index of each dimension to the next."""
        return tuple(prod(self.shape[n + 1 :]) * self.element for n in range(len(self.shape)))

    def folded(self, dim: int) -> Tensor:
        """The same bytes, with the next dimension outside of `dim` of more than one index folded into it, or itself.
        There are as many subscripts as before; that of the folded dimension is 0."""
        outer = next((n for n in reversed(range(dim)) if self.shape[n] > 1), None)
        if outer is None:
            return self
        extents = {outer: 1, dim: self.shape[outer] * self.shape[dim]}
        return replace(self, shape=tuple(extents.get(n, extent) for n, extent in enumerate(self.shape)))


@dataclass(frozen=True)
class Subscript:
    """constant + sum of factor * coordinate."""

    constant: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    @property
    def dims(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.terms)

    def factor(self, dim: str) -> int:
        """The factor of a dimension's coordinate; 0 where it does not occur."""
        return next((factor for name, factor in self.terms if name == dim), 0)

    def bounds(self, extents: Mapping[str, int]) -> tuple[int, int]:
        """Least and greatest value."""
        ends = [(factor * (extents[name] - 1)) for name, factor in self.terms]
        return self.constant + sum(min(0, e) for e in ends), self.constant + sum(max(0, e) for e in ends)


@dataclass(frozen=True)
class Operand:
    """An element of a tensor for each point of some dimensions."""

    tensor: Tensor
    subscripts: tuple[Subscript, ...]

    @cached_property
    def dims(self) -> frozenset[str]:
        return frozenset[str]().union(*(subscript.dims for subscript in self.subscripts))

    def along(self, dim: str) -> int:
        """The bytes from one coordinate of a dimension to the next."""
        return self._bytes_along.get(dim, 0)

    @cached_property
    def _bytes_along(self) -> Mapping[str, int]:
        pairs = list(zip(self.subscripts, self.tensor.strides, strict=True))
        return {dim: sum(subscript.factor(dim) * stride for subscript, stride in pairs) for dim in self.dims}


@dataclass(frozen=True)
class Dim:
    """A dimension; `reduced`: results are sums over it."""

    name: str
    extent: int
    reduced: bool


@dataclass(frozen=True)
class Windows:
    """Windows along a dimension of an image: `count` of `size` coordinates each, `step` from one to the next. The first
    one begins `before` coordinates in front of the image."""

    size: int
    step: int
    before: int
    count: int

    def first(self, window: int) -> int:
        """The coordinate that a window begins with."""
        return window * self.step - self.before

    def reach(self, windows: int) -> int:
        """The coordinates of that many windows together."""
        return (windows - 1) * self.step + self.size


@dataclass(frozen=True)
class Pooling:
    """The store makes one element of each window of results. `stored`: these elements, along the dimensions of the
    results, whose coordinates count windows where there are `windows`."""

    windows: Mapping[str, Windows]
    stored: Operand


@dataclass(frozen=True)
class Contraction:
    """Sums of products. `row`, `column` and `depth` are the dimensions that one command covers a tile of: those of the
    left operand and result, of the right operand and result, and of both operands. `pieced`: a move brings one
    coordinate of a left tile's row dimension, not the whole tile."""

    dims: tuple[Dim, ...]
    row: str
    column: str
    depth: str
    result: Operand
    left: Operand
    right: Operand
    added: tuple[Operand, ...]
    function: Expression | None  # of a sum; None: the sum itself
    pieced: bool = False
    pooling: Pooling | None = None  # where results are pooled as they are stored: the result is an image, in no tensor

    @cached_property
    def windows(self) -> Mapping[str, Windows]:
        """Windows of results, by dimension."""
        return {} if self.pooling is None else self.pooling.windows

    @cached_property
    def operands(self) -> Mapping[str, Operand]:
        """The operands by name: left, right and result."""
        return {"left": self.left, "right": self.right, "result": self.result}

    @cached_property
    def operand_dims(self) -> Mapping[str, frozenset[str]]:
        """The dimensions that select the elements of each operand."""
        return {name: operand.dims for name, operand in self.operands.items()}

    @cached_property
    def tiled(self) -> Mapping[str, str]:
        """The dimensions that one command covers a tile of, by the words row, column and depth."""
        return {"row": self.row, "column": self.column, "depth": self.depth}

    @cached_property
    def extents(self) -> Mapping[str, int]:
        return {dim.name: dim.extent for dim in self.dims}

    @cached_property
    def parallel(self) -> tuple[str, ...]:
        return tuple(dim.name for dim in self.dims if not dim.reduced)

    @cached_property
    def reduction(self) -> tuple[str, ...]:
        return tuple(dim.name for dim in self.dims if dim.reduced)

    @cached_property
    def overlaps(self) -> Mapping[str, tuple[str, int]]:
        """Reduced dimensions along which a step takes the left operand to where it is for another coordinate of the
        result: this dimension, and how many steps equal one of its own. As taps do with the lines of an image."""
        shifts: dict[str, tuple[str, int]] = {}
        for one in set(self.reduction) - ({self.depth} if not self.pieced else set()):
            for other in self.parallel:
                ratios = {(s.factor(other), s.factor(one)) for s in self.left.subscripts} - {(0, 0)}
                if len(ratios) == 1 and all(b > 0 and a > 0 and a % b == 0 for a, b in ratios):
                    ((across, step),) = ratios
                    shifts[one] = other, across // step
        return shifts

    @cached_property
    def clipped(self) -> tuple[tuple[Subscript, int], ...]:
        """The subscripts of the left operand that may lie outside of its tensor, with the extent that they have to be
        below."""
        pairs = zip(self.left.subscripts, self.left.tensor.shape, strict=True)
        return tuple((s, n) for s, n in pairs if s.bounds(self.extents)[0] < 0 or s.bounds(self.extents)[1] >= n)

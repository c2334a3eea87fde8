"""Arrays in DRAM: parameters and local ones, their extents and where elements lie in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from autocomp.remember import remembered
from autocomp.targets.simulator.kernel.checking.scope import outer_types
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.syntax.affine import Affine, interval, literal


@dataclass(frozen=True)
class Tensor:
    """An array with constant extents; `size` is bytes of an element, of which `element` is the type's name. A pointer
    or a scalar parameter has no extents."""

    name: str
    element: str
    extents: tuple[int, ...]
    size: int

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements from one index of each dimension to the next."""
        return tuple(prod(self.extents[number + 1 :]) for number in range(len(self.extents)))

    @property
    def row_bytes(self) -> int:
        """Bytes of all elements along the last dimension; 0 without dimensions."""
        return sum(extent * self.size for extent in self.extents[-1:])

    def offset(self, subscripts: Sequence[Affine]) -> Affine:
        """The element's number, in row-major order; subscripts that are left out are 0."""
        total = Affine(0)
        for subscript, stride in zip(subscripts, self.strides, strict=False):
            total += subscript.times(stride)
        return total


def known_tensor(facts: Facts, name: str) -> Tensor:
    """The array of a name. Raises NotApplicable unless it is an array in scope everywhere."""
    tensor = tensors(facts).get(name)
    if tensor is None or not tensor.extents or name not in _outermost(facts):
        raise NotApplicable(f"{name!r} is not an array with constant extents")
    return tensor


@remembered
def tensors(facts: Facts) -> Mapping[str, Tensor]:
    """Each parameter and each array of the kernel's own, by name; those without constant extents are left out."""
    types = outer_types(facts.accelerator)
    ranges = {name: (value, value) for name, value in facts.constants.items() if isinstance(value, int)}
    declared: dict[str, Tensor] = {}
    for name, given in facts.arrays.items():
        kind = types.get(given.name)
        bounds = [interval(extent, ranges) for extent in given.extents]
        extents = tuple(low for low, high in filter(None, bounds) if low == high)
        if kind is not None and len(extents) == len(bounds):
            declared[name] = Tensor(name, given.name, extents, kind.size)
    return declared


def _outermost(facts: Facts) -> frozenset[str]:
    """The arrays that are in scope everywhere."""
    local = [d for s in facts.body.statements if isinstance(s, ast.Declaration) for d in s.declarators]
    return frozenset([p.name for p in facts.kernel.entry.parameters] + [declarator.name for declarator in local])


def declaration(array: Tensor) -> ast.Declaration:
    """`static T name[…];`, which starts as zeros."""
    kind = ast.Type(array.element, extents=tuple(map(literal, array.extents)))
    return ast.Declaration((ast.Declarator(array.name, kind),), static=True)

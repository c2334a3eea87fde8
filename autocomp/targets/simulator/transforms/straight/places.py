"""Addresses in tensors and numbers, as they are known before a kernel runs."""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, isfinite, prod

import numpy as np

from autocomp.targets.simulator.kernel.code.types import Array, element_of, shape_of
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.syntax.affine import literal


@dataclass(frozen=True)
class TensorByte:
    """A byte of a tensor."""

    tensor: str
    byte: int


Value = int | float | TensorByte


def element_at(place: TensorByte, kind: Array) -> ast.Expression:
    """`T[i][j]` of the element that starts at a place in a tensor."""
    number, inside = divmod(place.byte, element_of(kind).size)
    if inside:
        raise NotApplicable(f"byte {place.byte} of {place.tensor!r} is inside an element")
    node: ast.Expression = ast.Name(place.tensor)
    shape = shape_of(kind)
    for dimension in range(len(shape)):
        index, number = divmod(number, prod(shape[dimension + 1 :]))
        node = ast.Index(node, literal(index))
    return node


def float_literal(value: float, *, single: bool = True) -> ast.Expression:
    """A binary32, or binary64, as short as tells it from all others."""
    if not isfinite(value):
        raise NotApplicable(f"{value} cannot be written as a literal")
    text = str(np.float32(abs(value))) if single else repr(abs(value))
    size = ast.FloatLiteral(float(text), single, text + "f" * single)
    return ast.Unary("-", size) if copysign(1.0, value) < 0 else size

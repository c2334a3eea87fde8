"""The rows, columns and bytes that an index covers while its loops run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa.derived.affine import Affine, Loops, Term, UnboundedError, affine, interval
from autocomp.targets.simulator.isa.model import Memory
from autocomp.targets.simulator.isa.tree import Binary, Expression, Number

MAX_DIMS = 3


@dataclass(frozen=True)
class Dim:
    """`count` points, `stride` rows (DRAM: bytes) apart."""

    count: Expression
    stride: Expression


Shape = tuple[Expression, tuple[Dim, ...], Expression, Expression]  # base, dims, first column, columns


def shapes(row: Expression, column: Expression, loops: Loops, memory: Memory) -> list[Shape]:
    """Rows and columns of an access; two shapes where a long row is folded into blocks whose last may be shorter."""
    form, columns = affine(row, loops), affine(column, loops)
    if form is not None and columns is not None and len(form.terms) <= MAX_DIMS and len(columns.terms) == 1:
        inner = columns.terms[0]
        outer = next((t for t in form.terms if t.variable == inner.variable and inner.is_rest_of(t)), None)
        if outer is not None and inner.stride == algebra.ONE:
            return _blocks(form, outer, columns.base, loops)
    base, dims = _rows(row, loops, memory.rows)
    try:
        low, high = interval(column, loops)
    except UnboundedError:
        low, high = algebra.ZERO, Number(memory.cols - 1)
    return [(base, dims, low, algebra.add(algebra.subtract(high, low), algebra.ONE))]


def _blocks(form: Affine, outer: Term, first: Expression, loops: Loops) -> list[Shape]:
    """The whole blocks, then the rest: v < n folded at d gives n / d blocks of d columns and one of n % d."""
    bound, width = loops[outer.variable], outer.divisor
    whole = algebra.binary("/", bound, width)
    terms = tuple(replace(t, count=whole) if t is outer else t for t in form.terms)
    behind = algebra.add(form.base, algebra.multiply(whole, outer.stride))
    rest = tuple(t for t in form.terms if t is not outer)
    return [
        (form.base, _dims(Affine(form.base, terms), loops), first, width),
        (behind, _dims(Affine(behind, rest), loops), first, algebra.binary("%", bound, width)),
    ]


def _rows(row: Expression, loops: Loops, rows: int) -> tuple[Expression, tuple[Dim, ...]]:
    form = affine(row, loops)
    if form is not None and len(dims := _dims(form, loops)) <= MAX_DIMS:
        return form.base, dims
    try:
        low, high = interval(row, loops)
    except UnboundedError:
        low, high = algebra.ZERO, Number(rows - 1)
    count = algebra.add(algebra.subtract(high, low), algebra.ONE)
    return low, (Dim(count, algebra.ONE),)


def _dims(form: Affine, loops: Loops) -> tuple[Dim, ...]:
    """Dimensions of the terms in the order of their loops, the coarser digits of a variable first. Where they are many,
    two become one if the outer one goes on where the inner one ends."""
    order = list(loops)
    terms = sorted(form.terms, key=lambda term: (order.index(term.variable), -_constant(term.divisor)))
    dims = [Dim(term.count, term.stride) for term in terms]
    while len(dims) > MAX_DIMS:
        goes_on = (at for at, (outer, inner) in enumerate(pairwise(dims)) if _goes_on(outer, inner))
        at = next(goes_on, None)
        if at is None:
            break
        dims[at : at + 2] = [Dim(algebra.multiply(dims[at].count, dims[at + 1].count), dims[at + 1].stride)]
    return tuple(dims)


def _goes_on(outer: Dim, inner: Dim) -> bool:
    """True if the points of the inner dimension end where the outer one's next point lies."""
    return is_same_product(outer.stride, algebra.multiply(inner.count, inner.stride))


def is_same_product(left: Expression, right: Expression) -> bool:
    """True if two products are seen to be equal, in whatever order their factors stand."""
    return _factors(left) == _factors(right)


def _factors(product: Expression) -> tuple[int, list[str]]:
    """The number in a product, and its other factors in any one order."""
    if isinstance(product, Number) and isinstance(product.value, int):
        return product.value, []
    if isinstance(product, Binary) and product.operator == "*":
        (left, some), (right, others) = _factors(product.left), _factors(product.right)
        return left * right, sorted(some + others)
    return 1, [repr(product)]


def _constant(number: Expression) -> int:
    return int(number.value) if isinstance(number, Number) else 1


def extent(offset: Expression, loops: Loops, size: int) -> tuple[Expression, tuple[Dim, ...], Expression]:
    form = affine(offset, loops)
    if form is not None:
        contiguous = next((t for t in form.terms if t.stride == Number(size)), None)
        rest: tuple[Term, ...] = tuple(t for t in form.terms if t is not contiguous)
        dims = _dims(Affine(form.base, rest), loops)
        if len(dims) <= MAX_DIMS:
            count = contiguous.count if contiguous is not None else algebra.ONE
            return form.base, dims, algebra.multiply(count, Number(size))
    try:
        low, high = interval(offset, loops)
    except UnboundedError:
        return algebra.ZERO, (), Number(1 << 40)
    return low, (), algebra.add(algebra.subtract(high, low), Number(size))

"""Where a load or store goes: a pointer plus scalars and ranges along rows and columns, each times a stride."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from autocomp.errors import NotApplicable
from autocomp.targets.triton.language.module import parameters
from autocomp.targets.triton.rewrites.rewrite import refuse
from autocomp.targets.triton.rewrites.syntax.names import carried, definitions, early
from autocomp.targets.triton.rewrites.syntax.tree import argument, called, calls_in, text_of

VECTOR = -1  # the axis of a range that has not been placed along rows or columns yet
PASSED_THROUGH = ("multiple_of", "max_contiguous", "max_constancy")  # hints, which change no value


@dataclass(frozen=True)
class Term:
    """A product of scalar factors, in the kernel's names. `extent` is that of a range 0, 1, …, else None; `axis` the
    one along which the vector lies that the term comes from: 0 rows, 1 columns, None the same for all elements."""

    factors: tuple[str, ...]
    axis: int | None = None
    extent: str | None = None

    def times(self, other: Term) -> Term:
        if self.extent is not None and other.extent is not None:
            raise refuse("two ranges are multiplied")
        axis = self.axis if self.axis is not None else other.axis
        return Term(tuple(sorted((*self.factors, *other.factors))), axis, self.extent or other.extent)


@dataclass(frozen=True)
class Access:
    """A load or store of a tile: `pointer` is a parameter of the kernel. `rows` and `cols` are the ranges, `strides`
    the factors that each is multiplied by; `offsets` the scalars added to each; `base` scalars that belong to neither.
    `limits` are the extents that the mask compares each with, None where it does not."""

    call: ast.Call
    pointer: str
    ranges: Mapping[int, Term]
    offsets: Mapping[int, tuple[Term, ...]]
    base: tuple[Term, ...]
    limits: Mapping[int, str | None]
    rest_of_mask: bool  # whether the mask says anything else
    other: str  # what stands in where the mask is false, "" for nothing

    @property
    def is_load(self) -> bool:
        return called(self.call, "load")

    def stride(self, axis: int) -> tuple[str, ...]:
        """Factors of the stride along an axis; empty is 1."""
        return self.ranges[axis].factors

    def extent(self, axis: int) -> str:
        return self.ranges[axis].extent or "1"


class Accesses:
    """The tiles that a kernel's loads and stores touch."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self._function = function
        self._parameters = set(parameters(function))
        self._definitions = definitions(function)
        self._carried = carried(function)
        self._early = early(function)
        self._starting = False

    def tiles(self) -> list[Access]:
        """Loads and stores of two-dimensional tiles; others, and those that cannot be seen through, are left out."""
        tiles_of = []
        for call in calls_in(self._function.body, "load", "store"):
            try:
                tiles_of.append(self.tile(call))
            except NotApplicable:
                continue
        return tiles_of

    def tile(self, call: ast.Call) -> Access:
        """The tile that a load or store accesses. Raises NotApplicable for any other access."""
        pointer = argument(call, 0, "pointer")
        if pointer is None:
            raise refuse("a load or store without a pointer")
        terms = self.linear(pointer)
        heads = [t for t in terms if len(t.factors) == 1 and t.factors[0].startswith("&")]
        if len(heads) != 1:
            raise refuse(f"{text_of(pointer)} is not one pointer plus offsets")
        terms.remove(heads[0])
        ranges = {axis: [t for t in terms if t.axis == axis and t.extent is not None] for axis in (0, 1)}
        if any(len(axes) != 1 for axes in ranges.values()) or any(t.axis == VECTOR for t in terms):
            raise refuse(f"{text_of(pointer)} is not a tile with rows and columns")
        placed = {axis: axes[0] for axis, axes in ranges.items()}
        offsets = {axis: tuple(t for t in terms if t.axis == axis and t.extent is None) for axis in (0, 1)}
        base = tuple(term for t in terms if t.axis is None for term in self._expanded(t))
        found_base, shares = _shared(base, placed)
        offsets = {axis: (*offsets[axis], *shares[axis]) for axis in (0, 1)}
        position = 1 if called(call, "load") else 2
        limits, rest = self._limits(argument(call, position, "mask"), placed, offsets)
        other = argument(call, 2, "other") if called(call, "load") else None
        return Access(
            call,
            heads[0].factors[0][1:],
            placed,
            offsets,
            found_base,
            limits,
            rest,
            "" if other is None else text_of(other),
        )

    def _expanded(self, term: Term) -> list[Term]:
        """A scalar term with names replaced by what they are sums and products of."""
        terms = [Term(())]
        for factor in term.factors:
            definition = self._definitions.get(factor)
            product = isinstance(definition, ast.BinOp) and isinstance(definition.op, (ast.Mult, ast.Add))
            parts = self.linear(definition) if product and definition is not None else [Term((factor,))]
            if product:
                parts = [inner for part in parts for inner in self._expanded(part)]
            terms = [a.times(b) for a in terms for b in parts]
        return terms

    # --- sums of products ----------------------------------------------------------------------------------------

    def linear(self, node: ast.expr) -> list[Term]:
        """The terms of an expression. A parameter that is a pointer is the factor `&name`."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return [] if node.value == 0 else [Term((str(node.value),))]
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return [t.times(Term(("-1",))) for t in self.linear(node.operand)]
        if called(node, "arange") and isinstance(node, ast.Call):
            start, end = argument(node, 0, "start"), argument(node, 1, "end")
            if start is None or end is None or text_of(start) != "0":
                raise refuse(f"a range that does not start at 0: {text_of(node)}")
            return [Term((), VECTOR, text_of(end))]
        if called(node, *PASSED_THROUGH) and isinstance(node, ast.Call):
            return self.linear(node.args[0])
        if isinstance(node, ast.Subscript):
            return self._placed(node)
        if self._is_scalar(node):
            return [Term((_factor(node),))]
        raise refuse(f"{text_of(node)} is not a sum of products")

    def _operation(self, node: ast.BinOp) -> list[Term]:
        if isinstance(node.op, (ast.Add, ast.Sub)):
            right = self.linear(node.right)
            if isinstance(node.op, ast.Sub):
                right = [t.times(Term(("-1",))) for t in right]
            return [*self.linear(node.left), *right]
        if isinstance(node.op, ast.Mult):
            return [a.times(b) for a in self.linear(node.left) for b in self.linear(node.right)]
        if self._is_scalar(node):
            return [Term((_factor(node),))]
        raise refuse(f"{text_of(node)} is not a sum of products")

    def _name(self, name: str) -> list[Term]:
        if name in self._carried:
            start, step, count = self._carried[name]
            before = self._at_start(start)
            if self._starting:
                return before
            moved = [t.times(Term((count,))) for t in self.linear(step)]
            return [*before, *[_cancelled(t) for t in moved]]
        definition = self._definitions.get(name)
        if definition is not None and not self._is_scalar(definition):
            return self._at_start(definition) if name in self._early else self.linear(definition)
        if name in self.pointers:
            return [Term((f"&{name}",))]
        return [Term((name,))]

    def _at_start(self, node: ast.expr) -> list[Term]:
        """The terms of an expression that is evaluated before the first loop: what loops add to is not added yet."""
        starting, self._starting = self._starting, True
        try:
            return self.linear(node)
        finally:
            self._starting = starting

    def _placed(self, node: ast.Subscript) -> list[Term]:
        """`vector[:, None]` lies along rows, `vector[None, :]` along columns."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        shape = ["new" if isinstance(p, ast.Constant) and p.value is None else "all" for p in parts]
        if shape not in (["all", "new"], ["new", "all"]):
            raise refuse(f"{text_of(node)} does not place a vector along rows or columns")
        axis = 0 if shape[0] == "all" else 1
        return [replace(t, axis=axis) for t in self.linear(node.value)]

    def _pointers_of(self, call: ast.Call) -> set[str]:
        pointer = argument(call, 0, "pointer")
        return self._added(pointer, set()) if pointer is not None else set()

    def _added(self, node: ast.expr, seen: set[str]) -> set[str]:
        """Names that are added up in an expression, through definitions, and that nothing multiplies."""
        if isinstance(node, ast.Name):
            if node.id in seen:
                return set()
            if node.id in self._carried:
                return self._added(self._carried[node.id][0], seen | {node.id})
            if node.id in self._definitions:
                return self._added(self._definitions[node.id], seen | {node.id})
            return {node.id} if node.id in self._parameters and self._looks_like_pointer(node.id) else set()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._added(node.left, seen) | self._added(node.right, seen)
        return set()

    def _looks_like_pointer(self, name: str) -> bool:
        multiplied = set()
        for node in ast.walk(self._function):
            if isinstance(node, (ast.BinOp, ast.Compare)) and not (
                isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)
            ):
                multiplied |= {n.id for n in ast.iter_child_nodes(node) if isinstance(n, ast.Name)}
        return name not in multiplied

    def _is_scalar(self, node: ast.expr) -> bool:
        """True if an expression is the same for all elements: no range reaches it, and no pointer."""
        for part in ast.walk(node):
            if called(part, "arange", "load"):
                return False
            if isinstance(part, ast.Name):
                if part.id in self._carried or part.id in self.pointers:
                    return False
                definition = self._definitions.get(part.id)
                if definition is not None and not self._is_scalar(definition):
                    return False
        return True

    @cached_property
    def pointers(self) -> set[str]:
        """The parameters that loads and stores go through."""
        names: set[str] = set()
        for call in calls_in(self._function.body, "load", "store"):
            names |= self._pointers_of(call)
        return names

    # --- masks ---------------------------------------------------------------------------------------------------

    def _limits(
        self, mask: ast.expr | None, ranges: Mapping[int, Term], offsets: Mapping[int, tuple[Term, ...]]
    ) -> tuple[dict[int, str | None], bool]:
        """The extents that a mask compares rows and columns with, and whether it says anything else."""
        limits: dict[int, str | None] = {0: None, 1: None}
        rest = False
        for part in _conjuncts(mask, self._definitions) if mask is not None else []:
            limit = self._limit(part, ranges, offsets)
            if limit is None or limits[limit[0]] not in (None, limit[1]):
                rest = True
            else:
                limits[limit[0]] = limit[1]
        return limits, rest

    def _limit(
        self, part: ast.expr, ranges: Mapping[int, Term], offsets: Mapping[int, tuple[Term, ...]]
    ) -> tuple[int, str] | None:
        """The axis and the extent of `index < extent`, where the index is that of the access."""
        if not (isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.Lt)):
            return None
        try:
            left, right = self.linear(part.left), self.linear(part.comparators[0])
        except NotApplicable:
            return None
        placed = [t for t in left if t.extent is not None]
        if len(placed) != 1 or placed[0].axis not in (0, 1) or placed[0].factors:
            return None
        axis = placed[0].axis
        if placed[0].extent != ranges[axis].extent:
            return None
        own = [_divided(t, ranges[axis].factors) for t in offsets[axis]]
        if any(t is None for t in own):
            return None
        left.remove(placed[0])
        total = Counter(_plain(t) for t in right)
        total.update(_plain(t) for t in own if t is not None)
        total.subtract(Counter(_plain(t) for t in left))
        return _single_extent(axis, total)


def _single_extent(axis: int, total: Counter[tuple[str, ...]]) -> tuple[int, str] | None:
    """The extent if all but one term cancel."""
    signed: Counter[tuple[str, ...]] = Counter()
    for factors, count in total.items():
        minus = factors.count("-1")
        signed[tuple(f for f in factors if f != "-1")] += count * (-1) ** minus
    left = [(factors, count) for factors, count in signed.items() if count]
    if len(left) == 1 and left[0][1] == 1 and left[0][0]:
        return axis, " * ".join(left[0][0])
    return None


def _plain(term: Term) -> tuple[str, ...]:
    return tuple(sorted(factor.removeprefix("(advance)") for factor in term.factors))


def _divided(term: Term, stride: tuple[str, ...]) -> Term | None:
    """A term without the factors of a stride; None where it does not have them."""
    left = Counter(term.factors)
    if any(left[factor] < count for factor, count in Counter(stride).items()):
        return None
    left.subtract(Counter(stride))
    return Term(tuple(sorted(left.elements())), term.axis)


def offset_text(terms: Sequence[Term], stride: tuple[str, ...]) -> str:
    """The index that offsets along an axis add up to, in elements of the axis. Raises NotApplicable."""
    parts = []
    for term in terms:
        divided = _divided(term, stride)
        if divided is None:
            raise refuse(
                f"the offset {' * '.join(term.factors)} is not a multiple of the stride {' * '.join(stride) or '1'}"
            )
        parts.append(" * ".join(divided.factors) or "1")
    return " + ".join(parts) or "0"


def _shared(base: tuple[Term, ...], ranges: Mapping[int, Term]) -> tuple[tuple[Term, ...], dict[int, list[Term]]]:
    """Scalar terms that are a multiple of the stride of rows belong to the rows, if that stride is not 1 and the rest
    of the term is the index of a block. Kernels that advance pointers add to them."""
    shares: dict[int, list[Term]] = {0: [], 1: []}
    left = []
    for term in base:
        fitting = [a for a in (0, 1) if ranges[a].factors and _divided(term, ranges[a].factors) is not None]
        if len(fitting) == 1 and any(factor.startswith("(advance)") for factor in term.factors):
            shares[fitting[0]].append(Term(tuple(f.removeprefix("(advance)") for f in term.factors), fitting[0]))
        else:
            left.append(term)
    return tuple(left), shares


def _conjuncts(mask: ast.expr, definitions: Mapping[str, ast.expr]) -> list[ast.expr]:
    if isinstance(mask, ast.BinOp) and isinstance(mask.op, ast.BitAnd):
        return [*_conjuncts(mask.left, definitions), *_conjuncts(mask.right, definitions)]
    if isinstance(mask, ast.Name) and mask.id in definitions:
        return _conjuncts(definitions[mask.id], definitions)
    return [mask]


def _factor(node: ast.expr) -> str:
    text = text_of(node)
    return text if isinstance(node, (ast.Name, ast.Constant, ast.Attribute, ast.Call)) else f"({text})"


def _cancelled(term: Term) -> Term:
    """`k // B` times `B` is `k`: the loop's variable takes multiples of its step alone."""
    for factor in term.factors:
        if factor.startswith("(advance)") and " // " in factor:
            index, step = factor.removeprefix("(advance)").strip("()").split(" // ")
            if step in term.factors:
                left = list(term.factors)
                left.remove(factor)
                left.remove(step)
                return replace(term, factors=tuple(sorted((*left, f"(advance){index}"))))
    return term

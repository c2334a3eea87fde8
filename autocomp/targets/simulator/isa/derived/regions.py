"""The rows and bytes that an instruction touches, derived from its semantics.

A region is a superset of what the instruction touches, exact where indices are affine in the loop variables. All its
expressions are over the instruction's arguments and the state before the instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from autocomp.errors import IsaError, Place
from autocomp.remember import remember
from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa.derived.affine import (
    Loops,
    UnboundedError,
    interval,
    is_fixed,
    wrapped,
)
from autocomp.targets.simulator.isa.derived.paths import Path, merged
from autocomp.targets.simulator.isa.derived.shapes import Dim, extent, is_same_product, shapes
from autocomp.targets.simulator.isa.model import Accelerator, Instruction, semantics
from autocomp.targets.simulator.isa.tree import (
    AddressField,
    Assign,
    Binary,
    Conditional,
    Element,
    ElementType,
    Expression,
    For,
    Let,
    Name,
    Number,
    StateField,
    Statement,
    Sum,
    When,
    element_bits,
    is_float,
)

MAX_LET = 4_000  # terms of a let with the lets in it written out


@dataclass(frozen=True)
class Region:
    """Rows base + sum(i_d * stride_d) of a memory; for DRAM byte offsets from `pointer`, `bytes` at each point."""

    memory: str
    write: bool
    base: Expression
    dims: tuple[Dim, ...]
    first_col: Expression | None = None  # local memories
    cols: Expression | None = None
    pointer: str | None = None  # DRAM: the parameter
    bytes: Expression | None = None
    parameter: str | None = None  # that gives the address, where it is one
    accumulate_read: bool = False
    path: Path = ()
    # Where memory contents decide: the row, or byte offset, of every iteration of loops. The rows above enclose it.
    point: Expression | None = None
    loops: tuple[tuple[str, Expression], ...] = ()
    element: ElementType | None = None  # of DRAM at the points

    @property
    def guard(self) -> Expression | None:
        """When the access takes place; None for always."""
        condition: Expression = algebra.ONE
        for part, wanted in self.path:
            condition = algebra.both(condition, part if wanted else algebra.negate(part))
        return None if condition == algebra.ONE else condition


@dataclass(frozen=True)
class _Context:
    """The context of an access: loops with tightened bounds, conditions, and the values of names and state."""

    loops: dict[str, Expression] = field(default_factory=dict)
    path: Path = ()
    lets: dict[str, Expression] = field(default_factory=dict)
    assigned: dict[tuple[str, Expression | None, str], Expression] = field(default_factory=dict)

    def resolve(self, expression: Expression) -> Expression:
        """The expression over arguments and the state before the instruction."""

        def replacement(part: Expression) -> Expression | None:
            if isinstance(part, Name) and part.name in self.lets:
                return self.lets[part.name]
            if isinstance(part, StateField):
                index = None if part.index is None else self.resolve(part.index)
                return self.assigned.get((part.state, index, part.field), replace(part, index=index))
            return None

        return algebra.substitute(expression, replacement)

    def under(self, condition: Expression, wanted: bool = True) -> _Context:
        """This context where a condition has a value; conditions on loop variables tighten their bounds."""
        if isinstance(condition, Number):
            return self
        if isinstance(condition, Binary) and condition.operator == ("&&" if wanted else "||"):
            return self.under(condition.left, wanted).under(condition.right, wanted)
        if is_fixed(condition, self.loops):
            return replace(self, path=(*self.path, (condition, wanted)))
        limit = _upper_limit(condition, self.loops) if wanted else None
        if limit is None:
            return self
        variable, bound = limit
        return replace(self, loops={**self.loops, variable: algebra.call("min", (self.loops[variable], bound))})

    def knows(self, condition: Expression) -> bool:
        """True if the value of a condition is given on the way here."""
        return any(part == condition for part, _ in self.path)


def _upper_limit(condition: Expression, loops: Loops) -> tuple[str, Expression] | None:
    """`(v, n)` when the condition says v < n for a loop variable v and a fixed n."""
    if not isinstance(condition, Binary) or condition.operator not in ("<", "<=", ">", ">="):
        return None
    left, right, symbol = condition.left, condition.right, condition.operator
    if symbol in (">", ">="):
        left, right, symbol = right, left, "<" if symbol == ">" else "<="
    if isinstance(left, Name) and left.name in loops and is_fixed(right, loops):
        return left.name, right if symbol == "<" else algebra.add(right, algebra.ONE)
    return None


def derive(accelerator: Accelerator, instruction: Instruction) -> tuple[Region, ...]:
    """All regions of an instruction, reads and writes, without repetitions."""
    regions, _ = _of_block(accelerator, instruction.body, _Context())
    return tuple(_stretched(region, instruction.timing.get("rows")) for region in _merge(regions))


def _stretched(region: Region, rows: Expression | None) -> Region:
    """The region with the dimensions that go on where its bytes in DRAM end as a part of these, if what is left are the
    `rows` that the move states."""
    if region.bytes is None or rows is None:
        return region
    dims, length = list(region.dims), region.bytes
    while (dim := next((dim for dim in dims if dim.stride == length), None)) is not None:
        dims.remove(dim)
        length = algebra.multiply(dim.count, length)
    points: Expression = algebra.ONE
    for dim in dims:
        points = algebra.multiply(points, dim.count)
    return replace(region, dims=tuple(dims), bytes=length) if is_same_product(points, rows) else region


def effects(
    accelerator: Accelerator, instruction: Instruction
) -> Mapping[tuple[str, Expression | None, str], Expression]:
    """The state fields (record, index, field) that an instruction sets, with their new values."""
    return _of_block(accelerator, instruction.body, _Context())[1].assigned


@dataclass(frozen=True)
class Read:
    """An element that a value reads, in loops whose bounds the conditions on the way to it tighten."""

    element: Element
    loops: Loops
    path: Path


@dataclass(frozen=True)
class Write:
    """An assignment to an element, over the arguments and the state before the instruction: the conditions on the way
    to it, the loops around it, its value, and what that reads."""

    path: Path
    target: Element
    value: Expression
    loops: Loops
    reads: tuple[Read, ...]
    place: Place | None = None


def writes(accelerator: Accelerator, instruction: Instruction) -> tuple[Write, ...]:
    """All assignments of an instruction of a machine to elements of memories, registers and tensors."""

    keeper = semantics(accelerator)

    def derived() -> tuple[Write, ...]:
        return tuple(_writes(keeper, instruction.body, _Context()))

    return remember(keeper, f"{__name__}.writes", instruction.name, derived)


def _write(statement: Assign, target: Element, context: _Context) -> Write:
    value = context.resolve(statement.value)
    resolved = Element(target.memory, tuple(context.resolve(i) for i in target.indices), target.element)
    reads = tuple(Read(element, inner.loops, inner.path) for element, inner in _elements(value, context))
    return Write(context.path, resolved, value, context.loops, reads, statement.place)


def _inside(variable: str, bound: Expression, context: _Context) -> _Context:
    """The context in a loop."""
    resolved = context.resolve(bound)
    return replace(context, loops={**context.loops, variable: _fixed_bound(resolved, context.loops)})


def _writes(accelerator: Accelerator, body: Sequence[Statement], context: _Context) -> Iterator[Write]:
    for statement in body:
        if isinstance(statement, Assign) and isinstance(statement.target, Element):
            yield _write(statement, statement.target, context)
        elif isinstance(statement, For):
            inner = context
            for variable, bound in statement.variables:
                inner = _inside(variable, bound, inner)
            yield from _writes(accelerator, statement.body, inner)
        elif isinstance(statement, When):
            condition = context.resolve(statement.condition)
            yield from _writes(accelerator, statement.then, context.under(condition))
            yield from _writes(accelerator, statement.otherwise, context.under(condition, False))
        context = _of_block(accelerator, (statement,), context)[1]


def _of_block(accelerator: Accelerator, body: Sequence[Statement], context: _Context) -> tuple[list[Region], _Context]:
    regions: list[Region] = []
    for statement in body:
        if isinstance(statement, Let):
            value = context.resolve(statement.value)
            if algebra.is_larger(value, MAX_LET):
                raise IsaError(f"`let {statement.name}` expands to more than {MAX_LET} terms", hint="split it up")
            context = replace(context, lets={**context.lets, statement.name: value})
        elif isinstance(statement, Assign):
            regions.extend(_of_assignment(accelerator, statement, context))
            context = _after(accelerator, statement, context)
        elif isinstance(statement, For):
            inner = context
            for variable, bound in statement.variables:
                regions.extend(_reads(accelerator, inner.resolve(bound), inner))
                inner = _inside(variable, bound, inner)
            regions.extend(_of_block(accelerator, statement.body, inner)[0])
        elif isinstance(statement, When):
            parts, context = _of_when(accelerator, statement, context)
            regions.extend(parts)
    return regions, context


def _fixed_bound(bound: Expression, loops: Loops) -> Expression:
    try:
        return interval(bound, loops)[1]
    except UnboundedError:
        return Number(1 << 24)


def _of_when(accelerator: Accelerator, statement: When, context: _Context) -> tuple[list[Region], _Context]:
    condition = context.resolve(statement.condition)
    regions = _reads(accelerator, condition, context)
    then, after_then = _of_block(accelerator, statement.then, context.under(condition))
    otherwise, after_otherwise = _of_block(accelerator, statement.otherwise, context.under(condition, False))
    assigned = dict(context.assigned)
    for key in {**after_then.assigned, **after_otherwise.assigned}:
        before = StateField(*key)
        values = [side.assigned.get(key, before) for side in (after_then, after_otherwise)]
        assigned[key] = algebra.select(condition, values[0], values[1])
    return regions + then + otherwise, replace(context, assigned=assigned)


def _after(accelerator: Accelerator, statement: Assign, context: _Context) -> _Context:
    """The context after an assignment to state."""
    target = statement.target
    if not isinstance(target, StateField):
        return context
    index = None if target.index is None else context.resolve(target.index)
    record = next(s for s in accelerator.states if s.name == target.state)
    element = next(e for name, e, _ in record.fields if name == target.field)
    value = context.resolve(statement.value)
    if not is_float(element) and element_bits(element) < 64:
        value = algebra.call("wrap", (value,), element)
    return replace(context, assigned={**context.assigned, (target.state, index, target.field): value})


def _of_assignment(accelerator: Accelerator, statement: Assign, context: _Context) -> list[Region]:
    value = context.resolve(statement.value)
    target = statement.target
    if isinstance(target, StateField):
        return _reads(accelerator, value, context)
    resolved = Element(target.memory, tuple(context.resolve(i) for i in target.indices), target.element)
    regions = [r for i in resolved.indices for r in _reads(accelerator, i, context)]
    regions.extend(_reads(accelerator, value, context, resolved))
    regions.extend(_region(accelerator, resolved, context, write=True))
    return regions


def _reads(
    accelerator: Accelerator, expression: Expression, context: _Context, target: Element | None = None
) -> list[Region]:
    """Regions that evaluating an expression reads, each under the conditions on the way to it."""
    regions: list[Region] = []
    for element, inner in _elements(expression, context):
        regions.extend(_region(accelerator, element, inner, write=False, accumulate_read=element == target))
    return regions


def _elements(expression: Expression, context: _Context) -> Iterator[tuple[Element, _Context]]:
    if isinstance(expression, Element):
        yield expression, context
    if isinstance(expression, Conditional):
        yield from _elements(expression.condition, context)
        yield from _elements(expression.then, context.under(expression.condition))
        yield from _elements(expression.otherwise, context.under(expression.condition, False))
        return
    if isinstance(expression, Binary) and expression.operator in ("&&", "||"):
        yield from _elements(expression.left, context)
        yield from _elements(expression.right, context.under(expression.left, expression.operator == "&&"))
        return
    if isinstance(expression, Sum):
        yield from _elements(expression.bound, context)
        bound = _fixed_bound(expression.bound, context.loops)
        yield from _elements(expression.body, replace(context, loops={**context.loops, expression.variable: bound}))
        if expression.start is not None:
            yield from _elements(expression.start, context)
        return
    for child in algebra.children(expression):
        yield from _elements(child, context)


# --- one access --------------------------------------------------------------------------------------------------


def _region(
    accelerator: Accelerator, element: Element, context: _Context, write: bool, accumulate_read: bool = False
) -> list[Region]:
    """The region of one element access in its loops; nothing for registers, which nobody tracks."""
    if element.element is not None:
        return [_dram_region(accelerator, element, context, write, accumulate_read)]
    memory = accelerator.home(element.memory)
    if memory.kind == "register":
        return []
    row, column = element.indices
    unwrapped = wrapped(row, context.loops)
    if unwrapped is not None and not context.knows(unwrapped[1]):
        straight = replace(element, indices=(unwrapped[0], column))
        sides = (straight, context.under(unwrapped[1])), (element, context.under(unwrapped[1], False))
        return [r for e, c in sides for r in _region(accelerator, e, c, write, accumulate_read)]
    width = element_bits(accelerator.memory(element.memory).element) // element_bits(memory.element)
    path = context.path + _loops_that_run(context.loops, algebra.names_in(row) | algebra.names_in(column))
    regions = []
    for base, dims, low, cols in shapes(row, column, context.loops, memory):
        names = {part.parameter for part in algebra.walk(base) if isinstance(part, AddressField)}
        parameter = names.pop() if len(names) == 1 else None
        low, cols = algebra.multiply(low, Number(width)), algebra.multiply(cols, Number(width))
        region = Region(memory.name, write, base, dims, low, cols, None, None, parameter, accumulate_read, path)
        regions.append(_with_points(region, row, context.loops))
    return regions


def _with_points(region: Region, index: Expression, loops: Loops, element: ElementType | None = None) -> Region:
    """The region with the points of an index that memory contents decide, if they do."""
    if not any(isinstance(part, Element) for part in algebra.walk(index)):
        return region
    return replace(region, point=index, loops=tuple(loops.items()), element=element)


def _loops_that_run(loops: Loops, used: frozenset[str]) -> Path:
    """Conditions that loops which do not show in the indices run at least once."""
    conditions = []
    for variable, bound in loops.items():
        if variable not in used and not isinstance(bound, Number):
            conditions.append((Binary(">", bound, algebra.ZERO), True))
    return tuple(conditions)


def _dram_region(
    accelerator: Accelerator, element: Element, context: _Context, write: bool, accumulate_read: bool
) -> Region:
    assert element.element is not None
    size = element_bits(element.element) // 8
    offset = element.indices[0]
    path = context.path + _loops_that_run(context.loops, algebra.names_in(offset))
    base, dims, length = extent(offset, context.loops, size)
    region = Region(
        accelerator.dram.name, write, base, dims, pointer=element.memory, bytes=length, parameter=element.memory,
        accumulate_read=accumulate_read, path=path,
    )  # fmt: skip
    return _with_points(region, offset, context.loops, element.element)


# --- merging -----------------------------------------------------------------------------------------------------


def _merge(regions: list[Region]) -> list[Region]:
    """Regions that differ only in their conditions become one where the conditions complete each other."""
    groups: dict[Region, list[Path]] = {}
    for region in regions:
        groups.setdefault(replace(region, path=()), []).append(region.path)
    return [replace(region, path=path) for region, paths in groups.items() for path in merged(paths)]

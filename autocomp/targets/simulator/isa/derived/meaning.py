"""The effect of one form of an instruction on elements: which it moves, multiplies and adds, and where each is.

An instruction does different things for different operands and configurations. A *form* is one way through its
conditions. In a form every assignment is a `Transfer`: for all points of its axes, a target element becomes a sum of
moved elements and of one product. Where elements are stays symbolic in operands and configuration registers, so that
the same transfer says where a command reads and which operand has to change to read elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa.derived.affine import affine, wrapped
from autocomp.targets.simulator.isa.derived.regions import Write, writes
from autocomp.targets.simulator.isa.model import Accelerator, Instruction
from autocomp.targets.simulator.isa.tree import (
    Binary,
    Call,
    Conditional,
    Element,
    Expression,
    Let,
    Name,
    Number,
    Sum,
    element_bits,
)

Decide = Callable[[Expression], Expression]  # an expression with the operands and registers of a command put in
ELEMENT = Name("·")  # stands for the moved element in what is done to it


# Words of timing that state the windows of an image, each of which becomes one element.
WINDOWS = ("window", "window_step", "lines", "line_rows", "image_rows", "image_columns", "above", "before", "line_step")


class UnclearError(Exception):
    """An instruction does something that is not a sum of moved elements and one product."""


@dataclass(frozen=True)
class Stride:
    """The step of an axis through a memory: rows (DRAM: bytes) and columns for each point. With a `width`, columns wrap
    round after that many points, and `rows` is the distance to the next block."""

    rows: Expression
    columns: int = 0
    width: int = 0


@dataclass(frozen=True)
class Side:
    """The elements of a memory or register, or of DRAM at a `pointer`, that a transfer touches: from a base row (DRAM:
    byte) on, along its axes."""

    memory: str
    base: Expression
    steps: Mapping[str, Stride]
    pointer: bool = False
    element: str = ""  # type of elements in DRAM


@dataclass(frozen=True)
class Moved:
    """An element that is moved, and what is done to it on the way (`ELEMENT` itself: nothing)."""

    source: Side
    function: Expression


@dataclass(frozen=True)
class Product:
    """The sum over the axis `depth` of left times right."""

    left: Side
    right: Side
    depth: str


@dataclass(frozen=True)
class Transfer:
    """For all points of the axes, each below all of its bounds: target = the sum of the moved elements and the
    product, and of what was there before (`adds`). Without any of them, the target becomes zero.

    With `windows`, the moved elements are pixels of an image, one a row. The instruction makes a target element of each
    window of them, and the words of its timing say which windows there are."""

    bounds: Mapping[str, tuple[Expression, ...]]
    target: Side
    moved: tuple[Moved, ...] = ()
    product: Product | None = None
    adds: bool = False
    windows: Mapping[str, Expression] = field(default_factory=dict)


@dataclass(frozen=True)
class _Terms:
    """The parts of a sum as they are found."""

    moved: tuple[tuple[Element, Expression], ...] = ()
    product: tuple[Element, Element, str] | None = None
    bounds: tuple[tuple[str, Expression], ...] = ()

    def __add__(self, other: _Terms) -> _Terms:
        if self.product is not None and other.product is not None:
            raise UnclearError("several products are added")
        product = other.product if self.product is None else self.product
        return _Terms((*self.moved, *other.moved), product, (*self.bounds, *other.bounds))


def transfers(accelerator: Accelerator, instruction: Instruction, decide: Decide) -> tuple[Transfer, ...]:
    """The transfers that a form of an instruction makes; `decide` puts in what a command of that form knows.

    Raises UnclearError for what is not made of moves, sums and one product.
    """
    taken = [write for write in writes(accelerator, instruction) if _is_taken(write, decide)]
    registers = {m.name for m in accelerator.memories if m.kind == "register"}
    held: dict[str, Write] = {}
    moves: list[Transfer] = []
    for write in taken:
        value = decided(write.value, decide)
        inlined = replace(write, value=_inlined(value, held))
        if write.target.memory in registers:
            held[write.target.memory] = inlined
        windows = _windows(instruction, decide)
        image = _image(value, moves) if windows else None
        if image is not None:
            moves.append(_pooled(write, image, windows, decide))
        else:
            moves.append(_transfer(inlined, decide))
    return tuple(moves)


def _windows(instruction: Instruction, decide: Decide) -> Mapping[str, Expression]:
    """The words of an instruction's timing that state windows, where its form has any."""
    given = {word: instruction.timing[word] for word in WINDOWS if word in instruction.timing}
    stated = {word: decided(outside(instruction, value), decide) for word, value in given.items()}
    size = decide(stated["window"]) if len(stated) == len(WINDOWS) else algebra.ZERO
    return stated if isinstance(size, Number) and size.value else {}


def _image(value: Expression, moves: list[Transfer]) -> Transfer | None:
    """The move that has filled the one register that a value is made of."""
    memories = {part.memory for part in algebra.walk(value) if isinstance(part, Element)}
    images = [move for move in moves if {move.target.memory} == memories and len(move.moved) == 1]
    return images[-1] if images and images[-1].product is None else None


def _pooled(write: Write, image: Transfer, windows: Mapping[str, Expression], decide: Decide) -> Transfer:
    """The move of what becomes of an image's windows. Raises UnclearError where columns are not elements side by
    side."""
    target = _side(write.target, dict(write.loops), decide)
    size = Number(element_bits(target.element) // 8) if target.pointer else algebra.ONE
    columns = [axis for axis, step in target.steps.items() if step.rows == size]
    others = [axis for axis, step in image.target.steps.items() if step.columns]
    if len(target.steps) != 3 or columns != others:
        raise UnclearError("windows of an image become something else than elements side by side")
    bounds = {**image.bounds, **{name: (bound,) for name, bound in write.loops.items()}}
    return Transfer(bounds, target, image.moved, windows=windows)


def outside(instruction: Instruction, expression: Expression) -> Expression:
    """An expression of an instruction's timing or tracks, with the values of the lets in front of its semantics."""
    values = {statement.name: statement.value for statement in instruction.body if isinstance(statement, Let)}

    def value(part: Expression) -> Expression | None:
        known = values.get(part.name) if isinstance(part, Name) else None
        return None if known is None else outside(instruction, known)

    return algebra.substitute(expression, value)


def decided(expression: Expression, decide: Decide) -> Expression:
    """The expression with each condition that is known gone, and its numbers and addresses as they stand."""

    def choose(part: Expression) -> Expression | None:
        if isinstance(part, Conditional):
            known = decide(part.condition)
            if isinstance(known, Number):
                return decided(part.then if known.value else part.otherwise, decide)
        return None

    return algebra.substitute(expression, choose)


def _is_taken(write: Write, decide: Decide) -> bool:
    for condition, wanted in write.path:
        known = decide(condition)
        if not isinstance(known, Number):
            raise UnclearError("what is written depends on data")
        if bool(known.value) is not wanted:
            return False
    return True


def _inlined(value: Expression, held: Mapping[str, Write]) -> Expression:
    """The value with the elements of registers that this command has written replaced by what it wrote there."""

    def element(part: Expression) -> Expression | None:
        if not isinstance(part, Element) or part.memory not in held:
            return None
        write = held[part.memory]
        places = {
            index.name: to
            for index, to in zip(write.target.indices, part.indices, strict=True)
            if isinstance(index, Name)
        }
        if len(places) < len(part.indices):
            return None
        return algebra.substitute(write.value, lambda node: places.get(node.name) if isinstance(node, Name) else None)

    return algebra.substitute(value, element)


def _transfer(write: Write, decide: Decide) -> Transfer:
    write = _in_columns(write, decide)
    loops = dict(write.loops)
    terms = _terms(write.value, frozenset(loops))
    bounds: dict[str, list[Expression]] = {name: [bound] for name, bound in loops.items()}
    if terms.product is not None:
        loops = {**loops, terms.product[2]: Number(0)}
    for name, bound in terms.bounds:
        bounds.setdefault(name, []).append(bound)
    adds = any(element == write.target and function == ELEMENT for element, function in terms.moved)
    others = [pair for pair in terms.moved if pair != (write.target, ELEMENT)]
    if len(others) + adds < len(terms.moved):
        raise UnclearError("an element is added to itself twice")
    product = None
    if terms.product is not None:
        left, right, depth = terms.product
        product = Product(_side(left, loops, decide), _side(right, loops, decide), depth)
        if set(product.left.steps) & set(product.right.steps) != {depth}:
            product = replace(product, left=product.right, right=product.left)
        product = _ordered(product, _side(write.target, loops, decide))
    moved = tuple(Moved(_side(element, loops, decide), function) for element, function in others)
    return Transfer({k: tuple(v) for k, v in bounds.items()}, _side(write.target, loops, decide), moved, product, adds)


def _in_columns(write: Write, decide: Decide) -> Write:
    """The same, with one axis for two that a condition numbers as one: `16 * block + column < columns`."""
    loops = dict(write.loops)
    for condition in (part.condition for part in algebra.walk(write.value) if isinstance(part, Conditional)):
        pair = _numbered(condition, loops, decide)
        if pair is None:
            continue
        block, column = pair
        width = loops[column]
        digits = {block: Binary("/", Name(column), width), column: Binary("%", Name(column), width)}

        def put(part: Expression, digits: Mapping[str, Expression] = digits) -> Expression | None:
            return digits.get(part.name) if isinstance(part, Name) else None

        loops[column] = algebra.multiply(loops.pop(block), width)
        target = algebra.substitute(write.target, put)
        assert isinstance(target, Element)
        write = replace(write, loops=loops, target=target, value=algebra.substitute(write.value, put))
    return write


def _numbered(condition: Expression, loops: Mapping[str, Expression], decide: Decide) -> tuple[str, str] | None:
    """The axes of blocks and of the columns in one, where a condition bounds the number of a column."""
    if not isinstance(condition, Binary) or condition.operator not in ("<", "&&"):
        return None
    if condition.operator == "&&":
        return _numbered(condition.left, loops, decide) or _numbered(condition.right, loops, decide)
    left = affine(decide(condition.left), loops)
    if left is None or left.base != algebra.ZERO or not all(term.whole for term in left.terms):
        return None
    steps = {term.variable: term.stride for term in left.terms}
    for column, step in steps.items():
        blocks = [axis for axis, stride in steps.items() if stride == loops[column] != algebra.ONE]
        if len(steps) == 2 and step == algebra.ONE and len(blocks) == 1 and isinstance(loops[column], Number):
            return blocks[0], column
    return None


def _ordered(product: Product, target: Side) -> Product:
    """The product with the factor on the left that has an axis in common with the target's rows."""
    rows = {axis for axis, step in target.steps.items() if not step.columns}
    if rows & set(product.right.steps) and not rows & set(product.left.steps):
        return replace(product, left=product.right, right=product.left)
    return product


def _terms(value: Expression, loops: frozenset[str]) -> _Terms:
    if value in (algebra.ZERO, Number(0.0)):
        return _Terms()
    if isinstance(value, Call) and value.function == "wrap":
        inner = value.arguments[0]
        if isinstance(inner, Binary | Sum | Element):  # sums wrap: they are those of a ring
            return _terms(inner, loops)
    if isinstance(value, Binary) and value.operator == "+":
        return _terms(value.left, loops) + _terms(value.right, loops)
    if isinstance(value, Sum) and value.function in ("sum", "fma_chain"):
        start = _Terms() if value.start is None else _terms(value.start, loops)
        return _product(value, loops) + start
    if isinstance(value, Conditional) and value.otherwise in (algebra.ZERO, Number(0.0)):
        limits = tuple(_limits(value.condition, loops))
        inner_terms = _terms(value.then, loops)
        return replace(inner_terms, bounds=(*limits, *inner_terms.bounds))
    elements = [part for part in algebra.walk(value) if isinstance(part, Element)]
    if len(set(elements)) != 1:
        raise UnclearError("several elements become one, other than by a sum")
    return _Terms(((elements[0], _function(value, elements[0])),))


def _function(value: Expression, element: Element) -> Expression:
    return algebra.substitute(value, lambda part: ELEMENT if part == element else None)


def _product(value: Sum, loops: frozenset[str]) -> _Terms:
    inside = loops | {value.variable}
    if not (isinstance(value.body, Binary) and value.body.operator == "*"):
        raise UnclearError("a sum of something else than products")
    sides: list[Element] = []
    limits: list[tuple[str, Expression]] = [(value.variable, value.bound)]
    for factor in (value.body.left, value.body.right):
        factor_part = factor
        while isinstance(factor_part, Conditional) and factor_part.otherwise in (algebra.ZERO, Number(0.0)):
            limits.extend(_limits(factor_part.condition, inside))
            factor_part = factor_part.then
        if not isinstance(factor_part, Element):
            raise UnclearError("a factor of a product is not an element")
        sides.append(factor_part)
    return _Terms((), (sides[0], sides[1], value.variable), tuple(limits))


def _limits(condition: Expression, loops: frozenset[str]) -> Iterator[tuple[str, Expression]]:
    """`(axis, bound)` for each `axis < bound` that must hold."""
    if isinstance(condition, Binary) and condition.operator == "&&":
        yield from _limits(condition.left, loops)
        yield from _limits(condition.right, loops)
        return
    if isinstance(condition, Binary) and condition.operator == "<":
        left = affine(condition.left, dict.fromkeys(loops, algebra.ONE))
        if left is not None and left.base == algebra.ZERO and len(left.terms) == 1:
            (term,) = left.terms
            if term.whole and term.stride == algebra.ONE:
                yield term.variable, condition.right
                return
    raise UnclearError("a condition on elements is not a bound of an axis")


def _row(index: Expression, loops: Mapping[str, Expression]) -> Expression:
    """A row without what wraps it round at the end of a memory: where it does, it is not in the memory."""
    unwrapped = wrapped(index, loops)
    return index if unwrapped is None else unwrapped[0]


def _side(element: Element, loops: Mapping[str, Expression], decide: Decide) -> Side:
    if element.element is not None:
        base, steps = _along(decided(element.indices[0], decide), loops)
        return Side(element.memory, base, {axis: Stride(rows) for axis, rows in steps.items()}, True, element.element)
    row = affine(_row(decided(element.indices[0], decide), loops), loops)
    column = affine(decided(element.indices[1], decide), loops)
    if row is None or column is None or column.base != algebra.ZERO:
        raise UnclearError("where an element is does not follow from axes alone")
    step_of = {term.variable: Stride(term.stride) for term in row.terms if term.whole}
    blocks = {term.variable: term for term in row.terms if not term.whole}
    if len(step_of) + len(blocks) < len(row.terms):
        raise UnclearError("a row depends on several digits of an axis")
    for term in column.terms:
        if term.stride != algebra.ONE or term.variable in step_of:
            raise UnclearError("columns are not stepped through one by one")
        block = blocks.pop(term.variable, None)
        if block is None and term.whole:
            step_of[term.variable] = Stride(algebra.ZERO, 1)
        elif block is not None and term.is_rest_of(block) and isinstance(block.divisor, Number):
            step_of[term.variable] = Stride(block.stride, 1, int(block.divisor.value))
        else:
            raise UnclearError("columns are not stepped through one by one")
    if blocks:
        raise UnclearError("blocks of rows without columns")
    return Side(element.memory, row.base, step_of)


def _along(offset: Expression, loops: Mapping[str, Expression]) -> tuple[Expression, Mapping[str, Expression]]:
    form = affine(offset, loops)
    if form is None or not all(term.whole for term in form.terms):
        raise UnclearError("where an element is in DRAM does not follow from axes alone")
    return form.base, {term.variable: term.stride for term in form.terms}

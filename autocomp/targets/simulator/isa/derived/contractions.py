"""The products of a machine: the tile of every contraction, and the peak of multiply-accumulates a cycle.

A product counts where both of its factors come from memories. The rate of an instruction is its products over the
cycles that its unit is busy with it, at the sizes of operands where that is largest. Units work side by side, so their
rates add up.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from autocomp.remember import remembered, remembered_with
from autocomp.targets.simulator.isa.algebra import children, names_in, walk
from autocomp.targets.simulator.isa.derived.analysis import Analysis
from autocomp.targets.simulator.isa.derived.paths import Path
from autocomp.targets.simulator.isa.derived.ranges import FALSE, Range, Ranges, ranges_of
from autocomp.targets.simulator.isa.derived.regions import Write, writes
from autocomp.targets.simulator.isa.derived.roles import instruction_roles
from autocomp.targets.simulator.isa.derived.spread import spread_columns
from autocomp.targets.simulator.isa.model import Accelerator, Instruction, semantics
from autocomp.targets.simulator.isa.timing import ARRAYS, MOVES
from autocomp.targets.simulator.isa.tree import (
    AddressField,
    Binary,
    Call,
    Conditional,
    Element,
    Expression,
    Number,
    StateField,
    Sum,
)
from autocomp.targets.simulator.isa.walk import has_element

MAX_POINTS = 4096  # combinations of operands that are tried
MAX_CONDITIONS = 10
SIZES = ("rows", "columns", "depth")

Tile = tuple[int, int, int]


@dataclass(frozen=True)
class Contraction:
    """An instruction that multiplies and sums.

    `tile` is the largest (I, J, K) of one: rows and columns of its result and the length of its sum. `products` are the
    multiply-accumulates of the largest command, `rate` is the most of them in a cycle. Sizes that the description
    neither states nor implies are None; `unknown` names them.
    """

    instruction: str
    unit: str | None
    tile: Tile | None
    rate: int | None
    unknown: str = ""
    stated: bool = False


@remembered_with(semantics)
def contractions(accelerator: Accelerator) -> tuple[Contraction, ...]:
    """Every instruction that multiplies elements of memories with each other and sums."""
    roles = instruction_roles(accelerator)
    multiplying = [i for i in accelerator.instructions if roles[i.name].kind == "contraction"]
    return tuple(_contraction(accelerator, i, Analysis(accelerator, i)) for i in multiplying)


def contraction_tile(accelerator: Accelerator) -> Tile | None:
    """The size of the machine's first contraction that has one."""
    return next((c.tile for c in contractions(accelerator) if c.tile is not None), None)


@remembered_with(semantics)
def peak(accelerator: Accelerator) -> int:
    """Multiply-accumulates a cycle at full use; 0 without a contraction, or where nothing limits one.

    Elementwise products count too: with a sum elsewhere, a kernel can contract with them. Products of transfer units,
    such as the normalisations of a store, cannot be part of a contraction.
    """
    if not contractions(accelerator):
        return 0
    known = {contraction.instruction: contraction.rate for contraction in contractions(accelerator)}
    fastest: dict[str | None, int] = {}
    for instruction in _beside_moves(accelerator):
        rate = known[instruction.name] if instruction.name in known else _rate(accelerator, instruction, None)
        if rate is None:
            return 0
        fastest[instruction.unit] = max(rate, fastest.get(instruction.unit, 0))
    return sum(fastest.values())


@remembered_with(semantics)
def multipliers(accelerator: Accelerator) -> frozenset[str | None]:
    """The units whose products may be part of a contraction."""
    return frozenset(instruction.unit for instruction in multiplying(accelerator))


def multiplying(accelerator: Accelerator) -> tuple[Instruction, ...]:
    """The instructions whose products may be part of a contraction."""
    return tuple(i for i in _beside_moves(accelerator) if _multiplies(accelerator, i))


def summed_along_columns(accelerator: Accelerator, instruction: Instruction) -> frozenset[str]:
    """The operands of an instruction along whose columns it sums products, not along their rows."""
    names: set[str] = set()
    for part in (part for write in writes(accelerator, instruction) for part in walk(write.value)):
        if not isinstance(part, Sum):
            continue
        for element in (e for e in walk(part.body) if isinstance(e, Element) and len(e.indices) == 2):
            row, column = element.indices
            if part.variable in names_in(column) and part.variable not in names_in(row):
                names |= {field.parameter for field in walk(row) if isinstance(field, AddressField)}
    return frozenset(names)


@remembered_with(semantics)
def adds(accelerator: Accelerator) -> bool:
    """True if an instruction may add to sums of products: it reads, besides factors, a memory that products write."""
    made = {
        w.target.memory for i in multiplying(accelerator) for w in writes(accelerator, i) if w.target.element is None
    }
    homes = {accelerator.home(name).name for name in made}
    local = (w for i in accelerator.instructions for w in writes(accelerator, i) if w.target.element is None)
    read = (part for write in local for part in _besides_factors(write.value))
    return any(accelerator.home(part.memory).name in homes for part in read if part.element is None)


def _besides_factors(value: Expression) -> Iterator[Element]:
    """The elements in a value that are not in a product."""
    if isinstance(value, Element):
        yield value
    elif isinstance(value, Call) and value.function == "fma":
        yield from _besides_factors(value.arguments[2])
    elif not _is_product(value):
        for part in children(value):
            yield from _besides_factors(part)


def _beside_moves(accelerator: Accelerator) -> Iterator[Instruction]:
    moving = {unit.name for unit in accelerator.units if unit.settings.get("kind") in MOVES}
    return (instruction for instruction in accelerator.instructions if instruction.unit not in moving)


def _multiplies(accelerator: Accelerator, instruction: Instruction) -> bool:
    ranges = ranges_of(accelerator, instruction)
    return any(_of_value(write.value, ranges) for write in writes(accelerator, instruction))


def _contraction(accelerator: Accelerator, instruction: Instruction, analysis: Analysis) -> Contraction:
    stated = instruction.contraction
    known = {**analysis.sizes, **_across(accelerator, instruction, analysis.sizes)}
    sizes = {word: stated.get(word, known.get(word)) for word in SIZES}
    unknown = ", ".join(word for word, size in sizes.items() if size is None)
    tile = None if unknown else (sizes["rows"], sizes["columns"], sizes["depth"])
    rate = stated.get("peak", _rate(accelerator, instruction, sizes["rows"]))
    return Contraction(instruction.name, instruction.unit, tile, rate, unknown, bool(stated))  # type: ignore[arg-type]


def _across(accelerator: Accelerator, instruction: Instruction, sizes: Mapping[str, int]) -> Mapping[str, int]:
    """The columns of a result where several local rows hold them; nothing where one row does."""
    ranges = ranges_of(accelerator, instruction)
    for write in writes(accelerator, instruction):
        factors = factors_of(write.value)
        rows = frozenset[str]() if factors is None else spread_columns(write, factors)
        count = math.prod(ranges.of(write.loops[name]).high for name in rows)
        if rows and "columns" in sizes and math.isfinite(count):
            return {"columns": sizes["columns"] * int(count)}
    return {}


def factors_of(value: Expression) -> tuple[Element, Element] | None:
    """The elements that are multiplied first."""
    for part in walk(value):
        pair: tuple[Expression, ...] = ()
        if isinstance(part, Binary) and part.operator == "*":
            pair = (part.left, part.right)
        elif isinstance(part, Call) and part.function == "fma":
            pair = part.arguments[:2]
        elements = [[e for e in walk(side) if isinstance(e, Element)] for side in pair]
        if pair and all(elements):
            return elements[0][0], elements[1][0]
    return None


# --- the rate ----------------------------------------------------------------------------------------------------


def _rate(accelerator: Accelerator, instruction: Instruction, rows: int | None) -> int | None:
    """The most products in a cycle; None where a size or a time has no bound."""
    ranges = ranges_of(accelerator, instruction)
    written = writes(accelerator, instruction)
    if not _multiplies(accelerator, instruction):
        return 0
    unit = next((u for u in accelerator.units if u.name == instruction.unit), None)
    kind = "" if unit is None else str(unit.settings.get("kind", "serial"))
    if kind in ARRAYS:
        products = products_of(written, ranges)
        steps = ranges.of(instruction.timing["rows"]).high if "rows" in instruction.timing else math.inf
        cycles = min(rows or math.inf, steps)  # one row a cycle enters the array
        return math.ceil(products / max(1, cycles)) if math.isfinite(products) and math.isfinite(cycles) else None
    busy = instruction.timing.get("busy", Number(1))
    best = 0.0
    points = busy_points(instruction, busy).all
    for point, registers in itertools.product(points, _register_points(ranges, busy, MAX_POINTS // len(points))):
        here = replace(ranges, names={**ranges.names, **point}, fields={**ranges.fields, **registers})
        best = max(best, products_of(written, here) / max(1.0, here.of(busy).low))
    return math.ceil(best) if math.isfinite(best) else None


def _register_points(ranges: Ranges, busy: Expression, most: int) -> Iterator[Mapping[tuple[str, str], Range]]:
    """All combinations of the registers that a time depends on; of those with many values, none but their range."""
    fields = {(part.state, part.field) for part in walk(busy) if isinstance(part, StateField) and part.index is None}
    whole = {(r.name, name) for r in ranges.accelerator.states for name, element, _ in r.fields if element[0] in "iu"}
    known = {field: ranges.fields[field] for field in sorted(fields & whole) if field in ranges.fields}
    limit = int(max(1, most) ** (1 / max(1, len(known))))
    few = {field: range(int(r.low), int(r.high) + 1) for field, r in known.items() if r.high - r.low < limit}
    for values in itertools.product(*few.values()):
        yield {field: Range(value, value) for field, value in zip(few, values, strict=True)}


@dataclass(frozen=True)
class Points:
    """Combinations of values of the operands that a time depends on; `complete` if there are no others."""

    all: Sequence[Mapping[str, Range]]
    complete: bool


def busy_points(instruction: Instruction, busy: Expression) -> Points:
    """Values to try for the operands that the time depends on: all of them, or the ends where there are too many."""
    named = [p for p in instruction.parameters if p.name in names_in(busy)]
    ranges = {p.name: (p.low, p.high) for p in named if p.low is not None and p.high is not None}
    limit = int(MAX_POINTS ** (1 / max(1, len(ranges))))
    values = [_values(low, high, limit) for low, high in ranges.values()]
    chosen = itertools.islice(itertools.product(*values), 2 * MAX_POINTS)
    points = [{n: Range(v, v) for n, v in zip(ranges, point, strict=True)} for point in chosen]
    complete = len(ranges) == len(named) and all(high - low < limit for low, high in ranges.values())
    return Points(points, complete)


def _values(low: int, high: int, limit: int) -> Sequence[int]:
    if high - low < limit:
        return range(high, low - 1, -1)
    powers = [1 << bit for bit in range(high.bit_length()) if low <= 1 << bit <= high]
    return sorted({low, high, *powers[-max(0, limit - 2) :]}, reverse=True)


def products_of(written: Iterable[Write], ranges: Ranges) -> float:
    """The products of a command; of conditions that nothing decides, the side with more."""
    counted = [(write.path, _of_write(write, ranges)) for write in written]
    return over_paths([(path, count) for path, count in counted if count], ranges, MAX_CONDITIONS)


def over_paths(counted: list[tuple[Path, float]], ranges: Ranges, conditions: int) -> float:
    """The sum of counts over assignments with the conditions on the way to them: of each of the first conditions that
    nothing decides, the side with more."""
    undecided = next((path[0][0] for path, _ in counted if path), None)
    if undecided is None or conditions == 0:
        return sum(count for _, count in counted)
    value = ranges.of(undecided)
    sides = []
    for wanted in (True, False):
        if value == FALSE if wanted else value.holds:
            continue
        kept = [(p, n) for p, n in counted if (undecided, not wanted) not in p]
        rest = [(tuple(part for part in p if part[0] != undecided), n) for p, n in kept]
        sides.append(over_paths(rest, ranges, conditions - 1))
    return max(sides, default=0.0)


def _of_write(write: Write, ranges: Ranges) -> float:
    count = _of_value(write.value, ranges)
    return count * math.prod(max(0.0, ranges.of(bound).high) for bound in write.loops.values()) if count else 0.0


def _of_value(value: Expression, ranges: Ranges) -> float:
    if not _has_product(value):
        return 0.0
    if isinstance(value, Conditional):
        return max(_of_value(value.then, ranges), _of_value(value.otherwise, ranges))
    if isinstance(value, Sum):
        times = ranges.of(value.bound).high
        inner = replace(ranges, names={**ranges.names, value.variable: Range(0, times - 1)})
        count = _of_value(value.body, inner)
        return max(0.0, times) * count if count else 0.0
    return float(_is_product(value)) + sum(_of_value(part, ranges) for part in children(value))


@remembered
def _has_product(value: Expression) -> bool:
    """True if an expression has a product that may count."""
    return _is_product(value) or any(map(_has_product, children(value)))


def _is_product(value: Expression) -> bool:
    """True for a product of elements of memories that is not a square."""
    if isinstance(value, Binary) and value.operator == "*":
        return has_element(value.left) and has_element(value.right) and value.left != value.right
    return isinstance(value, Call) and value.function == "fma" and all(map(has_element, value.arguments[:2]))

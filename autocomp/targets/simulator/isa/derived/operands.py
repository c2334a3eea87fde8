"""Where a contraction finds its operands: the memory of each, and how many rows of it one command touches."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from autocomp.remember import remembered
from autocomp.targets.simulator.isa.algebra import names_in, substitute, walk
from autocomp.targets.simulator.isa.derived.contractions import contractions, factors_of
from autocomp.targets.simulator.isa.derived.ranges import Range, Ranges, ranges_of
from autocomp.targets.simulator.isa.derived.regions import Write, writes
from autocomp.targets.simulator.isa.derived.spread import spread_columns
from autocomp.targets.simulator.isa.model import Accelerator, Instruction, Memory
from autocomp.targets.simulator.isa.tree import (
    AddressField,
    Element,
    ElementType,
    Expression,
    Number,
    StateField,
    Sum,
)
from autocomp.targets.simulator.isa.walk import names


@dataclass(frozen=True)
class Operand:
    """`memory` is where it lies, `element` the type as which it is read, `row` its index there."""

    memory: Memory
    element: ElementType
    row: Expression
    variables: Mapping[str, str]  # loop variables: rows, columns or depth
    bounds: Mapping[str, Expression]  # of these variables

    def rows(self, ranges: Ranges, tile: tuple[int, int, int]) -> int | None:
        """Rows that one command with a tile of this size touches, counted from the operand's address; None where that
        does not follow. Other operands have their smallest values, as strides of dense tiles do: of those that bound
        the tile, the smallest with which it has this size."""
        sizes = dict(zip(("rows", "columns", "depth"), tile, strict=True))
        smallest = {name: Range(known.low, known.low) for name, known in ranges.names.items() if known.known}
        for name, known in ranges.names.items():
            if known.known and name in names_in(self.row):
                bounding = [(b, sizes[self.variables[v]]) for v, b in self.bounds.items() if name in names_in(b)]
                smallest[name] = self._least(name, known, Ranges(ranges.accelerator, smallest, {}), bounding)
        loops = {name: Range(0, self._most(name, sizes[word]) - 1) for name, word in self.variables.items()}
        start = {key: Range(known.low, known.low) for key, known in ranges.fields.items() if known.known}
        row = substitute(self.row, lambda part: Number(0) if isinstance(part, AddressField) else None)
        bounds = Ranges(ranges.accelerator, {**smallest, **loops}, start).of(row)
        based = any(isinstance(part, StateField) for part in walk(row))
        if not math.isfinite(bounds.high) or (based and not math.isfinite(bounds.low)):
            return None
        return int(bounds.high - (bounds.low if based else 0)) + 1

    def _most(self, variable: str, size: int) -> int:
        """The values of a loop variable in a tile of a size: one of several along its side has as many as it states."""
        bound = self.bounds.get(variable)
        return min(size, int(bound.value)) if isinstance(bound, Number) else size

    @staticmethod
    def _least(name: str, known: Range, given: Ranges, bounding: Sequence[tuple[Expression, int]]) -> Range:
        """The least value of an operand with which bounds of loops are as large as a tile; its highest if none is."""
        if not bounding:
            return Range(known.low, known.low)
        values = range(int(known.low), int(known.high) + 1) if math.isfinite(known.high) else range(1)

        def large(value: int) -> bool:  # bounds grow with it
            here = replace(given, names={**given.names, name: Range(value, value)})
            return all(here.of(bound).high >= size for bound, size in bounding)

        value = values[min(bisect_left(values, True, key=large), len(values) - 1)]
        return Range(value, value)


@dataclass(frozen=True)
class Operands:
    """The left operand, whose rows are those of the result; the right one; and the sums. `fixed`: of rows, columns and
    depth, those of which every command has as many."""

    left: Operand
    right: Operand
    sums: Operand
    tile: tuple[int, int, int]
    ranges: Ranges
    fixed: frozenset[str]

    @property
    def all(self) -> tuple[Operand, Operand, Operand]:
        return self.left, self.right, self.sums


@remembered
def contraction_operands(accelerator: Accelerator) -> tuple[Operands, ...]:
    """Of every contraction whose tile is known and whose operands lie in local memories, in the order of the text."""
    operands = []
    for contraction in contractions(accelerator):
        instruction = accelerator.instruction(contraction.instruction)
        if contraction.tile is not None and instruction is not None:
            operands += list(_of(accelerator, instruction, contraction.tile))[:1]
    return tuple(operands)


def _of(accelerator: Accelerator, instruction: Instruction, tile: tuple[int, int, int]) -> Iterator[Operands]:
    for write in writes(accelerator, instruction):
        factors = _sides(write)
        if factors is None or any(_local(accelerator, element) is None for element in (*factors, write.target)):
            continue
        variables = _variables(write)
        if tile[0] == 1 and "columns" not in variables.values():  # a vector of columns, each in a local row of its own
            variables = {name: "columns" if word == "rows" else word for name, word in variables.items()}
        bounds = {name: bound for name, bound in _bounds(write).items() if name in variables}
        left, right, sums = (_operand(accelerator, element, variables, bounds) for element in (*factors, write.target))
        yield Operands(left, right, sums, tile, ranges_of(accelerator, instruction), _fixed(write, variables))


@remembered
def memories_of_factors(accelerator: Accelerator) -> tuple[Memory, Memory] | None:
    """The local memories of the left and the right operand of the first contraction, for a register the one that it is
    filled from. None where they do not follow."""
    for contraction in contractions(accelerator):
        instruction = accelerator.instruction(contraction.instruction)
        for write in writes(accelerator, instruction) if instruction is not None else ():
            found = [_local(accelerator, element) or _source(accelerator, element) for element in _sides(write) or ()]
            known = [memory for memory in found if memory is not None]
            if len(known) == 2:
                return known[0], known[1]
    return None


def _source(accelerator: Accelerator, register: Element) -> Memory | None:
    """The only local memory that instructions fill a register from, if there is one."""
    read = {
        element.memory
        for instruction in accelerator.instructions
        for write in writes(accelerator, instruction)
        if write.target.memory == register.memory
        for element in walk(write.value)
        if isinstance(element, Element) and _local(accelerator, element) is not None
    }
    return accelerator.home(read.pop()) if len(read) == 1 else None


def _sides(write: Write) -> tuple[Element, Element] | None:
    """The left and the right factor of a product that is written; the right one has the columns of the result."""
    factors = factors_of(write.value)
    if factors is None:
        return None
    columns = {name for name, word in _variables(write).items() if word == "columns"}
    first_has, second_has = (bool(columns & _names(element)) for element in factors)
    return (factors[1], factors[0]) if first_has and not second_has else factors


def _fixed(write: Write, variables: Mapping[str, str]) -> frozenset[str]:
    """The words of loops whose bounds are numbers."""
    bounds = _bounds(write)
    open_words = {word for name, word in variables.items() if not isinstance(bounds[name], Number)}
    return frozenset(variables.values()) - open_words


def _bounds(write: Write) -> dict[str, Expression]:
    return {**write.loops, **{part.variable: part.bound for part in walk(write.value) if isinstance(part, Sum)}}


def _names(element: Element) -> set[str]:
    return {name for index in element.indices for name in names(index)}


def _variables(write: Write) -> dict[str, str]:
    """Loop variables of the result's column, of its row, and of sums."""
    depth = {part.variable: "depth" for part in walk(write.value) if isinstance(part, Sum)}
    row, column = write.target.indices[0], write.target.indices[-1]
    of_rows = {name: "rows" for name in names(row) if name in write.loops}
    factors = factors_of(write.value)
    across = frozenset[str]() if factors is None else spread_columns(write, factors)
    of_columns = {name for name in names(column) if name in write.loops} | across
    return {**depth, **of_rows, **dict.fromkeys(sorted(of_columns), "columns")}


def _local(accelerator: Accelerator, element: Element) -> Memory | None:
    memory = next((m for m in accelerator.memories if m.name == element.memory), None)
    return memory if memory is not None and memory.kind == "local" else None


def _operand(
    accelerator: Accelerator, element: Element, variables: Mapping[str, str], bounds: Mapping[str, Expression]
) -> Operand:
    home = accelerator.home(element.memory)
    return Operand(home, accelerator.memory(element.memory).element, element.indices[0], variables, bounds)

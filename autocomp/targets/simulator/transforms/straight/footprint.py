"""The exact footprint of one command: its semantics with the operands and the configuration registers put in."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from heapq import merge
from itertools import product

from autocomp.remember import remembered
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.algebra import SOMEWHERE, add, substitute, walk
from autocomp.targets.simulator.isa.derived.regions import Region, Write, derive, effects, writes
from autocomp.targets.simulator.isa.tree import (
    AddressField,
    Binary,
    Call,
    Conditional,
    Element,
    Expression,
    Name,
    Number,
    Require,
    StateField,
)
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.straight.places import TensorByte, Value

Field = tuple[str, int | None, str]  # state record, index, field
Span = tuple[int, int, int]  # row, first column, column behind the last one; in DRAM 0 and bytes of the tensor


@dataclass(frozen=True)
class Access:
    """Rows of a local memory, or bytes of a tensor (`memory` is then the tensor's name with an `&` in front), that a
    command reads or writes. `adds`: it writes sums with what was there before. `operand`: the number of the call in
    its step, and the position of the argument, that say where."""

    memory: str
    spans: tuple[Span, ...]
    write: bool
    adds: bool
    operand: tuple[int, int] | None

    @property
    def local(self) -> bool:
        return not self.memory.startswith("&")

    @property
    def rows(self) -> tuple[int, int]:
        """The first and the last row."""
        return min(span[0] for span in self.spans), max(span[0] for span in self.spans)

    def meets(self, other: Access) -> bool:
        """True if both touch some element in common."""
        if self.memory != other.memory or not (self.spans and other.spans):
            return False
        mine, theirs = _in_order(self), _in_order(other)
        if mine.end <= theirs.spans[0][:2] or theirs.end <= mine.spans[0][:2]:
            return False
        ends = [(-1, 0), (-1, 0)]  # the last ones so far, of either
        for (row, first, end), whose in merge(mine.owned(0), theirs.owned(1)):
            if ends[1 - whose] > (row, first):
                return True
            ends[whose] = max(ends[whose], (row, end))
        return False

    def cells(self) -> frozenset[tuple[int, int]]:
        """Rows and columns; 0 and bytes."""
        return frozenset((row, column) for row, first, end in self.spans for column in range(first, end))


@dataclass(frozen=True)
class _InOrder:
    """Spans by where they begin, and where the last of them ends."""

    spans: tuple[Span, ...]
    end: tuple[int, int]

    def owned(self, whose: int) -> Iterator[tuple[Span, int]]:
        return ((span, whose) for span in self.spans)


@remembered
def _in_order(access: Access) -> _InOrder:
    return _InOrder(tuple(sorted(access.spans)), max((row, end) for row, _, end in access.spans))


@dataclass(frozen=True)
class Change:
    """The change that a move makes to every element: a function such as `relu`, or none, and then a factor."""

    factor: float
    function: str = ""


@dataclass(frozen=True)
class Footprint:
    """The accesses of a command. `change` is what a move does to every element on the way (None: not the same to all,
    or nothing so simple). `taken` is what a computation does to those of each operand that it brings into registers."""

    accesses: tuple[Access, ...]
    change: Change | None
    taken: tuple[tuple[tuple[int, int], Change | None], ...]


@dataclass
class State:
    """The machine's registers between two commands, and which operand of which command set a field of an address."""

    values: dict[Field, int | float] = field(default_factory=dict)
    setters: dict[Field, tuple[int, str]] = field(default_factory=dict)  # number of the command, its parameter

    def copy(self) -> State:
        """The registers as they are now."""
        return State(dict(self.values), dict(self.setters))


Setter = tuple[int, str]  # how many commands before, and the parameter there


@dataclass(frozen=True)
class _Outcome:
    """The effect of a command in a state: accesses without their operands but with the setters of their places, and new
    register values (None: not known) with the parameter that is the address in them."""

    accesses: tuple[tuple[Access, Setter | None], ...]
    registers: tuple[tuple[Field, int | float | None, str | None], ...]
    change: Change | None
    taken: tuple[tuple[str, Change | None], ...]


@dataclass(frozen=True)
class _Semantics:
    """An instruction's semantics, and what became of its commands before: the same ones come back in every version of a
    kernel."""

    regions: tuple[Region, ...]
    writes: tuple[Write, ...]
    effects: Mapping[tuple[str, Expression | None, str], Expression]
    requirements: tuple[Require, ...]
    registers: tuple[Field, ...]  # that any of this mentions
    outcomes: dict[tuple[Hashable, ...], _Outcome] = field(default_factory=dict)


def initial(accelerator: m.Accelerator) -> State:
    """The registers before the first command."""
    values: dict[Field, int | float] = {}
    for record in accelerator.states:
        for index in range(record.count) if record.count else (None,):
            values.update({(record.name, index, name): start for name, _, start in record.fields})
    return State(values)


@remembered
def _semantics_by_name(accelerator: m.Accelerator) -> dict[str, _Semantics]:
    return {}


def _semantics(accelerator: m.Accelerator, instruction: m.Instruction) -> _Semantics:
    known = _semantics_by_name(accelerator)
    if instruction.name not in known:
        plain = tuple(s for s in instruction.body if isinstance(s, Require))
        regions, assigned = derive(accelerator, instruction), writes(accelerator, instruction)
        set_to = effects(accelerator, instruction)
        mentioned = {
            (part.state, part.field)
            for expression in (
                *_expressions(regions),
                *_parts(assigned),
                *set_to.values(),
                *(r.condition for r in plain),
            )
            for part in walk(expression)
            if isinstance(part, StateField)
        }
        registers = tuple(register for register in initial(accelerator).values if register[::2] in mentioned)
        known[instruction.name] = _Semantics(regions, assigned, set_to, plain, registers)
    return known[instruction.name]


def _parts(assigned: Iterable[Write]) -> Iterator[Expression]:
    for write in assigned:
        yield from (write.value, *(condition for condition, _ in write.path))


def _expressions(regions: Iterable[Region]) -> Iterator[Expression]:
    for region in regions:
        yield from (condition for condition, _ in region.path)
        yield from (side for dim in region.dims for side in (dim.count, dim.stride))
        yield from (e for e in (region.base, region.first_col, region.cols, region.bytes) if e is not None)


def execute(
    accelerator: m.Accelerator,
    instruction: m.Instruction,
    operands: Mapping[str, Value],
    state: State,
    number: int,
    locate: Callable[[int, str], tuple[int, int] | None],
) -> Footprint:
    """The footprint of command `number` in a state, which is brought up to date. `locate(number, parameter)` is the
    call and argument that gives an operand. Raises NotApplicable if something is not known, or the machine forbids
    it."""
    known = _semantics(accelerator, instruction)
    setters = (state.setters.get(register) for register in known.registers)
    key = (
        tuple(operands.items()),
        tuple(state.values.get(register) for register in known.registers),
        tuple(None if setter is None else (number - setter[0], setter[1]) for setter in setters),
    )
    if key not in known.outcomes:
        known.outcomes[key] = _outcome(accelerator, instruction, operands, state, number)
    outcome = known.outcomes[key]
    for register, value, parameter in outcome.registers:
        if parameter is not None:
            state.setters[register] = (number, parameter)
        if value is None:
            state.values.pop(register, None)
        else:
            state.values[register] = value
    located = ((access, None if by is None else locate(number - by[0], by[1])) for access, by in outcome.accesses)
    accesses = _joined([replace(access, operand=operand) for access, operand in located])
    taken = ((locate(number, name), what) for name, what in outcome.taken)
    return Footprint(accesses, outcome.change, tuple((place, what) for place, what in taken if place is not None))


def _outcome(
    accelerator: m.Accelerator, instruction: m.Instruction, operands: Mapping[str, Value], state: State, number: int
) -> _Outcome:
    known = _semantics(accelerator, instruction)
    value = _lookup(accelerator, instruction, operands, state)
    for requirement in known.requirements:
        if substitute(requirement.condition, value) == Number(0):
            raise NotApplicable(f"{instruction.name}: {requirement.message}")
    touched = [_access(region, operands, state, value, number) for region in known.regions]
    registers: list[tuple[Field, int | float | None, str | None]] = []
    for (name, index, part), expression in known.effects.items():
        result = substitute(expression, value)
        source = next((node for node in walk(expression) if isinstance(node, AddressField)), None)
        register = (name, None if index is None else int(_number(index, value)), part)
        known_value = result.value if isinstance(result, Number) else None
        registers.append((register, known_value, None if source is None else source.parameter))
    accesses = tuple(entry for entry in touched if entry is not None)
    change, taken = _moved_and_taken(accelerator, known, value)
    return _Outcome(accesses, tuple(registers), change, taken)


def _moved_and_taken(
    accelerator: m.Accelerator, known: _Semantics, value: Callable[[Expression], Expression | None]
) -> tuple[Change | None, tuple[tuple[str, Change | None], ...]]:
    """A command's changes to the elements that it moves, and to those that it brings into registers, by operand."""
    changes: set[Change | None] = set()
    taken: dict[str, Change | None] = {}
    for write in known.writes:
        if any(substitute(condition, value) != Number(int(wanted)) for condition, wanted in write.path):
            continue
        named = {part.parameter for part in walk(write.value) if isinstance(part, AddressField)}
        register = write.target.element is None and accelerator.memory(write.target.memory).kind == "register"
        if not register:
            changes.add(_change(substitute(write.value, value)))
        elif len(named) == 1:
            taken[named.pop()] = _change(_inside(substitute(write.value, value)))
    return (changes.pop() if len(changes) == 1 else None), tuple(taken.items())


def _inside(expression: Expression) -> Expression:
    """The expression where the conditions hold beyond which it is zero."""
    while isinstance(expression, Conditional) and expression.otherwise == Number(0):
        expression = expression.then
    return expression


def _change(expression: Expression) -> Change | None:
    """The change that an expression makes to one element."""
    if isinstance(expression, Element):
        return Change(1.0)
    if isinstance(expression, Binary) and expression.operator == "*" and isinstance(expression.right, Number):
        inner = _change(expression.left)
        return None if inner is None else replace(inner, factor=inner.factor * expression.right.value)
    if isinstance(expression, Call) and len(expression.arguments) == 1 and expression.type_argument is None:
        return Change(1.0, expression.function) if _change(expression.arguments[0]) == Change(1.0) else None
    return None


def _lookup(
    accelerator: m.Accelerator, instruction: m.Instruction, operands: Mapping[str, Value], state: State
) -> Callable[[Expression], Expression | None]:
    kinds = {parameter.name: parameter for parameter in instruction.parameters}

    def value(part: Expression) -> Expression | None:
        if isinstance(part, Name) and part.name in operands:
            given = operands[part.name]
            return add(SOMEWHERE, Number(given.byte)) if isinstance(given, TensorByte) else Number(given)
        if isinstance(part, AddressField) and part.parameter in operands:
            given, space = operands[part.parameter], kinds[part.parameter].space
            assert isinstance(given, int)
            assert space is not None
            return Number(_field(accelerator.space(space), given & 0xFFFFFFFF, part.field))
        if isinstance(part, StateField):
            index = None if part.index is None else substitute(part.index, value)
            if index is None or isinstance(index, Number):
                known = state.values.get((part.state, None if index is None else int(index.value), part.field))
                return None if known is None else Number(known)
        return None

    return value


def _field(space: m.AddressSpace, address: int, name: str) -> int:
    if name == "none":
        return int(address == space.none)
    high, low = space.field(name)
    return (address >> low) & ((1 << (high - low + 1)) - 1)


def _number(expression: Expression, value: Callable[[Expression], Expression | None]) -> int | float:
    result = substitute(expression, value)
    if not isinstance(result, Number):
        raise NotApplicable("what a command touches depends on data")
    return result.value


def _access(
    region: Region,
    operands: Mapping[str, Value],
    state: State,
    value: Callable[[Expression], Expression | None],
    number: int,
) -> tuple[Access, Setter | None] | None:
    """The access of a region and who says where, or None where it does not take place."""
    for condition, wanted in region.path:
        if bool(_number(condition, value)) is not wanted:
            return None
    dims = [(int(_number(dim.count, value)), int(_number(dim.stride, value))) for dim in region.dims]
    base = int(_number(region.base, value))
    points = [base + sum(steps) for steps in product(*([step * i for i in range(count)] for count, step in dims))]
    if region.pointer is None:
        first = int(_number(region.first_col or Number(0), value))
        end = first + int(_number(region.cols or Number(0), value))
        spans = tuple((point, first, end) for point in sorted(set(points)) if first < end)
        memory = region.memory
        setter = _setter(region, state, number)
    else:
        place = operands[region.pointer]
        if not isinstance(place, TensorByte):
            return None
        length = int(_number(region.bytes or Number(0), value))
        spans = tuple((0, place.byte + point, place.byte + point + length) for point in sorted(set(points)) if length)
        memory = f"&{place.tensor}"
        setter = (0, region.pointer)
    return (Access(memory, spans, region.write, region.accumulate_read, None), setter) if spans else None


def _setter(region: Region, state: State, number: int) -> Setter | None:
    """The command that gives a region's place, and its parameter."""
    if region.parameter is not None:
        return 0, region.parameter
    for part in walk(region.base):
        if isinstance(part, StateField) and part.index is None and (part.state, None, part.field) in state.setters:
            there, parameter = state.setters[part.state, None, part.field]
            return number - there, parameter
    return None


def _joined(accesses: list[Access]) -> tuple[Access, ...]:
    """Accesses of the same operand as one; a read of what is then added to belongs to the write."""
    result: dict[tuple[str, bool, tuple[int, int] | None], Access] = {}
    adding = {access.operand for access in accesses if access.adds}
    for access in accesses:
        if access.adds:
            continue
        key = (access.memory, access.write, access.operand)
        adds = access.write and access.operand in adding
        before = result[key].spans if key in result else ()
        result[key] = Access(access.memory, (*before, *access.spans), access.write, adds, access.operand)
    return tuple(result.values())

"""What one command touches, exactly: its semantics with the operands and the configuration registers put in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product

from autocomp.isa import model as m
from autocomp.isa.algebra import substitute, walk
from autocomp.isa.regions import Region, derive, effects
from autocomp.transforms.protocol import NotApplicable
from autocomp.transforms.remember import remembered
from autocomp.transforms.straight.execution import Place, Value

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
        """Whether both touch some element."""
        if self.memory != other.memory:
            return False
        return any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for a, b in product(self.spans, other.spans))

    def covers(self, other: Access) -> bool:
        """Whether this touches all that the other one does; both in the same memory."""
        cells = self.cells()
        return self.memory == other.memory and other.cells() <= cells

    def cells(self) -> frozenset[tuple[int, int]]:
        """Rows and columns; 0 and bytes."""
        return frozenset((row, column) for row, first, end in self.spans for column in range(first, end))


@dataclass
class State:
    """The machine's registers between two commands, and which operand of which command set a field of an address."""

    values: dict[Field, int | float] = field(default_factory=dict)
    setters: dict[Field, tuple[int, str]] = field(default_factory=dict)  # number of the command, its parameter


@dataclass(frozen=True)
class _Semantics:
    regions: tuple[Region, ...]
    effects: Mapping[tuple[str, m.Expression | None, str], m.Expression]
    requirements: tuple[m.Require, ...]


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
        plain = tuple(s for s in instruction.body if isinstance(s, m.Require))
        known[instruction.name] = _Semantics(derive(accelerator, instruction), effects(accelerator, instruction), plain)
    return known[instruction.name]


def execute(
    accelerator: m.Accelerator,
    instruction: m.Instruction,
    operands: Mapping[str, Value],
    state: State,
    number: int,
    locate: Callable[[int, str], tuple[int, int] | None],
) -> tuple[Access, ...]:
    """What command `number` touches in a state, which is brought up to date. `locate(number, parameter)` is the call
    and argument behind an operand. Raises NotApplicable where something cannot be told, or the machine forbids it."""
    known = _semantics(accelerator, instruction)
    value = _lookup(accelerator, instruction, operands, state)
    for requirement in known.requirements:
        if substitute(requirement.condition, value) == m.Number(0):
            raise NotApplicable(f"{instruction.name}: {requirement.message}")
    found = [_access(region, operands, state, value, number, locate) for region in known.regions]
    new = {
        (name, None if index is None else int(_number(index, value)), part): (expression, substitute(expression, value))
        for (name, index, part), expression in known.effects.items()
    }
    for key, (expression, result) in new.items():
        source = next((part for part in walk(expression) if isinstance(part, m.AddressField)), None)
        if source is not None:
            state.setters[key] = (number, source.parameter)
        if isinstance(result, m.Number):
            state.values[key] = result.value
        else:
            state.values.pop(key, None)
    return _joined([access for access in found if access is not None])


def _lookup(
    accelerator: m.Accelerator, instruction: m.Instruction, operands: Mapping[str, Value], state: State
) -> Callable[[m.Expression], m.Expression | None]:
    kinds = {parameter.name: parameter for parameter in instruction.parameters}

    def value(part: m.Expression) -> m.Expression | None:
        if isinstance(part, m.Name) and part.name in operands:
            given = operands[part.name]
            return m.Number(1 if isinstance(given, Place) else given)
        if isinstance(part, m.AddressField) and part.parameter in operands:
            given, space = operands[part.parameter], kinds[part.parameter].space
            assert isinstance(given, int)
            assert space is not None
            return m.Number(_field(accelerator.space(space), given & 0xFFFFFFFF, part.field))
        if isinstance(part, m.StateField):
            index = None if part.index is None else substitute(part.index, value)
            if index is None or isinstance(index, m.Number):
                known = state.values.get((part.state, None if index is None else int(index.value), part.field))
                return None if known is None else m.Number(known)
        return None

    return value


def _field(space: m.AddressSpace, address: int, name: str) -> int:
    if name == "none":
        return int(address == space.none)
    high, low = space.field(name)
    return (address >> low) & ((1 << (high - low + 1)) - 1)


def _number(expression: m.Expression, value: Callable[[m.Expression], m.Expression | None]) -> int | float:
    result = substitute(expression, value)
    if not isinstance(result, m.Number):
        raise NotApplicable("what a command touches depends on data")
    return result.value


def _access(
    region: Region,
    operands: Mapping[str, Value],
    state: State,
    value: Callable[[m.Expression], m.Expression | None],
    number: int,
    locate: Callable[[int, str], tuple[int, int] | None],
) -> Access | None:
    """The access of a region, or None where it does not take place."""
    for condition, wanted in region.path:
        if bool(_number(condition, value)) is not wanted:
            return None
    dims = [(int(_number(dim.count, value)), int(_number(dim.stride, value))) for dim in region.dims]
    base = int(_number(region.base, value))
    points = [base + sum(steps) for steps in product(*([step * i for i in range(count)] for count, step in dims))]
    if region.pointer is None:
        first = int(_number(region.first_col or m.Number(0), value))
        end = first + int(_number(region.cols or m.Number(0), value))
        spans = tuple((point, first, end) for point in sorted(set(points)) if first < end)
        memory = region.memory
        setter = _setter(region, state, number)
    else:
        place = operands[region.pointer]
        if not isinstance(place, Place):
            return None
        length = int(_number(region.bytes or m.Number(0), value))
        spans = tuple(
            (0, place.offset + point, place.offset + point + length) for point in sorted(set(points)) if length
        )
        memory = f"&{place.tensor}"
        setter = (number, region.pointer)
    operand = None if setter is None else locate(*setter)
    return Access(memory, spans, region.write, region.accumulate_read, operand) if spans else None


def _setter(region: Region, state: State, number: int) -> tuple[int, str] | None:
    """The command and the parameter that give a region's place."""
    if region.parameter is not None:
        return number, region.parameter
    for part in walk(region.base):
        if isinstance(part, m.StateField) and part.index is None and (part.state, None, part.field) in state.setters:
            return state.setters[part.state, None, part.field]
    return None


def _joined(found: list[Access]) -> tuple[Access, ...]:
    """Accesses of the same operand as one; a read of what is then added to belongs to the write."""
    result: dict[tuple[str, bool, tuple[int, int] | None], Access] = {}
    adding = {access.operand for access in found if access.adds}
    for access in found:
        if access.adds:
            continue
        key = (access.memory, access.write, access.operand)
        adds = access.write and access.operand in adding
        before = result[key].spans if key in result else ()
        result[key] = Access(access.memory, (*before, *access.spans), access.write, adds, access.operand)
    return tuple(result.values())

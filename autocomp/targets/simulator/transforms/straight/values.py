"""The values that local memory holds: what steps write into the same rows until something else starts there."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autocomp.remember import remembered
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.straight.footprint import Access
from autocomp.targets.simulator.transforms.straight.program import Program, ProgramStep
from autocomp.targets.simulator.transforms.syntax.affine import literal
from autocomp.targets.simulator.transforms.syntax.rewrite import with_arguments

Use = tuple[int, Access]  # number of a step, and its access
Row = tuple[str, int]


@dataclass(frozen=True)
class Value:
    """Rows of a memory over the steps that use them, in order."""

    memory: str
    low: int
    high: int
    uses: tuple[Use, ...]

    @property
    def writers(self) -> tuple[Use, ...]:
        return tuple(use for use in self.uses if use[1].write)

    @property
    def readers(self) -> tuple[Use, ...]:
        return tuple(use for use in self.uses if not use[1].write)

    @property
    def first(self) -> int:
        return self.uses[0][0]

    @property
    def last(self) -> int:
        return self.uses[-1][0]

    @property
    def rows(self) -> int:
        return self.high - self.low + 1

    @property
    def movable(self) -> bool:
        """True if operands give the places of all of its uses."""
        return all(access.operand is not None for _, access in self.uses)


@remembered
def values_of(program: Program) -> tuple[Value, ...]:
    """All values, by the step that starts them. Rows that one access touches together belong to one value."""
    starts = _starts(program.steps)
    current: dict[Row, int] = {}
    parents: list[int] = []
    members: list[tuple[int, Access, int]] = []  # step, access, one of its versions

    def find(version: int) -> int:
        while parents[version] != version:
            version = parents[version]
        return version

    for number, step in enumerate(program.steps):
        for access in (*step.local(write=False), *step.local(write=True)):
            together: list[int] = []
            for row, _, _ in access.spans:
                key = (access.memory, row)
                if key not in current or (access.write and (number, key) in starts):
                    current[key] = len(parents)
                    parents.append(len(parents))
                together.append(find(current[key]))
            for version in together:
                parents[find(version)] = find(together[0])
            members.append((number, access, together[0]))
    groups: dict[int, list[Use]] = {}
    for number, access, version in members:
        groups.setdefault(find(version), []).append((number, access))
    return tuple(_value(uses) for uses in groups.values())


def _value(uses: Sequence[Use]) -> Value:
    bounds = [access.rows for _, access in uses]
    low, high = min(first for first, _ in bounds), max(last for _, last in bounds)
    return Value(uses[0][1].memory, low, high, tuple(uses))


def loaded_by_one(program: Program, value: Value) -> ProgramStep | None:
    """The load that brings all of a value, if it is one alone, and adds to nothing; else None."""
    number, access = value.uses[0]
    step = program.steps[number]
    plain = step.kind == "load" and len(step.reads) == 1 and access.write and not access.adds
    return step if plain and len(value.writers) == 1 else None


def _starts(steps: Sequence[ProgramStep]) -> set[tuple[int, Row]]:
    """The writes that start a row anew: they overwrite all of it that is used afterwards."""
    needed: dict[Row, tuple[int, int]] = {}  # columns that are still read
    starts: set[tuple[int, Row]] = set()
    for number in reversed(range(len(steps))):
        accesses = (*steps[number].local(write=True), *steps[number].local(write=False))
        for access in accesses:
            for row, first, end in access.spans:
                key = (access.memory, row)
                wanted = needed.get(key)
                if access.write and not access.adds:
                    if wanted is None or (first <= wanted[0] and wanted[1] <= end):
                        starts.add((number, key))
                        needed.pop(key, None)
                else:
                    needed[key] = (first, end) if wanted is None else (min(first, wanted[0]), max(end, wanted[1]))
    return starts


def keeps(program: Program, access: Access, start: int, end: int) -> bool:
    """True if no step between `start` and `end` writes elements of an access."""
    written = _written(program)
    for row, first, stop in access.spans:
        writes = written.get((access.memory, row), ())
        for number, start_of, end_of in writes[bisect_left(writes, (start + 1,)) :]:
            if number >= end:
                break
            if start_of < stop and first < end_of:
                return False
    return True


@remembered
def _written(program: Program) -> Mapping[Row, Sequence[tuple[int, int, int]]]:
    """The steps that write each row, in order, with the columns; of tensors, with the bytes."""
    written: dict[Row, list[tuple[int, int, int]]] = {}
    for number, step in enumerate(program.steps):
        for access in step.writes:
            for row, first, end in access.spans:
                written.setdefault((access.memory, row), []).append((number, first, end))
    return written


Homes = Mapping[tuple[int, tuple[int, int]], tuple[str, int]]  # step and operand -> memory and first row


def moved(program: Program, homes: Homes) -> tuple[ProgramStep, ...]:
    """The steps with operands pointing at other rows. Their accesses are as before: read the kernel anew."""
    changes: dict[int, dict[tuple[int, int], tuple[str, int]]] = {}
    for (number, operand), home in homes.items():
        changes.setdefault(number, {})[operand] = home
    steps = list(program.steps)
    for number, operands in changes.items():
        calls = list(steps[number].calls)
        for (call, position), (memory, row) in operands.items():
            calls[call] = _readdressed(program.facts, calls[call], position, memory, row)
        steps[number] = replace(steps[number], calls=tuple(calls))
    return tuple(steps)


def home(access: Access, memory: str, shift: int) -> tuple[str, int]:
    """Where an access starts that is moved by some rows, perhaps to another memory."""
    return memory, access.rows[0] + shift


def _readdressed(facts: Facts, call: ast.Call, position: int, memory: str, row: int) -> ast.Call:
    """The call with another memory and row in an address, whose further bits stay if the memory does."""
    space, given = address_of(facts, call, position)
    high, low = space.field(space.row_field)
    row_bits = ((1 << (high + 1)) - 1) & ~((1 << low) - 1)
    bits, _ = next((bits, match) for _, bits, match in space.memories if given & bits == match)
    flags = given & ~bits & ~row_bits & 0xFFFFFFFF
    return with_arguments(call, {position: literal(address_in(space, memory, row) | flags)})


def address_in(space: m.AddressSpace, memory: str, row: int) -> int:
    """The address of a row, without further bits."""
    _, low = space.field(space.row_field)
    return next(match for name, _, match in space.memories if name == memory) | row << low


def address_of(facts: Facts, call: ast.Call, position: int) -> tuple[m.AddressSpace, int]:
    """The address that an operand of a call is, and its address space."""
    parameter = facts.machine.parameters[call.function, len(call.arguments)][position]
    argument = call.arguments[position]
    if parameter is None or parameter.space is None or not isinstance(argument, ast.IntLiteral):
        raise NotApplicable(f"{call.function} does not name rows with a constant")
    return facts.accelerator.space(parameter.space), argument.value & 0xFFFFFFFF

"""Warnings about a description: statements that are legal and probably not meant. None of them stops a machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autocomp.errors import AutocompError, Place
from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa.derived.affine import Loops, UnboundedError, affine, interval
from autocomp.targets.simulator.isa.derived.contractions import contractions
from autocomp.targets.simulator.isa.derived.cores import cores
from autocomp.targets.simulator.isa.derived.pace import slow_loads
from autocomp.targets.simulator.isa.derived.regions import Read, Write, writes
from autocomp.targets.simulator.isa.derived.roles import instruction_roles
from autocomp.targets.simulator.isa.main_memory import shortest_latency
from autocomp.targets.simulator.isa.model import Accelerator, Instruction
from autocomp.targets.simulator.isa.timing import ARRAYS, MOVES, TRANSFERS, unit_number
from autocomp.targets.simulator.isa.tree import (
    AddressField,
    Element,
    Expression,
    Name,
    Number,
    Require,
    Statement,
    When,
)

ROLE_KINDS: Mapping[str, tuple[str, ...]] = {
    "preload": ARRAYS,
    "multiply": ARRAYS,
    "transfer": MOVES,
    "work": ("serial",),
}


@dataclass(frozen=True)
class Advice:
    """A sentence about one place of a description, and what to do about it."""

    message: str
    place: Place | None
    hint: str | None = None

    def document(self) -> dict[str, str | int | None]:
        """The warning as plain data, in the form of errors."""
        return AutocompError(self.message, place=self.place, hint=self.hint).document()

    def __str__(self) -> str:
        lines = [self.message if self.place is None else f"{self.place.render()}\n{self.message}"]
        return "\n".join([*lines, f"hint: {self.hint}"] if self.hint else lines)


def advice(accelerator: Accelerator) -> tuple[Advice, ...]:
    """All warnings about a description, in the order of its text."""
    checks = (_narrow_fields, _free_traffic, _ignored_roles, _few_under_way, _unequal_cores)
    warnings = [warning for check in checks for warning in check(accelerator)]
    for instruction in accelerator.instructions:
        assigned = writes(accelerator, instruction)
        warnings.extend(_columns_beyond_rows(accelerator, instruction, assigned))
        warnings.extend(_lost_writes(assigned))
        warnings.extend(_numbered_rows(accelerator, instruction, assigned))
    return tuple(sorted(dict.fromkeys(warnings), key=lambda w: (w.place.line, w.place.column) if w.place else (0, 0)))


# --- declarations ------------------------------------------------------------------------------------------------


def _narrow_fields(accelerator: Accelerator) -> Iterator[Advice]:
    """Address fields with fewer values than their memory has rows."""
    for space in accelerator.spaces:
        high, low = space.field(space.row_field)
        reach = 1 << (high - low + 1)
        for name, _, _ in space.memories:
            rows = accelerator.memory(name).rows
            if reach < rows:
                yield Advice(
                    f"address {space.name}: {high - low + 1} bits of `{space.row_field}` reach {reach:,} rows, and "
                    f"{name} has {rows:,}",
                    space.place,
                    f"widen the field to {(rows - 1).bit_length()} bits, or give {name} fewer rows",
                )


def _free_traffic(accelerator: Accelerator) -> Iterator[Advice]:
    """Instructions that use DRAM in a unit whose kind does not model the bus."""
    kinds = {unit.name: str(unit.settings.get("kind", "serial")) for unit in accelerator.units}
    for instruction in accelerator.instructions:
        kind = kinds.get(instruction.unit or "", "")
        assigned = writes(accelerator, instruction)
        reads = any(read.element.element is not None for write in assigned for read in write.reads)
        stores = any(write.target.element is not None for write in assigned)
        paid = kind in (*MOVES, "expander") or "busy" in instruction.timing
        if (reads or stores) and instruction.unit is not None and not paid:
            yield Advice(
                f"{instruction.name} {'reads' if reads else 'writes'} DRAM, and unit {instruction.unit} of kind {kind} "
                "does not use the bus: these bytes cost nothing",
                instruction.place,
                f"use a unit of kind {TRANSFERS[0] if reads else TRANSFERS[1]}, or state the time in `busy:`",
            )


def _unequal_cores(accelerator: Accelerator) -> Iterator[Advice]:
    """Units that multiply over memories of their own, and do not do what the first one does with its own."""
    roles, multiplying = instruction_roles(accelerator), [c for c in contractions(accelerator) if c.rate and c.unit]
    local = {memory.name for memory in accelerator.local_memories}
    equal = {name for core in cores(accelerator) for name in core.instructions.values()}
    places = {unit.name: unit.place for unit in accelerator.units}
    if not multiplying:
        return
    first, *others = ((roles[c.instruction].reads | roles[c.instruction].writes) & local for c in multiplying)
    for one, touched in zip(multiplying[1:], others, strict=True):
        if touched and not touched & first and one.instruction not in equal:
            yield Advice(
                f"unit {one.unit} multiplies over memories of its own, and is not equal to unit {multiplying[0].unit} "
                "with its own: schedules use one of the two, and bounds count both",
                places.get(one.unit or ""),
                "write instructions, memories and units of both alike but for their names",
            )


def _few_under_way(accelerator: Accelerator) -> Iterator[Advice]:
    """Limits of loads that a description leaves out, and that keep the bus waiting for memory."""
    latency = shortest_latency(accelerator)
    for limit in slow_loads(accelerator):
        if limit.is_default:
            number = unit_number(limit.unit.settings, limit.setting)
            counted = "commands" if limit.setting == "in_flight" else limit.setting
            yield Advice(
                f"unit {limit.unit.name} states no `{limit.setting}`, which is {number} then: its loads have at most "
                f"{limit.bytes:,.0f} bytes under way, {limit.bytes / latency:.1f} a cycle, as memory answers after "
                f"{latency} cycles",
                limit.unit.place,
                f"state `{limit.setting}:`, the {counted} that may be under way at a time",
            )


def _ignored_roles(accelerator: Accelerator) -> Iterator[Advice]:
    """Roles that the kind of unit treats as any other command."""
    kinds = {unit.name: str(unit.settings.get("kind", "serial")) for unit in accelerator.units}
    for instruction in accelerator.instructions:
        role = instruction.words.get("role", "")
        kind = kinds.get(instruction.unit or "", "")
        if kind and role in ROLE_KINDS and kind not in ROLE_KINDS[role]:
            yield Advice(
                f"{instruction.name}: role {role} means nothing in a unit of kind {kind}",
                instruction.place,
                f"units of kind {' and '.join(ROLE_KINDS[role])} know it",
            )


# --- semantics ---------------------------------------------------------------------------------------------------


def _numbered_rows(accelerator: Accelerator, instruction: Instruction, assigned: tuple[Write, ...]) -> Iterator[Advice]:
    """Integers that alone say which tile of a local memory an instruction writes."""
    integers = {p.name for p in instruction.parameters if p.kind == "integer"}
    local = {memory.name for memory in accelerator.local_memories}
    seen: set[tuple[str, str]] = set()
    for write in assigned:
        memory = write.target.memory
        row = affine(write.target.indices[0], write.loops) if memory in local else None
        if row is None or any(isinstance(part, AddressField) for part in algebra.walk(row.base)):
            continue
        for name in sorted(algebra.names_in(row.base) & integers):
            if (memory, name) not in seen:
                yield Advice(
                    f"{instruction.name} chooses rows of {memory} by the number `{name}`: schedules give values other "
                    "rows by addresses alone",
                    write.place,
                    f"declare an `address` with `memory {memory};`, make `{name}` one and let it name the first row",
                )
            seen.add((memory, name))


def _columns_beyond_rows(
    accelerator: Accelerator, instruction: Instruction, assigned: tuple[Write, ...]
) -> Iterator[Advice]:
    """Columns that the largest operands put beyond the end of a row."""
    highs = {p.name: Number(p.high) for p in instruction.parameters if p.high is not None}
    required = frozenset(name for condition in _required(instruction.body) for name in algebra.names_in(condition))
    for write in assigned:
        for read in (Read(write.target, write.loops, write.path), *write.reads):
            if read.element.element is not None:
                continue
            memory = accelerator.memory(read.element.memory)
            last = _largest(read, highs, required)
            if last is not None and last >= memory.cols:
                yield Advice(
                    f"{instruction.name} reaches column {last} of {memory.name}, whose rows have {memory.cols}",
                    write.place,
                    "limit an operand's range, or state a requirement",
                )


def _required(body: tuple[Statement, ...]) -> Iterator[Expression]:
    for statement in body:
        if isinstance(statement, Require):
            yield statement.condition
        elif isinstance(statement, When):
            yield from _required((*statement.then, *statement.otherwise))


def _largest(read: Read, highs: Mapping[str, Number], required: frozenset[str]) -> int | None:
    """The last column with every operand at its largest; None where a condition may rule that out."""
    try:
        high = interval(read.element.indices[1], read.loops)[1]
    except UnboundedError:
        return None
    restricted = required | {name for condition, _ in read.path for name in algebra.names_in(condition)}
    if restricted & algebra.names_in(high):
        return None
    value = algebra.substitute(high, lambda part: highs.get(part.name) if isinstance(part, Name) else None)
    return int(value.value) if isinstance(value, Number) else None


def _lost_writes(assigned: tuple[Write, ...]) -> Iterator[Advice]:
    """Nests that read what they write: a `for` computes all of its values before it stores any."""
    for write in assigned:
        running = [name for name, bound in write.loops.items() if bound != algebra.ONE]
        fixed = [name for name in running if not any(name in algebra.names_in(i) for i in write.target.indices)]
        for read in write.reads:
            if read.element == write.target and fixed:
                yield Advice(
                    f"every {fixed[-1]} of this `for` starts from the value before the loop: only the last one counts",
                    write.place,
                    f"write `sum({fixed[-1]} < …: …)`",
                )
            elif _is_earlier(read.element, write.target, write.loops):
                yield Advice(
                    f"this `for` reads {read.element.memory} where an earlier step of it writes, and sees the value "
                    "before the loop",
                    write.place,
                    "write a `sum`, or several instructions, where each step needs the one before",
                )


def _is_earlier(read: Element, target: Element, loops: Loops) -> bool:
    """True if a read is of an element that the same nest wrote in an earlier step, a fixed distance away."""
    if (read.memory, read.element) != (target.memory, target.element) or read == target:
        return False
    distances: list[int] = []
    for mine, yours in zip(target.indices, read.indices, strict=True):
        first, second = affine(mine, loops), affine(yours, loops)
        if first is None or second is None or first.terms != second.terms:
            return False
        distance = algebra.subtract(first.base, second.base)
        if not isinstance(distance, Number) or (distance.value and not first.terms):
            return False
        distances.append(int(distance.value))
    return next((distance > 0 for distance in distances if distance), False)

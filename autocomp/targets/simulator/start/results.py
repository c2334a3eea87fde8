"""The type in which stores write results, as their semantics say, and the bits of a local address that ask for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autocomp.targets.simulator.isa.derived.paths import Path
from autocomp.targets.simulator.isa.derived.regions import Write, writes
from autocomp.targets.simulator.isa.derived.roles import call_roles
from autocomp.targets.simulator.isa.model import Accelerator, Instruction, Memory
from autocomp.targets.simulator.isa.tree import AddressField, Element, Expression, Name, Number, Unary
from autocomp.targets.simulator.kernel.code.types import NUMPY_NAMES
from autocomp.targets.simulator.start.idioms import AbsentError, instructions_called, memory_of_sums, type_of_sums
from autocomp.targets.simulator.start.requirements import refuses
from autocomp.workload.model import Workload

STORE = "gemm_store"


@dataclass(frozen=True)
class _Stored:
    """Elements of a type that an instruction writes to DRAM while fields of an address have these values, 0 or 1."""

    element: str
    fields: Mapping[AddressField, int]


def address_of_results(workload: Workload, accelerator: Accelerator, address: str) -> str:
    """The local address that has the idiom `gemm_store` write results of the workload's type: `address`, an expression
    for the tile of sums, with bits such as the one that reads sums as they are.

    Raises AbsentError where no address does, and for an activation that such a bit would skip. An idiom that stores by
    procedures alone is believed.
    """
    wanted = NUMPY_NAMES[workload.outputs[0].dtype]
    memory = memory_of_sums(workload, accelerator)
    types = _types_of_tiles(workload, accelerator)
    instructions = list(instructions_called(accelerator, STORE, "store"))
    stored = [store for instruction in instructions for store in _stored(accelerator, instruction, types)]
    bits = [_bits(accelerator, memory, store.fields) for store in stored if store.element == wanted]
    possible = sorted(store for store in bits if store is not None)
    if not instructions or 0 in possible:
        return address
    if not possible:
        raise AbsentError(
            f"no starting kernel for {workload.name!r} can be made: its results are {wanted}, and the idiom {STORE!r} "
            f"of {accelerator.full_name!r} cannot store those; {_told(accelerator, memory, types)}",
            hint="choose another `result`, or name a kernel to start from with `kernel:` in the workload",
        )
    if workload.options["activation"] != "none":
        raise AbsentError(
            f"no starting kernel for {workload.name!r} can be made: {accelerator.full_name!r} stores {wanted} as the "
            f"sums are, without `activation: {workload.options['activation']}`",
            hint="leave out `activation` or `result`, or name a kernel to start from with `kernel:` in the workload",
        )
    return f"({address} | {possible[0]:#x})"


def _types_of_tiles(workload: Workload, accelerator: Accelerator) -> Mapping[str, set[str]]:
    """The types of the elements that the idiom `gemm_store` finds or leaves in memories with views, by memory."""
    types: dict[str, set[str]] = {}
    for kind in ("elementwise", "copy"):
        for instruction in instructions_called(accelerator, STORE, kind):
            for write in writes(accelerator, instruction):
                if write.target.element is None:
                    name = write.target.memory
                    types.setdefault(accelerator.home(name).name, set()).add(str(accelerator.memory(name).element))
    types.setdefault(memory_of_sums(workload, accelerator).name, {type_of_sums(workload, accelerator)})
    return types


def _stored(accelerator: Accelerator, instruction: Instruction, types: Mapping[str, set[str]]) -> Iterator[_Stored]:
    """Bytes that leave a memory with views as they lie there are elements of the types that lie there."""
    for write in writes(accelerator, instruction):
        fields = _fields(write.path)
        if write.target.element is None or _ruled_out(accelerator, instruction, fields):
            continue
        elements = {str(write.target.element)}
        if _copied(accelerator, write):
            assert isinstance(write.value, Element)
            elements = types.get(accelerator.home(write.value.memory).name, elements)
        yield from (_Stored(element, fields) for element in sorted(elements))


def _copied(accelerator: Accelerator, write: Write) -> bool:
    """True if bytes leave a memory that has views, one beside the other."""
    value = write.value
    if not isinstance(value, Element) or not isinstance(value.indices[-1], Name):
        return False
    home = accelerator.home(value.memory)
    viewed = any(memory.shown == home.name for memory in accelerator.memories)
    return viewed and accelerator.memory(value.memory).element == write.target.element


def _fields(path: Path) -> Mapping[AddressField, int]:
    """The fields of addresses that conditions on the way to a write decide."""
    values: dict[AddressField, int] = {}
    for condition, wanted in path:
        if isinstance(condition, AddressField):
            values[condition] = int(wanted)
        elif isinstance(condition, Unary) and condition.operator == "!" and isinstance(condition.operand, AddressField):
            values[condition.operand] = int(not wanted)
    return values


def _ruled_out(accelerator: Accelerator, instruction: Instruction, fields: Mapping[AddressField, int]) -> bool:
    """True if a requirement of the instruction does not hold while fields have these values."""

    def value(part: Expression) -> Expression | None:
        return Number(fields[part]) if isinstance(part, AddressField) and part in fields else None

    return refuses(accelerator, instruction, value)


def _bits(accelerator: Accelerator, memory: Memory, fields: Mapping[AddressField, int]) -> int | None:
    """The bits that fields set in an address in a memory; None where its addresses have other values there."""
    for space in accelerator.spaces:
        for name, mask, match in space.memories:
            if name != memory.name:
                continue
            known = {known for known, _, _ in space.fields}
            places = {1 << space.field(f.field)[1]: value for f, value in fields.items() if f.field in known}
            if any(bit & mask and bool(bit & match) != bool(value) for bit, value in places.items()):
                return None
            return sum(bit for bit, value in places.items() if value and not bit & mask)
    return 0


def _told(accelerator: Accelerator, memory: Memory, types: Mapping[str, set[str]]) -> str:
    """All that the machine's stores write of a tile of sums, and of other memories."""
    names: dict[str, set[str]] = {}
    for role in call_roles(accelerator, "store"):
        instruction = accelerator.instruction(role.instruction)
        for stored in _stored(accelerator, instruction, types) if instruction is not None else ():
            if _bits(accelerator, memory, stored.fields) is not None:
                names.setdefault(role.instruction, set()).add(stored.element)
    return ", ".join(f"{name} stores {' and '.join(sorted(elements))}" for name, elements in names.items())

"""Equal cores: units with memories of their own that do what others do with theirs, name for name.

The engines of `engines.py` share their memories. Cores do not: what one of them multiplies by has to be loaded into its
own memories. A core is a renaming of the first one's instructions, memories, address spaces, registers and units.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from autocomp.remember import remembered
from autocomp.targets.simulator.isa.derived.contractions import contractions
from autocomp.targets.simulator.isa.derived.roles import instruction_roles
from autocomp.targets.simulator.isa.model import Accelerator, Instruction

Renaming = Mapping[str, str]
_UNSAID = frozenset(("doc", "place", "text_names", "text_flags", "text_none"))  # says nothing of what is done


@dataclass(frozen=True)
class Core:
    """A core as a renaming of the first one: of its instructions, and of all else (`names`)."""

    instructions: Renaming
    names: Renaming


@remembered
def cores(accelerator: Accelerator) -> tuple[Core, ...]:
    """The cores that are equal to that of the machine's first product, that one left out."""
    multiplying = [c.instruction for c in contractions(accelerator) if c.unit is not None]
    by_name = {i.name: i for i in accelerator.instructions}
    found: list[Core] = []
    for name in multiplying[1:]:
        core = _core(accelerator, by_name[multiplying[0]], by_name[name])
        taken = {other for known in found for other in known.instructions.values()}
        if core is not None and not taken & set(core.instructions.values()):
            found.append(core)
    return tuple(found)


def cores_of(accelerator: Accelerator, used: frozenset[str]) -> tuple[Core, ...]:
    """The cores that have all instructions in use of the first one's, by name. Those that are nobody's configure all
    cores."""
    roles = instruction_roles(accelerator)
    shared = {name for name, role in roles.items() if not role.reads | role.writes}
    return tuple(core for core in cores(accelerator) if used - shared <= core.instructions.keys())


def _core(accelerator: Accelerator, first: Instruction, other: Instruction) -> Core | None:
    """The core of a product that does the same as the first one; None where it shares a memory with that, or lacks an
    instruction."""
    names = _renamed(accelerator, first, other, {})
    if names is None or not _touched(accelerator, first) <= names.keys():
        return None
    instructions = {first.name: other.name}
    while True:
        one = next((i for i in accelerator.instructions if _is_open(accelerator, i, instructions, names)), None)
        if one is None:
            return Core(instructions, names)
        pairs = ((c.name, _renamed(accelerator, one, c, names)) for c in accelerator.instructions if c != one)
        name, known = next(((name, known) for name, known in pairs if known is not None), ("", None))
        if known is None:
            return None
        instructions[one.name], names = name, known


def _is_open(accelerator: Accelerator, one: Instruction, instructions: Renaming, names: Renaming) -> bool:
    """True for an instruction of the first core whose like is still to be found; one that touches both cores is of
    neither."""
    touched = _touched(accelerator, one)
    return one.name not in instructions and bool(touched & names.keys()) and not touched & set(names.values())


def _touched(accelerator: Accelerator, one: Instruction) -> frozenset[str]:
    """The memories that an instruction reads or writes, those of tensors left out."""
    role = instruction_roles(accelerator)[one.name]
    return (role.reads | role.writes) & {memory.name for memory in accelerator.memories if memory.kind != "dram"}


def _renamed(accelerator: Accelerator, one: Instruction, other: Instruction, names: Renaming) -> Renaming | None:
    """The renaming that makes one instruction the other, and goes on from a known one; None without any."""
    known = dict(names)
    same = all(
        _alike(accelerator, getattr(one, f.name), getattr(other, f.name), known)
        for f in fields(Instruction)
        if f.compare and f.name not in ("name", "encoding", "implied", *_UNSAID)
    )
    return known if same else None


def _alike(accelerator: Accelerator, one: Any, other: Any, names: dict[str, str]) -> bool:
    """True if two parts of a description are the same but for names, which are put down."""
    if isinstance(one, str) and isinstance(other, str):
        return one == names.get(one, one) == other or _same_thing(accelerator, one, other, names)
    if type(one) is not type(other):
        return False
    if is_dataclass(one):
        compared = (f.name for f in fields(one) if f.compare and f.name not in _UNSAID)
        return all(_alike(accelerator, getattr(one, n), getattr(other, n), names) for n in compared)
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_alike(accelerator, one[key], other[key], names) for key in one)
    if isinstance(one, tuple):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_alike(accelerator, a, b, names) for a, b in pairs)
    return bool(one == other)


def _same_thing(accelerator: Accelerator, one: str, other: str, names: dict[str, str]) -> bool:
    """True if two names are those of different memories, spaces, registers or units that are made alike."""
    if one in names or other in names.values() or one == other:
        return names.get(one) == other
    pairs = list(_named(accelerator, one, other))
    if not pairs:
        return False
    names[one] = other
    return all(
        _alike(accelerator, getattr(a, f.name), getattr(b, f.name), names)
        for a, b in pairs
        for f in fields(a)
        if f.compare and f.name not in ("name", *_UNSAID)
    )


def _named(accelerator: Accelerator, one: str, other: str) -> Iterator[tuple[Any, Any]]:
    for things in (accelerator.memories, accelerator.spaces, accelerator.states, accelerator.units):
        known: dict[str, Any] = {thing.name: thing for thing in things}
        if one in known and other in known:
            yield known[one], known[other]

"""Accesses of registers, which the simulator does not record: arrays that hold a tile from one command to others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autocomp.simulator import Accesses
from autocomp.targets.simulator.isa.algebra import walk
from autocomp.targets.simulator.isa.derived.regions import Write, writes
from autocomp.targets.simulator.isa.model import Accelerator, Instruction
from autocomp.targets.simulator.isa.tree import AddressField, Element, Number, StateField
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Commands
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form


def with_registers(commands: Commands) -> Accesses:
    """The accesses of commands, and after those of each command the registers that it reads or writes, taken as whole.

    Registers that a command fills for itself are left out, but not those that it adds to. Several tiles in a register
    count as one: a schedule that is made of this is compared with the kernel that it comes from.
    """
    accelerator = commands.accelerator
    parts = [
        (commands.of(number), register, write)
        for number, form in enumerate(commands.forms)
        for register, write in _touched(accelerator, form)
    ]
    given = commands.accesses
    if not parts:
        return given
    command = np.concatenate([own for own, _, _ in parts])
    register, write = (np.repeat([part[n] for part in parts], [len(part[0]) for part in parts]) for n in (1, 2))
    rows = np.array([memory.rows for memory in accelerator.memories])[register]
    none, first = np.full(len(command), -1), np.zeros(len(command))
    added = {"command": command, "memory": register, "write": write, "parameter": none, "tensor": none}
    added |= {"first": first, "last": rows, "points": rows, "bytes": first}
    order = np.argsort(np.concatenate([given.command, command]), kind="stable")
    columns = {name: (getattr(given, name), values) for name, values in added.items()}
    return Accesses(**{name: np.concatenate([a, b.astype(a.dtype)])[order] for name, (a, b) in columns.items()})


def placed_by_registers(accelerator: Accelerator, instruction: Instruction) -> bool:
    """True if registers, not operands, say where an instruction writes."""
    places = ([*walk(index)] for write in writes(accelerator, instruction) for index in write.target.indices[:1])
    return any(
        any(isinstance(part, StateField) for part in place)
        and not any(isinstance(part, AddressField) for part in place)
        for place in places
    )


def _touched(accelerator: Accelerator, form: Form) -> Iterator[tuple[int, bool]]:
    """The registers that commands of a form read (False) or write (True), by their numbers among all memories."""
    assigned = [write for write in writes(accelerator, form.instruction) if _happens(form, write)]
    values = [(write.target.memory, walk(form.evaluate(write.value))) for write in assigned]
    read = {(target, part.memory) for target, value in values for part in value if isinstance(part, Element)}
    written = {target for target, _ in values}
    for number, memory in enumerate(accelerator.memories):
        is_read, is_written = any(memory.name == source for _, source in read), memory.name in written
        adds = (memory.name, memory.name) in read
        if memory.kind == "register" and (adds or is_read is not is_written):
            yield from ((number, write) for write in (False, True) if (is_written if write else is_read))


def _happens(form: Form, write: Write) -> bool:
    """False where operands and registers rule an assignment out."""
    decided = ((form.evaluate(condition), wanted) for condition, wanted in write.path)
    return all(bool(value.value) is wanted for value, wanted in decided if isinstance(value, Number))

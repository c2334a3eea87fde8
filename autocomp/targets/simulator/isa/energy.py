"""Energy: what a run costs by the table of a description, component by component.

A table states picojoules:

- `mac` of a multiply-accumulate
- `MEMORY.read` and `MEMORY.write` of a byte of a memory, or `MEMORY.byte` of either
- `UNIT.command` of a command of a unit
- `cycle` of a cycle of the whole machine: leakage and clocks

Accesses are those that follow from the instructions' semantics: an operand that a command uses many times is
read once, as by an array that passes it on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autocomp.data import closest
from autocomp.errors import IsaError, Place
from autocomp.simulator import UnitWork
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.isa.tree import element_bits


@dataclass(frozen=True)
class Energy:
    """Picojoules by component: "mac", "spad.read", "load.command", "cycle"; and the same by unit, "" for what belongs
    to none of them."""

    components: Mapping[str, float]
    units: Mapping[str, float]

    @property
    def total(self) -> float:
        return sum(self.components.values())


def energy(accelerator: Accelerator, work: Sequence[UnitWork], cycles: int) -> Energy | None:
    """The energy of a run; None for a machine that states no energies."""
    table = accelerator.energy
    if not table:
        return None
    components: dict[str, float] = {}
    units: dict[str, float] = {}

    def spend(component: str, unit: str, amount: float) -> None:
        if component in table and amount:
            joules = table[component] * amount
            components[component] = components.get(component, 0.0) + joules
            units[unit] = units.get(unit, 0.0) + joules

    for done in work:
        spend("mac", done.unit, done.multiply_accumulates)
        spend(f"{done.unit}.command", done.unit, done.commands)
        for memory, (read, written) in done.traffic.items():
            width = bytes_each(accelerator, memory)
            spend(f"{memory}.read", done.unit, read * width)
            spend(f"{memory}.write", done.unit, written * width)
    spend("cycle", "", cycles)
    return Energy(components, units)


def bytes_each(accelerator: Accelerator, memory: str) -> float:
    """Bytes of what is counted: of an element of a local memory; DRAM is counted in bytes."""
    declared = accelerator.memory(memory)
    return 1.0 if declared.kind == "dram" else element_bits(declared.element) / 8


def least_energy(accelerator: Accelerator, multiply_accumulates: int, read: int, written: int, cycles: int) -> Energy:
    """The energy that every kernel needs: its multiply-accumulates, the bytes of DRAM that it has to read and to
    write, and the machine's own for the fewest cycles."""
    table = accelerator.energy
    drams = [memory.name for memory in accelerator.drams]
    needs = {"mac": multiply_accumulates, "cycle": cycles}
    for way, count in (("read", read), ("write", written)):  # in the memory that needs least
        needs[min((f"{dram}.{way}" for dram in drams), key=lambda key: table.get(key, 0.0))] = count
    components = {component: table[component] * n for component, n in needs.items() if n and component in table}
    return Energy(components, {})


def check_energy(accelerator: Accelerator, places: Mapping[str, Place]) -> None:
    """Raises IsaError for a key of the table that names nothing."""
    memories = [m.name for m in accelerator.memories if m.kind != "register" and not m.shown]
    known = ["mac", "cycle", *(f"{m}.{way}" for m in memories for way in ("read", "write"))]
    known += [f"{unit.name}.command" for unit in accelerator.units]
    for key in accelerator.energy:
        if key not in known:
            guess = closest(key, known)
            hint = f"did you mean {guess!r}?" if guess else f"known: {', '.join(known)}"
            raise IsaError(f"energy: unknown event {key!r}", place=places.get(key), hint=hint)

"""Instructions that multiply alike in different units: those of several engines of one kind beside one another."""

from __future__ import annotations

from collections.abc import Mapping

from autocomp.remember import remembered
from autocomp.targets.simulator.isa.derived.contractions import contractions
from autocomp.targets.simulator.isa.model import Accelerator, Instruction


@remembered
def engines(accelerator: Accelerator) -> Mapping[str, tuple[Instruction, ...]]:
    """For each instruction that multiplies, by its name, all that do the same with the same operands, itself included,
    in the order of the description. Each runs in a unit of its own, and these have the same settings."""
    settings = {unit.name: unit.settings for unit in accelerator.units}
    multiplying = {contraction.instruction for contraction in contractions(accelerator)}
    groups: list[list[Instruction]] = []
    for one in (i for i in accelerator.instructions if i.name in multiplying and i.unit is not None):
        alike = (g for g in groups if _alike(g[0], one) and settings[g[0].unit or ""] == settings[one.unit or ""])
        group = next((group for group in alike if all(one.unit != other.unit for other in group)), None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    return {one.name: tuple(group) for group in groups for one in group}


def _alike(one: Instruction, other: Instruction) -> bool:
    """True if two instructions do the same in as much time, in whichever unit."""
    sides = ((i.parameters, i.body, i.timing, i.words, i.streams, i.tracks, i.sent) for i in (one, other))
    first, second = sides
    return first == second

"""Order between units, on machines that leave it to programs.

A signal of one unit and the wait of another, side by side, hold the later commands of the second until the earlier ones
of the first are complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.tree import Name
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lowering.spelling import spelled


@dataclass
class Order:
    """The semaphores of a machine that orders nothing between its units; nothing for one that does."""

    accelerator: m.Accelerator
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def is_needed(self) -> bool:
        """Whether programs order the units."""
        return not self.accelerator.settings.get("hazards.tracked", 1)

    def between(self, first: str | None, later: str | None) -> list[str]:
        """Calls that make what the unit `later` does from here on wait for what the unit `first` did so far."""
        if not self.is_needed or first == later or first is None or later is None:
            return []
        return [self._call("signal", first, (first, later)), self._call("wait", later, (first, later))]

    def _call(self, role: str, unit: str, pair: tuple[str, str]) -> str:
        for instruction in self.accelerator.instructions:
            if instruction.words.get("role") == role and instruction.unit == unit:
                semaphore = instruction.timing.get("semaphore")
                if isinstance(semaphore, Name):
                    number = self._number(instruction, semaphore.name, pair)
                    return str(spelled(self.accelerator, instruction, _only(instruction, semaphore.name, number)))
        raise NotApplicable(f"the unit {unit} has no {role} that orders it against another unit")

    def _number(self, instruction: m.Instruction, operand: str, pair: tuple[str, str]) -> int:
        """The semaphore of a pair of units."""
        number = self._numbers.setdefault(pair, len(self._numbers))
        high = next(p.high for p in instruction.parameters if p.name == operand)
        if high is not None and number > high:
            raise NotApplicable("the machine has too few semaphores for all pairs of units")
        return number


def _only(instruction: m.Instruction, operand: str, number: int) -> Mapping[str, int]:
    others = [p.name for p in instruction.parameters if p.name != operand]
    return {operand: number, **dict.fromkeys(others, 0)}

"""Order between units, on machines that leave it to programs.

A signal of one unit and the wait of another, side by side, hold the later commands of the second until the earlier ones
of the first are complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.tree import Name
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lowering.spelling import spelled
from autocomp.targets.simulator.transforms.scheduling.schedule import Schedule

_MANY = 64  # semaphores that are tried where their number is not stated


@dataclass
class Order:
    """The semaphores of a machine that orders nothing between its units; nothing for one that does."""

    accelerator: m.Accelerator
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def is_needed(self) -> bool:
        """True if programs have to order the units."""
        return not self.accelerator.settings.get("hazards.tracked", 1)

    def trails(self, schedule: Schedule) -> bool:
        """True if results of the last block are stored beside the products that complete others."""
        return bool(schedule.deferred and schedule.ahead and schedule.lead) and not self.is_needed

    def between(self, first: str | None, later: str | None) -> list[str]:
        """Calls that make what the unit `later` does from here on wait for what the unit `first` did so far."""
        if not self.is_needed or first == later or first is None or later is None:
            return []
        signal, wait = self._instruction("signal", first), self._instruction("wait", later)
        number = self._number((first, later), [_range(*signal), _range(*wait)])
        return [str(spelled(self.accelerator, *_with(*called, number))) for called in (signal, wait)]

    def _instruction(self, role: str, unit: str) -> tuple[m.Instruction, str]:
        """The unit's instruction of a role, and the operand that names the semaphore."""
        for instruction in self.accelerator.instructions:
            semaphore = instruction.timing.get("semaphore")
            if instruction.words.get("role") == role and instruction.unit == unit and isinstance(semaphore, Name):
                return instruction, semaphore.name
        raise NotApplicable(f"the unit {unit} has no {role} that orders it against another unit")

    def _number(self, pair: tuple[str, str], ranges: Sequence[tuple[int, int]]) -> int:
        """The semaphore of a pair of units: the first one that is free, and that both instructions may name."""
        if pair not in self._numbers:
            low, high = max(low for low, _ in ranges), min(high for _, high in ranges)
            free = (number for number in range(low, high + 1) if number not in self._numbers.values())
            number = next(free, None)
            if number is None:
                raise NotApplicable("the machine has too few semaphores for all pairs of units")
            self._numbers[pair] = number
        return self._numbers[pair]


def _range(instruction: m.Instruction, operand: str) -> tuple[int, int]:
    """The least and the greatest number that an operand may be."""
    parameter = next(p for p in instruction.parameters if p.name == operand)
    low = parameter.low or 0
    return low, low + _MANY if parameter.high is None else parameter.high


def _with(instruction: m.Instruction, operand: str, number: int) -> tuple[m.Instruction, Mapping[str, int]]:
    others = [p.name for p in instruction.parameters if p.name != operand]
    return instruction, {operand: number, **dict.fromkeys(others, 0)}

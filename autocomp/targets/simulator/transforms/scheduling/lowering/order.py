"""Order between units, on machines that leave it to programs.

A signal of one unit and the wait of another, side by side, hold the later commands of the second until the earlier ones
of the first are complete. Where units have no such calls, a fence in place of the wait holds all units.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.tree import Name
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lifting.tokens import passing
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
        """The two calls that make what the unit `later` does from here on wait for what the unit `first` did so far.
        The first one is empty where a fence does it."""
        if not self.is_needed or first == later or first is None or later is None:
            return []
        signals, waits = self._calls("signal", first), self._calls("wait", later)
        if not signals or not waits:
            return ["", self._fence(f"the unit {later} has no wait for a signal of the unit {first}")]
        number = self._number((first, later), [n for n in signals if n in waits])
        return [signals[number], waits[number]]

    def _calls(self, role: str, unit: str) -> Mapping[int, str]:
        """The unit's calls of a role by the number of their semaphore: of instructions for that, or of one that only
        passes tokens."""
        calls: dict[int, str] = {}
        for instruction in self.accelerator.instructions:
            if instruction.unit == unit:
                for number, operands in _of_role(self.accelerator, instruction, role):
                    calls.setdefault(number, str(spelled(self.accelerator, instruction, operands)))
        return calls

    def _fence(self, missing: str) -> str:
        """The call that waits for all units. Raises NotApplicable, with what is missing, on a machine without."""
        for instruction in self.accelerator.instructions:
            if instruction.words.get("role") == "fence" and not instruction.parameters:
                return str(spelled(self.accelerator, instruction, {}))
        raise NotApplicable(f"{missing}, and the machine has no fence")

    def _number(self, pair: tuple[str, str], numbers: Sequence[int]) -> int:
        """The semaphore of a pair of units: the first one that is free, of those that both may name."""
        if pair not in self._numbers:
            number = next((number for number in numbers if number not in self._numbers.values()), None)
            if number is None:
                raise NotApplicable("the machine has too few semaphores for all pairs of units")
            self._numbers[pair] = number
        return self._numbers[pair]


def _of_role(
    accelerator: m.Accelerator, instruction: m.Instruction, role: str
) -> Iterator[tuple[int, Mapping[str, int]]]:
    """The semaphores, with the operands, for which an instruction is a wait or a signal."""
    semaphore = instruction.timing.get("semaphore")
    if instruction.words.get("role") != role or not isinstance(semaphore, Name):
        yield from passing(accelerator, instruction, role)
        return
    parameter = next(p for p in instruction.parameters if p.name == semaphore.name)
    low = parameter.low or 0
    for number in range(low, (low + _MANY if parameter.high is None else parameter.high) + 1):
        yield number, {**{p.name: 0 for p in instruction.parameters}, parameter.name: number}

"""Where a kernel's cycles go, as weights for the causes that menu options say they reduce."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autocomp.evaluate.model import Evaluation
from autocomp.isa.model import Accelerator
from autocomp.isa.roles import call_roles
from autocomp.transforms.remember import remembered

_OTHER_UNITS = 0.25  # what a waiting cycle of a unit other than the computing one counts for


@dataclass(frozen=True)
class Profile:
    """Shares of the makespan by cause: cycles in which the computing unit waited count in full, those of the other
    units for a quarter, as they only hurt when computation waits for them in turn."""

    shares: Mapping[str, float]
    computing: float  # share of the makespan in which the computing unit was busy
    main_cause: str  # of the computing unit's waiting
    unit: str

    def weight(self, causes: tuple[str, ...]) -> float:
        """How much of the makespan the causes account for; an average value for an option that names none."""
        return sum(self.shares.get(cause, 0.0) for cause in causes) if causes else 0.1


def profile(evaluation: Evaluation, accelerator: Accelerator) -> Profile:
    """The profile of an evaluated kernel."""
    unit = computing_unit(accelerator)
    cycles = max(1, evaluation.cycles or 1)
    shares: dict[str, float] = {}
    for name, causes in evaluation.unit_cycles.items():
        for cause, count in causes.items():
            weight = 1.0 if name == unit else _OTHER_UNITS
            if cause == "Busy" and name == unit:
                weight = 0.1  # useful work, mostly
            shares[cause] = shares.get(cause, 0.0) + weight * count / cycles
    own = evaluation.unit_cycles.get(unit, {})
    waiting = {cause: count for cause, count in own.items() if cause != "Busy"}
    main = max(waiting, key=lambda cause: (waiting[cause], cause), default="")
    return Profile(shares, own.get("Busy", 0) / cycles, main if waiting.get(main, 0) else "", unit)


@remembered
def computing_unit(accelerator: Accelerator) -> str:
    """The unit that contracts; empty if the machine has no contraction."""
    for role in call_roles(accelerator, "contraction"):
        instruction = accelerator.instruction(role.instruction)
        if instruction is not None and instruction.unit is not None:
            return instruction.unit
    return ""

"""Where a kernel's cycles go, as weights for the causes that menu options say they reduce."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autocomp.targets.evaluation import Evaluation
from autocomp.targets.simulator.evaluate.objectives import cycles_of
from autocomp.targets.simulator.isa.derived.roles import computing_unit
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.profile.limits import Limits

_USEFUL = 0.1  # what a cycle of computing counts for: it is useful, mostly
_OTHER_UNITS = 0.25  # what a waiting cycle of a unit other than the computing one counts for


@dataclass(frozen=True)
class Profile:
    """Shares of the makespan by cause. Where the critical path is known they are shares of it. Otherwise, cycles in
    which the computing unit waited count in full, those of the other units for a quarter, as they only hurt when
    computation waits for them in turn."""

    shares: Mapping[str, float]
    computing: float  # share of the makespan in which the computing unit was busy
    main_cause: str  # of the computing unit's waiting
    unit: str
    around: float = 1.0  # share of the makespan that is left to save where computation stays as it is

    def weight(self, causes: tuple[str, ...]) -> float:
        """The share of the makespan that the causes account for; an average value for an option that names none."""
        return sum(self.shares.get(cause, 0.0) for cause in causes) if causes else 0.1


def profile(evaluation: Evaluation, accelerator: Accelerator, limits: Limits | None = None) -> Profile:
    """The profile of an evaluated kernel."""
    unit = computing_unit(accelerator)
    cycles = cycles_of(evaluation)
    shares = _by_units(evaluation, unit) if limits is None else _on_the_path(limits, unit)
    own = evaluation.evidence.parts.get(unit, {})
    waiting = {cause: count for cause, count in own.items() if cause != "Busy"}
    main = max(waiting, key=lambda cause: (waiting[cause], cause), default="")
    around = 1.0 if limits is None else limits.around_computation
    return Profile(shares, own.get("Busy", 0) / cycles, main if waiting.get(main, 0) else "", unit, around)


def _by_units(evaluation: Evaluation, computing: str) -> Mapping[str, float]:
    shares: dict[str, float] = {}
    for name, causes in evaluation.evidence.parts.items():
        for cause, count in causes.items():
            weight = 1.0 if name == computing else _OTHER_UNITS
            if cause == "Busy" and name == computing:
                weight = _USEFUL
            shares[cause] = shares.get(cause, 0.0) + weight * count / cycles_of(evaluation)
    return shares


def _on_the_path(limits: Limits, computing: str) -> Mapping[str, float]:
    shares: dict[str, float] = {}
    for (unit, cause), share in limits.shares.items():
        weight = _USEFUL if cause == "Busy" and unit == computing else 1.0
        shares[cause] = shares.get(cause, 0.0) + weight * share
    return shares

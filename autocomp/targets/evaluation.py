"""What is known of a kernel after a target judged and measured it. All of it is plain data that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Number = int | float
Phase = Literal["screen", "prove"]
PHASES: tuple[Phase, ...] = ("screen", "prove")
SCREEN: tuple[Phase, ...] = ("screen",)
PROVE: tuple[Phase, ...] = ("prove",)


@dataclass(frozen=True)
class Measurement:
    """A figure in the objective's unit. `spread` is the half-width of its 95 % confidence interval, 0 where repeating
    the measurement gives the same figure; `samples` are the figures that it was made from, if there are several."""

    value: Number
    spread: Number = 0
    samples: tuple[Number, ...] = ()


@dataclass(frozen=True)
class Objective:
    """What a target's measurements are of, and which of two is better."""

    unit: str  # as in "4,096 cycles" or "12.5 us"
    direction: Literal["lower", "higher"] = "lower"

    def rank(self, value: Number) -> Number:
        """A key to sort values by: the best value has the lowest."""
        return value if self.direction == "lower" else -value

    def gain(self, before: Number, after: Number) -> float:
        """The speed-up from one value to another: above 1 is better in either direction. 0 where it is undefined."""
        low, high = (after, before) if self.direction == "lower" else (before, after)
        return high / low if low else 0.0

    def ratio(self, bound: Number, value: Number) -> float:
        """How much of the bound a value reaches: 1.0 is the best conceivable, 0 where it is undefined."""
        low, high = (bound, value) if self.direction == "lower" else (value, bound)
        return low / high if high else 0.0

    def better(self, new: Measurement, old: Measurement) -> bool:
        """Whether the difference is an improvement, and larger than the noise of both measurements together.

        The variances of independent errors add up, so that two 95 % intervals differ with that confidence if their
        centres are farther apart than the root of the sum of their squared half-widths.
        """
        return self.rank(old.value) - self.rank(new.value) > math.hypot(new.spread, old.spread)


@dataclass(frozen=True)
class Stage:
    """One step of judging a kernel. The stages of the phase `screen` give a kernel its measurement; those of `prove`
    are put off until the kernel is about to matter. `doc` says in a sentence what the stage checks."""

    name: str
    phase: Phase
    doc: str = ""


@dataclass(frozen=True)
class StageVerdict:
    """`status` is skipped where an earlier stage failed. The message lets a reader mend the kernel; `line` is the line
    of the kernel that it is about, from 1."""

    stage: str
    status: Literal["passed", "failed", "skipped"]
    message: str = ""
    line: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Bound:
    """A value of the objective that no kernel of a workload can beat. `parts` are the bounds that it is the strictest
    of, by name (`compute`, `memory`); `explanation` says how they came about."""

    value: Number
    explanation: str = ""
    parts: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True)
class LineCost:
    """What is known of one line of the kernel: how often it was executed, what that cost, and by which causes."""

    line: int
    text: str
    count: int
    cost: Number
    causes: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True)
class Evidence:
    """How a kernel behaved, for agents and reports: stalls of a simulated machine, counters of a real one, or nothing.

    `figures` are single figures by name. `parts` says for each part of the machine how much of the measurement each
    cause accounts for, in the objective's unit; the cause `Busy` is useful work. `resources` gives what a kernel
    occupies of each memory or other resource, and what there is. `lines` are the lines of the kernel that cost most,
    the worst first. `story` says in sentences what limits the kernel, the most important first.
    """

    figures: Mapping[str, Number] = field(default_factory=dict)
    parts: Mapping[str, Mapping[str, Number]] = field(default_factory=dict)
    resources: Mapping[str, tuple[Number, Number]] = field(default_factory=dict)
    lines: tuple[LineCost, ...] = ()
    story: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evaluation:
    """The verdicts of the stages that were asked for, in their order, and the measurement if it was made.

    `seed` is what everything random in the evaluation was drawn from, so that it can be repeated; `seconds` is the time
    that it took.
    """

    stages: tuple[StageVerdict, ...]
    objective: Objective
    measurement: Measurement | None = None
    bound: Bound | None = None
    evidence: Evidence = Evidence()
    seconds: float = 0.0
    seed: int | None = None

    @property
    def correct(self) -> bool:
        """All stages that were asked for passed."""
        return bool(self.stages) and all(stage.status == "passed" for stage in self.stages)

    @property
    def failure(self) -> StageVerdict | None:
        """The stage that failed."""
        return next((stage for stage in self.stages if stage.status == "failed"), None)

    @property
    def value(self) -> Number | None:
        return None if self.measurement is None else self.measurement.value

    @property
    def ratio(self) -> float | None:
        """How much of the bound is reached, from 0 to 1; None where either is unknown."""
        if self.bound is None or self.measurement is None:
            return None
        return self.objective.ratio(self.bound.value, self.measurement.value)

    def without_evidence(self) -> Evaluation:
        """The verdicts and the measurement alone."""
        return replace(self, evidence=Evidence())

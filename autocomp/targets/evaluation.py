"""The results of a target that judged and measured a kernel. All of them are plain data that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Number = int | float
Phase = Literal["screen", "prove"]
PHASES: tuple[Phase, ...] = ("screen", "prove")
_AS_JSON = {"extra": "forbid", "allow_inf_nan": False}  # how pydantic reads these classes from documents
SCREEN: tuple[Phase, ...] = ("screen",)
PROVE: tuple[Phase, ...] = ("prove",)


@dataclass(frozen=True)
class Measurement:
    """A figure in the objective's unit. `spread` is the half-width of its 95 % confidence interval, 0 where repeating
    the measurement gives the same figure; `samples` are the figures that it was made from, if there are several."""

    __pydantic_config__ = _AS_JSON

    value: Number
    spread: Number = 0
    samples: tuple[Number, ...] = ()

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and self.value >= 0 and math.isfinite(self.spread) and self.spread >= 0):
            raise ValueError(f"a measurement is a number that is not negative, got {self.value} ± {self.spread}")


@dataclass(frozen=True)
class Objective:
    """The quantity that a target measures, and which of two values is better."""

    __pydantic_config__ = _AS_JSON

    unit: str  # as in "4,096 cycles" or "12.5 us"
    direction: Literal["lower", "higher"] = "lower"

    @property
    def verb(self) -> str:
        """As in "the kernel takes 4,096 cycles"."""
        return "takes" if self.direction == "lower" else "reaches"

    @property
    def past(self) -> str:
        """As in "the naive one took 8,192"."""
        return "took" if self.direction == "lower" else "reached"

    @property
    def goal(self) -> str:
        """As in "make the kernel take fewer cycles"."""
        return f"take fewer {self.unit}" if self.direction == "lower" else f"reach more {self.unit}"

    @property
    def speed_up(self) -> str:
        """The formula of a speed-up, in words."""
        present, afterwards = f"present {self.unit}", f"{self.unit} afterwards"
        return f"{present} / {afterwards}" if self.direction == "lower" else f"{afterwards} / {present}"

    def rank(self, value: Number) -> Number:
        """A key to sort values by: the best value has the lowest."""
        return value if self.direction == "lower" else -value

    def gain(self, before: Number, after: Number) -> float:
        """The speed-up from one value to another: above 1 is better in either direction. 0 where it is undefined."""
        low, high = (after, before) if self.direction == "lower" else (before, after)
        return high / low if low else 0.0

    def ratio(self, bound: Number, value: Number) -> float:
        """The share of the bound that a value reaches: 1.0 is the best conceivable, 0 where it is undefined."""
        low, high = (bound, value) if self.direction == "lower" else (value, bound)
        return low / high if high else 0.0

    def within(self, value: Number, reference: Number, factor: float) -> bool:
        """True if a value is at most `factor` times worse than a reference; with a factor below 1, better by that."""
        return value <= factor * reference if self.direction == "lower" else reference <= factor * value

    def better(self, new: Measurement, old: Measurement) -> bool:
        """True if the difference is an improvement, and larger than the noise of both measurements together.

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

    __pydantic_config__ = _AS_JSON

    stage: str
    status: Literal["passed", "failed", "skipped"]
    message: str = ""
    line: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Bound:
    """A value of the objective that no kernel of a workload can beat. `parts` are the bounds that it is the strictest
    of, by name (`compute`, `memory`); `explanation` says how they came about."""

    __pydantic_config__ = _AS_JSON

    value: Number
    explanation: str = ""
    parts: Mapping[str, Number] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and self.value >= 0):
            raise ValueError(f"a bound is a number that is not negative, got {self.value}")


@dataclass(frozen=True)
class LineCost:
    """The cost of one line of the kernel: how often it was executed, what that cost, and by which causes."""

    __pydantic_config__ = _AS_JSON

    line: int
    text: str
    count: int
    cost: Number
    causes: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True)
class Cause:
    """The meaning of a name in `Evidence.parts` has four parts. A sentence; a verb for what a part of the machine does
    meanwhile; what usually helps, as an order; and what it means for the line that has to wait, "{next}"."""

    meaning: str
    activity: str
    remedy: str
    consequence: str = ""


@dataclass(frozen=True)
class Evidence:
    """A kernel's behaviour, for agents and reports: stalls of a simulated machine, counters of a real one, or nothing.

    `figures` are single figures by name. `parts` says for each part of the machine how much of the measurement each
    cause accounts for, in the objective's unit; the cause `Busy` is useful work. `resources` gives what a kernel
    occupies of each memory or other resource, and what there is. `lines` are the lines of the kernel that cost most,
    the worst first. `story` says in sentences what limits the kernel, the most important first. `unit` is that of
    `parts` and `lines`, "" for the objective's.
    """

    __pydantic_config__ = _AS_JSON

    figures: Mapping[str, Number] = field(default_factory=dict)
    parts: Mapping[str, Mapping[str, Number]] = field(default_factory=dict)
    resources: Mapping[str, tuple[Number, Number]] = field(default_factory=dict)
    lines: tuple[LineCost, ...] = ()
    story: tuple[str, ...] = ()
    unit: str = ""

    @property
    def working(self) -> Mapping[str, Mapping[str, Number]]:
        """The parts that did useful work; the others' causes are not their own."""
        return {part: causes for part, causes in self.parts.items() if causes.get("Busy")}


@dataclass(frozen=True)
class Evaluation:
    """The verdicts of the stages that were asked for, in their order, and the measurement if it was made.

    `seed` is what everything random in the evaluation was drawn from, so that it can be repeated; `seconds` is the time
    that it took. Where several conditions were measured, `conditions` has the value in each, and the measurement is the
    worst.
    """

    __pydantic_config__ = _AS_JSON

    stages: tuple[StageVerdict, ...]
    objective: Objective
    measurement: Measurement | None = None
    bound: Bound | None = None
    evidence: Evidence = Evidence()
    seconds: float = 0.0
    seed: int | None = None
    conditions: Mapping[str, Number] = field(default_factory=dict)

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
        """The share of the bound that is reached, from 0 to 1; None where either is unknown."""
        if self.bound is None or self.measurement is None:
            return None
        return self.objective.ratio(self.bound.value, self.measurement.value)

    @property
    def worst(self) -> str | None:
        """The condition in which the kernel is worst, None where one alone was measured."""
        return max(self.conditions, key=lambda name: self.objective.rank(self.conditions[name]), default=None)

    def without_evidence(self) -> Evaluation:
        """The verdicts and the measurement alone."""
        return replace(self, evidence=Evidence())

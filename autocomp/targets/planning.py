"""The requests of a search to an agent: a plan for a parent kernel, then a kernel for a plan."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from autocomp.targets.evaluation import Number

if TYPE_CHECKING:
    from autocomp.targets.evaluation import Evaluation, Evidence
    from autocomp.targets.menu import Menu
    from autocomp.targets.protocol import Target
    from autocomp.workload.model import Workload


@dataclass(frozen=True)
class Plan:
    """One proposed change. `option` is the id of a menu entry ("" for a free plan); `parameters` belong to the named
    transformation, if one is to be applied mechanically. `gain` is the interval in which the author expects the
    speed-up over the parent; 1.0 means no change. `partner` the id of the peer whose ideas are to be combined with the
    parent's. `innovation` how new the idea is to the run, from 0 to 100."""

    option: str
    text: str
    transformation: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    author: str = "rules"
    gain: tuple[float, float] | None = None
    partner: int | None = None
    innovation: float | None = None


@dataclass(frozen=True)
class LineageStep:
    """One step from the naive kernel to the present one: `value` was measured of the kernel that it gave, `gain` is the
    speed-up over the one that it started from."""

    plan: Plan
    value: Number
    gain: float | None = None


@dataclass(frozen=True)
class Peer:
    """Another good kernel of the search, to compare with or to take ideas from; `id` is its candidate's."""

    id: int
    kernel: str
    evaluation: Evaluation
    lineage: Sequence[LineageStep] = ()


@dataclass(frozen=True)
class Precedent:
    """A schedule of a similar operation. `record` names its file and `digest` its content; `problem` says in words what
    it is for. `distance` how far that is from the present one. `ratio` is how much of its bound it reaches; `lineage`
    has the plans that led to its kernel, in their order."""

    record: str
    digest: str
    problem: str
    distance: float
    ratio: float
    lineage: tuple[LineageStep, ...]


@dataclass(frozen=True)
class Experience:
    """The outcomes of an option's plans in earlier searches: kernels that were `tried`, how many of them were `faster`
    than their parents, and how many `failed` a stage. `mean` is the geometric mean of the speed-ups of those that hold,
    `best` the largest; None where none holds."""

    option: str
    tried: int
    faster: int = 0
    failed: int = 0
    mean: float | None = None
    best: float | None = None

    def __add__(self, other: Experience) -> Experience:
        """Both together; of one option."""
        held = [(one.tried - one.failed, one.mean) for one in (self, other)]
        logarithms = [count * math.log(mean) for count, mean in held if mean is not None]
        count = sum(count for count, mean in held if mean is not None)
        return Experience(
            self.option,
            self.tried + other.tried,
            self.faster + other.faster,
            self.failed + other.failed,
            math.exp(sum(logarithms) / count) if count > 0 else None,
            max((best for best in (self.best, other.best) if best is not None), default=None),
        )


GENERATED = "generated_start"  # of plans: to begin with the kernel that a target generates, in place of the user's


@dataclass(frozen=True)
class Replayed:
    """A plan that was carried out and the kernel it gave. `parent` is the position in the replay of what it was applied
    to, None for the starting kernel."""

    record: str
    plan: Plan
    kernel: str
    parent: int | None


@dataclass(frozen=True)
class Replay:
    """The outcome of replaying the precedents' plans; `left_out` has the record's name and the reason for each plan
    that does not apply."""

    steps: tuple[Replayed, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Attempt:
    """A plan that was carried out before. `outcome` is the candidate's; `gain` its speed-up over its parent, None
    where no kernel that holds came of it; `message` says why not."""

    plan: Plan
    outcome: str
    gain: float | None = None
    message: str = ""


def cause_first(cause: str, failure: str) -> str:
    """A failure as a coder is told it: its cause, where one is known, then what came of it."""
    return f"{cause}\n\nSo it {failure}" if cause else failure


@dataclass(frozen=True)
class Context:
    """All that an agent may look at. `lineage` starts with the first change to the naive kernel; `menu` is after
    dropout and shuffle; `peers` are other kernels of the same step, or, for a plan with a partner, that partner.
    `attempts` are those made on this kernel before, in the order of their making. They are all of the run where
    `findings`, a document of what the run has shown, sum them up; `lessons` are telling attempts on other kernels of
    the run. `precedents` are schedules of similar operations, the nearest first; `experience` is that of earlier
    searches. `diagnosis` is a closer look at what limits the kernel; `credit` is what the plans of each author gained
    on average, as the logarithm of their speed-up. None for repairs and kernels, which are written to a plan, and where
    agents may not see it.
    """

    target: Target
    workload: Workload
    kernel: str
    evaluation: Evaluation
    lineage: Sequence[LineageStep]
    menu: Menu
    random: Random  # the only source of chance; seeded by the search per (parent, step)
    tried: frozenset[str] = frozenset()  # canonical hashes the search has already seen
    peers: Sequence[Peer] = ()
    attempts: Sequence[Attempt] = ()
    lessons: Sequence[Attempt] = ()
    findings: str = ""
    precedents: Sequence[Precedent] = ()
    experience: Sequence[Experience] = ()
    diagnosis: Evidence | None = None
    credit: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Usage:
    """The cost of an answer. `money` is in the currency of the prices that the user states; `unsent` counts requests
    that a budget did not allow. Of the prompt's tokens, `prompt_cached` came from the endpoint's own cache; of the
    completion's, `reasoning` were thoughts that no answer shows."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    requests: int = 0
    cached: int = 0
    money: float = 0.0
    unsent: int = 0
    prompt_cached: int = 0
    reasoning: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.requests + other.requests,
            self.cached + other.cached,
            self.money + other.money,
            self.unsent + other.unsent,
            self.prompt_cached + other.prompt_cached,
            self.reasoning + other.reasoning,
        )


@dataclass(frozen=True)
class Implementation:
    """A kernel for a plan, or `kernel` None with the reason in `message`. `plan` takes the place of the plan that was
    asked for, where the coder made its own."""

    kernel: str | None
    message: str = ""
    usage: Usage = Usage()
    plan: Plan | None = None


@dataclass(frozen=True)
class Planning:
    """The plans for one parent, best first, and what getting them cost; `messages` name what went wrong, `avenues`
    the directions that were thought of first, where that was asked."""

    plans: tuple[Plan, ...]
    usage: Usage = Usage()
    messages: tuple[str, ...] = ()
    avenues: tuple[str, ...] = ()


@dataclass(frozen=True)
class Selected:
    """The ids of the kernel to build on and of one to compare it with, if there is another."""

    base: int
    reference: int | None
    reason: str
    usage: Usage = Usage()


class Planner(Protocol):
    name: str

    def plan(self, context: Context, count: int) -> Planning: ...


@runtime_checkable
class Scientist(Protocol):
    """A planner that also selects kernels and designs experiments itself, for the strategy `evolve`."""

    def select(self, context: Context) -> Selected:
        """A base and a reference from `context.peers`, which are the whole population."""

    def design(self, context: Context, avenues: int, experiments: int) -> Planning:
        """Up to `experiments` plans on the kernel, after naming `avenues` directions; the first of `context.peers`, if
        any, is the reference."""


class Coder(Protocol):
    name: str

    def implement(self, context: Context, plan: Plan) -> Implementation: ...

    def repair(self, context: Context, plan: Plan, kernel: str, failure: str) -> Implementation: ...

"""What a search asks of an agent: a plan for a parent kernel, then a kernel for a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from autocomp.agents.menu import Menu
    from autocomp.evaluate.model import Evaluation
    from autocomp.isa.model import Accelerator
    from autocomp.workload.model import Workload


@dataclass(frozen=True)
class Plan:
    """One proposed change. `option` is the id of a menu entry ("" for a free plan); `parameters` belong to the
    named transformation, if one is to be applied mechanically."""

    option: str
    text: str
    transformation: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    author: str = "rules"


@dataclass(frozen=True)
class LineageStep:
    """One step from the naive kernel to the present one."""

    plan: Plan
    cycles: int


@dataclass(frozen=True)
class Context:
    """All that an agent may look at. `lineage` starts behind the naive kernel; `menu` is after dropout and shuffle."""

    accelerator: Accelerator
    workload: Workload
    kernel: str
    evaluation: Evaluation
    lineage: Sequence[LineageStep]
    menu: Menu
    rules: Sequence[str]
    random: Random  # the only source of chance; seeded by the search per (parent, step)
    tried: frozenset[str] = frozenset()  # canonical hashes the search has already seen


@dataclass(frozen=True)
class Usage:
    """What an answer cost."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    requests: int = 0
    cached: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.requests + other.requests,
            self.cached + other.cached,
        )


@dataclass(frozen=True)
class Implementation:
    """A kernel for a plan, or `kernel` None with the reason in `message`."""

    kernel: str | None
    message: str = ""
    usage: Usage = Usage()


@dataclass(frozen=True)
class Planning:
    """The plans for one parent, best first, and what getting them cost; `messages` name what went wrong."""

    plans: tuple[Plan, ...]
    usage: Usage = Usage()
    messages: tuple[str, ...] = ()


class Planner(Protocol):
    name: str

    def plan(self, context: Context, count: int) -> Planning: ...


class Coder(Protocol):
    name: str

    def implement(self, context: Context, plan: Plan) -> Implementation: ...

    def repair(self, context: Context, plan: Plan, kernel: str, failure: str) -> Implementation: ...

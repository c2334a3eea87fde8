"""What a user sets about a search."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from autocomp.documents import problems
from autocomp.errors import ConfigError
from autocomp.targets.planning import Usage

MOST = 10_000  # of what a step makes: plans, kernels, parents
MOST_CONDITIONS = 16  # each takes a measurement of every kernel


@dataclass(frozen=True)
class Options:
    """Shape and budgets of a search; `seconds`, `evaluations`, `tokens` and `money` are None for no budget.

    `dropout` is the probability that a menu option is withheld from one planning; `patience` the number of steps
    without a better kernel after which the search ends (None: as the strategy sees fit); `ratio` the share of the
    bound that is good enough; `gate` how many times worse than its parent a kernel may be to be built on
    (None: any number); `alike` how many kernels made by the same options a beam takes before it takes others. With
    `black_box` the agents see measurements and failures, and nothing of how kernels behave. With `robust` the worst of
    several conditions counts: those in `conditions`, each as `NAME=NUMBER,…`, or those that the target knows.
    `judge_seed` is what the judge draws its inputs from; without one it is fresh entropy, which the run's log keeps.
    """

    __pydantic_config__ = ConfigDict(strict=True, allow_inf_nan=False)
    seed: int = 0
    beam: int = 6
    plans_per_parent: int = 6
    codes_per_plan: int = 1
    dropout: float = 0.25
    keep_parents: bool = True
    gate: float | None = None
    alike: int = 2
    black_box: bool = False
    patience: int | None = None
    max_steps: int = 40
    evaluations: int | None = None
    seconds: float | None = None
    tokens: int | None = None  # of language models, prompts and answers together
    money: float | None = None  # in the currency of the prices stated for the models
    ratio: float = 0.995
    repair: bool = True
    robust: bool = False
    conditions: tuple[str, ...] = ()
    judge_seed: int | None = None

    def __post_init__(self) -> None:
        for name, low in (
            ("beam", 1),
            ("plans_per_parent", 1),
            ("codes_per_plan", 1),
            ("patience", 1),
            ("alike", 1),
            ("gate", 0),
            ("max_steps", 0),
            ("evaluations", 1),
            ("seconds", 0),
            ("tokens", 0),
            ("money", 0),
            ("judge_seed", 0),
        ):
            value = getattr(self, name)
            if value is not None and value < low:
                raise ConfigError(f"search option {name} is {value}; it must be at least {low}")
        for name in ("beam", "plans_per_parent", "codes_per_plan", "alike"):
            if getattr(self, name) > MOST:
                raise ConfigError(f"search option {name} is {getattr(self, name)}; it must be at most {MOST:,}")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"search option dropout is {self.dropout}; it must be at least 0 and below 1")
        if len(self.conditions) > MOST_CONDITIONS:
            raise ConfigError(f"{len(self.conditions)} conditions are given; at most {MOST_CONDITIONS} may be")

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Options:
        """Options from a snapshot; names that this version does not know are an error."""
        known = {f.name for f in fields(cls)}
        unknown = sorted(set(document) - known)
        if unknown:
            raise ConfigError(f"unknown search options {', '.join(unknown)}", hint=f"known: {', '.join(sorted(known))}")
        try:
            return _OPTIONS.validate_json(json.dumps(document))
        except ValidationError as error:
            raise ConfigError("; ".join(problems(error, document, lambda _: []))) from None


_OPTIONS: TypeAdapter[Options] = TypeAdapter(Options)


def spent_budget(usage: Usage, options: Options) -> str | None:
    """Why no more may be asked of the language models, if so: a budget is used up, or too little is left of it for
    the next request."""
    if options.tokens is not None and (usage.tokens >= options.tokens or usage.unsent):
        return "budget of tokens spent"
    if options.money is not None and (usage.money >= options.money or usage.unsent):
        return "budget of money spent"
    return None

"""The settings of a search: the one place for its names, defaults, bounds and descriptions.

The options of `autocomp search`, the section `options` of a run folder, and the table in `docs/reference/strategies.md`
are made from this model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator

from autocomp.documents import problems
from autocomp.errors import ConfigError
from autocomp.flags import Flag

if TYPE_CHECKING:
    from autocomp.targets.planning import Usage

MOST = 10_000  # of what a step makes: plans, kernels, parents
MOST_CONDITIONS = 16  # each costs a measurement of every kernel


class Options(BaseModel):
    """Shape and budgets of a search. Raises ConfigError for what is unknown or out of bounds."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    seed: Annotated[int, Field(description="Seed of all random choices; the same seed repeats the run.")] = 0
    beam: Annotated[int, Field(ge=1, le=MOST, description="Kernels expanded in each step.")] = 6
    plans_per_parent: Annotated[int, Flag("plans"), Field(ge=1, le=MOST, description="Plans for each parent.")] = 6
    codes_per_plan: Annotated[int, Flag("codes"), Field(ge=1, le=MOST, description="Kernels for each plan.")] = 1
    dropout: Annotated[
        float, Field(ge=0, lt=1, description="Probability that a planner's request leaves out a menu option.")
    ] = 0.25
    keep_parents: Annotated[bool, Field(description="Keep parents in the beam, beside their children.")] = True
    gate: Annotated[
        float | None,
        Field(gt=0, description="Expand a kernel only if it is at most this many times worse than its parent."),
    ] = None
    alike: Annotated[
        int, Field(ge=1, le=MOST, description="Prefer at most this many kernels of the same options in a beam.")
    ] = 2
    black_box: Annotated[
        bool, Field(description="Show agents only measurements and failures, not how kernels behave.")
    ] = False
    patience: Annotated[
        int | None, Field(ge=1, description="Stop after this many steps without improvement (default: the strategy's).")
    ] = None
    max_steps: Annotated[int, Flag("steps"), Field(ge=0, description="Stop after this many steps.")] = 40
    evaluations: Annotated[int | None, Field(ge=1, description="Stop after this many evaluations.")] = None
    seconds: Annotated[float | None, Field(ge=0, description="Stop after this many seconds.")] = None
    tokens: Annotated[
        int | None, Field(ge=0, description="Stop after this many tokens of language models (prompts and answers).")
    ] = None
    money: Annotated[
        float | None,
        Field(ge=0, description="Stop when their tokens have cost this much, in the currency of the agents file."),
    ] = None
    ratio: Annotated[float, Field(ge=0, description="Stop at this share of the bound.")] = 0.995
    repair: Annotated[bool, Field(description="Let the coder mend a failed kernel once.")] = True
    robust: Annotated[
        bool, Field(description="Search for the kernel whose worst measurement over all conditions is best.")
    ] = False
    conditions: Annotated[
        tuple[str, ...],
        Flag("condition", "NAME=NUMBER,..."),
        Field(
            max_length=MOST_CONDITIONS,
            strict=False,
            description="Also validate the result on the machine with these parameters; repeatable "
            "(default: the target's conditions).",
        ),
    ] = ()
    judge_seed: Annotated[
        int | None, Field(ge=0, description="Judge on the inputs of an earlier judgement (default: on fresh ones).")
    ] = None

    def replace(self, **changes: Any) -> Options:
        """These options with other values for some, which are checked like the first ones."""
        return Options(**{**dict(self), **changes})

    @model_validator(mode="wrap")
    @classmethod
    def _explained(cls, values: Any, handler: ModelWrapValidatorHandler[Options]) -> Options:
        try:
            return handler(values)
        except ValidationError as error:
            given = values if isinstance(values, dict) else {}
            faults = "; ".join(problems(error, given, lambda _: sorted(cls.model_fields)))
            raise ConfigError(f"search options: {faults}") from None


def spent_budget(usage: Usage, options: Options) -> str | None:
    """The reason to send no more requests to the language models, or None. A budget is used up, or too little of it is
    left for the next request."""
    if options.tokens is not None and (usage.tokens >= options.tokens or usage.unsent):
        return "budget of tokens spent"
    if options.money is not None and (usage.money >= options.money or usage.unsent):
        return "budget of money spent"
    return None

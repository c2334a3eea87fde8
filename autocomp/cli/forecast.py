"""The expected cost of a search's models, said before the first request."""

from __future__ import annotations

from random import Random

from autocomp.search.log.snapshot import Request
from autocomp.search.session import starting_kernel
from autocomp.search.strategies import CONVERSATION
from autocomp.targets.evaluation import SCREEN
from autocomp.targets.planning import Context


def forecast_text(request: Request) -> str | None:
    """The forecast in words; None where no model is asked, or the starting kernel cannot be planned for."""
    if not request.agents.models:
        return None
    from autocomp.agents.llm.forecast import Shape, forecast

    target, workload, options = request.target, request.workload, request.options
    start = starting_kernel(workload, target)
    if request.strategy == CONVERSATION:
        return _of_conversation(request, start)
    evaluation = target.evaluator(workload).evaluate(start, SCREEN)
    if evaluation.value is None or target.language.is_foreign(start):
        return None
    context = Context(
        target,
        workload,
        start,
        evaluation,
        (),
        request.menu,
        Random(0),
        precedents=request.precedents,
        experience=request.experience,
    )
    shape = Shape(
        options.beam,
        options.plans_per_parent,
        options.codes_per_plan,
        options.max_steps,
        options.evaluations,
        options.repair,
        options.tokens,
        options.money,
    )
    estimate = forecast(request.agents, context, shape)
    money = "no price is stated" if estimate.money is None else f"price {estimate.money:.4g}"
    text = (
        f"forecast: {estimate.requests:,} requests ({estimate.most_requests:,} with every repair), "
        f"{estimate.prompt_tokens:,} tokens of prompts "
        f"(a plan {estimate.plan_prompt:,}, a kernel {estimate.code_prompt:,}) "
        f"and {estimate.completion_tokens:,} of answers, {money}"
    )
    return text + (f"; {estimate.budget} ends it before" if estimate.budget else "; fewer if it ends early")


def _of_conversation(request: Request, start: str) -> str:
    """The bounds of a conversation, whose turns are the model's to decide."""
    from autocomp.agents.llm.endpoints.tokens import estimate_prompt
    from autocomp.workbench.conversation import opening

    first, turns = estimate_prompt(opening(request, start)), request.options.max_steps
    return (
        f"forecast: at most {turns:,} turns of one request; the first prompt has {first:,} tokens, and every turn adds "
        "what was said in it; --tokens and --money bound the whole"
    )

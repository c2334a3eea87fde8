"""The expected cost of a search's models, before the first request: from the prompts of its own starting kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autocomp.agents.config import Agents, Member
from autocomp.agents.llm.endpoints.forms.message import Message
from autocomp.agents.llm.endpoints.tokens import estimate_prompt, estimate_tokens, tokenizer
from autocomp.agents.llm.moves import moves
from autocomp.agents.llm.planner import planning_question, templates_of
from autocomp.agents.llm.prompts import Asked, Phase, render_prompt
from autocomp.targets.planning import Context, Plan

WORDS_OF_A_PLAN = 150  # tokens of one plan in an answer
A_CHOICE = 40  # tokens of the choice of a move
A_KERNEL = 1200  # tokens of a kernel at least: the start may be a single call


@dataclass(frozen=True)
class Shape:
    """The options of a search that decide how often models are asked; None for no bound."""

    parents: int
    plans: int
    codes: int
    steps: int
    evaluations: int | None
    repair: bool
    tokens: int | None = None
    money: float | None = None


@dataclass(frozen=True)
class Forecast:
    """Requests, tokens and money of a search that uses up its options. `most_requests` counts a repair of every kernel
    and every sample too; `money` is None where a model has no price. `budget` names the budget that ends it before."""

    requests: int
    most_requests: int
    prompt_tokens: int
    completion_tokens: int
    money: float | None
    plan_prompt: int
    code_prompt: int
    budget: str = ""

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


def forecast(agents: Agents, context: Context, shape: Shape) -> Forecast:
    """The forecast for a search from the context's kernel, with its evaluation and the whole menu."""
    planners = [member for member in agents.planner if not member.is_rules]
    coders = [member for member in agents.coders if not member.is_rules]
    share = sum(m.weight for m in planners) / sum(m.weight for m in agents.planner) if planners else 0.0
    expansions, kernels = _expansions(shape)
    asked = min(agents.plans_per_request, shape.plans)
    plan = _tokens(planners, _plan_prompt(agents, context, asked))
    code = _tokens(coders or planners, _code_prompt(agents, context))
    single = agents.phases == 1 and bool(coders)
    per_parent = 0 if single or not planners else _requests(agents, shape.plans)
    written = round(kernels * share) if coders and agents.plans != "choice" else 0
    plannings = round(expansions * per_parent * min(1.0, share * 2))
    answer = A_CHOICE if agents.plans == "choice" else WORDS_OF_A_PLAN * asked
    kernel = max(A_KERNEL, 2 * estimate_tokens(context.kernel))
    prompts = plannings * plan + written * code
    completions = plannings * answer + written * kernel
    samples = max((member.samples for member in coders), default=1)
    most = plannings + written * (samples + shape.repair)
    plans_cost = _price(planners, plannings * plan, plannings * answer)
    codes_cost = _price(coders, written * code, written * kernel)
    money = None if plans_cost is None or codes_cost is None else plans_cost + codes_cost
    total = Forecast(plannings + written, most, prompts, completions, money, plan, code)
    return _within(total, shape)


def _expansions(shape: Shape) -> tuple[int, int]:
    """Count the kernels that plans are made for, and the kernels written, when every step makes all it may."""
    expansions = kernels = 0
    left = None if shape.evaluations is None else shape.evaluations - 1  # the start is judged too
    for step in range(shape.steps):
        if left is not None and kernels >= left:
            break
        parents = 1 if step == 0 else shape.parents
        expansions += parents
        kernels += parents * shape.plans * shape.codes
    return expansions, kernels


def _requests(agents: Agents, plans: int) -> int:
    """Requests for the plans of one parent."""
    if agents.plans == "choice":
        return plans
    models = [member for member in agents.planner if not member.is_rules]
    total = sum(member.weight for member in agents.planner)
    requests = 0
    for member in models:
        share = max(1, round(plans * member.weight / total))
        requests += -(-share // min(agents.plans_per_request, -(-share // member.samples)))
    return requests


def _plan_prompt(agents: Agents, context: Context, count: int) -> Sequence[Message]:
    ready = moves(context) if agents.phases == 2 else ()
    return planning_question(agents, context, count, ready).messages


def _code_prompt(agents: Agents, context: Context) -> Sequence[Message]:
    option = next(iter(context.menu.options), None)
    plan = Plan(option.id if option else "", option.title if option else "Make it faster.")
    phase: Phase = "single" if agents.phases == 1 else "edit" if agents.codes == "edits" else "code"
    ready = moves(context) if phase == "single" else ()
    return render_prompt(phase, context, Asked(plan=plan, moves=ready), templates_of(agents))


def _tokens(members: Sequence[Member], messages: Sequence[Message]) -> int:
    """By the first model's own tokenizer where that is known."""
    from autocomp.agents.llm.endpoints.endpoint import parse_spec

    count = tokenizer(parse_spec(members[0].model).model) if members else None
    return sum(count(m.content) for m in messages) if count is not None else estimate_prompt(messages)


def _price(members: Sequence[Member], prompt: int, completion: int) -> float | None:
    """By the members' shares; None where one has no price."""
    total = sum(member.weight for member in members)
    cost = 0.0
    for member in members:
        if member.price is None:
            return None
        share = member.weight / total
        cost += share * (member.price.prompt * prompt + member.price.completion * completion) / 1e6
    return cost


def _within(estimate: Forecast, shape: Shape) -> Forecast:
    over = []
    if shape.tokens is not None and estimate.tokens > shape.tokens:
        over.append(f"the budget of {shape.tokens:,} tokens")
    if shape.money is not None and estimate.money is not None and estimate.money > shape.money:
        over.append(f"the budget of {shape.money:g} money")
    return Forecast(**{**vars(estimate), "budget": " or ".join(over)})

"""Planners that ask models: for plans in words, for structured plans, or for the choice of one ready move."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from autocomp.agents import scientist
from autocomp.agents.config import Agents
from autocomp.agents.llm.endpoints.asking import Schema
from autocomp.agents.llm.endpoints.client import Client
from autocomp.agents.llm.endpoints.ensemble import Ensemble, Reply
from autocomp.agents.llm.endpoints.forms.message import Message
from autocomp.agents.llm.moves import Move, moves
from autocomp.agents.llm.parsing import parse_avenues, parse_plans, parse_selection
from autocomp.agents.llm.prompts import Asked, Phase, render_prompt, shown_population
from autocomp.agents.llm.schema import choice_schema, selection_schema, structured_schema
from autocomp.agents.mixed import apportion
from autocomp.targets.planning import Context, Peer, Plan, Planning, Selected

TRANSLATE = "translate"  # the option of plans for kernels that do not use the accelerator at all
MOST_CHOICES = 16  # moves that one choice is from, so that its prompt fits a small context


@dataclass(frozen=True)
class Question:
    """A question to a planner's model: messages, the schema of the answer, and what its numbers refer to."""

    messages: tuple[Message, ...]
    schema: Schema | None
    moves: tuple[Move, ...]


class LlmPlanner:
    """Plans from an ensemble, in the form that `agents.plans` says.

    The plans wanted are split over the models by weight, and a model's share over its samples. Raises
    EndpointRefusalError where no request can succeed; what goes wrong with a single answer is a message beside the
    plans of the others.
    """

    def __init__(self, ensemble: Ensemble, agents: Agents) -> None:
        self.name = ensemble.name
        self.ensemble = ensemble
        self.agents = agents

    def plan(self, context: Context, count: int) -> Planning:
        if context.target.language.is_foreign(context.kernel):
            return Planning((translation(self.name),) * count)
        ready = moves(context)
        if self.agents.plans == "choice" and not ready:
            return Planning((), messages=("no transformation in the menu applies to this kernel",))
        return (
            self._choices(context, count, ready)
            if self.agents.plans == "choice"
            else self._plans(context, count, ready)
        )

    def select(self, context: Context) -> Selected:
        """The model's selection, or the mechanical one where its answer names no kernel of the population."""
        population = [peer.id for peer in shown_population(context)]
        messages = render_prompt("select", context, templates=templates_of(self.agents))
        reply = self.ensemble.ask(messages, context.random, selection_schema(population))
        selected = parse_selection(reply.text, population) if reply.text is not None else None
        if selected is None:
            selected = scientist.by_speed(context.peers)
            wrong = "; ".join((*reply.messages, f"{reply.author} selected no kernel of the population"))
            selected = replace(selected, reason=f"{selected.reason}; {wrong}")
        return replace(selected, usage=reply.usage)

    def design(self, context: Context, avenues: int, experiments: int) -> Planning:
        """The model's own design; a model that only chooses among ready moves chooses `avenues` of them."""
        if self.agents.plans == "choice" or context.target.language.is_foreign(context.kernel):
            return scientist.varied(self, context, avenues, experiments)
        reference = next(iter(context.peers), None)
        ready = moves(context)
        asked = Asked(count=experiments, avenues=avenues, moves=ready, peer=reference)
        question = Question(render_prompt("design", context, asked, templates_of(self.agents)), None, ready)
        reply = self.ensemble.ask(question.messages, context.random)
        planning = self._with(Planning(()), reply, context, question, experiments)
        # Who writes a kernel by hand sees the reference; a transformation has no use for it.
        plans = [
            replace(plan, partner=reference.id) if reference and plan.transformation is None else plan
            for plan in planning.plans
        ]
        return replace(planning, plans=tuple(plans), avenues=parse_avenues(reply.text or ""))

    def _plans(self, context: Context, count: int, ready: tuple[Move, ...]) -> Planning:
        planning = Planning(())
        for client, wanted in self._requests(count, context):
            peer = self._peer(context)
            question = planning_question(self.agents, context, wanted, ready, peer)
            planning = self._with(
                planning,
                self.ensemble.ask(question.messages, context.random, question.schema, client),
                context,
                question,
                wanted,
                peer,
            )
        return planning

    def _choices(self, context: Context, count: int, ready: tuple[Move, ...]) -> Planning:
        """One request a plan, each from the moves that are left."""
        planning = Planning(())
        left = list(ready)
        context.random.shuffle(left)
        for client, _ in self._requests(count, context, each=1):
            if not left:
                break
            question = planning_question(self.agents, context, 1, tuple(left[:MOST_CHOICES]))
            planning = self._with(
                planning,
                self.ensemble.ask(question.messages, context.random, question.schema, client),
                context,
                question,
                1,
            )
            taken = [dict(plan.parameters) for plan in planning.plans]
            left = [move for move in left if dict(move.parameters) not in taken]
        return planning

    def _requests(self, count: int, context: Context, each: int | None = None) -> Iterator[tuple[Client, int]]:
        """Whom to ask for how many plans."""
        clients = self.ensemble.clients
        credit = context.credit if self.agents.shares == "gain" else {}
        shares = apportion(count, self.ensemble.shares(credit), context.random)
        for client, share in zip(clients, shares, strict=True):
            most = each or min(self.agents.plans_per_request, -(-share // client.member.samples))
            while share > 0:
                yield client, min(most, share)
                share -= most

    def _peer(self, context: Context) -> Peer | None:
        """The kernel to combine the parent with, by chance."""
        wanted = self.agents.combine and context.peers and context.random.random() < self.agents.combine
        return context.random.choice(list(context.peers)) if wanted else None

    def _with(
        self,
        planning: Planning,
        reply: Reply,
        context: Context,
        question: Question,
        wanted: int,
        peer: Peer | None = None,
    ) -> Planning:
        """The planning with the plans of one more reply."""
        messages = list(reply.messages)
        plans: tuple[Plan, ...] = ()
        if reply.text is not None:
            plans = parse_plans(reply.text, context.menu, reply.author, question.moves)[:wanted]
            if not plans:
                messages.append(f"{reply.author} proposed no plan that can be read")
        if peer is not None:
            plans = tuple(replace(plan, partner=peer.id) for plan in plans)
        return Planning((*planning.plans, *plans), planning.usage + reply.usage, (*planning.messages, *messages))


class OpenPlanner:
    """Leaves the plan to the coder, who makes it in the same answer as the kernel: `count` blank plans, each with the
    options that the menu has after dropout."""

    def __init__(self, name: str) -> None:
        self.name = name

    def plan(self, context: Context, count: int) -> Planning:
        if context.target.language.is_foreign(context.kernel):
            return Planning((translation(self.name),) * count)
        options = [option.id for option in context.menu.options]
        return Planning((Plan("", "", parameters={"options": options}, author=self.name),) * count)


def planning_question(
    agents: Agents, context: Context, count: int, ready: tuple[Move, ...], peer: Peer | None = None
) -> Question:
    """The question for `count` plans."""
    phase: Phase = "plan" if agents.plans == "words" else agents.plans
    asked = Asked(count=count, moves=ready, peer=peer)
    messages = render_prompt(phase, context, asked, templates_of(agents))
    schema: Schema | None = None
    if phase == "structured":
        schema = structured_schema(context.menu, context.target.language.loops(context.kernel), ready, count)
    elif phase == "choice":
        schema = choice_schema(ready)
    return Question(messages, schema, ready)


def translation(author: str) -> Plan:
    """The plan for a kernel that does not use the machine."""
    return Plan(TRANSLATE, "Have the accelerator compute what this program computes on the host.", author=author)


def templates_of(agents: Agents) -> Path | None:
    return Path(agents.templates) if agents.templates else None

"""Several models that replace one another: questions are split over them by weight, and go to another model where one
is down, refuses or breaks off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from autocomp.agents.llm.endpoints.asking import Schema
from autocomp.agents.llm.endpoints.bandit import shares
from autocomp.agents.llm.endpoints.client import Client
from autocomp.agents.llm.endpoints.forms.message import Message, ToolCall
from autocomp.agents.llm.endpoints.ledger import BudgetSpentError
from autocomp.agents.llm.endpoints.transport import EndpointRefusalError
from autocomp.errors import ModelError
from autocomp.targets.planning import Usage


@dataclass(frozen=True)
class Reply:
    """The outcome of a question: the text of a whole answer, the tools that it wants called, and who gave it; or None
    with the reasons in `messages`. These tell of what went wrong on the way, too. `items` is the answer in the
    endpoint's own form, where that is to go back to it."""

    text: str | None
    author: str
    usage: Usage
    messages: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    items: tuple[Mapping[str, Any], ...] = ()


class Ensemble:
    """Clients with their weights; at least one. Picklable."""

    def __init__(self, clients: Sequence[Client]) -> None:
        self.clients = tuple(clients)
        self.name = ", ".join(dict.fromkeys(client.name for client in self.clients))

    def pick(self, random: Random, credit: Mapping[str, float] | None = None) -> Client:
        """A client by chance and weight, or by what their plans gained for their price."""
        return random.choices(self.clients, self.shares(credit or {}))[0]

    def shares(self, credit: Mapping[str, float]) -> list[float]:
        """The clients' weights."""
        return shares([client.member for client in self.clients], credit)

    def ask(
        self,
        messages: Sequence[Message],
        random: Random,
        schema: Schema | None = None,
        first: Client | None = None,
        tools: Sequence[Schema] = (),
    ) -> Reply:
        """The answer of `first`, by default a random client; of another client if that one gives none. A recorded
        answer of an earlier run is reused, and clients that were down then are not asked again.

        Raises EndpointRefusalError where no request to any of them can succeed.
        """
        order = self._order(first or self.pick(random), random)
        sample = random.getrandbits(32)
        usage, reasons, refusals = Usage(), [], []  # type: tuple[Usage, list[str], list[EndpointRefusalError]]
        kept = {client: client.kept(messages, sample=sample, schema=schema, tools=tools) for client in order}
        if any(answer is not None and answer.outcome == "answered" for answer in kept.values()):
            order = [client for client in order if kept[client] is not None]
        for client in order:
            try:
                answer = client.complete(messages, sample=sample, schema=schema, tools=tools)
                usage += answer.usage
                if answer.doubt:
                    reasons.append(f"{client.name}: {answer.doubt}")
                if answer.unkept:
                    reasons.append(f"an answer of {client.name} will be asked for again: {answer.unkept}")
                return Reply(
                    answer.require(client.name), client.name, usage, tuple(reasons), answer.calls, answer.items
                )
            except EndpointRefusalError as error:
                refusals.append(error)
                reasons.append(str(error))
            except BudgetSpentError as error:
                return Reply(None, client.name, usage + Usage(unsent=1), (*reasons, str(error)))
            except ModelError as error:
                reasons.append(str(error))
        if len(refusals) == len(order):
            raise refusals[0]
        return Reply(None, order[0].name, usage, tuple(reasons))

    def _order(self, first: Client, random: Random) -> list[Client]:
        """`first`, then the others by chance and weight; those whose breaker is open last, the soonest first, and those
        that will never answer only where there is nobody else."""
        rest = [client for client in self.clients if client is not first]
        drawn: list[Client] = []
        while rest:
            drawn.append(random.choices(rest, [client.member.weight for client in rest])[0])
            rest.remove(drawn[-1])
        ordered = sorted((first, *drawn), key=lambda client: client.gate.opens_in)
        usable = [client for client in ordered if client.gate.opens_in != float("inf")]
        return usable or ordered

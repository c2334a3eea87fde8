"""Shares of questions among several models: models whose plans gained most for their price are asked more often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autocomp.agents.config import Member

LEAST = 0.1  # of the best model's share, so that each is asked now and then
PROMPT_TO_ANSWER = 10  # tokens of a prompt for each of an answer


def shares(members: Sequence[Member], credit: Mapping[str, float]) -> list[float]:
    """A weight for each member: its own, times what its candidates gained on average (`credit`, by its name), divided
    by its price where all have one. Without credit, the weights as they are."""
    known = [credit.get(member.model) for member in members]
    if not any(known):
        return [member.weight for member in members]
    typical = sum(gain for gain in known if gain is not None) / sum(gain is not None for gain in known)
    worth = [(typical if gain is None else gain) / cost for gain, cost in zip(known, _costs(members), strict=True)]
    least = LEAST * max(worth)
    return [member.weight * max(value, least) for member, value in zip(members, worth, strict=True)]


def _costs(members: Sequence[Member]) -> list[float]:
    """The cost of a typical answer, relative to the dearest. Each member costs 1 unless all state a price above 0."""
    prices = [member.price for member in members]
    costs = [0.0 if price is None else PROMPT_TO_ANSWER * price.prompt + price.completion for price in prices]
    return [cost / max(costs) for cost in costs] if all(costs) else [1.0 for _ in costs]

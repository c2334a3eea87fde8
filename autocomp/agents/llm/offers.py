"""The options of a menu as a prompt tells them: in full where they promise something for this kernel, else by title."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from autocomp.agents.llm.feedback import occurring_causes, relevance
from autocomp.agents.llm.moves import Move, move_id
from autocomp.targets.menu import MenuOption
from autocomp.targets.planning import Context, Experience

MOST_DETAILED = 6  # options that are told in full
MOST_MOVES, MOST_BRIEF_MOVES = 2, 1  # of an option that is told in full, and of one that is told by title
WORTH = 0.02  # share of the measurement that an option without a ready move has to be against


@dataclass(frozen=True)
class Offer:
    """An option with the moves that are ready, by the numbers that a prompt gives them. `share` is how much of the
    measurement the causes that it is against account for, None where it names none; `against` are those of them that
    occur. `experience` is that of earlier searches, if there is any."""

    option: MenuOption
    moves: tuple[tuple[str, Move], ...]
    share: float | None
    against: tuple[str, ...] = ()
    experience: Experience | None = None

    @property
    def estimated(self) -> bool:
        """True if a move says what it saves, which is more than the share does."""
        return any(move.saving > 0 for _, move in self.moves)


@dataclass(frozen=True)
class Offers:
    """`detailed` are those with the largest promise, the best first. `idle` are the ids of those whose transformation
    finds nothing to do in this kernel."""

    detailed: tuple[Offer, ...]
    brief: tuple[Offer, ...]
    idle: tuple[str, ...] = ()


def offers(context: Context, moves: Sequence[Move]) -> Offers:
    """The menu's options for the context's kernel. Where nothing is known of its causes, none is left out."""
    shares = relevance(context)
    known = {one.option: one for one in context.experience}
    occurring = occurring_causes(context)
    options = [option for option in context.menu.options if _possible(option, context)]
    made = [_offer(option, moves, shares, occurring, known) for option in options]
    ready = any(offer.moves for offer in made)
    if not any(shares.values()):
        return Offers(tuple(made), ())
    total = abs(context.evaluation.value or 1) or 1
    own = context.target.transformations.names
    idle = [offer for offer in made if ready and not offer.moves and offer.option.transformation in own]

    def promise(offer: Offer) -> float:
        """As the rules rank: what moves are estimated to save, and a tenth of the causes' share."""
        saved = max((move.saving for _, move in offer.moves), default=0.0)
        return saved / total + 0.1 * (1.0 if offer.share is None else offer.share)

    ranked = sorted((offer for offer in made if offer not in idle), key=lambda offer: -promise(offer))
    detailed = [offer for offer in ranked if promise(offer) >= 0.1 * WORTH][:MOST_DETAILED]
    brief = [offer for offer in ranked if offer not in detailed]
    ids = tuple(offer.option.id for offer in idle)
    return Offers(_with_moves(detailed, MOST_MOVES), _with_moves(brief, MOST_BRIEF_MOVES), ids)


def _possible(option: MenuOption, context: Context) -> bool:
    """False for an option without a meaning for the workload, and for one that needs instructions that the machine
    lacks; a transformation names those that it might use."""
    needs = () if option.transformation is not None else option.uses
    given = context.workload.options
    meaningless = any(name in given and given[name] == value for name, value in option.applies.unless)
    return not meaningless and context.target.lacks.isdisjoint(needs)


def _with_moves(made: Sequence[Offer], most: int) -> tuple[Offer, ...]:
    """The offers with their first moves: the others differ in values whose ranges are told."""
    return tuple(replace(offer, moves=offer.moves[:most]) for offer in made)


def _offer(
    option: MenuOption,
    moves: Sequence[Move],
    shares: Mapping[str, float],
    occurring: Collection[str],
    known: Mapping[str, Experience],
) -> Offer:
    ready = tuple((move_id(n), move) for n, move in enumerate(moves) if move.option == option.id)
    against = tuple(cause for cause in option.applies.causes if cause in occurring)
    return Offer(option, ready, shares.get(option.id), against, known.get(option.id))

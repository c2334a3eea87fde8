"""Choose tiles, blocks, order and buffers together: a kernel's computation, lowered by another schedule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, zip_longest

from autocomp.remember import remember_or_raise
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.legality import cycles
from autocomp.targets.simulator.transforms.memory.synchronisation import is_fence
from autocomp.targets.simulator.transforms.nests.block_diagonal import BlockDiagonal
from autocomp.targets.simulator.transforms.nests.merge_depth import MergeDepth
from autocomp.targets.simulator.transforms.protocol import (
    Parameters,
    Proposal,
    Transformation,
    applied,
    candidates_of,
)
from autocomp.targets.simulator.transforms.scheduling.choose import Ranked, fits, ranked, whole
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import commands_of
from autocomp.targets.simulator.transforms.scheduling.neighbours import neighbours
from autocomp.targets.simulator.transforms.scheduling.raised import Raised, as_data, from_data, raised
from autocomp.targets.simulator.transforms.scheduling.schedule import Grid, Schedule
from autocomp.targets.simulator.transforms.syntax.heading import without_heading
from autocomp.targets.simulator.transforms.syntax.nest import Statements
from autocomp.targets.simulator.transforms.syntax.rewrite import call_of, with_body

_MOST = 12  # proposals
_TIMED = 12  # schedules that are lowered and timed …
_BY_ESTIMATE = 6  # … of which the first ones are the best by their estimates
_TIMED_CYCLES = 1 << 23  # estimated cycles of all of them
_CLOSE = 0.002  # relative difference of estimates below which schedules of a newcomer count as alike
# What may be done to a kernel first, by the name that schedules have for its parameters; and that in words.
_BEFORE: Mapping[str, Transformation] = {"merged": MergeDepth(), "diagonal": BlockDiagonal()}
_DONE = {"merged": "of a reduction merged first", "diagonal": "with groups put on diagonals first"}


class ChooseSchedule(Transformation):
    """Parameters are a schedule's fields; those left out are as of one block that is all. Dimensions are called i
    (rows), j (columns), k (depth), others n, p, q … and r, s, t …. With `merged`, the parameters of merge_depth, or
    `diagonal`, those of block_diagonal, the kernel is changed like that before."""

    name = "schedule"
    title = "Choose tiles, blocks, order and buffers together"
    order = 310
    causes = ("Bus", "MemoryLatency", "QueueFull", "ReadAfterWrite", "WriteAfterWrite", "Idle")
    anew = True
    guidance = """
    Write the kernel anew from what it computes: blocks of tiles that fit in local memory, the next block's moves
    between the products with this one, results stored during the next block, an operand kept in the array.
    It pays when a kernel is at its start, whatever it looks like, and most where extents do not divide the array:
    blocks are balanced, and the cost of partial tiles decides among them.
    Watch for: results have to stay in local memory until their reduction is complete; two panels of an operand that
    is loaded ahead must fit at a time.
    """
    example = """
    for (int i = 0; i < 32; i++)               for (int step = 0; step < 64; step++)
      for (int j = 0; j < 32; j++) {     ->      for (int k = 0; k < 4; k++) {
        load(i, j); multiply(i, j);                load_some(step + 1); multiply(step, k);
      }                                          }
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """The schedules with the least cycles: timed, as far as they are short enough, then by estimates. Of a kernel
        that has a schedule, those that differ from it in one decision."""
        versions = list(_versions(facts))
        if not versions:
            return ()
        given = versions[0][2]
        now = (cycles(facts) if given.given else None) or given.cycles
        proposals = [
            (one, self._proposed(one, version, before, now))
            for before, other, version in versions
            for one in self._timed(other, version)
        ]
        ordered = sorted(proposals, key=lambda pair: (not pair[0].timed, pair[0].cycles))
        return [proposal for _, proposal in ordered[:_MOST]]

    def _proposed(self, item: Ranked, version: Raised, before: Parameters, now: float) -> Proposal:
        parameters, reason = {**as_data(item.schedule), **before}, _reason(version, item, before)
        return Proposal(parameters, reason, now - item.cycles, item.cycles if item.timed else None)

    def _timed(self, facts: Facts, given: Raised) -> list[Ranked]:
        """Schedules with the cycles that they need, least first, then the rest by estimates.

        The first ones timed are the best by estimates. For a newcomer, those that follow differ from the best so far in
        one decision: estimates are right about the kind of a schedule, less so about its sizes.
        """
        rest = _near(given) if given.given else list(islice(_all(given), _MOST))
        timed: list[Ranked] = []
        near: list[Ranked] = []
        left = float(_TIMED_CYCLES)
        for turn in range(_TIMED):
            item = next(iter(near if near and turn >= _BY_ESTIMATE else rest), None)
            left -= 0.0 if item is None else item.cycles
            if item is None or left < 0:
                break
            near, rest = _without(item, near), _without(item, rest)
            try:
                count = cycles(applied(self, facts, as_data(item.schedule)))
            except NotApplicable:
                continue
            if count is None:
                continue
            if not given.given and (not timed or count < timed[0].cycles):
                near = _near(replace(given, schedule=item.schedule))
                for one in timed:
                    near = _without(one, near)
            timed = sorted([*timed, Ranked(item.schedule, float(count), timed=True)], key=lambda one: one.cycles)
        return [*timed, *rest]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        for name, item in _BEFORE.items():
            if name in parameters:
                facts = applied(item, facts, parameters[name])
        parameters = {name: value for name, value in parameters.items() if name not in _BEFORE}
        given = raised_of(facts)
        schedule = from_data(parameters, given.computation, whole(given.computation, given.leaves))
        if schedule == given.schedule and given.given:
            raise NotApplicable("the kernel is scheduled like this already")
        return given.lowered(schedule)


def raised_of(facts: Facts) -> Raised:
    """A kernel's computation and its schedule. Raises NotApplicable, with the reason, where these are not seen."""

    def outcome() -> Raised:
        before, rest = _parts(facts)
        return raised(facts.given, commands_of(rest, facts.accelerator, facts.constants), before)

    return remember_or_raise(facts, "raised", "", outcome, NotApplicable)


def _parts(facts: Facts) -> tuple[Statements, ast.Kernel]:
    """The statements, up to a fence, that fill arrays of the kernel's own, as padded copies of its inputs; and the
    kernel of all others."""
    statements = without_heading(facts.given).entry.body.statements
    calls = [call_of(statement) for statement in statements[:-1]]
    fences = [n for n, call in enumerate(calls) if call is not None and is_fence(facts.machine, call)]
    if not fences:
        return (), facts.given
    before, rest = statements[: fences[-1] + 1], statements[fences[-1] + 1 :]
    own = [s for s in before if isinstance(s, ast.Declaration) and s.static]
    if not own:
        return (), facts.given
    settings = [s for s in before if facts.kinds(s) == {"configuration"}]
    return before, with_body(facts.given, ast.Block((*own, *settings, *rest)))


def _versions(facts: Facts) -> Iterator[tuple[Parameters, Facts, Raised]]:
    """The kernel as it is and, where it has no schedule, with what may be done to it before: those that are raised.
    One with groups that leave most of the array empty is not looked at as it is."""
    diagonal = candidates_of(_BEFORE["diagonal"], facts)
    given = None if diagonal else _attempt(facts)
    if given is not None:
        yield {}, facts, given
        if given.given:
            return
    for name, item in _BEFORE.items():
        for proposal in item.proposals(facts)[:1]:
            changed = applied(item, facts, proposal.parameters)
            version = _attempt(changed)
            if version is not None:
                yield {name: proposal.parameters}, changed, version


def _attempt(facts: Facts) -> Raised | None:
    try:
        return raised_of(facts)
    except NotApplicable:
        return None


def _all(given: Raised) -> Iterator[Ranked]:
    """The best schedules of all, of those with the same blocks and about the same estimate the first one. Those that
    share tiles and those that do not take turns: estimates compare each kind better with its like."""
    last: dict[tuple[tuple[str, int], ...], float] = {}
    schedules = ranked(given.model)
    kinds = ([item for item in schedules if item.schedule.shared == shared] for shared in (False, True))
    for item in (item for pair in zip_longest(*kinds) for item in pair if item is not None):
        key = (*item.schedule.tile.items(), *item.schedule.block.items())
        if item.cycles > last.get(key, 0.0) * (1 + _CLOSE):
            last[key] = item.cycles
            yield item


def _near(given: Raised) -> list[Ranked]:
    """The schedules that fit and differ from the kernel's in one decision, the least estimates first."""
    near: list[Ranked] = []
    for schedule in neighbours(given):
        new = schedule != given.schedule and all(schedule != other.schedule for other in near)
        if new and fits(Grid(given.computation, schedule), given.model):
            near.append(Ranked(schedule, given.estimate(schedule)))
    return sorted(near, key=lambda item: item.cycles)


def _without(item: Ranked, items: Sequence[Ranked]) -> list[Ranked]:
    return [other for other in items if other.schedule != item.schedule]


def _reason(given: Raised, item: Ranked, before: Parameters) -> str:
    """The decisions in words, and the cycles that they lead to."""
    source = "when it was run" if item.timed else "by the cost model"
    done = "".join(f", {_DONE[name]}" for name in before)
    return f"{_decided(given, item.schedule)}{done}; {item.cycles:,.0f} cycles {source}"


def _decided(given: Raised, schedule: Schedule) -> str:
    if not given.given:
        return f"{_words(as_data(schedule)['block'])} tiles a block"
    before = as_data(given.schedule)
    changed = {name: value for name, value in as_data(schedule).items() if value != before.get(name)}
    return "; ".join(f"{name} {_words(value)}" for name, value in changed.items())


def _words(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={number}" for key, number in value.items()) or "none"
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)

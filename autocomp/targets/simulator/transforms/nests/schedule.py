"""Choose tiles, blocks, order and buffers together: a kernel's computation, lowered by another schedule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest

from autocomp.remember import remember_or_raise
from autocomp.targets.simulator.evaluate.objectives import OBJECTIVES
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.legality import value
from autocomp.targets.simulator.transforms.nests.block_diagonal import BlockDiagonal
from autocomp.targets.simulator.transforms.nests.merge_depth import MergeDepth
from autocomp.targets.simulator.transforms.parameters import number_of
from autocomp.targets.simulator.transforms.protocol import (
    Parameters,
    Proposal,
    Rewriting,
    Transformation,
    applied,
    candidates_of,
)
from autocomp.targets.simulator.transforms.scheduling import steps
from autocomp.targets.simulator.transforms.scheduling.choose import (
    TURNS,
    Ranked,
    by_kind,
    fewer_ahead,
    fits,
    in_parts,
    ranked,
    side_by_side,
    whole,
)
from autocomp.targets.simulator.transforms.scheduling.cost import CostModel
from autocomp.targets.simulator.transforms.scheduling.neighbours import neighbours
from autocomp.targets.simulator.transforms.scheduling.parts import Part, parts_of, whole_of_kernel
from autocomp.targets.simulator.transforms.scheduling.raised import Raised, as_data, from_data, raised, returns_in
from autocomp.targets.simulator.transforms.scheduling.schedule import Grid, Schedule
from autocomp.targets.simulator.transforms.straight.write_out import is_short

_MOST = 12  # proposals
_TIMED = 12  # schedules of a kind that are lowered and timed, half of them by their estimates, …
_TRIED = 32  # … of so many: some do not fit, and some give the kernel of another
_TIMED_CYCLES = 1 << 23  # estimated cycles of all of them
_ENERGY = 10.0  # what a cycle of loads or products counts besides its time, where energy does
_CLOSE = 0.002  # relative difference of estimates below which schedules of a newcomer count as alike
# What may be done to a kernel first, by the name that schedules have for its parameters; and that in words.
_BEFORE: Mapping[str, Rewriting] = {"merged": MergeDepth(), "diagonal": BlockDiagonal()}
_PART = "part"
_PARTS = 16  # of a kernel, at most; one of more is a sequence of small products, which is worked on command by command
_DONE = {"merged": "of a reduction merged first", "diagonal": "with groups put on diagonals first"}


class ChooseSchedule(Transformation):
    """Parameters are a schedule's fields; those left out are as of one block that is all. Dimensions are called i
    (rows), j (columns), k (depth), others n, p, q … and r, s, t …. `part` is the number of one of several computations
    with fences between them. With `merged`, the parameters of MergeDepth, or `diagonal`, those of BlockDiagonal, the
    kernel is changed like that before; with these alone, one of several computations only like that."""

    name = "schedule"
    title = "Choose tiles, blocks, order and buffers together"
    takes = None
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
    Parameters: `tile` has elements of a dimension in a tile, `block` tiles of it in a block; `order` are the loops over
    blocks and `inner` those inside one, outermost first; `level` is how many loops over blocks are around the panel of
    an operand that is loaded at a time; `width` tiles go in one move; tiles of operands `ahead` are loaded during the
    products before, `early` of them before the last (`lead`: in the first step), or beside all steps that use the panel
    before (`spread`); `deferred`: results are stored during the next block, and blocks have places in `turns`; `kept`:
    the right operand stays in the array; `short_first`: partial tiles come first; `shared`: taps share lines of an
    image, and (`lined`) pixels of these; `halves`: the last tile along these dimensions is two of half the size;
    `alone`: the first tile of an operand from a queue comes before all other loads; `returns`: the times that all sums
    leave for DRAM and return, between parts of the reduction; `abreast`: tiles that rows take turns among, so that
    short ones come in one move; `cores`: the dimension whose tiles equal cores take in
    turn, with their number.
    """
    example = """
    for (int i = 0; i < 32; i++)               for (int step = 0; step < 64; step++)
      for (int j = 0; j < 32; j++) {     ->      for (int k = 0; k < 4; k++) {
        load(i, j); multiply(i, j);                load_some(step + 1); multiply(step, k);
      }                                          }
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """The schedules with the least cycles: timed, as far as they are short enough, then by estimates. One of those
        that measure the same. Of a kernel that has a schedule, those that differ from it in one decision."""
        versions = list(_versions(facts))
        if not versions:
            return list(_made_short(facts))
        first = versions[0]
        now = (value(facts) if first.raised.given else None) or first.raised.cycles + first.others
        timed = [(one, self._proposed(one, version, now)) for version in versions for one in self._timed(version)]
        ordered = sorted(timed, key=lambda pair: (not pair[0].timed, pair[0].cycles))
        again = {one.cycles: number for number, (one, _) in reversed([*enumerate(ordered)]) if one.timed}
        different = [pair for number, pair in enumerate(ordered) if again.get(pair[0].cycles, number) == number]
        return [proposal for _, proposal in different[:_MOST]]

    def _proposed(self, item: Ranked, version: _Version, now: float) -> Proposal:
        parameters, reason = {**as_data(item.schedule), **version.given}, _reason(version, item)
        return Proposal(parameters, reason, now - item.cycles, item.cycles if item.timed else None)

    def _timed(self, version: _Version) -> list[Ranked]:
        """Schedules with what they measure, least first, then the rest by estimated cycles.

        The first ones timed are the best by estimates. For a newcomer, those that follow differ from the best so far in
        one decision: estimates are right about the kind of a schedule, less so about its sizes.
        """
        given = version.raised
        models = _models(version)
        if given.given:
            kinds = [(_near(given, models[0]), _TIMED)]
        else:
            of_all = zip(*map(_all, models), strict=True)
            kinds = [(list(islice(_in_turn(kind), _MOST)), _TIMED) for kind in of_all]
        timed: list[Ranked] = []
        rest: list[Ranked] = []
        seen: set[str] = set()  # schedules of which each gives the same kernel count once
        for items, most in kinds:
            best, left = self._best_of(version, items, len(seen) + most, seen)
            timed, rest = sorted([*timed, *best], key=lambda one: one.cycles), [*rest, *left]
        return [*timed, *(replace(item, cycles=given.estimate(item.schedule) + version.others) for item in rest)]

    def _best_of(
        self, version: _Version, rest: list[Ranked], most: int, seen: set[str]
    ) -> tuple[list[Ranked], list[Ranked]]:
        """Schedules of one kind with what they measure, least first, until `most` kernels are `seen`; and the rest."""
        given, model = version.raised, _models(version)[0]
        timed: list[Ranked] = []
        near: list[Ranked] = []
        by_estimate = most - (most - len(seen)) // 2
        left = float(_TIMED_CYCLES)
        for _ in range(_TRIED):
            item = next(iter(near if near and len(seen) >= by_estimate else rest), None)
            left -= 0.0 if item is None else item.cycles
            if item is None or left < 0 or len(seen) == most:
                break
            near, rest = _without(item, near), _without(item, rest)
            try:
                changed = applied(self, version.facts, {**as_data(item.schedule), **version.part})
            except NotApplicable:
                continue
            measured = None if changed.digest in seen else value(changed)
            seen.add(changed.digest)
            if measured is None:
                continue
            if not given.given and (not timed or measured < timed[0].cycles):
                near = _near(replace(given, schedule=item.schedule), model)
                for one in timed:
                    near = _without(one, near)
            timed = sorted([*timed, Ranked(item.schedule, measured, timed=True)], key=lambda one: one.cycles)
        return timed, rest

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        for name, item in _BEFORE.items():
            if name in parameters:
                facts = applied(item, facts, parameters[name])
        number = number_of(parameters, _PART, 0) if _PART in parameters else None
        decisions = {name: value for name, value in parameters.items() if name not in (*_BEFORE, _PART)}
        if number is None and not decisions and parameters and len(_raised_parts(facts)) > 1:
            return facts.kernel
        given = raised_of(facts, number)
        schedule = from_data(decisions, given.computation, whole(given.computation, given.leaves))
        if schedule == given.schedule and given.given:
            raise NotApplicable("the kernel is scheduled like this already")
        return given.lowered(schedule)


@dataclass(frozen=True)
class _Version:
    """A computation of a kernel, after what `before` says was done to that. `part`: which of several it is; then
    `others` are the estimated cycles of all others."""

    before: Parameters
    facts: Facts
    raised: Raised
    part: Parameters
    others: float

    @property
    def given(self) -> Parameters:
        """The parameters beside those of a schedule."""
        return {**self.before, **self.part}


def raised_of(facts: Facts, number: int | None = None) -> Raised:
    """The computation of a kernel, or of its part of a number, with its schedule. Raises NotApplicable where these are
    not seen, with the reason."""
    computations = _raised_parts(facts)
    if number is None and len(computations) == 1:
        return next(iter(computations.values()))
    if number is None or number not in computations:
        numbers = ", ".join(map(str, computations))
        raise NotApplicable(f"'part' must be one of the parts with a computation, {numbers}, and is {number}")
    return computations[number]


def _raised_parts(facts: Facts) -> Mapping[int, Raised]:
    """The computation of all of a kernel or, where that is not one, those of its parts, by their numbers. Raises
    NotApplicable where nothing is computed, or it is not seen."""

    def outcome() -> Mapping[int, Raised]:
        whole, parts = whole_of_kernel(facts), parts_of(facts)
        if returns_in(whole):
            raise NotApplicable("sums return between the kernel's parts: schedule the kernel that it was made from")
        own = any(isinstance(s, ast.Declaration) and s.static for s in whole.statements)
        if len(parts) == 1 or not own:
            try:
                return {0: _raised(facts, whole)}
            except NotApplicable:
                if len(parts) == 1:
                    raise
        if len(parts) > _PARTS:
            raise NotApplicable(
                f"the kernel has {len(parts)} parts with fences between, and at most {_PARTS} are scheduled"
            )
        computations: dict[int, Raised] = {}
        reason = NotApplicable("no part of the kernel computes anything")
        for number, part in enumerate(parts):
            try:
                computations[number] = _raised(facts, part)
            except NotApplicable as error:
                reason = error
        if not computations:
            raise reason
        return computations

    return remember_or_raise(facts, "raised", "", outcome, NotApplicable)


def _raised(facts: Facts, part: Part) -> Raised:
    return raised(part, facts.accelerator, facts.constants)


def _versions(facts: Facts) -> Iterator[_Version]:
    """The kernel as it is and, where it has no schedule, with what may be done to it before: those that are raised.
    One with groups that leave most of the array empty is not looked at as it is. A short kernel is not
    changed into several parts: its commands are worked on one by one."""
    diagonal = candidates_of(_BEFORE["diagonal"], facts)
    versions = [] if diagonal else list(_of_parts(facts, {}))
    yield from versions
    if any(version.raised.given for version in versions):
        return
    for before, changed in _done_before(facts):
        versions = list(_of_parts(changed, before))
        if len(versions) == 1 or not is_short(changed):
            yield from versions


def _done_before(facts: Facts) -> Iterator[tuple[Parameters, Facts]]:
    for name, item in _BEFORE.items():
        for proposal in item.proposals(facts)[:1]:
            yield {name: proposal.parameters}, applied(item, facts, proposal.parameters)


def _made_short(facts: Facts) -> Iterator[Proposal]:
    """Changes that make a kernel one of several short parts: the start of work on its commands one by one."""
    for before, changed in _done_before(facts):
        now, then = value(facts), value(changed) if is_short(changed) else None
        if now is not None and then is not None and then < now:
            done = ", ".join(_DONE[name] for name in before)
            yield Proposal(before, f"{done}: a short kernel of several parts", now - then, then)


def _of_parts(facts: Facts, before: Parameters) -> Iterator[_Version]:
    try:
        computations = _raised_parts(facts)
    except NotApplicable:
        return
    total = sum(one.cycles for one in computations.values())
    for number, one in computations.items():
        part = {_PART: number} if len(computations) > 1 else {}
        yield _Version(before, facts, one, part, total - one.cycles)


def _models(version: _Version) -> Sequence[CostModel]:
    """The estimates that schedules are timed by. Where energy counts, those of few loads and products take turns with
    the fast."""
    model = version.raised.model
    return [model] if version.facts.objective == "cycles" else [replace(model, weight=_ENERGY), model]


def _in_turn(kinds: Iterable[Iterable[Ranked]]) -> Iterator[Ranked]:
    return (item for items in zip_longest(*kinds) for item in items if item is not None)


def _all(model: CostModel) -> tuple[Iterator[Ranked], ...]:
    """The best schedules of all, those with more places for results, and others of machines whose memory is small."""
    best = ranked(model)
    kinds = by_kind(best)
    usual, turned = ([k for k in kinds if (k[0].schedule.turns == TURNS[0]) == few] for few in (True, False))
    division = [kind(model, best[0]) for kind in (in_parts, side_by_side, fewer_ahead)] if best else []
    return _different(usual), _different(turned), _different(division)


def _different(kinds: Sequence[Sequence[Ranked]]) -> Iterator[Ranked]:
    """Schedules, of those with the same blocks and about the same estimate the first one. Kinds take turns: estimates
    compare each kind better with its like."""
    last: dict[tuple[tuple[str, int], ...], float] = {}
    for item in _in_turn(kinds):
        key = (*item.schedule.tile.items(), *item.schedule.block.items())
        if item.cycles > last.get(key, 0.0) * (1 + _CLOSE):
            last[key] = item.cycles
            yield item


def _near(given: Raised, model: CostModel) -> list[Ranked]:
    """The schedules that fit and differ from the kernel's in one decision, the least estimates first."""
    near: list[Ranked] = []
    one, own = given.divided(), given.schedule
    for schedule in neighbours(one):
        new = schedule != one.schedule and all(schedule != other.schedule for other in near)
        if new and fits(Grid(one.computation, schedule), one.model):
            changed = replace(schedule, returns=own.returns, abreast=own.abreast)
            near.append(Ranked(changed, steps.cycles(model, changed)))
    return sorted(near, key=lambda item: item.cycles)


def _without(item: Ranked, items: Sequence[Ranked]) -> list[Ranked]:
    return [other for other in items if other.schedule != item.schedule]


def _reason(version: _Version, item: Ranked) -> str:
    """The decisions in words, and what they lead to."""
    unit = OBJECTIVES[version.facts.objective].unit
    source = f"{unit} when it was run" if item.timed else "cycles by the cost model"
    done = "".join(f", {_DONE[name]}" for name in version.before)
    part = "".join(f"part {number}: " for number in version.part.values())
    return f"{part}{_decided(version.raised, item.schedule)}{done}; {item.cycles:,.0f} {source}"


def _decided(given: Raised, schedule: Schedule) -> str:
    if not given.given:
        return f"{_words(as_data(schedule)['block'])} tiles a block"
    before, after = as_data(given.schedule), as_data(schedule)
    changed = [f"{name} {_words(value)}" for name, value in after.items() if value != before.get(name)]
    return "; ".join([*changed, *(f"without {name}" for name in before if name not in after)])


def _words(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={number}" for key, number in value.items()) or "none"
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)

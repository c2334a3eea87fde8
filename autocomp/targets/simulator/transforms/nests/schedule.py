"""Choose tiles, blocks, order and buffers together: a kernel's computation, lowered by another schedule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autocomp.remember import remember
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.legality import cycles
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation, applied
from autocomp.targets.simulator.transforms.scheduling.choose import Ranked, ranked, whole
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import commands_of
from autocomp.targets.simulator.transforms.scheduling.neighbours import neighbours
from autocomp.targets.simulator.transforms.scheduling.raised import Raised, as_data, from_data, raised
from autocomp.targets.simulator.transforms.scheduling.schedule import Schedule

_MOST = 12  # proposals
_TIMED = 12  # schedules that are lowered and timed, the best by their estimates
_TIMED_CYCLES = 1 << 23  # estimated cycles of all of them
_CLOSE = 0.002  # relative difference of estimates below which schedules of a newcomer count as alike


class ChooseSchedule(Transformation):
    """Parameters are a schedule's fields; those left out are as of one block that is all. Dimensions are called i
    (rows), j (columns), k (depth), others n, p, q … and r, s, t …."""

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
        try:
            given = raised_of(facts)
        except NotApplicable:
            return ()
        found = self._timed(facts, list(_near(given) if given.given else _all(given)))
        now = (cycles(facts) if given.given else None) or given.cycles
        return [Proposal(as_data(one.schedule), _reason(given, one), now - one.cycles) for one in found[:_MOST]]

    def _timed(self, facts: Facts, ranked: Sequence[Ranked]) -> list[Ranked]:
        """The best by estimates with the cycles that they need, least first, and then the rest."""
        timed: list[Ranked] = []
        left, seen = float(_TIMED_CYCLES), 0
        for item in ranked[:_TIMED]:
            left -= item.cycles
            if left < 0:
                break
            seen += 1
            try:
                count = cycles(applied(self, facts, as_data(item.schedule)))
            except NotApplicable:
                continue
            if count is not None:
                timed.append(Ranked(item.schedule, float(count), timed=True))
        return [*sorted(timed, key=lambda item: item.cycles), *ranked[seen:]]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        given = raised_of(facts)
        schedule = from_data(parameters, given.computation, whole(given.computation, given.leaves))
        if schedule == given.schedule and given.given:
            raise NotApplicable("the kernel is scheduled like this already")
        return given.lowered(schedule)


def raised_of(facts: Facts) -> Raised:
    """A kernel's computation and its schedule. Raises NotApplicable, with the reason, where these are not seen."""

    def outcome() -> Raised | NotApplicable:
        try:
            return raised(facts.given, commands_of(facts.given, facts.accelerator, facts.constants))
        except NotApplicable as error:
            return error

    found = remember(facts, "raised", "", outcome)
    if isinstance(found, NotApplicable):
        raise found.with_traceback(None)
    return found


def _all(given: Raised) -> Iterator[Ranked]:
    """The best schedules of all, of those with about the same estimate the first one."""
    last = 0.0
    for item in ranked(given.model):
        if item.cycles > last * (1 + _CLOSE):
            last = item.cycles
            yield item


def _near(given: Raised) -> list[Ranked]:
    """The schedules that differ from the kernel's in one decision, the least estimates first."""
    found: list[Ranked] = []
    for schedule in neighbours(given):
        if schedule != given.schedule and all(schedule != other.schedule for other in found):
            found.append(Ranked(schedule, given.estimate(schedule)))
    return sorted(found, key=lambda item: item.cycles)


def _reason(given: Raised, item: Ranked) -> str:
    """The decisions in words, and the cycles that they lead to."""
    source = "when it was run" if item.timed else "by the cost model"
    return f"{_decided(given, item.schedule)}; {item.cycles:,.0f} cycles {source}"


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

"""Command by command: all steps on a kernel that is written out, one after another, as one change."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.remember import remember
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.legality import value
from autocomp.targets.simulator.transforms.nests.drop_fence import DropFence
from autocomp.targets.simulator.transforms.nests.negate_on_store import NegateOnStore
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation, applied, candidates_of
from autocomp.targets.simulator.transforms.straight.add_in_place import AddInPlace
from autocomp.targets.simulator.transforms.straight.drop_unused import DropUnused
from autocomp.targets.simulator.transforms.straight.keep_results import KeepResults
from autocomp.targets.simulator.transforms.straight.load_once import LoadOnce
from autocomp.targets.simulator.transforms.straight.order_commands import OrderCommands
from autocomp.targets.simulator.transforms.straight.own_rows import OwnRows
from autocomp.targets.simulator.transforms.straight.write_out import is_short

_STEPS: tuple[Transformation, ...] = (
    OwnRows(),
    LoadOnce(),
    NegateOnStore(),
    AddInPlace(),
    KeepResults(),
    DropUnused(),
    DropFence(),
)
_ORDER = OrderCommands()  # the last step, whose proposals take the place of each other
_LOOKED_AT = 6  # proposals of a step


class CommandByCommand(Transformation):
    name = "command_by_command"
    title = "Work on all commands one by one"
    order = 245
    causes = (
        "WriteAfterRead",
        "WriteAfterWrite",
        "ReadAfterWrite",
        "Fence",
        "Bus",
        "Host",
        "Pipeline",
        "MemoryLatency",
    )
    guidance = """
    Write the commands out, give every value rows of its own, drop loads, stores, waits and work of the host that are
    not needed then, and issue the commands in the order that the units take them fastest: the options that do this one
    at a time, each where it does not make the kernel slower.
    It pays when units wait for each other most of the time, in small operations and sequences of small products.
    Watch for: control that depends on data cannot be executed ahead; the kernel gets long.
    """
    example = """
    for (i …) { load(a + i, 0); multiply(0, r); store(t, r); fence(); load(t, 4); multiply(4, r); store(y + i, r); }
      ->  load(a, 0); load(a + 1, 1); multiply(0, r); multiply(r, q); store(y, q); multiply(1, s); …
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """All steps at once, with what the kernel that they give measures."""
        before = value(facts) if is_short(facts) else None
        if before is None:
            return ()
        changed, steps = _worked_on(facts)
        after = value(changed)
        if after is None or after >= before:
            return ()
        return [Proposal({}, f"{', '.join(steps)}, one after another", before - after, after)]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """Takes no parameters. The first proposal of each step that does not make the kernel slower is carried out on
        what the step before it gives, and further ones as long as they make it faster. Of orders the best is."""
        changed, steps = _worked_on(facts)
        if not steps:
            raise NotApplicable("no step on the commands one by one leaves this kernel as fast as it is")
        return changed.written


def _worked_on(facts: Facts) -> tuple[Facts, tuple[str, ...]]:
    """The facts of the kernel after all steps, and the names of those that changed it; worked out once for the same
    facts."""

    def found() -> tuple[Facts, tuple[str, ...]]:
        changed, names = facts, []
        for step in (*_STEPS, _ORDER):
            before, changed = changed, _carried_out(step, changed)
            names += [] if changed is before else [step.name]
        return changed, tuple(names)

    return remember(facts, "command by command", None, found)


def _carried_out(step: Transformation, facts: Facts) -> Facts:
    before = best = value(facts)
    found = facts
    for proposal in candidates_of(step, facts)[:_LOOKED_AT]:
        try:
            changed = applied(step, facts, proposal.parameters)
        except NotApplicable:
            continue
        after = value(changed)
        if after is None or best is None or after > best or (found is not facts and after == best):
            continue
        found, best = changed, after
        if step is not _ORDER:
            break
    return _carried_out(step, found) if best is not None and before is not None and best < before else found

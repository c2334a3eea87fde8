"""Command by command: all steps on a kernel that is written out, one after another, as one change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice

from autocomp.remember import remember
from autocomp.targets.simulator.kernel.host.costs import host_costs
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.legality import check, commands, value
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.straight.add_in_place import add_in_place
from autocomp.targets.simulator.transforms.straight.drop_fences import drop_fences
from autocomp.targets.simulator.transforms.straight.drop_unused import drop_unused
from autocomp.targets.simulator.transforms.straight.keep_results import keep_results
from autocomp.targets.simulator.transforms.straight.load_once import load_once
from autocomp.targets.simulator.transforms.straight.negate_on_store import negate_on_store
from autocomp.targets.simulator.transforms.straight.order_commands import orders
from autocomp.targets.simulator.transforms.straight.own_rows import own_rows
from autocomp.targets.simulator.transforms.straight.program import Program, program_of
from autocomp.targets.simulator.transforms.straight.single import MAX_STATEMENTS
from autocomp.targets.simulator.transforms.straight.write_out import in_sequence, is_short

# What a kernel may become by one step, the best first.
Step = Callable[[Program], Iterator[ast.Kernel]]
STEPS: Mapping[str, Step] = {
    "own_rows": own_rows,
    "load_once": load_once,
    "negate_on_store": negate_on_store,
    "add_in_place": add_in_place,
    "keep_results": keep_results,
    "drop_unused": drop_unused,
    "drop_fences": drop_fences,
    "order_commands": orders,
}
WRITTEN_OUT = "write_out"  # the name of what comes before them
_LOOKED_AT = 6  # kernels of a step


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
    not needed then, and issue the commands in the order that the units take them fastest, each where it does not make
    the kernel slower.
    It pays when units wait for each other or for the host most of the time, in small operations and sequences of small
    products.
    Watch for: control that depends on data cannot be executed ahead; the kernel gets long.
    """
    example = """
    for (i …) { load(a + i, 0); multiply(0, r); store(t, r); fence(); load(t, 4); multiply(4, r); store(y + i, r); }
      ->  load(a, 0); load(a + 1, 1); multiply(0, r); multiply(r, q); store(y, q); multiply(1, s); …
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """All steps at once, with what the kernel that they give measures."""
        before = value(facts) if is_short(facts) or _waits_for_the_host(facts) else None
        done = () if before is None else worked_on(facts)
        after = value(done[-1][1]) if done else None
        if before is None or after is None or after >= before:
            return ()
        steps = ", ".join(name for name, _ in done)
        return [Proposal({}, f"{steps}, one after another", before - after, after)]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """Takes no parameters. The first kernel of each step that is not slower than the one before goes on to the next
        step, and takes this one again as long as that makes it faster. Of orders the best is. A kernel of more than a
        thousand commands is written out alone."""
        done = worked_on(facts)
        if not done:
            raise NotApplicable("no step on the commands one by one leaves this kernel as fast as it is")
        return done[-1][1].written


def _waits_for_the_host(facts: Facts) -> bool:
    """True if the host's code takes time, and issues few enough commands to write them out."""
    timed = host_costs(facts.accelerator) is not None
    return timed and (commands(facts) or MAX_STATEMENTS + 1) <= MAX_STATEMENTS


def worked_on(facts: Facts) -> Sequence[tuple[str, Facts]]:
    """The facts of the kernel after each step that changed it, by the step's name, worked out once."""

    def found() -> Sequence[tuple[str, Facts]]:
        try:
            changed = in_sequence(facts)
        except NotApplicable:
            return ()
        done = [] if changed is facts else [(WRITTEN_OUT, changed)]
        for name, step in STEPS.items() if is_short(facts) else ():
            before, changed = changed, _carried_out(step, changed)
            done += [] if changed is before else [(name, changed)]
        return done

    return remember(facts, "command by command", None, found)


def _carried_out(step: Step, facts: Facts) -> Facts:
    before = best = value(facts)
    found = facts
    for changed in _versions(step, facts):
        after = value(changed)
        if after is None or best is None or after > best or (found is not facts and after == best):
            continue
        found, best = changed, after
        if step is not orders:
            break
    return _carried_out(step, found) if best is not None and before is not None and best < before else found


def _versions(step: Step, facts: Facts) -> Iterator[Facts]:
    """The first kernels of a step that do what the kernel does."""
    with suppress(NotApplicable):
        for kernel in islice(step(program_of(facts)), _LOOKED_AT):
            changed = facts.with_kernel(kernel)
            try:
                check(facts, changed)
            except NotApplicable:
                continue
            yield changed

"""Order commands: those that others wait for go first, and commands of one configuration side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod

from autocomp.targets.simulator.isa.main_memory import seen_by
from autocomp.targets.simulator.isa.timing import memory_number
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.analysis.requests import Cutting, transfer_cycles, unit_settings
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.parameters import name_of, number_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.straight.dependences import dependences
from autocomp.targets.simulator.transforms.straight.footprint import Access
from autocomp.targets.simulator.transforms.straight.grouped import grouped
from autocomp.targets.simulator.transforms.straight.program import Program, ProgramStep, program_of
from autocomp.targets.simulator.transforms.straight.write_out import in_sequence, is_short

_MOVE = 20  # cycles of a move beside its data and the latency of DRAM, roughly
_HOST = 10  # cycles of the host for a statement, roughly
_FIRST = {
    "given": "else the order is kept",
    "chain": "long chains go first",
    "held": "computations with the operand that the array holds go first",
}
_TOGETHER = (8, 4, 16)  # computations whose operands are looked at together
_GAIN = 0.1  # share of the computation's latencies that another order hides, roughly


class OrderCommands(Transformation):
    name = "order_commands"
    title = "Put commands that others wait for first"
    takes = ("switch", "first", "together")
    order = 300
    causes = ("ReadAfterWrite", "Pipeline", "Drain", "Idle", "MemoryLatency")
    guidance = """
    Among commands that do not depend on each other, issue those first on which the longest chain of others waits, and
    those of one configuration side by side.
    It pays when units wait for results (ReadAfterWrite, Pipeline) while independent commands stand further down, or
    the array drains at every change of configuration (Drain).
    Watch for: values need rows of their own, or hardly anything is independent; fences keep DRAM accesses in order.
    """
    example = """
    load(a); use(a); load(b); use(b);  ->  load(a); load(b); use(a); use(b);
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """Switching the configuration of the computing unit taken to cost its latency, twice that, and nothing. Of
        what can start at the same time, what stands first now, what most depends on, or what needs the operand that
        the array holds. And few and more computations at a time, by what they bring into the array."""
        if not is_short(facts) or not facts.contractions:
            return ()
        latency = _latency(facts, facts.contractions[0].role.instruction)
        gain = _GAIN * latency * sum(prod(item.trips for item in site.loops) for site in facts.contractions)
        reason = "no unit waits for what another one could have done before"
        listed = [
            Proposal(
                {"switch": cycles, "first": first},
                f"{reason}; a change of configuration is taken to cost {cycles} cycles, {words}",
                gain,
            )
            for cycles in (latency, 2 * latency, 0)
            for first, words in _FIRST.items()
        ]
        together = [
            Proposal(
                {"switch": latency, "first": "given", "together": window},
                f"{reason}; of {window} computations in a row, all of one operand bring it once",
                gain,
            )
            for window in _TOGETHER
        ]
        return [*listed[: len(_FIRST)], *together, *listed[len(_FIRST) :]]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`switch` is what it is taken to cost, in cycles, to configure a computation unlike the one before. Of steps
        that can start at the same time, `first` says which goes first. "chain" (the default) is that on which the
        longest chain of others waits, "given" the one that stands first, "held" one that needs what the array holds.
        `together` is a number of computations in a row, of which in the end those that bring the same operand into
        the array go side by side; 0 leaves them. Steps that touch the same elements keep their order, unless both add
        to them. A kernel of loops is written out first."""
        switch, window = number_of(parameters, "switch", 0), number_of(parameters, "together", 0)
        first = name_of(parameters, "first", "chain")
        if first not in _FIRST:
            raise NotApplicable(f"'first' is one of {', '.join(_FIRST)}, not {first!r}")
        if window < 0:
            raise NotApplicable(f"'together' is a number of computations, not {window}")
        program = program_of(in_sequence(facts))
        order = _listed(program, switch, first)
        order = grouped(program, order, window) if window else order
        if order == list(range(len(order))):
            raise NotApplicable("the commands are in this order")
        return program.kernel(program.steps[number] for number in order)


def orders(program: Program) -> Iterator[ast.Kernel]:
    """The kernel with its commands in the orders that are proposed for it."""
    item = OrderCommands()
    for proposal in item.candidates(program.facts):
        with suppress(NotApplicable):
            yield item.apply(program.facts, proposal.parameters)


@dataclass(frozen=True)
class _Times:
    """Cycles that a step keeps its unit busy, and after which others can go on. `kept` are those that it is busy for
    where the array holds what it would bring."""

    busy: int
    latency: int
    kept: int


def _listed(program: Program, switch: int, first: str) -> list[int]:
    """List scheduling: of the steps that nothing is in the way of, the one next that can start first, and among those
    the one with the longest chain of steps after it, or the first."""
    steps = program.steps
    before = dependences(program)
    behind: list[list[int]] = [[] for _ in steps]
    for later, numbers in enumerate(before):
        for earlier in numbers:
            behind[earlier].append(later)
    times = [_times(program.facts, step) for step in steps]
    chain = [0] * len(steps)
    for number in reversed(range(len(steps))):
        chain[number] = times[number].latency + max((chain[n] for n in behind[number]), default=0)
    waiting = [len(numbers) for numbers in before]
    ready = [number for number, count in enumerate(waiting) if not count]
    free: dict[str, int] = {}  # when a unit takes the next step
    known = [0] * len(steps)  # when the last of what a step waits for is done
    configured: tuple[ast.Call, ...] | None = None  # of the last computation
    held: Access | None = None  # what it brought into the array
    order: list[int] = []

    def start(number: int) -> int:
        earliest = max(free.get(steps[number].unit, 0), known[number])
        changes = steps[number].kind == "contraction" and configured not in (None, steps[number].settings)
        return earliest + (switch if changes else 0)

    def brings(number: int) -> bool:
        return held is None or steps[number].held != held

    def rank(number: int) -> tuple[int, ...]:
        if first == "held":
            return start(number), brings(number), times[number].kept if steps[number].held else 0, number
        return start(number), -chain[number] if first == "chain" else 0, number

    while ready:
        number = min(ready, key=rank)
        begun = start(number)
        free[steps[number].unit] = begun + (times[number].busy if brings(number) else times[number].kept)
        if steps[number].kind == "contraction":
            configured, held = steps[number].settings, steps[number].held
        order.append(number)
        ready.remove(number)
        for later in behind[number]:
            known[later] = max(known[later], begun + times[number].latency)
            waiting[later] -= 1
            if not waiting[later]:
                ready.append(later)
    return order


def _times(facts: Facts, step: ProgramStep) -> _Times:
    if step.kind == "host":
        return _Times(_HOST, _HOST, _HOST)
    if step.kind == "fence":
        return _Times(1, 1, 1)
    rows = max((len(access.spans) for access in step.accesses if access.local), default=1)
    if step.kind == "contraction":
        others = (len(access.spans) for access in step.accesses if access.local and access != step.held)
        return _Times(rows, rows + _latency(facts, _instruction(facts, step)), max(others, default=1))
    instruction = facts.accelerator.instruction(_instruction(facts, step))
    assert instruction is not None
    memory, unit = seen_by(facts.accelerator, instruction), unit_settings(facts.accelerator, instruction)
    spans = [(first, end) for access in step.accesses if not access.local for _, first, end in access.spans]
    traffic = Cutting.of(unit, memory).rows(spans)
    busy = round(transfer_cycles(unit, memory, len(spans), max(1, rows // max(1, len(spans))), traffic))
    return _Times(busy, busy + _MOVE + int(memory_number(memory, "latency") if step.kind == "load" else 0), busy)


def _instruction(facts: Facts, step: ProgramStep) -> str:
    call = step.calls[-1]
    return facts.machine.roles[call.function, len(call.arguments)].instruction


def _latency(facts: Facts, instruction: str) -> int:
    """Cycles from an operand's row to the result's, as the unit states it."""
    found = facts.accelerator.instruction(instruction)
    value = 0 if found is None else unit_settings(facts.accelerator, found).get("latency", 0)
    return int(value) if isinstance(value, int | float) else 0

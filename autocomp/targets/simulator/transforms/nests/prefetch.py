"""Prefetch: the operands of the next iteration are loaded between the computations of the present one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.cost import contraction_cycles, moves_cycles
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.analysis.settings import check_settled
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.memory.interleave import (
    check_indices,
    computing_part,
    elsewhere,
    index_constants,
    interleave,
    moves_of,
    replaced,
    shifted_iteration,
)
from autocomp.targets.simulator.transforms.memory.periods import Steps
from autocomp.targets.simulator.transforms.nests.collapse import collapsed, pipeline_loops
from autocomp.targets.simulator.transforms.nests.double_buffer import doubled, is_doubled
from autocomp.targets.simulator.transforms.nests.hoist import settled
from autocomp.targets.simulator.transforms.nests.rotation import early_loads
from autocomp.targets.simulator.transforms.parameters import names_of, number_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.syntax.affine import literal
from autocomp.targets.simulator.transforms.syntax.arithmetic import replace_sums
from autocomp.targets.simulator.transforms.syntax.loops import Loop, make_loop
from autocomp.targets.simulator.transforms.syntax.nest import Statements, change_loop
from autocomp.targets.simulator.transforms.syntax.rewrite import all_names, declared, with_body


class Prefetch(Transformation):
    name = "prefetch"
    title = "Order moves ahead of their use"
    order = 170
    causes = ("ReadAfterWrite", "MemoryLatency", "Idle", "QueueFull")
    uses = ("load",)
    after = ("keep_accumulator", "stage_operand", "stage_window", "widen_moves", "reuse_weights")
    guidance = """
    Issue the loads of the next block before the computation on the present one (a software pipeline: a prologue loads
    the first block, the loop loads one ahead, the last iteration loads nothing), and put stores after the commands
    that do not depend on them.
    It pays when the compute unit waits at each block's start (ReadAfterWrite, MemoryLatency) while the bus is free, or
    when commands that could run sit in the queue after commands that cannot (QueueFull).
    Watch for: the block that is loaded ahead needs rows of its own, so double-buffer first; too far ahead fills the
    queues and blocks the host.
    """
    example = """
    for (int k …) { load(k); compute(k); }
      ->  load(0); for (int k …) { if (k + 1 < N) load(k + 1); compute(k); }
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """All enclosing loops as one, then the innermost alone; evenly spread or as early as possible."""
        chain = pipeline_loops(facts)
        gain = min(moves_cycles(facts, "load"), contraction_cycles(facts))
        candidates: list[Proposal] = []
        for loops in dict.fromkeys(chain[start:] for start in range(len(chain))):
            for spacing in (0, 2, 1):
                pace = "spread evenly" if not spacing else f"one every {spacing} iterations"
                reason = f"load the next block during this one's computation, over {', '.join(loops)}; {pace}"
                candidates.append(Proposal({"loops": list(loops), "spacing": spacing}, reason, gain))
        return candidates

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`loops`, outermost first, are collapsed if they are several; operands that do not alternate yet are
        double-buffered; their loads run one iteration ahead, one every `spacing` iterations of the computing nest (0:
        spread evenly). An operand that serves several iterations is loaded during as many of them."""
        loops = names_of(parameters, "loops")
        spacing = number_of(parameters, "spacing", 0)
        if not loops:
            raise NotApplicable("no loop was named")
        facts = settled(facts)
        for load in (site for buffer in facts.buffers if buffer.is_input for site in buffer.sites("load")):
            check_settled(facts, load)
        facts, variable = collapsed(facts, loops)
        facts = _with_alternating_operands(facts, variable)
        taken = set(all_names(facts.kernel))

        def change(statement: ast.For, item: Loop) -> Statements:
            return _rotate(facts, statement, item, spacing, taken)

        return with_body(facts.kernel, ast.Block(change_loop(facts.body.statements, variable, change, facts.computes)))


def _with_alternating_operands(facts: Facts, variable: str) -> Facts:
    """The facts after double-buffering the operands that are loaded in the loop's body."""
    tensors = [
        buffer.tensor
        for buffer in facts.buffers
        if buffer.is_input
        and not is_doubled(buffer)
        and any(facts.beside_computation(site, variable) for site in buffer.sites("load"))
    ]
    return doubled(facts, tensors)


def _rotate(facts: Facts, statement: ast.For, item: Loop, spacing: int, taken: set[str]) -> Statements:
    constants = index_constants(statement.body.statements)
    rest = statement.body.statements[len(constants) :]
    loads = early_loads(facts, rest, frozenset({item.variable}).union(*map(declared, constants)))
    check_indices(rest, loads)
    computing = computing_part(facts, rest)
    if not loads or not computing:
        raise NotApplicable(f"the body of the loop over {item.variable!r} has no loads apart from its computation")
    if item.trips < 2:
        raise NotApplicable(f"the loop over {item.variable!r} runs once")
    steps = Steps(constants, item)
    ahead: list[ast.Declaration] = []
    nest = computing
    for period, group in _by_period(loads, steps).items():
        following = replace_sums(ast.Binary("+", steps.start(period), literal(period)))
        coming = steps.always(group) if period > 1 else group
        indices, early = elsewhere(coming, constants, item.variable, following, "next", taken)
        ahead.extend(indices)
        more = ast.Binary("<", ast.Name(item.variable), literal(item.trips - period))
        rounds = period, steps.phase(period)
        nest = interleave(nest, [moves_of(load) for load in early], more, taken, spacing=spacing, rounds=rounds)
    body = replaced(rest, computing, nest, loads)
    first = shifted_iteration(loads, constants, item.variable, literal(0))
    return (*first, make_loop(item.variable, item.trips, (*constants, *ahead, *body)))


def _by_period(loads: Statements, steps: Steps) -> Mapping[int, Statements]:
    """The loads by how many iterations what they fill lasts."""
    groups: dict[int, Statements] = {}
    for load in loads:
        period = steps.period((load,))
        groups[period] = (*groups.get(period, ()), load)
    return groups

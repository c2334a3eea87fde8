"""Tile: cut loops of a nest into loops over blocks and loops inside a block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.parameters import factors_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.syntax.loops import Loop, make_nest
from autocomp.targets.simulator.transforms.syntax.nest import (
    Sinking,
    Statements,
    change_loop,
    single_loop,
    sink,
    strip_mine,
    with_values,
)
from autocomp.targets.simulator.transforms.syntax.rewrite import all_names, fresh, names, walk, with_body


class Tile(Transformation):
    name = "tile"
    title = "Tile loops so that a block fits in local memory"
    order = 10
    causes = ("Bus", "MemoryLatency", "QueueFull")
    prior = 0.02
    guidance = """
    Cut one or more loops into an outer loop over blocks and inner loops inside a block, and move the outer ones
    outward, so that the data of a block stays in local memory while it is used again and again.
    It pays when DRAM traffic is far above the size of the tensors, or the transfer unit waits on Bus or
    MemoryLatency while the compute unit is Idle.
    Watch for: the block's rows must fit in local memory (twice, if double-buffering is to follow); a block size that
    does not divide the extent needs a remainder, so guard the last block or pick a divisor.
    """
    example = """
    for (int i = 0; i < 512; i += 16)            for (int io = 0; io < 512; io += 64)
      body(i);                            ->       for (int i = io; i < io + 64; i += 16)
                                                     body(i);
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """Each loop around the contraction in pieces."""
        return [
            Proposal({"loops": {item.variable: size}}, f"work on {size} iterations of {item.variable} at a time")
            for site in facts.contractions[:1]
            for item in site.loops
            for size in (2, 4, 8)
            if size < item.trips
        ]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`loops` maps variables of a perfect nest, outermost first, to block sizes."""
        factors = factors_of(parameters, "loops")
        body = tile_nest(facts, factors, lambda splits: False)
        return with_body(facts.kernel, ast.Block(body))


class _Blocks:
    """The loops of one tiled nest, gathered on the way in."""

    def __init__(self, facts: Facts) -> None:
        self.taken = set(all_names(facts.kernel))
        self.outer: list[Loop] = []
        self.inner: list[Loop] = []
        self.edges: dict[str, ast.Expression] = {}
        self.values: dict[str, ast.Expression] = {}

    def add(self, item: Loop, factor: int) -> None:
        outer_name = fresh(f"{item.variable}_block", self.taken)
        self.taken.add(outer_name)
        outer, inner, value, guard = strip_mine(item, factor, outer_name, item.variable)
        self.outer.append(outer)
        self.inner.append(inner)
        self.values[item.variable] = value
        if guard is not None:
            self.edges[item.variable] = guard


def tile_nest(facts: Facts, factors: Mapping[str, int], below: Callable[[Loop], bool]) -> Statements:
    """The body with a nest tiled. `below(loop)` says which loops of the nest's body come
    to stand outside the loops inside a block. Raises NotApplicable."""
    if not factors:
        raise NotApplicable("no loop to tile was named")
    first, *rest = factors
    once = _loads_operands(facts)

    def enter(statement: ast.For, item: Loop) -> Statements:
        blocks = _Blocks(facts)  # of this nest; siblings over the same variables get the same new ones
        remaining = list(rest)
        size = factors[first]
        while True:
            if size < 1:
                raise NotApplicable(f"block size for loop {item.variable!r} must be at least 1, got {size}")
            blocks.add(item, min(size, item.trips))
            if not remaining:
                break
            inner = single_loop(statement.body.statements)
            if inner is None or inner[1].variable != remaining[0]:
                raise NotApplicable(
                    f"the loop over {remaining[0]!r} is not nested directly in that over {item.variable!r}"
                )
            statement, item = inner
            size = factors[remaining.pop(0)]
        body = with_values(statement.body.statements, blocks.values)
        held = sink(Sinking(blocks.inner, blocks.edges, below, once), body)
        return make_nest(blocks.outer, held)

    return change_loop(facts.body.statements, first, enter, facts.computes if rest else lambda statement: True)


def _loads_operands(facts: Facts) -> Callable[[ast.Statement], bool]:
    """A test for statements that only load operands. Results that start from what is loaded, be it zeros from no
    tensor, get rows of their own for each tile of a block."""
    loads = [(buffer, site.pointer) for buffer in facts.buffers for site in buffer.sites("load")]
    started = {where.tensor for buffer, where in loads if where is not None and not buffer.is_input}
    operands = {where.tensor for _, where in loads if where is not None} - started

    def only_operands(statement: ast.Statement) -> bool:
        calls = (node for node in walk(statement) if isinstance(node, ast.Call))
        of_operands = all(not operands.isdisjoint(names(call)) for call in calls)
        return of_operands and facts.kinds(statement) == {"load"} and started.isdisjoint(names(statement))

    return only_operands

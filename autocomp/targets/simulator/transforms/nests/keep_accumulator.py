"""Keep the accumulator: a block of results stays in local memory through the whole reduction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import log, prod
from typing import Any

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.block_cost import block_cost
from autocomp.targets.simulator.transforms.analysis.cost import present_cost
from autocomp.targets.simulator.transforms.analysis.facts import Buffer, Facts
from autocomp.targets.simulator.transforms.analysis.limits import widest
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.memory.addresses import linear, make_room, shift_operands
from autocomp.targets.simulator.transforms.nests.double_buffer import runs_ahead
from autocomp.targets.simulator.transforms.nests.stage_operand import StageOperand
from autocomp.targets.simulator.transforms.nests.stage_window import StageWindow
from autocomp.targets.simulator.transforms.nests.tile import tile_nest
from autocomp.targets.simulator.transforms.nests.windows import shared_rows
from autocomp.targets.simulator.transforms.parameters import factors_of, flag_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation, fitting
from autocomp.targets.simulator.transforms.syntax.loops import Loop, make_loop
from autocomp.targets.simulator.transforms.syntax.nest import Statements, change_loop
from autocomp.targets.simulator.transforms.syntax.rewrite import Path, all_names, fresh, statement_at, with_body

_SHAPES = 12  # of blocks, proposed at most
_PAYING = 0.9  # estimated cycles with windows, relative to those without, from which on they are proposed
_RESOLUTION = 0.01  # relative difference of estimates that says something


class KeepAccumulator(Transformation):
    name = "keep_accumulator"
    title = "Keep results in the accumulator across the reduction"
    order = 120
    causes = ("Bus", "ReadAfterWrite", "WriteAfterRead", "Fence")
    uses = ("contraction", "store")
    after = ("merge_depth",)
    guidance = """
    Accumulate over the whole reduction loop in local memory and write each result out once, after that loop, instead
    of reading and writing partial results in every step.
    It pays when output traffic is a multiple of the output's size, or the store unit is busy inside the reduction
    loop. Several independent accumulator tiles in flight also hide the latency from one accumulation to the next
    (ReadAfterWrite).
    Watch for: the first step has to overwrite, all later ones add; wide partial results must not be narrowed on the
    way; the tiles in flight must fit in the accumulator.
    """
    example = """
    for (int k …) { … accumulate(acc, k != 0); store(acc); }  ->  for (int k …) accumulate(acc, k != 0); store(acc);
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """Block shapes that fit, half or all of the accumulator, by the traffic and the time that they cost."""
        nest = _output_loops(facts)
        if nest is None:
            return ()
        result, loops, reduction = nest
        if _is_block(result) or any(b.is_input and runs_ahead(b) for b in facts.buffers):
            return ()
        capacity = facts.accelerator.memory(result.memory).rows // _pitch(facts, result)
        before = present_cost(facts)
        ranked = _ranked(facts, result, loops, capacity)
        plain = [_proposal(result, loops, shape, before - cost) for cost, shape in ranked[:_SHAPES]]
        staged = [
            _with(proposal, {"stage": {name: size}}, f"operands come in panels of {size}")
            for name, size in _chunks(facts, reduction)
            for proposal in plain
        ]
        # One of a kind tells for all: they differ in sizes that are known to fit.
        able = fitting(self, facts, staged[:1])
        candidates = [*staged, *plain] if able else fitting(self, facts, plain)
        windows = _ranked(facts, result, loops, capacity, reduction) if reduction else []
        if not windows or windows[0][0] > _PAYING * ranked[0][0]:
            return candidates
        stage = next({item.variable: item.trips} for item in facts.contractions[0].loops if item.variable in reduction)
        blocks = (_proposal(result, loops, shape, before - cost) for cost, shape in windows[: _SHAPES // 2])
        more = {"window": True, "stage": stage}
        return [*(_with(block, more, "tiles that overlap come as one window") for block in blocks), *candidates]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`loops` maps the loops over the result, outermost first, to the sides of the block in iterations. `stage`
        maps the reduction's loop to a number of its iterations for which the block's operands are then loaded at once,
        by moves as wide as possible. A reduction in one step has no loop; its name is "". With `window`, operands whose
        tiles overlap are loaded as one window."""
        factors = factors_of(parameters, "loops")
        nest = _output_loops(facts)
        if nest is None:
            raise NotApplicable("no contraction whose result stays in place while an inner loop reduces")
        ahead = next((b.tensor for b in facts.buffers if b.is_input and runs_ahead(b)), None)
        if ahead is not None:
            raise NotApplicable(f"{ahead!r} is prefetched already; choose the block of results before that")
        result, loops, reduction = nest
        chosen = [item for item in loops if item.variable in factors]
        if list(factors) != [item.variable for item in chosen]:
            known = ", ".join(item.variable for item in loops)
            raise NotApplicable(f"the loops over the result are {known}, outermost first; got {', '.join(factors)}")
        sides = [(item.variable, min(factors[item.variable], item.trips)) for item in chosen]
        count = 1
        for _, side in sides:
            count *= side
        needed = _pitch(facts, result) * count
        facts = make_room(facts, {result.low: needed}, result.memory)
        result = next(b for b in facts.buffers if b.is_result and b.tensor == result.tensor)
        facts = facts.with_kernel(with_body(facts.kernel, facts.body))
        if reduction:
            tiled = tile_nest(facts, factors, lambda item: item.variable in reduction)
        else:
            step = fresh("step", all_names(facts.kernel))
            single = _with_single_step(facts, result, loops[-1], step)
            tiled = tile_nest(single, factors, lambda item: item.variable == step)
        kernel = _spread_result(facts, result, sides, tiled)
        window = flag_of(parameters, "window")
        return _with_operands(facts.with_kernel(kernel), factors_of(parameters, "stage"), set(factors), window)


def _proposal(result: Buffer, loops: Sequence[Loop], shape: Sequence[int], gain: float) -> Proposal:
    return Proposal(
        {"loops": {item.variable: size for item, size in zip(loops, shape, strict=True)}},
        f"{' x '.join(map(str, shape))} tiles of {result.tensor} stay in {result.memory} while the reduction "
        f"runs, so that each operand tile that is loaded serves several of them",
        gain,
    )


def _with(proposal: Proposal, more: Mapping[str, Any], reason: str) -> Proposal:
    """The proposal with further parameters, and the reason for them."""
    return Proposal({**proposal.parameters, **more}, f"{proposal.reason}; {reason}", proposal.gain)


def _with_single_step(facts: Facts, result: Buffer, inner: Loop, step: str) -> Facts:
    """The facts with a loop of one trip, over `step`, in place of the reduction that a kernel does in one step. It
    separates what a result starts from and its store, as a loop of several trips does."""
    starts = {site.path for site in result.sites("load")}

    def change(statement: ast.For, item: Loop) -> Statements:
        held = statement.body.statements
        kinds = [facts.kinds(s) for s in held]
        first = next((n for n, s in enumerate(held) if not _only_loads(facts, s, starts)), len(held))
        end = next((n + 1 for n in reversed(range(len(held))) if kinds[n] != {"store"}), 0)
        between = set[str]().union(*kinds[first:end])
        calls = all(isinstance(s, ast.ExpressionStatement) and kind for s, kind in zip(held, kinds, strict=True))
        if not calls or "contraction" not in between or not between <= {"load", "preload", "contraction"}:
            raise NotApplicable(f"the loop over {item.variable!r} does more than load, compute and store one result")
        reducing = make_loop(step, 1, held[first:end])
        return (make_loop(item.variable, item.trips, (*held[:first], reducing, *held[end:])),)

    body = change_loop(facts.body.statements, inner.variable, change, facts.computes)
    return replace(facts, normal=with_body(facts.kernel, ast.Block(body)))


def _only_loads(facts: Facts, statement: ast.Statement, paths: Collection[Path]) -> bool:
    """True if a statement is one of the loads at these paths."""
    return any(statement_at(facts.body, path) is statement for path in paths)


def _spread_result(
    facts: Facts, result: Buffer, sides: Sequence[tuple[str, int]], tiled: tuple[ast.Statement, ...]
) -> ast.Kernel:
    """The tiled kernel with rows of its own for each tile of the block."""
    after = facts.with_kernel(with_body(facts.kernel, ast.Block(tiled)))
    for variable, side in sides:
        if side > 1:
            _loaded_where_used(after, variable)
    offset = linear([side for side in sides if side[1] > 1], _pitch(facts, result))
    operands = [o for b in after.buffers if b.memory == result.memory and b.low == result.low for o in b.operands]
    return with_body(after.kernel, shift_operands(after, operands, lambda operand: offset))


def _pitch(facts: Facts, result: Buffer) -> int:
    """Rows from one tile of a block to the next: those of a whole tile, as wide stores need them, if it has fewer."""
    return max(result.rows, facts.tile[0])


def _loaded_where_used(facts: Facts, variable: str) -> None:
    """Raises NotApplicable if an operand's loads for a whole block come before its uses, all into the same rows."""
    for buffer, operand in ((b, o) for b in facts.buffers if b.is_input for o in b.operands):
        site = operand.site
        if site.kind != "load" or variable not in site.selecting:
            continue
        where = dict(zip((item.variable for item in site.loops), site.loop_paths, strict=True)).get(variable)
        apart = any(where not in other.site.loop_paths for other in buffer.operands)
        if where is not None and apart and not operand.row.coefficient(variable):
            raise NotApplicable("operands are staged already; choose the block of results before that")


def _with_operands(facts: Facts, stage: Mapping[str, int], block: Collection[str], window: bool) -> ast.Kernel:
    """The kernel with each operand loaded once for `stage` iterations of the reduction and the whole block, of which
    `block` are the loops; with `window`, those whose tiles overlap as one window."""
    for variable, size in stage.items():
        loops = next((site.loops for site in facts.contractions), ())
        order = [item.variable for item in loops]
        if variable not in ("", *order):
            raise NotApplicable(f"no contraction is inside a loop over {variable!r}")
        if not variable:
            order = [name for name in order if name not in block]
        position = order.index(variable) if variable else len(order)
        split = {variable: size} if variable and 1 < size < loops[position].trips else {}
        if split:
            level = fresh(f"{variable}_block", all_names(facts.kernel))
        elif variable and size == 1:
            level = variable
        else:  # the whole reduction at once
            level = order[position - 1] if position else ""
        tensors = [buffer.tensor for buffer in facts.buffers if buffer.is_input and len(buffer.sites("load")) == 1]
        if window:
            facts, tensors = _with_windows(facts, tensors, level)
        kernel = StageOperand().apply(facts, {"tensors": tensors, "loop": level, "split": split, "wide": True})
        facts = facts.with_kernel(kernel)
    return facts.kernel


def _with_windows(facts: Facts, tensors: Sequence[str], level: str) -> tuple[Facts, list[str]]:
    """The facts after loading those tensors as windows whose tiles overlap, and the other tensors."""
    left: list[str] = []
    for tensor in tensors:
        try:
            facts = facts.with_kernel(StageWindow().apply(facts, {"tensors": [tensor], "loop": level}))
        except NotApplicable:
            left.append(tensor)
    if len(left) == len(tensors):
        raise NotApplicable(f"no operand's tiles overlap inside the loop over {level!r}")
    return facts, left


def _chunks(facts: Facts, reduction: frozenset[str]) -> list[tuple[str, int]]:
    """Steps of the innermost reduction loop to load at once: as many as one move can cover, or one; of a reduction in
    one step, which has no loop, that."""
    if not reduction:
        return [("", 1)]
    inner = [item for item in facts.contractions[0].loops if item.variable in reduction][-1:]
    wide = max((widest(facts, s) // max(1, s.highest("cols") or 1) for s in facts.sites if s.kind == "load"), default=1)
    return [(item.variable, size) for item in inner for size in sorted({min(wide, item.trips), 1}, reverse=True)]


def _output_loops(facts: Facts) -> tuple[Buffer, tuple[Loop, ...], frozenset[str]] | None:
    """The buffer of results, the loops over results, and the loops that reduce into them: none where one step does."""
    for result in facts.buffers:
        stores = result.sites("store")
        producers = [o.site for o in result.operands if o.site.kind in ("contraction", "preload")]
        if len(stores) != 1 or not producers:
            continue
        around = producers[0].loops
        shared = zip(around, producers[0].loop_paths, strict=True)
        common = tuple(item for item, path in shared if path in stores[0].loop_paths)
        reduction = frozenset(item.variable for item in around if item not in common)
        if common and common == around[: len(common)]:
            outputs = _stored_loops(result, common)
            if outputs:
                return result, outputs, reduction
    return None


def _stored_loops(result: Buffer, common: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """The loops nearest to the reduction that select what is stored."""
    used = result.sites("store")[0].selecting
    chosen: list[Loop] = []
    for item in reversed(common):
        if item.variable not in used:
            break
        chosen.insert(0, item)
    return tuple(chosen)


def _is_block(result: Buffer) -> bool:
    """True if the results spread over several tiles already: those that are stored; what is added to them may begin
    further inside a tile."""
    return any(operand.row.terms for operand in result.operands if operand.site.kind == "store")


def _ranked(
    facts: Facts, result: Buffer, loops: Sequence[Loop], capacity: int, reduction: frozenset[str] = frozenset()
) -> list[tuple[float, tuple[int, ...]]]:
    """Estimated cycles and shapes of blocks, best first. Blocks in which each operand's tile serves as many results as
    in a better one, as pixels of other rows or images do, come last. Among blocks of equal estimate, those come first
    that leave half of the memory to the results being stored, then those that cut loops into equal parts. With the
    loops of the `reduction`, operands come as windows for all of it, two of which fit in their memory."""
    variables = [item.variable for item in loops]
    selecting = [_selecting(buffer) for buffer in facts.buffers if buffer.is_input]
    ranked_orders: list[tuple[int, bool, bool, float, tuple[int, ...]]] = []
    single = prod(item.trips for item in loops) == 1
    for shape in _shapes(loops, capacity):
        if prod(shape) == 1 and not single:  # no block: a result alone stays in place already
            continue
        sides = dict(zip(variables, shape, strict=True))
        overlap = _overlap(facts, sides, reduction)
        if overlap is None:
            continue
        cost = block_cost(facts, result, sides, capacity, overlap)
        uneven = any(item.trips % side for item, side in zip(loops, shape, strict=True))
        ranked_orders.append((round(log(cost) / _RESOLUTION), 2 * prod(shape) > capacity, uneven, cost, shape))
    first: list[tuple[float, tuple[int, ...]]] = []
    alike: list[tuple[float, tuple[int, ...]]] = []
    seen: set[tuple[int, ...]] = set()
    for _, _, _, cost, shape in sorted(ranked_orders):
        pairs = list(zip(variables, shape, strict=True))
        served = tuple(prod(side for name, side in pairs if name not in used) for used in selecting)
        (alike if served in seen else first).append((cost, shape))
        seen.add(served)
    return first + alike


def _overlap(facts: Facts, sides: Mapping[str, int], reduction: frozenset[str]) -> Mapping[str, float] | None:
    """The part of each operand's tiles that is left to load where those of a block with these sides and of a reduction
    are one window; None where two such windows do not fit."""
    trips = {item.variable: item.trips for item in facts.contractions[0].loops if item.variable in reduction}
    cycles: dict[str, float] = {}
    for buffer in (buffer for buffer in facts.buffers if trips and buffer.is_input):
        for load in buffer.sites("load"):
            window = shared_rows(facts, load, {**sides, **trips})
            if load.pointer is None or (window is not None and window[0] >= 1):
                continue
            if window is None:
                return None
            blocks = prod(n for name, n in sides.items() if load.pointer.subscripts[-1].coefficient(name))
            if 2 * window[1] * blocks > facts.accelerator.memory(buffer.memory).rows:
                return None
            cycles[buffer.tensor] = window[0]
    return cycles


def _selecting(buffer: Buffer) -> frozenset[str]:
    """The variables that select which tile of a tensor is loaded."""
    return frozenset[str]().union(*(site.selecting for site in buffer.sites("load")))


def _shapes(loops: Sequence[Loop], capacity: int) -> Iterator[tuple[int, ...]]:
    """Sides of blocks of at most `capacity` tiles."""
    if not loops:
        yield ()
        return
    for side in _sides(loops[0].trips, capacity):
        for rest in _shapes(loops[1:], capacity // side):
            yield (side, *rest)


def _sides(trips: int, capacity: int) -> Iterator[int]:
    """Sides that cut a loop into equal parts, or nearly so."""
    seen: set[int] = set()
    for parts in range(1, trips + 1):
        side = -(-trips // parts)
        if side <= capacity and side not in seen:
            seen.add(side)
            yield side
        if side == 1:
            break

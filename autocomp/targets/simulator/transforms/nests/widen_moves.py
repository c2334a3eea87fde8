"""Widen moves: merge the moves of neighbouring column tiles into one that covers several blocks of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.cost import move_cycles
from autocomp.targets.simulator.transforms.analysis.facts import Facts, Site
from autocomp.targets.simulator.transforms.analysis.limits import widest
from autocomp.targets.simulator.transforms.analysis.settings import in_force
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.parameters import names_of, number_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.syntax.affine import Affine, affine, expression, literal, minimum, minimum_of
from autocomp.targets.simulator.transforms.syntax.loops import Loop, loop, make_if, make_nest
from autocomp.targets.simulator.transforms.syntax.nest import enclosing, peel_nest
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    Path,
    replace_at,
    rewrite_statements,
    substitute,
    with_arguments,
    with_body,
)


class WidenMoves(Transformation):
    name = "widen_moves"
    title = "Move more with each command"
    order = 70
    causes = ("Host", "QueueFull", "Bus", "MemoryLatency")
    uses = ("load", "store")
    guidance = """
    Replace several adjacent moves by one that covers more columns or more rows, up to what the instruction's ranges
    allow; the same for several stores.
    It pays when many small transfers keep the queues full (QueueFull), the host cannot issue them fast enough (Host),
    or each request is short against the bus width and the latency (Bus, MemoryLatency).
    Watch for: how a wide block is laid out in local memory (the distance between its column blocks is part of the
    configuration), and every later address that refers to the block has to follow that layout.
    """
    example = """
    load(&B[k][j], r, 16, 16); load(&B[k][j + 16], r + 16, 16, 16);  ->  load(&B[k][j], r, 32, 16);
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """All moves that can be widened at once, as far as they can be or to fewer column blocks; then each alone. The
        two widths first that are estimated to take the least, as where rows are cut into requests is told by both."""
        saved = _saved(facts, 0)
        if not saved:
            return []
        fewer = [(limit, sum(_saved(facts, limit).values())) for limit in range(2, _most_blocks(facts))]
        widths = sorted([(0, sum(saved.values())), *fewer], key=lambda choice: -choice[1])
        choices: list[tuple[dict[str, Any], float]] = [
            ({"tensors": list(saved), **({"blocks": limit} if limit else {})}, gain) for limit, gain in widths[:2]
        ]
        choices.extend(({"tensors": [tensor]}, gain) for tensor, gain in saved.items() if len(saved) > 1)
        reason = "move several column blocks with each command: fewer and longer requests"
        return [Proposal(choice, f"{reason} ({', '.join(choice['tensors'])})", gain) for choice, gain in choices]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`tensors` whose moves are merged; `blocks` is the most column blocks to a move (0: all that it takes)."""
        tensors = names_of(parameters, "tensors")
        limit = number_of(parameters, "blocks", 0)
        if not tensors:
            raise NotApplicable("no tensor was named")
        kernel = facts.kernel
        for tensor in tensors:
            wide = [_is_wide(facts, site) for name, site in _moves(facts) if name == tensor]
            if not wide:
                raise NotApplicable(f"no move of {tensor!r}")
            for index in (index for index, already in enumerate(wide) if not already or all(wide)):
                site = [site for name, site in _moves(facts) if name == tensor][index]
                kernel = _widen(facts, _plan(facts, tensor, site, limit))
                facts = facts.with_kernel(kernel)
        return kernel


@dataclass(frozen=True)
class _Widening:
    """One move to be widened: along which loop, how many blocks of how many columns, how far apart locally."""

    site: Site
    nest: Path  # of the outermost loop that holds nothing but the move
    along: Loop
    blocks: int
    width: int
    stride: int
    columns: ast.Expression  # of the widened move, over `along` counting blocks of blocks


def _plans(facts: Facts, limit: int) -> Iterator[tuple[str, _Widening]]:
    """Of all tensors with a move that can be widened, to at most `limit` column blocks (0: as many as it can move)."""
    for tensor, site in _moves(facts):
        with suppress(NotApplicable):
            yield tensor, _plan(facts, tensor, site, limit)


def _most_blocks(facts: Facts) -> int:
    return max((plan.blocks for _, plan in _plans(facts, 0)), default=0)


def _saved(facts: Facts, limit: int) -> dict[str, float]:
    """Estimated cycles that widening saves, by tensor. A narrower move takes the blocks left after the full moves."""
    saved: dict[str, float] = {}
    for tensor, plan in _plans(facts, limit):
        site, trips = plan.site, plan.along.trips
        full, rest = divmod(trips, plan.blocks)
        narrow = move_cycles(facts, site, rest * plan.width) if rest else 0.0
        wide = (full * move_cycles(facts, site, plan.blocks * plan.width) + narrow) / trips
        gain = (move_cycles(facts, site) - wide) * prod(item.trips for item in site.loops)
        saved[tensor] = saved.get(tensor, 0.0) + gain
    return saved


def _moves(facts: Facts) -> list[tuple[str, Site]]:
    moves = [(site, site.pointer) for site in facts.sites if site.kind in ("load", "store")]
    return [(pointer.tensor, site) for site, pointer in moves if pointer is not None]


def _plan(facts: Facts, tensor: str, site: Site, limit: int) -> _Widening:
    position = site.role.position("cols")
    operand = next((o for o in facts.operands if o.site == site), None)
    pointer = site.pointer
    if position is None or operand is None or pointer is None or not pointer.subscripts:
        raise NotApplicable(f"the move of {tensor!r} has no column count")
    highest = widest(facts, site)
    width = facts.accelerator.memory(operand.memory).cols
    most = highest // width
    if limit:
        most = min(most, limit)
    if most < 2:
        raise NotApplicable(f"{site.call.function} moves {highest} columns at most")
    nest, loops, guards = _own_nest(facts, site)
    along = next((i for i in reversed(loops) if pointer.subscripts[-1].coefficient(i.variable) == width), None)
    if along is None:
        raise NotApplicable(f"no loop around the move of {tensor!r} alone steps from one column tile to the next")
    stride = operand.row.coefficient(along.variable)
    if stride < operand.height:
        raise NotApplicable(f"the tiles of {tensor!r} share rows")
    blocks = min(most, along.trips)
    if blocks < 2:
        raise NotApplicable(f"{tensor!r} has one tile in a row of a block")
    columns = _columns(site.call.arguments[position], guards, along, blocks, width)
    return _Widening(site, nest, along, blocks, width, stride, columns)


def _own_nest(facts: Facts, site: Site) -> tuple[Path, tuple[Loop, ...], tuple[ast.Expression, ...]]:
    """The nest that holds the move only."""
    for depth, statement in enumerate(enclosing(facts.body, site.path), start=1):
        if loop(statement) is None:
            continue
        loops, guards, held = peel_nest(statement)
        if len(held) == 1 and isinstance(held[0], ast.ExpressionStatement):
            return site.path[:depth], loops, guards
    raise NotApplicable("the move is not in a loop of its own; stage the operand first")


def _columns(
    present: ast.Expression, guards: Sequence[ast.Expression], along: Loop, blocks: int, width: int
) -> ast.Expression:
    """Columns of the widened move: full blocks, but no more than what the moves it replaces cover."""
    first = {along.variable: ast.Binary("*", ast.Name(along.variable), literal(blocks))}
    wide = literal(blocks * width)
    limits: list[ast.Expression] = []
    least = minimum_of(present)
    if least is not None:
        rest = next((side for side in least if affine(side).coefficient(along.variable) == -width), None)
        if rest is None or literal(width) not in least:
            raise NotApplicable("the columns of the move do not shrink tile by tile at an edge")
        limits.append(substitute(rest, first))
    elif present != literal(width):
        raise NotApplicable("the columns of the move vary in a way that is not a remainder")
    else:
        for guard in guards:
            room = _room(guard, along.variable)
            if room is not None:
                limits.append(expression(affine(substitute(expression(room), first)).times(width)))
    if along.trips % blocks:
        whole = Affine(along.trips * width) - affine(first[along.variable]).times(width)
        limits.append(expression(whole))
    result = wide
    for limit in _tightest(limits):
        result = minimum(limit, result)
    return result


def _tightest(limits: Sequence[ast.Expression]) -> list[ast.Expression]:
    """The limits without those that another one undercuts by a constant."""
    kept: list[ast.Expression] = []
    for limit in limits:
        gaps = [affine(limit) - affine(other) for other in kept]
        if any(gap.is_constant and gap.constant >= 0 for gap in gaps):
            continue
        lower = [o for o, gap in zip(kept, gaps, strict=True) if not (gap.is_constant and gap.constant < 0)]
        kept = [*lower, limit]
    return kept


def _room(guard: ast.Expression, variable: str) -> Affine | None:
    """The number of iterations from a value of the variable on that satisfy `value < bound`."""
    if isinstance(guard, ast.Binary) and guard.operator == "<":
        room = affine(guard.right) - affine(guard.left)
        if room.coefficient(variable) == -1:
            return room
    return None


def _widen(facts: Facts, moves: _Widening) -> ast.Kernel:
    site = moves.site
    position = site.role.position("cols")
    assert position is not None
    statement = enclosing(facts.body, moves.nest)[-1]
    loops, guards, _ = peel_nest(statement)
    rest = tuple(item for item in loops if item != moves.along)
    merged = Loop(moves.along.variable, -(-moves.along.trips // moves.blocks))
    first = {moves.along.variable: ast.Binary("*", ast.Name(moves.along.variable), literal(moves.blocks))}
    call = ast.ExpressionStatement(with_arguments(substitute(site.call, first), {position: moves.columns}))
    conditions = tuple(substitute(guard, first) for guard in guards)
    nest = make_nest((*rest, merged), make_if(conditions, (call,)))
    body = replace_at(facts.body, moves.nest, nest)
    return with_body(facts.kernel, with_block_stride(facts, body, site, moves.stride))


def with_block_stride(facts: Facts, body: ast.Block, site: Site, stride: int) -> ast.Block:
    """The body, in which configurations stand where they did, with the rows from one column block of a move to the next
    configured. Raises NotApplicable where they cannot be, or another wide move has its own."""
    state = next((s for s in site.role.role.states_read if _is_block_stride(facts, s)), None)
    if state is None:
        height = facts.tile[0]
        if stride != height:
            raise NotApplicable(f"{site.call.function} puts column blocks {height} rows apart, not {stride}")
        return body
    settings = in_force(facts, site)
    if not settings or any(s.argument("block stride") is None for s in settings):
        raise NotApplicable(f"no call configures the block stride of {site.call.function}")
    for other in facts.sites:
        shares = other.kind == "load" and other != site and not set(settings).isdisjoint(in_force(facts, other))
        if shares and _is_wide(facts, other):
            raise NotApplicable(f"{other.call.function} moves another operand with a block stride of its own")
    paths = {s.path: s.role.position("block stride") for s in settings}

    def change(statement: ast.Statement, path: Path) -> ast.Statement | None:
        where = paths.get(path)
        if where is None or not isinstance(statement, ast.ExpressionStatement):
            return None
        call = statement.expression
        assert isinstance(call, ast.Call)
        return ast.ExpressionStatement(with_arguments(call, {where: literal(stride)}))

    # Configuration stands outside the nest that was replaced by one statement, so its paths still hold.
    return rewrite_statements(body, change)


def _is_block_stride(facts: Facts, state: tuple[str, str]) -> bool:
    return (
        any(
            state in site.role.role.states_written and site.argument("block stride") is not None
            for site in facts.sites
            if site.kind == "configuration"
        )
        and "block" in state[1]
    )


def _is_wide(facts: Facts, site: Site) -> bool:
    return any(
        (site.highest("cols") or 0) > facts.accelerator.memory(o.memory).cols for o in facts.operands if o.site == site
    )

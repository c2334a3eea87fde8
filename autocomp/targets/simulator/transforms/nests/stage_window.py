"""Stage a window: tiles that overlap, as those of neighbouring taps of a convolution do, are loaded once.

Their window is loaded line by line, and a tile is then an address in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.calls import element_of, with_roles
from autocomp.targets.simulator.transforms.analysis.cost import contraction_cycles, moves_cycles, site_cycles
from autocomp.targets.simulator.transforms.analysis.facts import Facts, Operand
from autocomp.targets.simulator.transforms.analysis.limits import largest
from autocomp.targets.simulator.transforms.analysis.settings import stride_setting
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.memory.addresses import make_room
from autocomp.targets.simulator.transforms.nests.stage_operand import home_of, moved_out, widened
from autocomp.targets.simulator.transforms.nests.widen_moves import with_block_stride
from autocomp.targets.simulator.transforms.nests.windows import Window, window_of
from autocomp.targets.simulator.transforms.parameters import name_of, names_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.syntax.affine import (
    Affine,
    affine,
    expression,
    interval_of,
    literal,
    minimum,
)
from autocomp.targets.simulator.transforms.syntax.loops import Loop, make_if, make_nest
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    Path,
    all_names,
    call_of,
    fresh,
    names,
    rewrite_statements,
    statement_at,
    with_arguments,
    with_body,
)


class StageWindow(Transformation):
    name = "stage_window"
    title = "Load overlapping tiles once, as one window"
    order = 90
    causes = ("Bus", "MemoryLatency", "QueueFull", "WriteAfterRead", "ReadAfterWrite")
    uses = ("load",)
    prior = 0.1
    after = ("merge_depth", "keep_accumulator")
    guidance = """
    Where the tiles of successive iterations overlap in the tensor, as the windows of a convolution do from tap to tap
    and from one line of results to the next, load the box around all of them once, and let each tile be an address in
    that box: the row of an element follows from its place in the tensor alone.
    It pays when loads take longer than computation, and the bytes read are several times the size of the tensor.
    Watch for: every line of the box needs rows for all of its elements; a stride between the pixels of a tile becomes
    a stride between the local rows that the array reads; lines outside of the image must not be loaded.
    """
    example = """
    for (int s = 0; s < 3; s++) { load(&A[p][s], a, 16 rows); compute(a); }
      ->  load(&A[p][0], a, 18 rows); for (int s = 0; s < 3; s++) compute(a + s);
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """Each operand whose tiles overlap, at every loop that its loads can move out of, and outside of all loops."""
        before = max(contraction_cycles(facts), moves_cycles(facts, "load"))
        proposals: list[Proposal] = []
        for buffer in facts.buffers:
            loads = buffer.sites("load")
            for level in ("", *(item.variable for item in loads[0].loops)) if buffer.is_input and loads else ():
                try:
                    window = window_of(facts, buffer.tensor, level)
                except NotApplicable:
                    continue
                where = f"once per iteration of {level}" if level else "once, before all loops"
                reason = f"load the window of {buffer.tensor} {where}: its tiles overlap"
                parameters = {"tensors": [buffer.tensor], "loop": level}
                proposals.append(Proposal(parameters, reason, before - _cost(facts, window)))
        return sorted(proposals, key=lambda proposal: -proposal.gain)

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """The windows of `tensors` are loaded at the head of the body of `loop` ("": before the nest)."""
        tensors = names_of(parameters, "tensors")
        if not tensors:
            raise NotApplicable("no tensor was named")
        for tensor in tensors:
            facts = facts.with_kernel(_stage(facts, tensor, name_of(parameters, "loop")))
        return facts.kernel


def _stage(facts: Facts, tensor: str, level: str) -> ast.Kernel:
    window = window_of(facts, tensor, level)
    rows = max(window.box * window.count, *(_end(operand, row) for operand, row in _rows(window)))
    facts = make_room(facts, {window.buffer.low: rows}, window.buffer.memory)
    window = window_of(facts, tensor, level)
    home = home_of(facts, window.load, level)
    body = _configured(facts, window, home[0], _addressed(facts, window))
    nest = _loads(facts, window)
    return widened(
        facts.with_kernel(with_body(facts.kernel, moved_out(body, window.load.path, home, level, nest))), [tensor]
    )


def _rows(window: Window) -> Iterator[tuple[Operand, Affine]]:
    """The operands, and what they read of the window from its first row on."""
    inside = sum((line.row for line in window.lines), Affine(0))
    for number, operand in enumerate(window.buffer.operands):
        yield operand, inside + window.columns[number].times(window.box)


def _end(operand: Operand, row: Affine) -> int:
    """The number of rows that an operand reaches from the window's first, as far as that is known of a call."""
    bounds = interval_of(row, operand.site.ranges)
    return 0 if bounds is None else bounds[1] + operand.height


def _addressed(facts: Facts, window: Window) -> ast.Block:
    """The body with uses that name rows of the window."""
    changes: dict[Path, ast.Call] = {}
    for operand, row in _rows(window):
        path = operand.site.path
        call = changes.get(path) or call_of(statement_at(facts.body, path))
        assert call is not None
        changes[path] = with_arguments(call, {operand.position: _at(operand, row + Affine(window.buffer.low))})

    def change(statement: ast.Statement, path: Path) -> ast.Statement | None:
        return ast.ExpressionStatement(changes[path]) if path in changes and path != window.load.path else None

    return rewrite_statements(facts.body, change)


def _at(operand: Operand, row: Affine) -> ast.Expression:
    """The operand's address with another row."""
    rest = affine(operand.site.call.arguments[operand.position]) - operand.row
    if rest.terms:
        raise NotApplicable(f"{operand.site.call.function} chooses between addresses")
    return expression(rest + row)


def _loads(facts: Facts, window: Window) -> Sequence[ast.Statement]:
    """The nest that loads a window: line by line, in pieces of as many rows as a load takes, by blocks of columns."""
    load, taken = window.load, set(all_names(facts.kernel))
    most = largest(load, "rows") or facts.tile[0]
    row = Affine(window.buffer.low)
    loops: list[Loop] = []
    guards: list[ast.Expression] = []
    place: list[ast.Expression] = []
    rows: ast.Expression = literal(1)
    for line in window.lines:
        by = most if line is window.lines[-1] else 1
        steps = Affine(0)
        if line.count > by:
            name = fresh("line" if by == 1 else "piece", taken)
            taken.add(name)
            loops.append(Loop(name, -(-line.count // by)))
            steps = Affine(0, ((ast.Name(name), by),))
        element = expression(line.origin + Affine(line.first) + steps)
        row += (Affine(line.first - line.low) + steps).times(line.step)
        rows = expression(Affine(line.count) - steps)
        place.append(element)
        if line.origin.terms:
            bounds = (ast.Binary(">=", element, literal(0)), ast.Binary("<", element, literal(line.extent)))
            guards.extend(bounds)
    beside = {item.variable for item in window.blocks}
    known = beside.union(item.variable for item in window.around)
    guards.extend(guard for guard in load.guards if names(guard) & beside and names(guard) <= known)
    number = next(n for n, operand in enumerate(window.buffer.operands) if operand.site is load)
    row += window.columns[number].times(window.box)
    assert load.pointer is not None
    place.append(expression(load.pointer.subscripts[-1]))
    given = {
        "pointer": element_of(window.buffer.tensor, place),
        "destination": _at(window.buffer.operands[number], row),
        "rows": minimum(rows, literal(most)),
    }
    call = with_roles(load, given)
    return make_nest((*loops, *window.blocks), make_if(guards, (ast.ExpressionStatement(call),)))


def _configured(facts: Facts, window: Window, home: int, body: ast.Block) -> ast.Block:
    """The body with moves that step from line element to line element, and contractions that step over what lies
    between the rows of a tile."""
    load = window.load
    if (load.highest("cols") or 1) > facts.accelerator.memory(window.buffer.memory).cols:
        body = with_block_stride(facts, body, load, window.box)
    if window.apart == 1:
        return body
    if any(s.kind == "load" and s is not load and s.selector == load.selector for s in facts.sites):
        raise NotApplicable(f"another operand is moved by {load.call.function} with the same stride")
    computing = [s for s in facts.contractions if any(o.site is s for o in window.buffer.operands)]
    used = frozenset[tuple[str, str]]().union(*(s.role.role.states_read for s in computing))
    steps = [s for s in facts.sites if s.role.role.states_written & used and s.argument("row stride") is not None]
    if computing != list(facts.contractions) or len(steps) != 1 or steps[0].argument("row stride") != literal(1):
        raise NotApplicable(f"rows of {window.buffer.tensor!r} cannot be read {window.apart} apart")
    setting, position, _ = stride_setting(facts, load, home)
    changes = {
        setting.path: (position, window.stride),
        steps[0].path: (steps[0].role.position("row stride"), window.apart),
    }

    def change(statement: ast.Statement, path: Path) -> ast.Statement | None:
        call = call_of(statement)
        if path not in changes or call is None:
            return None
        where, value = changes[path]
        assert where is not None
        return ast.ExpressionStatement(with_arguments(call, {where: literal(value)}))

    return rewrite_statements(body, change)


def _cost(facts: Facts, staged: Window) -> float:
    """Estimated cycles of the kernel with the window, loaded as widely as possible. Loads overlap with computation, and
    cost cycles only where they last longer. Nothing hides the first window."""
    load = staged.load
    times = prod(item.trips for item in staged.around)
    tiles = prod(line.count for line in staged.lines) * prod(item.trips for item in staged.blocks)
    own = [Loop("", -(-tiles // (load.highest("rows") or 1)))]
    window = site_cycles(facts, load, own, wide=bool(staged.blocks))
    others = moves_cycles(facts, "load") - site_cycles(facts, load, load.loops)
    return max(contraction_cycles(facts), others + times * window) + window

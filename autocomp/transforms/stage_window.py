"""Stage a window: tiles that overlap, as those of neighbouring taps of a convolution do, are loaded once.

The tiles that a loop's iterations load are boxes of a tensor. Where two loops step along the same dimension, as results
and taps do, many of them have elements in common. Their window is the box around all of them: it is loaded line by
line, each element to rows that follow from where it is in the tensor, and a tile is then an address in the window.
Results that are `t` elements apart (a stride) read every t-th row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from autocomp.kernel import ast
from autocomp.transforms.addresses import make_room
from autocomp.transforms.affine import Affine, affine, expression, interval, interval_of, literal, minimum
from autocomp.transforms.calls import element_of, with_arguments
from autocomp.transforms.cost import moves_cycles, overlapped, present_cost, site_cycles
from autocomp.transforms.double_buffer import is_doubled, runs_ahead
from autocomp.transforms.facts import Buffer, Facts, Operand, Site
from autocomp.transforms.limits import most_rows
from autocomp.transforms.loops import Loop, linear_index, make_if, make_nest
from autocomp.transforms.parameters import name_of, names_of
from autocomp.transforms.protocol import NotApplicable, Parameters, Proposal, Rewriting
from autocomp.transforms.rewrite import (
    Path,
    all_names,
    call_of,
    fresh,
    names,
    rewrite_statements,
    statement_at,
    with_argument,
    with_body,
)
from autocomp.transforms.settings import stride_setting
from autocomp.transforms.stage_operand import home_of, moved_out, widened
from autocomp.transforms.tensors import known_tensor
from autocomp.transforms.widen_moves import with_block_stride


class StageWindow(Rewriting):
    name = "stage_window"
    title = "Load overlapping tiles once, as one window"

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """Each operand whose tiles overlap, at every loop that its loads can move out of, and outside of all loops."""
        before = present_cost(facts)
        found: list[Proposal] = []
        for buffer in facts.buffers:
            loads = buffer.sites("load")
            for level in ("", *(item.variable for item in loads[0].loops)) if buffer.is_input and loads else ():
                try:
                    window = _window(facts, buffer.tensor, level)
                except NotApplicable:
                    continue
                where = f"once per iteration of {level}" if level else "once, before all loops"
                reason = f"load the window of {buffer.tensor} {where}: its tiles overlap"
                parameters = {"tensors": [buffer.tensor], "loop": level}
                found.append(Proposal(parameters, reason, before - _cost(facts, window)))
        return sorted(found, key=lambda proposal: -proposal.gain)

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """The windows of `tensors` are loaded at the head of the body of `loop` ("": before the nest)."""
        tensors = names_of(parameters, "tensors")
        if not tensors:
            raise NotApplicable("no tensor was named")
        for tensor in tensors:
            facts = facts.with_kernel(_stage(facts, tensor, name_of(parameters, "loop")))
        return facts.kernel


@dataclass(frozen=True)
class _Line:
    """One dimension of a window: elements `low` + `origin` and on, `span` in number, `step` rows apart in local memory.

    `origin` is the part of the subscript that is the same for the whole window, `inside` the rest."""

    origin: Affine
    inside: Affine
    low: int
    span: int
    extent: int  # of the tensor
    step: int

    @property
    def row(self) -> Affine:
        """The local row of an element, from that of the window's first."""
        return (self.inside - Affine(self.low)).scaled(self.step)

    @property
    def first(self) -> int:
        """The first element of the window that the tensor has, where that is the same for all windows."""
        return self.low if self.origin.terms else max(0, self.low)

    @property
    def count(self) -> int:
        """How many elements from `first` on there are at most."""
        end = self.low + self.span
        return (end if self.origin.terms else min(end, self.extent)) - self.first


@dataclass(frozen=True)
class _Window:
    """Where the tiles of an operand lie in a tensor, and the rows that they take as one window."""

    buffer: Buffer
    load: Site
    level: str
    lines: tuple[_Line, ...]  # of all dimensions but that of columns
    apart: int  # elements from one row of a tile to the next, along the last of the lines
    stride: int  # bytes from one element of that line to the next
    columns: Mapping[int, Affine]  # the block of columns that each call names, by the operand's place in the buffer
    blocks: tuple[Loop, ...]  # loops over blocks of columns that stand with the loads

    @property
    def box(self) -> int:
        """Rows of one block of columns."""
        return prod(line.span for line in self.lines)

    @property
    def count(self) -> int:
        """Blocks of columns."""
        last = [interval_of(self.columns[n], o.site.ranges) for n, o in enumerate(self.buffer.operands)]
        return 1 + max(bounds[1] for bounds in last if bounds is not None)


def _window(facts: Facts, tensor: str, level: str) -> _Window:
    """The window of a tensor's tiles inside a loop. Raises NotApplicable where there is none, or no two overlap."""
    buffer = facts.buffer_of(tensor)
    load = buffer.sites("load")[0] if buffer is not None and buffer.is_input else None
    if buffer is None or load is None or len(buffer.sites("load")) > 1 or load.pointer is None:
        raise NotApplicable(f"{tensor!r} is not loaded into rows of its own by one call")
    if is_doubled(buffer) or runs_ahead(buffer):
        raise NotApplicable(f"the rows of {tensor!r} alternate; load its window before double-buffering")
    home = home_of(facts, load, level)
    passed = load.loops[_depth(load, level) :]
    wide = (load.highest("cols") or 1) > facts.accelerator.memory(buffer.memory).cols
    _check_uses(buffer, load, level, wide)
    array = known_tensor(facts, tensor)
    *outer, last = load.pointer.subscripts
    if len(array.extents) != len(load.pointer.subscripts) or len(array.extents) < 2:
        raise NotApplicable(f"{tensor!r} is not addressed by all of its subscripts")
    apart, rest = divmod(stride_setting(facts, load, home[0])[2], array.row_bytes)
    if rest or not apart:
        raise NotApplicable(f"the rows of a tile are not along a dimension of {tensor!r}")
    inside = frozenset(item.variable for item in passed)
    high = (load.highest("rows") or 1) - 1
    lines: list[_Line] = []
    step = 1
    for number in reversed(range(len(outer))):
        more = high * apart if number == len(outer) - 1 else 0
        lines.insert(0, _line(load, outer[number], inside, more, array.extents[number], step))
        step *= lines[0].span
    if lines[-1].origin.terms:
        raise NotApplicable(f"whole lines of {tensor!r} are not inside the loop over {level!r}")
    along = frozenset[str]().union(*(names(expression(line.inside)) for line in lines)) & inside
    selecting = (names(expression(last)) | names(load.argument("cols"))) & inside
    if along & selecting:
        raise NotApplicable(f"{min(along & selecting)!r} selects lines and columns of {tensor!r}")
    blocks = tuple(item for item in passed if item.variable in selecting)
    columns = _columns(facts, buffer, load, along | names(load.argument("rows")), blocks)
    found = _Window(buffer, load, level, tuple(lines), apart, array.row_bytes, columns, blocks)
    tiles = prod(item.trips for item in passed if item.variable in along) * (high + 1)
    if found.box >= tiles:
        raise NotApplicable(f"the tiles of {tensor!r} do not overlap inside the loop over {level!r}")
    return found


def _depth(load: Site, level: str) -> int:
    """How many of a load's loops are around what a level holds."""
    return [item.variable for item in load.loops].index(level) + 1 if level else 0


def _check_uses(buffer: Buffer, load: Site, level: str, wide: bool) -> None:
    """Raises NotApplicable unless all that a load depends on is the same loop, or one over the same values, at uses."""
    outside = load.loop_paths[: _depth(load, level)]
    assert load.pointer is not None
    columns = names(expression(load.pointer.subscripts[-1]))
    for operand in buffer.operands:
        site = operand.site
        if site is load:
            continue
        if site.kind not in ("contraction", "preload", "elementwise") or site.loop_paths[: len(outside)] != outside:
            raise NotApplicable(f"{buffer.tensor!r} is used outside of the loop over {level!r}")
        used = frozenset[str]().union(*(names(argument) for argument in load.call.arguments))
        known = {item.variable: item.trips for item in site.loops}
        for item in load.loops:
            own = wide and item.variable in columns  # counts blocks of several of the use's blocks of columns
            if item.variable in used and not own and known.get(item.variable) != item.trips:
                raise NotApplicable(f"a use of {buffer.tensor!r} is outside of the loop over {item.variable!r}")
        if not used <= {*known, *(item.variable for item in load.loops), buffer.tensor}:
            raise NotApplicable(f"what {load.call.function} loads is not told by loops alone")


def shared_rows(facts: Facts, load: Site, inside: Mapping[str, int]) -> tuple[float, int] | None:
    """The window of what a load moves inside loops, given with their trips: its rows for each row of the tiles that it
    holds, less than 1 where they overlap, and its rows in one block of columns. None where there is no such window."""
    if load.pointer is None:
        return None
    across = names(expression(load.pointer.subscripts[-2])) if len(load.pointer.subscripts) > 1 else frozenset[str]()
    if any(item.variable in across and inside.get(item.variable) != item.trips for item in load.loops):
        return None
    ranges = {**load.ranges, **{name: (0, trips - 1) for name, trips in inside.items()}}
    rows = load.highest("rows") or 1
    box, along = 1, set[str]()
    *outer, _ = load.pointer.subscripts or (Affine(0),)
    for subscript in outer:
        own = _inside(subscript, frozenset(inside))
        bounds = interval_of(own, ranges)
        if bounds is None:
            return None
        box *= bounds[1] - bounds[0] + (rows if subscript is outer[-1] else 1)
        along |= names(expression(own)) & inside.keys()
    return box / (rows * prod(inside[name] for name in along)), box


def _inside(subscript: Affine, variables: frozenset[str]) -> Affine:
    """The part of a subscript that changes with variables, with its constant."""
    return Affine(subscript.constant, tuple(term for term in subscript.terms if names(term[0]) & variables))


def _line(load: Site, subscript: Affine, inside: frozenset[str], more: int, extent: int, step: int) -> _Line:
    own = _inside(subscript, inside)
    bounds = interval_of(own, load.ranges)
    if bounds is None:
        raise NotApplicable(f"what {load.call.function} loads has no known bounds")
    return _Line(subscript - own, own, bounds[0], bounds[1] - bounds[0] + 1 + more, extent, step)


def _columns(
    facts: Facts, buffer: Buffer, load: Site, along: frozenset[str], blocks: Sequence[Loop]
) -> Mapping[int, Affine]:
    """The block of columns that each call names: by loops over them, or by the rows that blocks of a wide load are
    apart, with those that take turns in the same rows one behind the other. Raises NotApplicable where a use reads rows
    other than those that the load fills in the same iteration."""
    rows = {n: operand.row for n, operand in enumerate(buffer.operands)}
    own = next(operand.row for operand in buffer.operands if operand.site is load)
    if (load.highest("cols") or 1) <= facts.accelerator.memory(buffer.memory).cols:
        if any(row != own for row in rows.values()):
            raise NotApplicable(f"uses of {buffer.tensor!r} name other rows than its load does")
        return dict.fromkeys(rows, affine(linear_index(blocks)))
    settings = [s for s in facts.sites if s.kind == "configuration" and s.selector == load.selector]
    strides = [found for s in settings if (found := s.argument("block stride")) is not None]
    unit = interval(strides[-1], {}) if strides else None
    if unit is None or not unit[0]:
        raise NotApplicable(f"how far apart {load.call.function} puts blocks of columns is not known")
    again = [item for item in blocks if not any(item.variable in names(atom) for atom, _ in own.terms)]
    if again and len(again) < len(blocks):
        raise NotApplicable(f"the blocks of columns of {buffer.tensor!r} take turns in some loops, in others not")
    wide = -(-(load.highest("cols") or 1) // facts.accelerator.memory(buffer.memory).cols)
    columns: dict[int, Affine] = {}
    for n, row in rows.items():
        beside = tuple((atom, factor) for atom, factor in row.terms if not names(atom) & along)
        if row - Affine(0, beside) != own - Affine(0, tuple(t for t in own.terms if not names(t[0]) & along)):
            raise NotApplicable(f"uses of {buffer.tensor!r} name other rows than its load does")
        if any(factor % unit[0] for _, factor in beside):
            raise NotApplicable(f"the blocks of columns of {buffer.tensor!r} are not apart by a multiple of {unit[0]}")
        if any({i.variable: i.trips for i in buffer.operands[n].site.loops}.get(i.variable) != i.trips for i in again):
            raise NotApplicable(f"a use of {buffer.tensor!r} is outside of a loop over blocks of columns")
        within = Affine(0, tuple((atom, factor // unit[0]) for atom, factor in beside))
        columns[n] = affine(linear_index(again)).scaled(wide) + within
    return columns


def _stage(facts: Facts, tensor: str, level: str) -> ast.Kernel:
    found = _window(facts, tensor, level)
    rows = max(found.box * found.count, *(_end(operand, row) for operand, row in _rows(found)))
    facts = make_room(facts, {found.buffer.low: rows}, found.buffer.memory)
    found = _window(facts, tensor, level)
    home = home_of(facts, found.load, level)
    body = _configured(facts, found, home[0], _addressed(facts, found))
    nest = _loads(facts, found)
    return widened(
        facts.with_kernel(with_body(facts.kernel, moved_out(body, found.load.path, home, level, nest))), [tensor]
    )


def _rows(found: _Window) -> Iterator[tuple[Operand, Affine]]:
    """The operands, and what they read of the window from its first row on."""
    inside = sum((line.row for line in found.lines), Affine(0))
    for number, operand in enumerate(found.buffer.operands):
        yield operand, inside + found.columns[number].scaled(found.box)


def _end(operand: Operand, row: Affine) -> int:
    """How many rows an operand reaches from the window's first, as far as that is known of a call."""
    bounds = interval_of(row, operand.site.ranges)
    return 0 if bounds is None else bounds[1] + operand.height


def _addressed(facts: Facts, found: _Window) -> ast.Block:
    """The body with uses that name rows of the window."""
    changes: dict[Path, ast.Call] = {}
    for operand, row in _rows(found):
        path = operand.site.path
        call = changes.get(path) or call_of(statement_at(facts.body, path))
        assert call is not None
        changes[path] = with_argument(call, operand.position, _at(operand, row + Affine(found.buffer.low)))

    def change(statement: ast.Statement, path: Path) -> ast.Statement | None:
        return ast.ExpressionStatement(changes[path]) if path in changes and path != found.load.path else None

    return rewrite_statements(facts.body, change)


def _at(operand: Operand, row: Affine) -> ast.Expression:
    """The operand's address with another row."""
    rest = affine(operand.site.call.arguments[operand.position]) - operand.row
    if rest.terms:
        raise NotApplicable(f"{operand.site.call.function} chooses between addresses")
    return expression(rest + row)


def _loads(facts: Facts, found: _Window) -> Sequence[ast.Statement]:
    """The nest that loads a window: line by line, in pieces of as many rows as a load takes, by blocks of columns."""
    load, taken = found.load, set(all_names(facts.kernel))
    most = most_rows(facts, load)
    row = Affine(found.buffer.low)
    loops: list[Loop] = []
    guards: list[ast.Expression] = []
    place: list[ast.Expression] = []
    rows: ast.Expression = literal(1)
    for line in found.lines:
        by = most if line is found.lines[-1] else 1
        steps = Affine(0)
        if line.count > by:
            name = fresh("line" if by == 1 else "piece", taken)
            taken.add(name)
            loops.append(Loop(name, -(-line.count // by)))
            steps = Affine(0, ((ast.Name(name), by),))
        element = expression(line.origin + Affine(line.first) + steps)
        row += (Affine(line.first - line.low) + steps).scaled(line.step)
        rows = expression(Affine(line.count) - steps)
        place.append(element)
        if line.origin.terms:
            bounds = (ast.Binary(">=", element, literal(0)), ast.Binary("<", element, literal(line.extent)))
            guards.extend(bounds)
    beside = {item.variable for item in found.blocks}
    known = beside.union(item.variable for item in load.loops[: _depth(load, found.level)])
    guards.extend(guard for guard in load.guards if names(guard) & beside and names(guard) <= known)
    number = next(n for n, operand in enumerate(found.buffer.operands) if operand.site is load)
    row += found.columns[number].scaled(found.box)
    assert load.pointer is not None
    place.append(expression(load.pointer.subscripts[-1]))
    given = {
        "pointer": element_of(found.buffer.tensor, place),
        "destination": _at(found.buffer.operands[number], row),
        "rows": minimum(rows, literal(most)),
    }
    call = with_arguments(load, given)
    return make_nest((*loops, *found.blocks), make_if(guards, (ast.ExpressionStatement(call),)))


def _configured(facts: Facts, found: _Window, home: int, body: ast.Block) -> ast.Block:
    """The body with moves that step from line element to line element, and contractions that step over what lies
    between the rows of a tile."""
    load = found.load
    if (load.highest("cols") or 1) > facts.accelerator.memory(found.buffer.memory).cols:
        body = with_block_stride(facts, body, load, found.box)
    if found.apart == 1:
        return body
    if any(s.kind == "load" and s is not load and s.selector == load.selector for s in facts.sites):
        raise NotApplicable(f"another operand is moved by {load.call.function} with the same stride")
    computing = [s for s in facts.contractions if any(o.site is s for o in found.buffer.operands)]
    used = frozenset[tuple[str, str]]().union(*(s.role.role.states_read for s in computing))
    steps = [s for s in facts.sites if s.role.role.states_written & used and s.argument("row stride") is not None]
    if computing != list(facts.contractions) or len(steps) != 1 or steps[0].argument("row stride") != literal(1):
        raise NotApplicable(f"rows of {found.buffer.tensor!r} cannot be read {found.apart} apart")
    setting, position, _ = stride_setting(facts, load, home)
    changes = {
        setting.path: (position, found.stride),
        steps[0].path: (steps[0].role.position("row stride"), found.apart),
    }

    def change(statement: ast.Statement, path: Path) -> ast.Statement | None:
        call = call_of(statement)
        if path not in changes or call is None:
            return None
        where, value = changes[path]
        assert where is not None
        return ast.ExpressionStatement(with_argument(call, where, literal(value)))

    return rewrite_statements(body, change)


def _cost(facts: Facts, found: _Window) -> float:
    """Estimated cycles of the kernel with the window, as widely loaded as can be, the first of which nothing hides."""
    load = found.load
    times = prod(item.trips for item in load.loops[: _depth(load, found.level)])
    tiles = prod(line.count for line in found.lines) * prod(item.trips for item in found.blocks)
    own = [Loop("", -(-tiles // (load.highest("rows") or 1)))]
    window = site_cycles(facts, load, own, wide=bool(found.blocks))
    others = moves_cycles(facts, "load") - site_cycles(facts, load, load.loops)
    return overlapped(facts, others + times * window) + window

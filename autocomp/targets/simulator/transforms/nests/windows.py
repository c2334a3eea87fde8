"""Windows: the box of a tensor around all tiles that the iterations of some loops load, and their rows in it.

The tiles that a loop's iterations load are boxes of a tensor. Where two loops step along the same dimension, as results
and taps do, many of them have elements in common. Their window is the box around all of them, with each element in a
row that follows from where it is in the tensor; a tile is then an address in the window. Results that are `t` elements
apart (a stride) read every t-th row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from autocomp.targets.simulator.transforms.analysis.facts import Buffer, Facts, Site
from autocomp.targets.simulator.transforms.analysis.settings import stride_setting
from autocomp.targets.simulator.transforms.analysis.tensors import Tensor, known_tensor
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.nests.double_buffer import is_doubled, runs_ahead
from autocomp.targets.simulator.transforms.nests.stage_operand import home_of
from autocomp.targets.simulator.transforms.syntax.affine import Affine, affine, expression, interval, interval_of
from autocomp.targets.simulator.transforms.syntax.loops import Loop, linear_index
from autocomp.targets.simulator.transforms.syntax.rewrite import names


@dataclass(frozen=True)
class Line:
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
        return (self.inside - Affine(self.low)).times(self.step)

    @property
    def first(self) -> int:
        """The first element of the window that the tensor has, where that is the same for all windows."""
        return self.low if self.origin.terms else max(0, self.low)

    @property
    def count(self) -> int:
        """The number of elements from `first` on, at most."""
        end = self.low + self.span
        return (end if self.origin.terms else min(end, self.extent)) - self.first


@dataclass(frozen=True)
class Window:
    """Where the tiles of an operand lie in a tensor, and the rows that they take as one window."""

    buffer: Buffer
    load: Site
    level: str
    lines: tuple[Line, ...]  # of all dimensions but that of columns
    apart: int  # elements from one row of a tile to the next, along the last of the lines
    stride: int  # bytes from one element of that line to the next
    columns: Mapping[int, Affine]  # the block of columns that each call names, by the operand's place in the buffer
    blocks: tuple[Loop, ...]  # loops over blocks of columns that stand with the loads

    @property
    def around(self) -> tuple[Loop, ...]:
        """The loops around the whole window."""
        return self.load.loops[: _depth(self.load, self.level)]

    @property
    def box(self) -> int:
        """Rows of one block of columns."""
        return prod(line.span for line in self.lines)

    @property
    def count(self) -> int:
        """Blocks of columns."""
        last = [interval_of(self.columns[n], o.site.ranges) for n, o in enumerate(self.buffer.operands)]
        return 1 + max(bounds[1] for bounds in last if bounds is not None)


def window_of(facts: Facts, name: str, level: str) -> Window:
    """The window of a tensor's tiles inside a loop. Raises NotApplicable without a window, and if no two tiles
    overlap."""
    buffer = facts.buffer_of(name)
    load = buffer.sites("load")[0] if buffer is not None and buffer.is_input else None
    if buffer is None or load is None or len(buffer.sites("load")) > 1 or load.pointer is None:
        raise NotApplicable(f"{name!r} is not loaded into rows of its own by one call")
    if is_doubled(buffer) or runs_ahead(buffer):
        raise NotApplicable(f"the rows of {name!r} alternate; load its window before double-buffering")
    home = home_of(facts, load, level)
    passed = load.loops[_depth(load, level) :]
    _check_uses(buffer, load, level, _is_wide(facts, buffer, load))
    array = known_tensor(facts, name)
    if len(array.extents) != len(load.pointer.subscripts) or len(array.extents) < 2:
        raise NotApplicable(f"{name!r} is not addressed by all of its subscripts")
    apart, rest = divmod(stride_setting(facts, load, home[0])[2], array.row_bytes)
    if rest or not apart:
        raise NotApplicable(f"the rows of a tile are not along a dimension of {name!r}")
    inside = frozenset(item.variable for item in passed)
    lines = _lines(array, load, inside, apart)
    if lines[-1].origin.terms:
        raise NotApplicable(f"whole lines of {name!r} are not inside the loop over {level!r}")
    along = frozenset[str]().union(*(names(expression(line.inside)) for line in lines)) & inside
    selecting = (names(expression(load.pointer.subscripts[-1])) | names(load.argument("cols"))) & inside
    if along & selecting:
        raise NotApplicable(f"{min(along & selecting)!r} selects lines and columns of {name!r}")
    blocks = tuple(item for item in passed if item.variable in selecting)
    columns = _columns(facts, buffer, load, along | names(load.argument("rows")), blocks)
    window = Window(buffer, load, level, lines, apart, array.row_bytes, columns, blocks)
    tiles = prod(item.trips for item in passed if item.variable in along) * (load.highest("rows") or 1)
    if window.box >= tiles:
        raise NotApplicable(f"the tiles of {name!r} do not overlap inside the loop over {level!r}")
    return window


def _lines(array: Tensor, load: Site, inside: frozenset[str], apart: int) -> tuple[Line, ...]:
    """The dimensions of a load's window, outermost first; the rows of a tile are along the last of them."""
    assert load.pointer is not None
    lines: list[Line] = []
    step = 1
    for number in reversed(range(len(array.extents) - 1)):
        subscript = load.pointer.subscripts[number]
        own = _inside(subscript, inside)
        bounds = interval_of(own, load.ranges)
        if bounds is None:
            raise NotApplicable(f"what {load.call.function} loads has no known bounds")
        span = bounds[1] - bounds[0] + 1 + (0 if lines else ((load.highest("rows") or 1) - 1) * apart)
        lines.insert(0, Line(subscript - own, own, bounds[0], span, array.extents[number], step))
        step *= span
    return tuple(lines)


def _is_wide(facts: Facts, buffer: Buffer, load: Site) -> bool:
    """True if a load moves several blocks of columns."""
    return (load.highest("cols") or 1) > facts.accelerator.memory(buffer.memory).cols


def _depth(load: Site, level: str) -> int:
    """The number of a load's loops around what a level holds."""
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
            raise NotApplicable(f"loops alone do not determine what {load.call.function} loads")


def shared_rows(facts: Facts, load: Site, inside: Mapping[str, int]) -> tuple[float, int] | None:
    """The window of what a load moves inside loops, given with their trips. It has its rows for each row of the tiles
    that it holds, less than 1 where they overlap, and its rows in one block of columns. None where there is no such
    window."""
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


def _columns(
    facts: Facts, buffer: Buffer, load: Site, along: frozenset[str], blocks: Sequence[Loop]
) -> Mapping[int, Affine]:
    """The block of columns that each call names, by its place in the buffer: by loops over them, or by the rows that
    blocks of a wide load are apart. Raises NotApplicable where a use reads rows other than those that the load fills in
    the same iteration."""
    if _is_wide(facts, buffer, load):
        return _wide_columns(facts, buffer, load, along, blocks)
    own = next(operand.row for operand in buffer.operands if operand.site is load)
    if any(operand.row != own for operand in buffer.operands):
        raise NotApplicable(f"uses of {buffer.tensor!r} name other rows than its load does")
    return dict.fromkeys(range(len(buffer.operands)), affine(linear_index(blocks)))


def _wide_columns(
    facts: Facts, buffer: Buffer, load: Site, along: frozenset[str], blocks: Sequence[Loop]
) -> Mapping[int, Affine]:
    """The same for a wide load, with blocks that use the same rows one after the other."""
    own = next(operand.row for operand in buffer.operands if operand.site is load)
    unit = _block_stride(facts, load)
    again = [item for item in blocks if not any(item.variable in names(atom) for atom, _ in own.terms)]
    if again and len(again) < len(blocks):
        raise NotApplicable(f"the blocks of columns of {buffer.tensor!r} take turns in some loops, in others not")
    wide = -(-(load.highest("cols") or 1) // facts.accelerator.memory(buffer.memory).cols)
    columns: dict[int, Affine] = {}
    for number, operand in enumerate(buffer.operands):
        row = operand.row
        beside = tuple((atom, factor) for atom, factor in row.terms if not names(atom) & along)
        if row - Affine(0, beside) != own - Affine(0, tuple(t for t in own.terms if not names(t[0]) & along)):
            raise NotApplicable(f"uses of {buffer.tensor!r} name other rows than its load does")
        if any(factor % unit for _, factor in beside):
            raise NotApplicable(f"the blocks of columns of {buffer.tensor!r} are not apart by a multiple of {unit}")
        if any({i.variable: i.trips for i in operand.site.loops}.get(item.variable) != item.trips for item in again):
            raise NotApplicable(f"a use of {buffer.tensor!r} is outside of a loop over blocks of columns")
        within = Affine(0, tuple((atom, factor // unit) for atom, factor in beside))
        columns[number] = affine(linear_index(again)).times(wide) + within
    return columns


def _block_stride(facts: Facts, load: Site) -> int:
    """Rows from one block of columns of a wide load to the next."""
    settings = [s for s in facts.sites if s.kind == "configuration" and s.selector == load.selector]
    strides = [stride for s in settings if (stride := s.argument("block stride")) is not None]
    bounds = interval(strides[-1], {}) if strides else None
    if bounds is None or not bounds[0]:
        raise NotApplicable(f"how far apart {load.call.function} puts blocks of columns is not known")
    return bounds[0]

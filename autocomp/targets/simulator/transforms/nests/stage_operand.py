"""Stage an operand: load a panel of it at an outer loop, and address it from the inner ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.cost import overlapped, present_cost, site_cycles
from autocomp.targets.simulator.transforms.analysis.facts import Buffer, Facts, Site
from autocomp.targets.simulator.transforms.analysis.limits import widest
from autocomp.targets.simulator.transforms.analysis.settings import check_settled
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.memory.addresses import linear, make_room, shift_operands
from autocomp.targets.simulator.transforms.nests.double_buffer import is_doubled
from autocomp.targets.simulator.transforms.nests.hoist import settled
from autocomp.targets.simulator.transforms.nests.tile import Tile
from autocomp.targets.simulator.transforms.nests.widen_moves import WidenMoves
from autocomp.targets.simulator.transforms.parameters import factors_of, flag_of, name_of, names_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.syntax.affine import Affine, Ranges, affine, expression, interval_of
from autocomp.targets.simulator.transforms.syntax.loops import Loop, loop, make_if, make_nest
from autocomp.targets.simulator.transforms.syntax.nest import enclosing
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    Path,
    all_names,
    blocks,
    fresh,
    names,
    rewrite_statements,
    statement_at,
    walk_statements,
    with_body,
)

_MOST = 12  # proposals


class StageOperand(Transformation):
    name = "stage_operand"
    title = "Stage an operand in local memory at an outer loop"
    order = 80
    causes = ("Bus", "MemoryLatency", "ReadAfterWrite")
    uses = ("load",)
    after = ("merge_depth",)
    guidance = """
    Load the whole part of a tensor that the inner loops use once, before them, into rows of its own, and let the inner
    loops read it from there.
    It pays when the bytes read from DRAM are a multiple of the tensor's size and the local memory is little used
    (see occupancy): each element is then fetched once per outer iteration instead of once per use.
    Watch for: the staged part plus everything else has to fit; give every tile a fixed place (base + index * rows of
    a tile); rows of another operand must not overlap it.
    """
    example = """
    for (int j …) for (int k …) { load(&A[i][k], a); … }
      ->  for (int k …) load(&A[i][k], a + k * ROWS);
          for (int j …) for (int k …) { … use a + k * ROWS … }
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """Every loop that a load can move out of; all operands together, and the small ones as a whole."""
        inputs = [b for b in facts.buffers if b.is_input and len(b.sites("load")) == 1 and _consumers(b)]
        inputs = [buffer for buffer in inputs if buffer.sites("load")[0].loops]
        if not inputs or not facts.contractions:
            return ()
        before = present_cost(facts)
        candidates: list[Proposal] = []
        for level, split in _levels(facts, inputs):
            for chosen in _subsets(inputs):
                tensors = [buffer.tensor for buffer in chosen]
                parameters: dict[str, object] = {"tensors": tensors, "loop": level, "wide": True}
                if split:
                    parameters["split"] = split
                where = f"once per iteration of {level}" if level else "once, before all loops"
                gain = before - _cost(facts, chosen, level, split)
                candidates.append(Proposal(parameters, f"load {' and '.join(tensors)} {where}", gain))
        candidates.sort(key=lambda candidate: -candidate.gain)
        return candidates[:_MOST]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`tensors` are loaded at the head of the body of `loop` ("": before the nest). `split` first cuts loops into
        blocks, so that `loop` can name such a block's loop. With `wide`, each load takes as many columns as it can."""
        facts = settled(facts)
        split = factors_of(parameters, "split")
        for variable, size in split.items():
            facts = facts.with_kernel(Tile().apply(facts, {"loops": {variable: size}}))
        tensors = names_of(parameters, "tensors")
        if not tensors:
            raise NotApplicable("no tensor to stage was named")
        level = name_of(parameters, "loop")
        kernel = facts.kernel
        for tensor in reversed(tensors):  # each goes to the head of the body, so the first one ends up first
            kernel = _stage(facts, tensor, level)
            facts = facts.with_kernel(kernel)
        return widened(facts, tensors) if flag_of(parameters, "wide") else kernel


def widened(facts: Facts, tensors: Sequence[str]) -> ast.Kernel:
    """The kernel with the loads of those tensors widened whose layout allows it."""
    for tensor in tensors:
        try:
            facts = facts.with_kernel(WidenMoves().apply(facts, {"tensors": [tensor]}))
        except NotApplicable:
            continue
    return facts.kernel


@dataclass(frozen=True)
class _Move:
    """A load on its way out: the position of its new home, and the loops that come along."""

    home: Path  # of the loop whose body it moves to; of the nest's statement if it leaves all loops
    loops: tuple[Loop, ...]  # that the loaded data depends on
    fresh: tuple[Loop, ...]  # those among them for which there is no room yet
    guards: tuple[ast.Expression, ...]


def _stage(facts: Facts, tensor: str, level: str) -> ast.Kernel:
    buffer = facts.buffer_of(tensor)
    if buffer is None or len(buffer.sites("load")) != 1:
        raise NotApplicable(f"{tensor!r} is not loaded into rows of its own by one call")
    if is_doubled(buffer):
        raise NotApplicable(f"the rows of {tensor!r} alternate; stage before double-buffering")
    check_settled(facts, buffer.sites("load")[0])
    move = _plan(facts, buffer, level)
    room = buffer.rows
    for item in move.fresh:
        room *= item.trips
    unit = buffer.rows
    facts = make_room(facts, {buffer.low: room}, buffer.memory)
    buffer = _again(facts, tensor)
    offset = linear([(item.variable, item.trips) for item in _side_by_side_last(buffer.sites("load")[0], move)], unit)
    body = shift_operands(facts, buffer.operands, lambda operand: offset)
    site = buffer.sites("load")[0]
    load = statement_at(body, site.path)
    nest = make_nest(move.loops, make_if(move.guards, (load,)))
    return with_body(facts.kernel, moved_out(body, site.path, move.home, level, nest))


def moved_out(body: ast.Block, place: Path, home: Path, level: str, nest: Sequence[ast.Statement]) -> ast.Block:
    """The body without the load at a place, and with a nest of loads at the head of the body of the loop at `home`, or
    in front of it where there is no level."""

    def change(statement: ast.Statement, path: Path) -> ast.Statement | tuple[ast.Statement, ...] | None:
        if path == place:
            return ()
        if path != home:
            return None
        if not level:
            return (*nest, statement)
        assert isinstance(statement, ast.For)
        held = statement.body.statements
        first = next((n for n, s in enumerate(held) if not isinstance(s, ast.Declaration)), len(held))
        return replace(statement, body=ast.Block((*held[:first], *nest, *held[first:])))

    return rewrite_statements(body, change)


def _side_by_side_last(load: Site, move: _Move) -> list[Loop]:
    """The loops that need room, those that step along a row of the tensor last. One wide move then fills adjacent rows,
    and the machine sees no false conflict with another move."""
    pointer = load.pointer
    along = pointer.subscripts[-1] if pointer is not None and pointer.subscripts else Affine(0)
    return sorted(move.fresh, key=lambda item: along.coefficient(item.variable) != 0)


def _again(facts: Facts, tensor: str) -> Buffer:
    buffer = facts.buffer_of(tensor)
    if buffer is None:
        raise NotApplicable(f"{tensor!r} shares its rows with another tensor")
    return buffer


def _plan(facts: Facts, buffer: Buffer, level: str) -> _Move:
    site = buffer.sites("load")[0]
    variables = [item.variable for item in site.loops]
    if level and level not in variables:
        raise NotApplicable(f"the load of {buffer.tensor!r} is not inside a loop over {level!r}")
    if not site.loops:
        raise NotApplicable(f"{buffer.tensor!r} is loaded outside of all loops already")
    position = variables.index(level) + 1 if level else 0
    passed = site.loops[position:]
    used = frozenset().union(*(names(argument) for argument in site.call.arguments))
    row = next(o.row for o in buffer.operands if o.site is site)
    home = home_of(facts, site, level)
    outside = frozenset(variables[:position]) | _constants_at(facts, home if level else home[:-1])
    hidden = used & (_constants(site) - outside)
    if hidden:
        raise NotApplicable(f"the load of {buffer.tensor!r} needs {sorted(hidden)[0]!r}, which is set further inside")
    guards = _kept_guards(site, used | outside)
    used |= frozenset().union(*(names(guard) for guard in guards), frozenset())
    moving = tuple(item for item in passed if item.variable in used)
    if moving == passed and _is_nest_of(facts, site, passed):
        raise NotApplicable(f"the load of {buffer.tensor!r} is at {level or 'the outermost level'!r} already")
    spread = tuple(item for item in moving if not row.coefficient(item.variable))
    shared = next((i.variable for i in spread if any(i.variable in names(atom) for atom, _ in row.terms)), None)
    if shared is not None:
        raise NotApplicable(f"a load of {buffer.tensor!r} serves several iterations of {shared!r} already")
    for operand in buffer.operands:
        missing = [item.variable for item in spread if item not in operand.site.loops]
        if missing:
            raise NotApplicable(f"a use of {buffer.tensor!r} is outside of the loop over {missing[0]!r}")
    if level and any(operand.site.path[: len(home)] != home for operand in buffer.operands):
        raise NotApplicable(f"{buffer.tensor!r} is used outside of the loop over {level!r}")
    return _Move(home, moving, spread, guards)


def _kept_guards(site: Site, allowed: frozenset[str]) -> tuple[ast.Expression, ...]:
    """Conditions that make sense at the new place, and what is left of others there: where they hold in no iteration of
    the loops inside, nothing uses what is loaded."""
    weaker = (guard if names(guard) <= allowed else _somewhere(guard, site.ranges, allowed) for guard in site.guards)
    return tuple(guard for guard in weaker if guard is not None)


def _somewhere(guard: ast.Expression, ranges: Ranges, allowed: frozenset[str]) -> ast.Expression | None:
    """A condition on the allowed variables without which a comparison holds for no value of the others; None where that
    is not known to say anything."""
    if not isinstance(guard, ast.Binary) or guard.operator not in ("<", "<=", ">", ">="):
        return None
    left = affine(guard.left)
    inner = Affine(0, tuple((atom, factor) for atom, factor in left.terms if not names(atom) <= allowed))
    bounds = interval_of(inner, ranges)
    if bounds is None or not names(guard.right) <= allowed or inner == left:
        return None
    best = bounds[0] if guard.operator in ("<", "<=") else bounds[1]
    return replace(guard, left=expression(left - inner + Affine(best)))


def _constants(site: Site) -> frozenset[str]:
    """Named constants in scope at a site: neither loop variables nor tensors."""
    loops = {item.variable for item in site.loops}
    return frozenset(name for name in site.ranges if name not in loops)


def _constants_at(facts: Facts, home: Path) -> frozenset[str]:
    """Constants that are declared at the head of the body of a loop or of one around it."""
    names: set[str] = set()
    for statement in enclosing(facts.body, home):
        for held in blocks(statement):
            names.update(d.name for s in held.statements if isinstance(s, ast.Declaration) for d in s.declarators)
    return frozenset(names)


def _is_nest_of(facts: Facts, site: Site, passed: tuple[Loop, ...]) -> bool:
    """True if the passed loops hold nothing but the load."""
    if not passed:
        return True
    for statement in enclosing(facts.body, site.path):
        counted = loop(statement)
        if counted is not None and counted == passed[0]:
            return sum(isinstance(s, ast.ExpressionStatement) for s in _flat(statement)) == 1
    return False


def _flat(statement: ast.Statement) -> list[ast.Statement]:
    return [node for node in walk_statements(statement) if isinstance(node, ast.ExpressionStatement)]


def home_of(facts: Facts, site: Site, level: str) -> Path:
    """The path of the loop over `level` around a load, or of the outermost one. Raises NotApplicable."""
    for depth, statement in enumerate(enclosing(facts.body, site.path), start=1):
        counted = loop(statement)
        if counted is not None and (not level or counted.variable == level):
            return site.path[:depth]
    raise NotApplicable(f"no loop over {level!r} around the load")


def _consumers(buffer: Buffer) -> bool:
    return any(operand.site.kind in ("contraction", "preload", "elementwise") for operand in buffer.operands)


def _levels(facts: Facts, inputs: Sequence[Buffer]) -> list[tuple[str, dict[str, int]]]:
    """Where loads can move to: loops around the contraction, innermost first, as they are or cut into blocks, and the
    outside of all loops."""
    taken = all_names(facts.kernel)
    levels: list[tuple[str, dict[str, int]]] = []
    for item in reversed(facts.contractions[0].loops):
        levels.append((item.variable, {}))
        loads = [site for buffer in inputs for site in buffer.sites("load")]
        blocks_wide = {widest(facts, site) // max(1, site.highest("cols") or 1) for site in loads}
        for size in sorted({2, 4, 8} | blocks_wide):
            if 1 < size < item.trips:
                levels.append((fresh(f"{item.variable}_block", taken), {item.variable: size}))
    return [*levels, ("", {})]


def _cost(facts: Facts, chosen: Sequence[Buffer], level: str, split: dict[str, int]) -> float:
    """Estimated cycles once the chosen operands are loaded at a level, as widely as their layout then allows."""
    contraction = facts.contractions[0]
    cut = next(iter(split), "")
    order = [item.variable for item in contraction.loops]
    inside = order[order.index(cut or level) + (not cut) :] if level else order
    total = panel = 0.0
    staged = {buffer.tensor for buffer in chosen}
    for site in facts.sites:
        pointer = site.pointer
        if site.kind != "load" or pointer is None:
            continue
        if pointer.tensor not in staged:
            total += site_cycles(facts, site, site.loops)
            continue
        used = frozenset[str]().union(*(names(argument) for argument in site.call.arguments))
        kept = [
            item for item in site.loops if item.variable in used or item.variable not in inside or item.variable == cut
        ]
        steps = {item.variable: -(-item.trips // split[cut]) if item.variable == cut else item.trips for item in kept}
        held = [item for item in kept if item.variable in inside]
        wide = any(pointer.subscripts[-1].coefficient(item.variable) for item in held) if pointer.subscripts else False
        cycles = site_cycles(facts, site, kept, wide=wide)
        total += cycles
        panel += cycles / max(1, prod(count for name, count in steps.items() if name not in inside or name == cut))
    return overlapped(facts, total) + panel


def _subsets(inputs: Sequence[Buffer]) -> list[tuple[Buffer, ...]]:
    """All operands together first, then each alone."""
    return [tuple(inputs), *((buffer,) for buffer in inputs if len(inputs) > 1)]

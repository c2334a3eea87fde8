"""Decides if iterations of loops may run in another order. It looks at rows of local memory; for fusing, also at what
the host changes and what moves leave in DRAM.

Rows are compared as sums of loop variables. Variables of loops around both accesses are the same for both, those of
inner loops take any value in each. Where nothing is known of a row, the answer is that it may be any.
"""

from __future__ import annotations

from itertools import product

from autocomp.remember import remembered
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts, Operand
from autocomp.targets.simulator.transforms.analysis.local_rows import leaves
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.syntax.affine import Affine, Ranges, affine, expression, interval_of
from autocomp.targets.simulator.transforms.syntax.loops import Loop, loop
from autocomp.targets.simulator.transforms.syntax.rewrite import declared, names, statement_at, substitute, walk


def check_fusion(facts: Facts, first: ast.Statement, second: ast.Statement) -> None:
    """Raises NotApplicable unless each iteration of the second loop can run before the later ones of the first."""
    one, other = loop(first), loop(second)
    assert one is not None
    assert other is not None
    if one.variable in kept_over(facts) or other.variable in kept_over(facts):
        raise NotApplicable(f"the array keeps an operand over {one.variable!r}")
    for changing, using in ((first, second), (second, first)):
        for name in sorted(_changed(facts, changing) & _used(facts, using)):
            raise NotApplicable(f"one of the loops changes {name!r}, which the other one uses")
    for early, late in product(operands_below(facts, first), operands_below(facts, second)):
        disjoint = early.memory != late.memory or not (_writes(facts, early) or _writes(facts, late))
        if not disjoint and may_meet(facts, early, one, late, other):
            raise NotApplicable(
                f"iterations of {other.variable!r} use rows of {late.memory} that later ones of {one.variable!r} use"
            )


def _changed(facts: Facts, statement: ast.Statement) -> frozenset[str]:
    """The variables and tensors of the outside that a statement changes."""
    targets = (node.target for node in walk(statement) if isinstance(node, ast.Assignment | ast.Increment))
    stored = _moved(facts, statement, "store")
    return frozenset(_base(target) for target in targets) - declared(statement) | stored


def _used(facts: Facts, statement: ast.Statement) -> frozenset[str]:
    """The variables and tensors of the outside that a statement uses, but for tensors that it stores alone."""
    stored = _moved(facts, statement, "store") - _moved(facts, statement, "load")
    return names(statement) - declared(statement) - stored


def _moved(facts: Facts, statement: ast.Statement, kind: str) -> frozenset[str]:
    """The tensors that loads or stores below a statement move."""
    below = {id(node) for node in walk(statement)}
    sites = (site for site in facts.sites if site.kind == kind and id(statement_at(facts.body, site.path)) in below)
    return frozenset(site.pointer.tensor for site in sites if site.pointer is not None)


def _base(target: ast.Expression) -> str:
    """The variable or tensor that an assignment goes to, or is addressed by."""
    while isinstance(target, ast.Index | ast.Unary):
        target = target.base if isinstance(target, ast.Index) else target.operand
    return target.name if isinstance(target, ast.Name) else ""


def never_meet(one: Operand, other: Operand) -> bool:
    """True if two operands that share loops are known to touch different rows in each iteration of those."""
    pairs = zip(one.site.loops, one.site.loop_paths, other.site.loop_paths, strict=False)
    shared = [item for item, path, place in pairs if path == place]
    if not shared:
        return False
    row, ranges = _apart(other, shared[-1], "other", ast.Name(shared[-1].variable))
    gap = interval_of(row - one.row, {**ranges, **one.site.ranges})
    return gap is not None and (gap[0] >= one.height or gap[1] <= -other.height)


@remembered
def kept_over(facts: Facts) -> frozenset[str]:
    """Variables that decide whether a call finds its operand in the array."""
    kept: set[str] = set()
    for site in facts.sites:
        for node in (node for argument in site.call.arguments for node in walk(argument)):
            if isinstance(node, ast.Conditional) and any(facts.is_absent(leaf) for leaf in leaves(node)):
                kept |= names(node.condition)
    return frozenset(kept)


_ITERATION, _AHEAD, _LATER = "·iteration", "·ahead", "·later"


def may_meet(facts: Facts, early: Operand, one: Loop, late: Operand, other: Loop) -> bool:
    """True if a row of iteration t of the second loop can be one of iteration t + 1 or later of the first.

    The later iteration is taken as t + ahead, which tells how far apart rows that move along are, and as a number of
    its own, which tells where it can be at all. Rows that either keeps apart never meet.
    """
    ahead = ast.Binary("+", ast.Name(_ITERATION), ast.Name(_AHEAD))
    rest = (1, max(1, one.trips - 1))
    bounds = {_ITERATION: (0, max(0, other.trips - 2)), _AHEAD: rest, _LATER: rest}
    last, inside = _apart(late, other, "second", ast.Name(_ITERATION))
    for later in (ahead, ast.Name(_LATER)):
        row, ranges = _apart(early, one, "first", later)
        distance = interval_of(last - row, {**ranges, **inside, **bounds})
        if distance is not None and (distance[1] <= -reach(facts, late) or distance[0] >= reach(facts, early)):
            return False
    return True


def _apart(operand: Operand, item: Loop, label: str, value: ast.Expression) -> tuple[Affine, Ranges]:
    """The operand's row with `value` for the loop's variable and variables of its own for the loops inside."""
    around = [entry.variable for entry in operand.site.loops]
    inner = around[around.index(item.variable) + 1 :]
    values: dict[str, ast.Expression] = {name: ast.Name(f"·{label} {name}") for name in inner}
    row = affine(substitute(expression(operand.row), {**values, item.variable: value}))
    ranges = {name: bounds for name, bounds in operand.site.ranges.items() if name not in values}
    return row, {**ranges, **{f"·{label} {name}": operand.site.ranges[name] for name in inner}}


def reach(facts: Facts, operand: Operand) -> int:
    """Rows from the first to the last that one call can cover, further blocks of columns included."""
    blocks = -(-(operand.site.highest("cols") or 1) // facts.accelerator.memory(operand.memory).cols)
    settings = [s for s in facts.sites if s.kind == "configuration" and s.selector == operand.site.selector]
    apart = [affine(stride) for stride in (s.argument("block stride") for s in settings) if stride is not None]
    known = [value.constant for value in apart if value.is_constant]
    return operand.height + (blocks - 1) * max([facts.tile[0], *known])


def _writes(facts: Facts, operand: Operand) -> bool:
    """True if a call may write through an operand: moves in do, moves out do not, others do unless all that is ever
    written there is moved in."""
    if operand.site.kind in ("load", "store"):
        return operand.site.kind == "load"
    return not any(buffer.is_input and operand in buffer.operands for buffer in facts.buffers)


def operands_below(facts: Facts, statement: ast.Statement) -> list[Operand]:
    """The local memory that the calls in a statement of the kernel name."""
    below = {id(node) for node in walk(statement)}
    return [operand for operand in facts.operands if id(statement_at(facts.body, operand.site.path)) in below]

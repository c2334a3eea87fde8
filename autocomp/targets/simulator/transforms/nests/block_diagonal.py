"""Block-diagonal operand: several groups of a grouped product at once, as one product with a block-diagonal operand.

Group g multiplies `depth` columns of A by a tile of depth x cols weights, and its results stand beside those of the
group before. Where that leaves most of the array idle, the columns of several groups make one tile of A. Their results
make one tile, and their weights are the blocks on the diagonal of one that is zero everywhere else.

The diagonal tiles are made in DRAM, in an array of the kernel that starts as zeros. Row c of the weights of all groups
of a tile is moved in, one group to a local row, and out with a stride that puts each in its place. A fence orders these
stores before the loads that take the tiles instead of the weights.

Where the tiles do not divide the groups, those that are left over have a nest of their own, after a fence: so each part
of the kernel has tiles of one size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.calls import element_of, with_roles
from autocomp.targets.simulator.transforms.analysis.facts import Buffer, Facts, Pointer, Site
from autocomp.targets.simulator.transforms.analysis.fences import make_fence
from autocomp.targets.simulator.transforms.analysis.settings import stride_setting
from autocomp.targets.simulator.transforms.analysis.tensors import Tensor, declaration, known_tensor
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.memory.addresses import linear, make_room, shifted
from autocomp.targets.simulator.transforms.memory.relay import check_exact, with_strides
from autocomp.targets.simulator.transforms.parameters import name_of, number_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Rewriting
from autocomp.targets.simulator.transforms.syntax.affine import Affine, affine, expression, interval, literal, minimum
from autocomp.targets.simulator.transforms.syntax.loops import Loop, make_loop, make_nest
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    Path,
    all_names,
    call_of,
    fresh,
    names,
    rewrite_statements,
    statement_at,
    substitute,
    walk,
    walk_statements,
    with_arguments,
    with_body,
)

_ALL = 0
_CLEARLY_FEWER = 0.75  # of the passes of another choice
_SHARE = 4  # the tiles that are on their way to the diagonal take at most this part of their memory


class BlockDiagonal(Rewriting):
    name = "block_diagonal"
    takes = ("loop", "groups")

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """Each loop around the contraction whose iterations are groups side by side. As many at once as fit, or the
        largest number that divides them: first the one with fewer passes of the array, if these are a quarter less.
        Otherwise one nest is better than two."""
        proposals: list[Proposal] = []
        for item in (item for site in facts.contractions[:1] for item in site.loops):
            try:
                most = _groups(facts, item.variable).together
            except NotApplicable:
                continue
            equal = max(count for count in range(1, most + 1) if item.trips % count == 0)
            fewer = _CLEARLY_FEWER * item.trips / equal >= -(-item.trips // most)
            order = (most, equal) if fewer else (equal, most)
            for count in dict.fromkeys(count for count in order if count > 1):
                reason = f"{count} groups share one pass of the array"
                parameters = {"loop": item.variable, **({"groups": count} if count < most else {})}
                proposals.append(Proposal(parameters, reason))
        return proposals

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`loop` goes over groups that do not share columns of any tensor; `groups` of them are taken at once, or as
        many as fit in the array. Sums gain products with zero, which change nothing but where an operand is infinite
        or not a number."""
        variable, count = name_of(parameters, "loop"), number_of(parameters, "groups", _ALL)
        groups = _groups(facts, variable, count)
        facts = make_room(facts, {groups.buffers[1].low: groups.height}, groups.buffers[1].memory)
        groups = _groups(facts, variable, count)
        diagonal = fresh("diagonal", all_names(facts.kernel))
        *outer, _, columns = groups.array.extents
        tiles = replace(groups.array, name=diagonal, extents=(*outer, groups.height, columns))
        home = groups.home[0]
        before, after = facts.body.statements[:home], facts.body.statements[home + 1 :]
        whole, *left_over = [_nest(facts, part, diagonal) for part in groups.parts]
        nests = (whole, *(statement for nest in left_over for statement in (_fence(facts), nest)))
        moving = _onto_diagonal(facts, groups, diagonal)
        return with_body(facts.kernel, ast.Block((declaration(tiles), *before, *moving, *nests, *after)))


@dataclass(frozen=True)
class _Groups:
    """A loop over groups from `first` on, the operands that it selects columns of, and the size of a group's
    weights."""

    loop: Loop
    home: Path
    sites: tuple[Site, ...]  # below the loop
    load: Site  # of the weights
    store: Site  # of the results
    buffers: tuple[Buffer, Buffer, Buffer]  # of A, the weights and the results
    array: Tensor  # of weights
    depth: int
    cols: int
    together: int
    first: int = 0

    @property
    def parts(self) -> Sequence[_Groups]:
        """The groups in whole tiles, and those that are left over."""
        trips = self.loop.trips
        rest = trips % self.together
        whole = replace(self, loop=replace(self.loop, trips=trips - rest))
        last = replace(self, loop=replace(self.loop, trips=rest), together=rest, first=trips - rest)
        return (whole, last) if rest else (whole,)

    @property
    def height(self) -> int:
        """Rows of a diagonal tile."""
        return self.together * self.depth

    @property
    def weights(self) -> Pointer:
        assert self.load.pointer is not None
        return self.load.pointer

    def width(self, site: Site) -> int:
        """Columns of one group that a call moves."""
        return self.depth if any(operand.site is site for operand in self.buffers[0].operands) else self.cols


def _groups(facts: Facts, variable: str, count: int = _ALL) -> _Groups:
    """The analysis of a loop over groups, `count` of which are taken at once. Raises NotApplicable if it is not one, or
    if the groups are not alike."""
    if len(facts.contractions) != 1:
        raise NotApplicable(f"the kernel has {len(facts.contractions)} contractions; groups are taken together in one")
    compute = facts.contractions[0]
    around = {item.variable: (item, path) for item, path in zip(compute.loops, compute.loop_paths, strict=True)}
    if variable not in around:
        raise NotApplicable(f"no contraction is inside a loop over {variable!r}")
    item, home = around[variable]
    buffers = _operands(facts)
    loads, stores = buffers[1].sites("load"), buffers[2].sites("store")
    if len(loads) != 1 or len(stores) != 1 or loads[0].pointer is None:
        raise NotApplicable("weights and results are not moved by one call each")
    array = _only_read(facts, loads[0].pointer)
    sizes = [interval(argument, {}) for argument in map(loads[0].argument, ("rows", "cols")) if argument is not None]
    if len(sizes) != 2 or any(size is None or size[0] != size[1] for size in sizes):
        raise NotApplicable("the tiles of weights are not all of one size")
    depth, cols = (size[0] for size in sizes if size is not None)
    rows = [facts.accelerator.memory(buffer.memory).cols for buffer in buffers]
    together = min(
        item.trips, *(n // depth for n in (facts.tile[2], rows[0])), *(n // cols for n in (facts.tile[1], *rows[1:]))
    )
    if together < 2:
        raise NotApplicable(f"{depth} x {cols} weights a group leave no room in the array for those of another")
    if count != _ALL and not 2 <= count <= together:
        raise NotApplicable(f"'groups' must be 2 to {together}, and is {count}")
    sites = tuple(site for site in facts.sites if site.path[: len(home)] == home)
    groups = _Groups(
        item, home, sites, loads[0], stores[0], buffers, array, depth, cols, together if count == _ALL else count
    )
    _check_calls(facts, groups)
    _check_weights(facts, groups)
    return groups


def _operands(facts: Facts) -> tuple[Buffer, Buffer, Buffer]:
    """The buffers of the operand that moves through the array, of the one that stays, and of the results."""
    calls = [*facts.contractions, *(site for site in facts.sites if site.kind == "preload")]
    used = [b for site in calls for o in facts.operands_of(site) for b in facts.buffers if o in b.operands]
    inputs, results = ([b for b in dict.fromkeys(used) if getattr(b, kind)] for kind in ("is_input", "is_result"))
    if len(inputs) != 2 or len(results) != 1:
        raise NotApplicable("the contraction does not take two loaded operands to one stored result")
    return inputs[0], inputs[1], results[0]


def _only_read(facts: Facts, where: Pointer) -> Tensor:
    """A parameter that the kernel only reads, all subscripts of which are given."""
    stored = {site.pointer.tensor for site in facts.sites if site.kind == "store" and site.pointer is not None}
    changed = (node.target for node in walk(facts.body) if isinstance(node, ast.Assignment | ast.Increment))
    parameters = {parameter.name for parameter in facts.kernel.entry.parameters}
    if where.tensor not in parameters - stored.union(*map(names, changed)):
        raise NotApplicable(f"{where.tensor!r} is not a parameter that the kernel only reads")
    array = known_tensor(facts, where.tensor)
    if len(where.subscripts) != len(array.extents) or len(array.extents) < 2:
        raise NotApplicable(f"{where.tensor!r} has no rows and columns")
    return array


def _check_calls(facts: Facts, groups: _Groups) -> None:
    """Raises NotApplicable unless the groups differ in the columns of tensors that they move, and in nothing else."""
    variable = groups.loop.variable
    paths = {site.path for site in groups.sites}
    held = statement_at(facts.body, groups.home)
    assert isinstance(held, ast.For)
    rest = rewrite_statements(held.body, lambda statement, path: () if path in paths else None, groups.home)
    if variable in names(rest) or any(isinstance(node, ast.ExpressionStatement) for node in walk_statements(rest)):
        raise NotApplicable(f"iterations of {variable!r} differ in more than the columns that they move")
    for site in groups.sites:
        if site.kind not in ("load", "store", "preload", "contraction"):
            raise NotApplicable(f"{site.call.function} in the loop over {variable!r} is not part of a product")
        if site.kind in ("load", "store"):
            _check_columns(groups, site)
        pointer = site.role.position("pointer")
        if any(variable in names(part) for n, part in enumerate(site.call.arguments) if n != pointer):
            raise NotApplicable(f"{site.call.function} depends on {variable!r} in more than what it moves")


def _check_columns(groups: _Groups, site: Site) -> None:
    """Raises NotApplicable unless a move takes the columns of one group, next to those of the group before."""
    variable = groups.loop.variable
    width = groups.width(site)
    if site.argument("cols") != literal(width):
        raise NotApplicable(f"{site.call.function} does not move the {width} columns of a group")
    if site.pointer is None:
        if variable in site.selecting:
            raise NotApplicable(f"which columns {site.call.function} moves is not clear")
        return
    *outer, last = site.pointer.subscripts
    rest = last - Affine(0, ((ast.Name(variable), width),))
    if any(variable in names(expression(part)) for part in (*outer, rest)):
        raise NotApplicable(f"the groups' columns of {site.pointer.tensor!r} are not side by side")


def _check_weights(facts: Facts, groups: _Groups) -> None:
    """Raises NotApplicable unless each group's weights are the only rows of their matrix, and moves carry them as they
    are."""
    *outer, row, _ = groups.weights.subscripts
    rows = groups.array.extents[-2]
    variables = {item.variable for item in groups.load.loops}
    stride = stride_setting(facts, groups.load, groups.home[0])[2]
    if row != Affine(0) or rows != groups.depth:
        raise NotApplicable(f"the rows of {groups.weights.tensor!r} are not those of one group")
    if stride != groups.array.row_bytes:
        raise NotApplicable(f"the loads of {groups.weights.tensor!r} are {stride} bytes apart, which are not its rows")
    if not all(names(expression(part)) <= variables for part in outer):
        raise NotApplicable("loops alone do not determine which weights belong together")
    if make_fence(facts.machine) is None:
        raise NotApplicable("the machine has no fence to order stores before loads")
    memory = groups.buffers[1].memory
    check_exact(facts, groups.load, memory)
    check_exact(facts, groups.store, memory)


def _nest(facts: Facts, groups: _Groups, diagonal: str) -> ast.Statement:
    """The nest of the loop over groups, with several groups at once."""
    body = rewrite_statements(facts.body, lambda statement, path: _together(facts, groups, diagonal, statement, path))
    return body.statements[groups.home[0]]


def _fence(facts: Facts) -> ast.Statement:
    fence = make_fence(facts.machine)
    assert fence is not None  # checked with the weights
    return fence


def _together(
    facts: Facts, groups: _Groups, diagonal: str, statement: ast.Statement, path: Path
) -> ast.Statement | None:
    """The rewritten loop over groups, or a rewritten call in it; None for other statements."""
    variable = groups.loop.variable
    if path == groups.home:
        assert isinstance(statement, ast.For)
        return make_loop(variable, groups.loop.trips // groups.together, statement.body.statements)
    site = next((site for site in groups.sites if site.path == path), None)
    if site is None:
        return None
    begin = Affine(groups.first, ((ast.Name(variable), groups.together),))
    values: dict[str, ast.Expression] = {variable: expression(begin)}
    if site is groups.load:
        values[groups.weights.tensor] = ast.Name(diagonal)
    call = call_of(statement)
    assert call is not None
    return ast.ExpressionStatement(with_arguments(substitute(call, values), _sizes(facts, groups, site)))


def _sizes(facts: Facts, groups: _Groups, site: Site) -> dict[int, ast.Expression]:
    """The rows, columns and depth that a call has for several groups, by the positions of its arguments."""
    moving, staying, result = groups.buffers
    beside, summed = literal(groups.together * groups.cols), literal(groups.height)
    of_buffer: dict[Buffer, dict[str, ast.Expression]] = {
        moving: {"cols": summed, "depth": summed},
        staying: {"cols": beside, "rows": summed, "depth": summed},
        result: {"cols": beside},
    }
    words = [(n, word) for n, word in enumerate(site.role.arguments) if word in ("rows", "cols", "depth")]
    addresses = [n for n, p in enumerate(site.parameters) if p is not None and p.kind == "address"]
    if len(words) != 2 * len(addresses):  # sizes of the product, not of each operand
        return {n: {"cols": beside, "depth": summed}[word] for n, word in words if word != "rows"}
    sizes: dict[int, ast.Expression] = {}
    for number, address in enumerate(addresses):
        used = next((o for o in facts.operands_of(site) if o.position == address), None)
        buffer = next((b for b in groups.buffers if used in b.operands), result)  # an absent operand is like the result
        own = words[2 * number : 2 * number + 2]
        sizes.update({n: of_buffer[buffer][word] for n, word in own if word in of_buffer[buffer]})
    return sizes


def _onto_diagonal(facts: Facts, groups: _Groups, diagonal: str) -> Sequence[ast.Statement]:
    """Statements that move the weights of all groups to their places in the diagonal tiles, and wait for that."""
    taken = {*all_names(facts.kernel), diagonal}
    *outer, _, last = groups.weights.subscripts
    used = frozenset[str]().union(*(names(expression(part)) for part in outer))
    row, group = fresh("row", taken), fresh(groups.loop.variable, taken)
    values: dict[str, ast.Expression] = {}
    loops: list[Loop] = []
    for item in groups.load.loops:
        if item.variable in used:
            name = fresh(item.variable, taken)
            taken.add(name)
            values[item.variable] = ast.Name(name)
            loops.append(Loop(name, item.trips))
    values[groups.loop.variable] = ast.Binary("*", ast.Name(group), literal(groups.together))
    loops += [Loop(row, groups.depth), Loop(group, -(-groups.loop.trips // groups.together))]
    place = [*(substitute(expression(part), values) for part in outer), ast.Name(row)]
    place.append(expression(affine(substitute(expression(last), values))))
    left = Affine(groups.loop.trips, ((ast.Name(group), -groups.together),))
    together = literal(groups.together)
    count = minimum(expression(left), together) if groups.loop.trips % groups.together else together
    address = _beside(facts, groups, loops)
    moves = [
        ast.ExpressionStatement(
            with_roles(
                site, {"pointer": element_of(tensor, place), side: address, "cols": literal(groups.cols), "rows": count}
            )
        )
        for site, tensor, side in (
            (groups.load, groups.weights.tensor, "destination"),
            (groups.store, diagonal, "source"),
        )
    ]
    behind = groups.cols * groups.array.size
    strides = [(groups.load, behind), (groups.store, groups.depth * groups.array.row_bytes + behind)]
    return list(with_strides(facts, strides, (*make_nest(loops, moves), _fence(facts)), groups.home[0]))


def _beside(facts: Facts, groups: _Groups, loops: Sequence[Loop]) -> ast.Expression:
    """The first row for the weights of one iteration of loops, after all rows in use. Each inner loop gets rows of its
    own while the memory has room. Raises NotApplicable without any room."""
    buffer = groups.buffers[1]
    memory = facts.accelerator.memory(buffer.memory)
    position = groups.load.role.position("destination")
    present = next(o for o in buffer.operands if o.site is groups.load)
    used = [other.high + 1 for other in facts.buffers if other.memory == buffer.memory]
    first = max(buffer.low + groups.height, *used)
    if position is None or not present.row.is_constant or any(o.hull is None for o in facts.operands):
        raise NotApplicable(f"which rows of {buffer.memory} are free is not known")
    apart: list[tuple[str, int]] = []
    for item in reversed(loops):
        if prod(trips for _, trips in apart) * item.trips * groups.together > memory.rows // _SHARE:
            break
        apart.insert(0, (item.variable, item.trips))
    if first + prod(trips for _, trips in apart) * groups.together > memory.rows:
        raise NotApplicable(f"{buffer.memory} has no rows left for weights on their way to the diagonal")
    offset = ast.Binary("+", linear(apart, groups.together), literal(first - present.row.constant))
    return shifted(facts, groups.load.call.arguments[position], offset)

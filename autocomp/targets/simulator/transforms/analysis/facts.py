"""The transformations' facts about a kernel: its instruction calls with their loops, and its use of local memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from autocomp.remember import remembered
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.derived.contractions import contraction_tile
from autocomp.targets.simulator.isa.derived.roles import CallRole, call_parameters, call_roles
from autocomp.targets.simulator.kernel import canonical_hash
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.local_rows import local_rows
from autocomp.targets.simulator.transforms.raising.normal import normalise
from autocomp.targets.simulator.transforms.raising.pointers import array_types
from autocomp.targets.simulator.transforms.syntax.affine import Affine, Interval, affine, interval, interval_of, literal
from autocomp.targets.simulator.transforms.syntax.heading import is_lowered, without_headings
from autocomp.targets.simulator.transforms.syntax.loops import Loop, conjuncts, loop
from autocomp.targets.simulator.transforms.syntax.rewrite import Path, blocks, call_of, called, names, substitute


@dataclass(frozen=True)
class Site:
    """One call of an instruction: where it stands, under which loops and conditions."""

    call: ast.Call
    path: Path
    loops: tuple[Loop, ...]
    guards: tuple[ast.Expression, ...]
    ranges: Mapping[str, Interval] = field(compare=False)
    role: CallRole = field(compare=False)
    parameters: tuple[m.Parameter | None, ...] = field(compare=False)  # of the instruction, by argument
    loop_paths: tuple[Path, ...] = field(compare=False)  # of the loops, as they may share a variable with others

    @property
    def kind(self) -> str:
        return self.role.kind

    def argument(self, word: str) -> ast.Expression | None:
        """The first argument with a role, such as rows or cols."""
        position = self.role.position(word)
        return None if position is None else self.call.arguments[position]

    def highest(self, word: str) -> int | None:
        """The largest value of the argument with a role."""
        argument = self.argument(word)
        bounds = None if argument is None else interval(argument, self.ranges)
        return None if bounds is None else bounds[1]

    @property
    def selector(self) -> int | float | None:
        """The number of the configuration's record that the call uses, if it is known."""
        for parameter, word in self.role.role.parameters.items():
            if word == "selector":
                if parameter in self.role.fixed:
                    return self.role.fixed[parameter]
                chosen = affine(self.argument("selector") or ast.Name("?"))
                return chosen.constant if chosen.is_constant else None
        return None

    @cached_property
    def selecting(self) -> frozenset[str]:
        """The variables that select what is moved between a tensor and local memory."""
        argument = self.argument("pointer")
        return frozenset() if argument is None else names(argument)

    @cached_property
    def pointer(self) -> Pointer | None:
        """The DRAM operand taken apart, or None (also for a null pointer)."""
        argument = self.argument("pointer")
        return None if argument is None else pointer(argument)


@dataclass(frozen=True)
class Pointer:
    """`&T[i][j]`: a tensor and its subscripts as sums."""

    tensor: str
    subscripts: tuple[Affine, ...]


@dataclass(frozen=True)
class Operand:
    """An argument of a call that names rows of a local memory."""

    site: Site
    position: int
    memory: str
    row: Affine

    @cached_property
    def hull(self) -> Interval | None:
        """First and last row that the call touches through it, over all iterations; a call that starts later may cover
        fewer rows. A pooling store names no number of rows: it counts with the first one."""
        bounds = interval_of(self.row, self.site.ranges)
        if bounds is None:
            return None
        ends = [interval_of(self.row + extent, self.site.ranges) for extent in self._extents]
        last = max((end[1] for end in ends if end is not None), default=bounds[1] + 1)
        return bounds[0], max(bounds[1], (last if all(ends) else bounds[1] + self.height) - 1)

    @cached_property
    def height(self) -> int:
        """Rows that one call covers at most; the further column blocks of a wide move are told by its other end."""
        known = [interval_of(extent, self.site.ranges) for extent in self._extents]
        return max((1, *(high for _, high in filter(None, known))))

    @property
    def _extents(self) -> tuple[Affine, ...]:
        """Rows that the call covers through the operand."""
        return tuple(affine(self.site.call.arguments[number]) for number in self.rows_at)

    @cached_property
    def rows_at(self) -> tuple[int, ...]:
        """The arguments that bound the rows of the operand: its own of a call that states them for each operand, else
        any of them."""
        words = self.site.role.arguments
        rows = [number for number, word in enumerate(words) if word == "rows"]
        if self.site.kind in ("load", "store"):
            return tuple(rows[:1])
        addresses = [n for n, p in enumerate(self.site.parameters) if p is not None and p.kind == "address"]
        if len(addresses) == len(rows):
            return (rows[addresses.index(self.position)],)
        return (*rows[:1], *[number for number, word in enumerate(words) if word == "depth"][:1])


@dataclass(frozen=True)
class Buffer:
    """Rows of one local memory that hold the same data: its writers and readers overlap."""

    memory: str
    low: int
    high: int
    operands: tuple[Operand, ...]

    @property
    def rows(self) -> int:
        return self.high - self.low + 1

    def sites(self, kind: str) -> tuple[Site, ...]:
        return tuple(operand.site for operand in self.operands if operand.site.kind == kind)

    @property
    def tensor(self) -> str:
        """The tensor that is moved through these rows, the first of several; empty for rows that no tensor is moved
        through."""
        return next(iter(self.tensors), "")

    @cached_property
    def tensors(self) -> tuple[str, ...]:
        """All tensors that are moved through these rows, as their first values or as results are."""
        pointers = (operand.site.pointer for operand in self.operands if operand.site.kind in ("load", "store"))
        return tuple(dict.fromkeys(pointer.tensor for pointer in pointers if pointer is not None))

    @property
    def is_input(self) -> bool:
        """Loaded and never stored."""
        return bool(self.sites("load")) and not self.sites("store")

    @property
    def is_computed_with(self) -> bool:
        """True if calls other than moves use the rows."""
        return any(operand.site.kind not in ("load", "store") for operand in self.operands)

    @property
    def is_result(self) -> bool:
        return bool(self.sites("store"))


@dataclass(frozen=True)
class MachineCalls:
    """The call forms of a machine, by name and number of arguments: their roles and their operands."""

    accelerator: m.Accelerator
    roles: Mapping[tuple[str, int], CallRole]
    parameters: Mapping[tuple[str, int], tuple[m.Parameter | None, ...]]
    tile: tuple[int, int, int]  # rows, columns and depth of one contraction; ones where the machine has none


@dataclass(frozen=True)
class Facts:
    """A kernel on a machine, and what follows from it. `constants` are all names of numbers; `objective` is the name of
    what kernels are measured by."""

    given: ast.Kernel
    machine: MachineCalls
    constants: Mapping[str, int | float]
    objective: str = "cycles"

    @cached_property
    def kernel(self) -> ast.Kernel:
        """The kernel in normal form, worked out when it is first asked for."""
        return normalise(without_headings(self.given), self.constants)

    @cached_property
    def digest(self) -> str:
        """The canonical hash of the kernel as it is written."""
        return canonical_hash(self.written)

    @property
    def written(self) -> ast.Kernel:
        """The kernel to print: as given where it says which schedules it was lowered from, else in normal form."""
        return self.given if is_lowered(self.given) else self.kernel

    @property
    def accelerator(self) -> m.Accelerator:
        return self.machine.accelerator

    @property
    def body(self) -> ast.Block:
        return self.kernel.entry.body

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        """All instruction calls, in source order."""
        return tuple(_sites(self))

    @cached_property
    def operands(self) -> tuple[Operand, ...]:
        return tuple(operand for site in self.sites for operand in self.operands_of(site))

    def operands_of(self, site: Site) -> tuple[Operand, ...]:
        """The local memory that one call names."""
        return self._operands_by_site[id(site)]

    @cached_property
    def _operands_by_site(self) -> Mapping[int, tuple[Operand, ...]]:
        return {id(site): tuple(_operands(self, site)) for site in self.sites}

    @cached_property
    def buffers(self) -> tuple[Buffer, ...]:
        """Local memory by use, in order of memory and row."""
        return tuple(_buffers(self.operands))

    @cached_property
    def arrays(self) -> Mapping[str, ast.Type]:
        """The types of the kernel's parameters and of the arrays of its own."""
        return array_types(self.kernel.entry)

    @property
    def tile(self) -> tuple[int, int, int]:
        return self.machine.tile

    def buffer_of(self, tensor: str) -> Buffer | None:
        """The buffer that a tensor is moved through, if it is one only."""
        matching = [buffer for buffer in self.buffers if buffer.tensor == tensor]
        return matching[0] if len(matching) == 1 else None

    @property
    def contractions(self) -> tuple[Site, ...]:
        return tuple(site for site in self.sites if site.kind == "contraction")

    def computes(self, statement: ast.Statement) -> bool:
        """True if a statement contains a contraction."""
        return "contraction" in self.kinds(statement)

    def kinds(self, statement: ast.Statement) -> set[str]:
        """The kinds of the instruction calls below a statement."""
        return {self._kinds[name] for name in called(statement) if name in self._kinds}

    @cached_property
    def _kinds(self) -> Mapping[str, str]:
        return {site.call.function: site.kind for site in self.sites}

    def is_absent(self, address: Affine) -> bool:
        """True if an address names no operand at all."""
        spaces = self.accelerator.spaces
        return address.is_constant and any(
            s.none is not None and address.constant & 0xFFFFFFFF == s.none for s in spaces
        )

    def with_kernel(self, kernel: ast.Kernel) -> Facts:
        """The facts of another version of the kernel."""
        return replace(self, given=kernel)


@remembered
def machine(accelerator: m.Accelerator) -> MachineCalls:
    """The call forms of an accelerator, looked up once."""
    roles = {(role.name, len(role.arguments)): role for role in call_roles(accelerator)}
    parameters = {key: call_parameters(accelerator, *key) for key in roles}
    return MachineCalls(accelerator, roles, parameters, contraction_tile(accelerator) or (1, 1, 1))


def analyse(
    kernel: ast.Kernel,
    accelerator: m.Accelerator,
    constants: Mapping[str, int | float] | None = None,
    objective: str = "cycles",
) -> Facts:
    """The facts of a kernel on a machine; `constants` are the workload's, added to the machine's and the kernel's."""
    known = {**accelerator.constants, **kernel.constants, **(constants or {})}
    return Facts(kernel, machine(accelerator), known, objective)


def pointer(argument: ast.Expression) -> Pointer | None:
    """The tensor and the subscripts of `&T[i][j]`, `T[i]` or `T`, which is as `T[0]`; or None."""
    node = argument
    while isinstance(node, ast.Cast) or (isinstance(node, ast.Unary) and node.operator == "&"):
        node = node.operand
    subscripts: list[Affine] = []
    while isinstance(node, ast.Index):
        subscripts.insert(0, affine(node.index))
        node = node.base
    return Pointer(node.name, tuple(subscripts) or (Affine(0),)) if isinstance(node, ast.Name) else None


def _sites(facts: Facts) -> Iterator[Site]:
    known = {name: literal(value) for name, value in facts.constants.items() if isinstance(value, int)}

    def visit(
        statements: tuple[ast.Statement, ...],
        path: Path,
        offset: int,
        loops: tuple[tuple[Loop, Path], ...],
        guards: tuple[ast.Expression, ...],
        ranges: Mapping[str, Interval],
    ) -> Iterator[Site]:
        scope = dict(ranges)
        for number, statement in enumerate(statements):
            here = (*path, number + offset)
            if isinstance(statement, ast.Declaration):
                for declarator in statement.declarators:
                    bounds = None if declarator.initializer is None else interval(declarator.initializer, scope)
                    if bounds is not None and statement.const:
                        scope[declarator.name] = bounds
            call = call_of(statement)
            if call is not None:
                key = (call.function, len(call.arguments))
                role = facts.machine.roles.get(key)
                if role is not None:
                    parameters = facts.machine.parameters[key]
                    around, places = tuple(item for item, _ in loops), tuple(place for _, place in loops)
                    yield Site(substitute(call, known), here, around, guards, scope, role, parameters, places)
                continue
            counted = loop(statement)
            inner_loops = (*loops, (counted, here)) if counted is not None else loops
            inner_scope = {**scope, counted.variable: (0, counted.trips - 1)} if counted is not None else scope
            start = 0
            for number_of_block, held in enumerate(blocks(statement)):
                inner_guards = guards
                if isinstance(statement, ast.If):
                    negated = (ast.Unary("!", statement.condition),)
                    inner_guards = (*guards, *(conjuncts(statement.condition) if number_of_block == 0 else negated))
                yield from visit(held.statements, here, start, inner_loops, inner_guards, inner_scope)
                start += len(held.statements)

    yield from visit(facts.body.statements, (), 0, (), (), {})


def _operands(facts: Facts, site: Site) -> Iterator[Operand]:
    for position, (argument, parameter) in enumerate(zip(site.call.arguments, site.parameters, strict=True)):
        if parameter is None or parameter.kind != "address" or parameter.space is None:
            continue
        space = facts.accelerator.space(parameter.space)
        for memory, row in local_rows(space, argument, site.ranges):
            yield Operand(site, position, memory, row)


def _buffers(operands: tuple[Operand, ...]) -> Iterator[Buffer]:
    """Operands of the same memory whose rows overlap, directly or through others."""
    known = [(operand, operand.hull) for operand in operands]
    ordered = sorted(
        ((operand.memory, hull, operand) for operand, hull in known if hull is not None), key=lambda e: (e[0], e[1])
    )
    group: list[Operand] = []
    memory, low, high = "", 0, -1
    for name, hull, operand in ordered:
        if group and (name != memory or hull[0] > high):
            yield Buffer(memory, low, high, tuple(group))
            group = []
        if not group:
            memory, low, high = name, hull[0], hull[1]
        group.append(operand)
        high = max(high, hull[1])
    if group:
        yield Buffer(memory, low, high, tuple(group))

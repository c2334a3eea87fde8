"""The contraction that a kernel carries out, found from the elements that its commands access.

A product reads tiles that loads have brought, and adds to a tile of sums or starts it. Stores move such sums out,
directly or through further memories. Each tile has its place in a tensor, so tiles have coordinates: the kernel
computes a contraction if its products are all points of a grid of tiles, each once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from autocomp.targets.simulator.isa.derived.roles import instruction_roles
from autocomp.targets.simulator.isa.tree import element_bits
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction, Dim, Operand, Subscript, Tensor
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Column, Commands
from autocomp.targets.simulator.transforms.scheduling.lifting.fit import fitted, indices
from autocomp.targets.simulator.transforms.scheduling.lifting.touches import Touch, Touches

MAX_COMMANDS = 1_000_000
_REDUCED = "krstuv"
_FROM = "from"  # the buffer that a command moves on to another one


@dataclass(frozen=True)
class Role:
    """The commands that do the same for each of some tiles, one for each entry; `rows` are the local rows that operands
    name, by what lies there."""

    commands: Column
    rows: Mapping[str, tuple[Touch, Column]]  # buffer -> touch, number of the access by entry


@dataclass(frozen=True)
class Whole:
    """A contraction of tiles, and the commands that carry it out. Entries of `loads`, `brings` and `product` are
    products, and `of_products` holds their coordinates by dimension; entries of the others are results, with
    `of_results`. Where loads fill another memory, `brings` move tiles on to where products read them."""

    computation: Contraction
    loads: Mapping[str, Role]
    brings: Mapping[str, tuple[Role, ...]]
    start: Role | None
    product: Role
    finish: tuple[Role, ...]
    store: Role
    of_products: Mapping[str, Column]
    of_results: Mapping[str, Column]
    touches: Touches


def whole_of(commands: Commands) -> Whole:
    """The contraction of whole tiles that commands carry out. Raises NotApplicable where that is not seen."""
    if len(commands) > MAX_COMMANDS:
        raise NotApplicable(f"the kernel issues more than {MAX_COMMANDS} commands")
    return _Follower(commands).whole()


class _Follower:
    def __init__(self, commands: Commands) -> None:
        self._c = commands
        self._t = Touches(commands)
        roles = instruction_roles(commands.accelerator)
        contracting = [roles[form.name].kind == "contraction" for form in commands.forms]
        self._products = [n for n, is_product in enumerate(contracting) if is_product]
        self._is_product = np.array(contracting, dtype=bool)[commands.form]
        if len({commands.forms[n].name for n in self._products}) != 1:
            raise NotApplicable("not one instruction makes all products")
        self._at = np.zeros(len(commands), dtype=np.int64)  # of each command, among those of its form
        for number in range(len(commands.forms)):
            own = commands.of(number)
            self._at[own] = np.arange(len(own))

    def whole(self) -> Whole:
        product, factors, before = self._factors()
        roots = self._roots(product.commands, before)
        store, finish, last = self._results()
        number = {int(root): n for n, root in enumerate(roots[np.searchsorted(product.commands, last)])}
        if len(number) < len(last):
            raise NotApplicable("a result is stored twice")
        if set(number) != set(roots.tolist()):
            raise NotApplicable("a product's result is never stored")
        result = np.array([number[root] for root in roots.tolist()], dtype=np.int64)
        chains = [self._loads(accesses) for _, accesses in factors]
        start = self._start(roots, result, before)
        fit = _Fit(self._c, [self._places(chain[0]) for chain in chains], self._places(store), result)
        named = {name: _named(name, chain) for name, chain in zip(fit.order, chains, strict=True)}
        sides = dict(zip(fit.order, factors, strict=True))
        rows = {**product.rows, **sides}
        added = () if start is None or not self._pointer(start) else (fit.added(self._places(start)),)
        return Whole(
            fit.contraction(added),
            {name: chain[0] for name, chain in named.items()},
            {name: chain[1:] for name, chain in named.items()},
            start,
            Role(product.commands, rows),
            finish,
            store,
            fit.of_products,
            fit.of_results,
            self._t,
        )

    # --- products

    def _factors(self) -> tuple[Role, list[tuple[Touch, Column]], Column]:
        """The products, what each reads besides its sums, and the command that wrote its sums before (-1: it starts
        them)."""
        commands: list[Column] = []
        parts: list[list[Column]] = [[], []]
        targets: list[Column] = []
        before: list[Column] = []
        known: list[Touch] = []
        for number in self._products:
            writes, reads = (self._t.local(number, write=w) for w in (True, False))
            if len(writes) != 1 or self._t.dram(number, write=False) or self._t.dram(number, write=True):
                raise NotApplicable(f"{self._c.forms[number].name} does more than to multiply tiles")
            own = [t for t in reads if (t.memory, t.operand) == (writes[0].memory, writes[0].operand)]
            others = [t for t in reads if t not in own]
            if len(others) != 2:
                raise NotApplicable(f"{self._c.forms[number].name} multiplies {len(others)} tiles")
            others.sort(key=lambda t: (t.memory, t.operand))
            known = known or [*others, writes[0]]
            commands.append(self._c.of(number))
            for part, touch in zip(parts, others, strict=True):
                part.append(touch.accesses)
            targets.append(writes[0].accesses)
            before.append(self._t.writers(own[0].accesses) if own else np.full(len(writes[0].accesses), -1))
        joined = np.concatenate(commands)
        order = np.argsort(joined)
        columns = [np.concatenate(part)[order] for part in (*parts, targets)]
        product = Role(joined[order], {"result": (known[2], columns[2])})
        return product, list(zip(known, columns[:2], strict=False)), np.concatenate(before)[order]

    def _roots(self, products: Column, before: Column) -> Column:
        """For each product, the first one that adds to the same sums."""
        chained = (before >= 0) & self._is_product[np.maximum(before, 0)]
        root = np.where(chained, np.searchsorted(products, before), np.arange(len(products)))
        while True:
            further = root[root]
            if (further == root).all():
                return np.asarray(root, dtype=np.int64)
            root = further

    def _loads(self, accesses: Column) -> list[Role]:
        """The loads that brought what products read, and what moved it on, by what they write and (`from`) read."""
        writers = self._t.writers(accesses)
        written = self._one(writers, write=True)
        reads = any(self._t.local(n, write=False) for n in self._numbers(writers))
        if self._pointer_of(writers):
            if reads:
                raise NotApplicable(f"{self._name(writers)} changes what it loads to")
            return [Role(writers, {"": written})]
        if not reads:
            raise NotApplicable(f"an operand is not loaded, but made by {self._name(writers)}")
        read = self._one(writers, write=False)
        if read[0].memory == written[0].memory:
            raise NotApplicable(f"an operand is not loaded, but made by {self._name(writers)}")
        return [*self._loads(read[1]), Role(writers, {_FROM: read, "": written})]

    def _start(self, roots: Column, result: Column, before: Column) -> Role | None:
        """The commands that results start from, by result; None where products start them."""
        first = np.unique(roots)
        starts = before[first]
        if (starts < 0).all():
            return None
        if (starts < 0).any():
            raise NotApplicable("some results are started by products, others are not")
        if any(self._t.local(n, write=False) for n in self._numbers(starts)):
            raise NotApplicable(f"{self._name(starts)} starts a result from another one")
        commands = np.empty(len(first), dtype=np.int64)
        commands[result[first]] = starts
        return Role(commands, {"result": self._one(commands, write=True)})

    # --- results

    def _results(self) -> tuple[Role, tuple[Role, ...], Column]:
        """The stores; what is done to results before, from first to last; and for each the last product."""
        stores = np.sort(
            np.concatenate([self._c.of(n) for n in self._t.forms if self._t.dram(n, write=True)] or [self._c.form[:0]])
        )
        if not len(stores):
            raise NotApplicable("nothing is stored")
        steps: list[tuple[Column, tuple[Touch, Column], tuple[Touch, Column] | None]] = []
        at, wrote = stores, None
        while not self._is_product[at].all():
            if self._is_product[at].any() or len(steps) > 8:
                raise NotApplicable("results are stored in different ways")
            read = self._one(at, write=False)
            steps.append((at, read, wrote))
            at = self._t.writers(read[1])
            wrote = None if self._is_product[at].all() else self._one(at, write=True)
        buffers: list[str] = ["result"]  # from the products on
        roles: list[Role] = []
        for commands, read, written in reversed(steps):
            rows = {buffers[-1]: read}
            if written is not None:
                same = self._same(read, written)
                buffers.append(buffers[-1] if same else f"relay{len(set(buffers)) - 1}")
                rows[buffers[-1]] = written
            roles.append(Role(commands, rows))
        return roles[-1], tuple(roles[:-1]), at

    def _same(self, one: tuple[Touch, Column], other: tuple[Touch, Column]) -> bool:
        firsts = self._t.first[one[1]], self._t.first[other[1]]
        return one[0].memory == other[0].memory and bool((firsts[0] == firsts[1]).all())

    # --- of some commands, which may have several forms

    def _numbers(self, commands: Column) -> list[int]:
        return [int(n) for n in np.unique(self._c.form[commands])]

    def _name(self, commands: Column) -> str:
        return self._c.forms[int(self._c.form[commands[0]])].name

    def _one(self, commands: Column, *, write: bool) -> tuple[Touch, Column]:
        """The one place in local memory that each command reads or writes, and the accesses."""
        accesses = np.empty(len(commands), dtype=np.int64)
        known: Touch | None = None
        for number in self._numbers(commands):
            touches = self._t.local(number, write=write)
            if len(touches) != 1:
                raise NotApplicable(f"{self._c.forms[number].name} touches several places")
            touch = touches[0]
            if known is not None and (known.memory, known.operand) != (touch.memory, touch.operand):
                raise NotApplicable("tiles of one kind lie in several memories")
            known = touch
            chosen = self._c.form[commands] == number
            accesses[chosen] = touch.accesses[self._at[commands[chosen]]]
        assert known is not None
        return known, accesses

    def _pointer_of(self, commands: Column) -> str:
        """The operand that says where in DRAM commands read or write; empty where none does, or several."""
        names = {t.operand for n in self._numbers(commands) for t in self._t.forms[n] if t.memory == self._dram}
        return names.pop() if len(names) == 1 else ""

    @property
    def _dram(self) -> str:
        return self._c.accelerator.dram.name

    def _pointer(self, role: Role) -> str:
        return self._pointer_of(role.commands)

    def _places(self, role: Role) -> tuple[Column, Column]:
        """The tensor, and the byte in it, of each command's tile."""
        tensor = np.empty(len(role.commands), dtype=np.int64)
        byte = np.empty(len(role.commands), dtype=np.int64)
        pointer = self._pointer(role)
        if not pointer:
            raise NotApplicable(f"{self._name(role.commands)} has no one pointer")
        for number in self._numbers(role.commands):
            chosen = np.flatnonzero(self._c.form[role.commands] == number)
            tensor[chosen], byte[chosen] = self._c.place(role.commands[chosen], pointer)
        return tensor, byte


def _named(operand: str, chain: Sequence[Role]) -> tuple[Role, ...]:
    """The roles that bring an operand, with the buffers by name: the operand's, and those on the way to it."""
    names = [*(f"{operand}{number}" for number in range(len(chain) - 1)), operand]
    dims = []
    for number, role in enumerate(chain):
        rows = {names[number]: role.rows[""]}
        if _FROM in role.rows:
            rows = {names[number - 1]: role.rows[_FROM], **rows}
        dims.append(Role(role.commands, rows))
    return tuple(dims)


@dataclass(frozen=True)
class _Sides:
    """The factors in an order, by name, with the coordinates of products and their extents."""

    order: tuple[str, ...]
    operands: Mapping[str, Operand]
    known: dict[str, Column]
    extents: dict[str, int]


class _Fit:
    """Coordinates of tiles, from their places in tensors."""

    def __init__(
        self,
        commands: Commands,
        factors: Sequence[tuple[Column, Column]],
        stored: tuple[Column, Column],
        result: Column,
    ) -> None:
        self._tensors = tuple(Tensor(t.name, tuple(t.shape), element_bits(t.dtype) // 8) for t in commands.tensors)
        self.extents: dict[str, int] = {}
        self._reduced: list[str] = []
        self._result, self.of_results = self._parallel(stored)
        self.of_products = {name: values[result] for name, values in self.of_results.items()}
        self.order, self._operands = self._fitted(factors)

    def _tensor(self, places: tuple[Column, Column]) -> Tensor:
        if (places[0] != places[0][0]).any():
            raise NotApplicable("tiles of one kind come from several tensors")
        return self._tensors[int(places[0][0])]

    def _parallel(self, stored: tuple[Column, Column]) -> tuple[Operand, dict[str, Column]]:
        """The result along the coordinates of its tiles: i and j for its last dimensions, n, p … for others."""
        tensor = self._tensor(stored)
        last = len(tensor.shape) - 1
        if last < 1:
            raise NotApplicable("a result has one dimension")
        others = iter("npqlmo")
        subscripts: list[Subscript] = []
        columns: dict[str, Column] = {}
        for dim, values in enumerate(indices(tensor, stored[1])):
            step = int(np.gcd.reduce(values))
            if not step and dim < last - 1:
                subscripts.append(Subscript())
                continue
            name = {last - 1: "i", last: "j"}.get(dim) or next(others)
            columns[name] = values // max(1, step)
            self.extents[name] = int(columns[name].max()) + 1
            subscripts.append(Subscript(0, ((name, step),) if step else ()))
        return Operand(tensor, tuple(subscripts)), columns

    def _fitted(self, factors: Sequence[tuple[Column, Column]]) -> tuple[tuple[str, ...], Mapping[str, Operand]]:
        """The two factors along the coordinates: the left one, which has the rows of the result, and the right one.
        Where both may be either, the left one has what is neither rows nor columns, as lines of an image."""
        fits, failures = list[_Sides](), list[NotApplicable]()
        for order in (("left", "right"), ("right", "left")):
            try:
                fits.append(self._sides(order, dict(zip(order, factors, strict=True))))
            except NotApplicable as error:
                failures.append(error)
        if not fits:
            raise failures[-1]
        others = self.of_results.keys() - {"i", "j"}
        best = min(fits, key=lambda sides: len(others & (sides.operands["right"].dims - sides.operands["left"].dims)))
        self._reduced = [name for name in best.known if name not in self.of_products]
        self.of_products, self.extents = best.known, best.extents
        return best.order, best.operands

    def _sides(self, order: tuple[str, ...], named: Mapping[str, tuple[Column, Column]]) -> _Sides:
        """The factors with one of them as the left one. Raises NotApplicable where that does not fit."""
        known, extents = dict(self.of_products), dict(self.extents)
        right = self._operand(named["right"], known, extents, iter(_REDUCED))
        left = self._operand(named["left"], known, extents, iter(""))
        _check(known, extents)
        if "i" in right.dims - left.dims or "j" in left.dims - right.dims:
            raise NotApplicable("neither factor has the rows of the result")
        return _Sides(order, {"left": left, "right": right}, known, extents)

    def _operand(
        self, places: tuple[Column, Column], known: dict[str, Column], extents: dict[str, int], names: Iterator[str]
    ) -> Operand:
        """A tensor's tiles along coordinates; what does not follow from those that are known is a new one."""
        tensor = self._tensor(places)
        subscripts: list[Subscript] = []
        for values in indices(tensor, places[1]):
            try:
                subscripts.append(fitted(values, known, extents, {}))
                continue
            except NotApplicable:
                name = next(names, None)
                if name is None:
                    raise
            step = int(np.gcd.reduce(values))
            known[name] = values // step
            extents[name] = int(known[name].max()) + 1
            subscripts.append(Subscript(0, ((name, step),)))
        return Operand(tensor, tuple(subscripts))

    def added(self, places: tuple[Column, Column]) -> Operand:
        """The operand that results start from, along their coordinates."""
        return self._operand(places, dict(self.of_results), dict(self.extents), iter(""))

    def contraction(self, added: tuple[Operand, ...]) -> Contraction:
        parallel, reduced = list(self.of_results), list(self._reduced)
        if not reduced:
            reduced = ["k"]
            self.extents["k"] = 1
            self.of_products["k"] = np.zeros_like(next(iter(self.of_products.values())))
        left, right = self._operands["left"], self._operands["right"]
        column = next((d for d in reversed(parallel) if d in right.dims and d != "i"), "j")
        row = next((d for d in reversed(parallel) if d in left.dims and d != column), "i" if column != "i" else "j")
        dims = [Dim(name, self.extents[name], False) for name in parallel]
        dims += [Dim(name, self.extents[name], True) for name in reduced]
        return Contraction(tuple(dims), row, column, reduced[-1], self._result, left, right, added, None)


def _check(coordinates: Mapping[str, Column], extents: Mapping[str, int]) -> None:
    """Raises NotApplicable unless the products with these coordinates are all points of the grid, each once."""
    products = len(next(iter(coordinates.values())))
    number = np.zeros(products, dtype=np.int64)
    for name, values in coordinates.items():
        number = number * extents[name] + values
    if products != prod(extents.values()) or len(np.unique(number)) != products:
        raise NotApplicable("the products of a result are not those of one nest of loops")

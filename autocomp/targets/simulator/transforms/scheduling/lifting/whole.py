"""The contraction that a kernel carries out, found from the elements that its commands access.

A product reads tiles that loads have brought, and adds to a tile of sums or starts it. Stores move such sums out,
directly or through further memories. Each tile has its place in a tensor, so tiles have coordinates: the kernel
computes a contraction if its products are all points of a grid of tiles, each once. Several commands may do together
what is done to one tile, such as one for each of its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from autocomp.targets.simulator.isa.derived.roles import instruction_roles
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Column, Commands
from autocomp.targets.simulator.transforms.scheduling.lifting.coordinates import Coordinates
from autocomp.targets.simulator.transforms.scheduling.lifting.extra import (
    EXTRA,
    extra_of_product,
    extra_of_result,
    is_loaded,
)
from autocomp.targets.simulator.transforms.scheduling.lifting.narrow import narrowed
from autocomp.targets.simulator.transforms.scheduling.lifting.registers import placed_by_registers
from autocomp.targets.simulator.transforms.scheduling.lifting.tile_roles import Rest, Role, Whole
from autocomp.targets.simulator.transforms.scheduling.lifting.touches import Touch, Touches, has_rows, matrix
from autocomp.targets.simulator.transforms.scheduling.lifting.woven import unwoven

MAX_COMMANDS = 1_000_000
_FROM = "from"  # the buffer that a command moves on to another one


def whole_of(commands: Commands) -> Whole:
    """The contraction of whole tiles that commands carry out. Raises NotApplicable where that is not seen."""
    if len(commands) > MAX_COMMANDS:
        raise NotApplicable(f"the kernel issues more than {MAX_COMMANDS} commands")
    return _Follower(narrowed(Touches(unwoven(commands)))).whole()


class _Follower:
    def __init__(self, touches: Touches) -> None:
        self._t = touches
        self._c = commands = touches.commands
        roles = instruction_roles(commands.accelerator)
        contracting = [roles[form.name].kind == "contraction" for form in commands.forms]
        for form in (form for form, is_product in zip(commands.forms, contracting, strict=True) if is_product):
            if placed_by_registers(commands.accelerator, form.instruction):
                raise NotApplicable(
                    f"registers say where {form.name} leaves its results, and schedules place only what `address` "
                    "operands of it name"
                )
        self._products = [n for n, is_product in enumerate(contracting) if is_product]
        self._is_product = np.array(contracting, dtype=bool)[commands.form]
        self._makers = sorted({commands.forms[n].name for n in self._products})
        if not self._makers:
            raise NotApplicable("no instruction multiplies tiles")
        self._at = np.zeros(len(commands), dtype=np.int64)  # of each command, among those of its form
        for number in range(len(commands.forms)):
            own = commands.of(number)
            self._at[own] = np.arange(len(own))
        self._extras: dict[int, Touch | None] = {}

    def whole(self) -> Whole:
        product, factors, before = self._factors()
        roots = self._roots(product.commands, before)
        store, finish, stored = self._results(product.commands, roots)
        number = np.full(len(roots), -1, dtype=np.int64)
        number[stored] = np.arange(len(stored))
        result = number[roots]
        if (result < 0).any():
            raise NotApplicable("a product's result is never stored")
        # Where coordinates do not tell the factors apart, the left one is that which has the rows of the result.
        made, out = (self._c.forms[int(self._c.form[role.commands[0]])] for role in (product, store))
        factors.sort(key=lambda factor: has_rows(made, factor[0]) == out.turned)
        chains = [self._loads(accesses[:, 0]) for _, accesses in factors]
        start = self._start(stored, before)
        extra = self._extra(
            [Role(product.parts[stored], _chosen(product.rows, stored)), *filter(None, [start]), *finish]
        )
        fit = Coordinates(self._c, [self._places(chain[0]) for chain in chains], self._places(store), result)
        named = {name: _named(name, chain) for name, chain in zip(fit.order, chains, strict=True)}
        sides = dict(zip(fit.order, factors, strict=True))
        rows = {**product.rows, **sides}
        added = tuple(
            fit.added(self._places(role)) for role in (start, extra) if role is not None and self._pointer(role)
        )
        if len(added) > 1:
            raise NotApplicable("results start from one tensor, and need another one besides")
        return Whole(
            fit.contraction(added),
            {name: chain[0] for name, chain in named.items()},
            {name: chain[1:] for name, chain in named.items()},
            start,
            Role(product.parts, rows),
            finish,
            store,
            fit.of_products,
            fit.of_results,
            self._t,
            {n: self._leaves_over(chain, Role(product.parts, {"": sides[n]})) for n, chain in named.items()},
            frozenset(fit.halves),
            self._firsts(product.commands, before),
            extra,
        )

    # --- products

    def _factors(self) -> tuple[Role, list[tuple[Touch, Column]], Column]:
        """The products, what each reads besides its sums, and the commands that wrote its sums before (-1: it starts
        them)."""
        commands: list[Column] = []
        parts: list[list[Column]] = [[], []]
        targets: list[Column] = []
        more: list[Column] = []
        before: list[Column] = []
        known: list[Touch] = []
        extra: Touch | None = None
        for number in self._products:
            writes, reads = (self._t.local(number, write=w) for w in (True, False))
            if len(writes) != 1 or self._t.dram(number, write=False) or self._t.dram(number, write=True):
                raise NotApplicable(f"{self._c.forms[number].name} does more than to multiply tiles")
            own = [t for t in reads if (t.memory, t.operand) == (writes[0].memory, writes[0].operand)]
            others = [t for t in reads if t not in own]
            besides = extra_of_product(self._c.forms[number], others)
            others = [t for t in others if t is not besides]
            if len(others) != 2:
                raise NotApplicable(f"{self._c.forms[number].name} multiplies {len(others)} tiles")
            others.sort(key=lambda t: (t.memory, t.operand))
            known = known or [*others, writes[0]]
            extra = extra or besides
            commands.append(self._c.of(number))
            for part, touch in zip(parts, others, strict=True):
                part.append(touch.accesses)
            more.append(np.full(len(writes[0].accesses), -1) if besides is None else besides.accesses)
            targets.append(writes[0].accesses)
            before.append(self._t.parts(own[0].accesses) if own else np.full((len(writes[0].accesses), 1), -1))
        joined = np.concatenate(commands)
        order = np.argsort(joined)
        columns = [np.concatenate(part)[order][:, None] for part in (*parts, targets, more)]
        rows = {"result": (known[2], columns[2])}
        if extra is not None:  # some products may read nothing besides
            rows[EXTRA] = (extra, columns[3])
        product = Role(joined[order][:, None], rows)
        width = max(written.shape[1] for written in before)
        wide = [np.pad(w, ((0, 0), (0, width - w.shape[1])), constant_values=-1) for w in before]
        return product, list(zip(known, columns[:2], strict=False)), np.concatenate(wide)[order]

    def _firsts(self, products: Column, before: Column) -> Column | None:
        """The products that start results, where one instruction does that and another one adds to them. None where one
        instruction does both."""
        if len(self._makers) == 1:
            return None
        starts = before[:, 0] < 0
        made = np.array([form.name == self._makers[0] for form in self._c.forms], dtype=bool)[self._c.form[products]]
        if len(self._makers) > 2 or ((made != starts).any() and (made == starts).any()):
            raise NotApplicable(
                "several instructions make products, and not one all first ones and another one the rest"
            )
        return np.asarray(np.flatnonzero(starts), dtype=np.int64)

    def _roots(self, products: Column, before: Column) -> Column:
        """For each product, the first one that adds to the same sums."""
        made = (before >= 0) & self._is_product[np.maximum(before, 0)]
        chained = made[:, 0]
        if made[:, 1:].any() or (chained & (before[:, 1:] >= 0).any(axis=1)).any():
            raise NotApplicable("a product adds to the sums of several products")
        root = np.where(chained, np.searchsorted(products, before[:, 0]), np.arange(len(products)))
        while True:
            further = root[root]
            if (further == root).all():
                return np.asarray(root, dtype=np.int64)
            root = further

    def _loads(self, accesses: Column) -> list[Role]:
        """The loads that brought what products read, and what moved it on, by what they write and (`from`) read."""
        writers, _ = self._t.newest(accesses)
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
        if writers.shape[1] > 1:
            raise NotApplicable(f"several commands {self._name(writers)} move a tile on")
        return [*self._loads(read[1][:, 0]), Role(writers, {_FROM: read, "": written})]

    def _leaves_over(self, chain: Sequence[Role], product: Role) -> Rest:
        """The part of tiles that loads of short ones leave as it was, and the command after these reads."""
        reader = chain[1] if len(chain) > 1 else product
        read, written = next(iter(reader.rows.values())), next(iter(chain[0].rows.values()))
        brought, wanted = self._columns(chain[0], written[0]), self._columns(reader, read[0])
        if max(wanted, default=0) > min(brought, default=0):
            return Rest.ALL
        return Rest.ROWS if self._t.newest(read[1][:, 0])[1] else Rest.NONE

    def _columns(self, role: Role, touch: Touch) -> list[int]:
        """The columns that some commands read or write at a place, by form and region; none where data decide."""
        columns: list[int] = []
        for number in self._numbers(role.parts):
            known = self._c.forms[number].columns(touch.memory, touch.operand, touch.write)
            if known is None:
                return []
            columns += known
        return columns

    def _start(self, roots: Column, before: Column) -> Role | None:
        """The commands that results start from, by result, of which `roots` are the first products; None where products
        start them."""
        starts = before[roots]
        if (starts < 0).all():
            return None
        if (starts[:, 0] < 0).any():
            raise NotApplicable("some results are started by products, others are not")
        rows = {"result": self._one(starts, write=True)}
        if any(self._t.local(n, write=False) for n in self._numbers(starts)):
            read = self._one(starts, write=False)
            if not is_loaded(self._t, read[0]):
                raise NotApplicable(f"{self._name(starts)} starts a result from another one")
            rows[EXTRA] = read
        return Role(starts, rows)

    def _extra(self, roles: Sequence[Role]) -> Role | None:
        """The loads of what commands for each result read besides; None where they read nothing."""
        reading = [role.rows[EXTRA][1] for role in roles if EXTRA in role.rows]
        if not reading:
            return None
        if len(reading) > 1 or reading[0].shape[1] > 1 or (reading[0] < 0).any():
            raise NotApplicable("several commands for a result read what loads bring besides its operands")
        loads = self._t.writers(reading[0][:, 0])[:, None]
        return Role(loads, {EXTRA: self._one(loads, write=True)})

    # --- results

    def _results(self, products: Column, roots: Column) -> tuple[Role, tuple[Role, ...], Column]:
        """The stores; what is done to results before, from first to last; and the first product of each result."""
        at = np.sort(
            np.concatenate([self._c.of(n) for n in self._t.forms if self._t.dram(n, write=True)] or [self._c.form[:0]])
        )
        if not len(at):
            raise NotApplicable("nothing is stored")
        steps: list[tuple[Column, Column]] = []  # commands, and the store that each is for
        store = np.arange(len(at))
        while not self._is_product[at].all():
            if self._is_product[at].any() or len(steps) > 8:
                raise NotApplicable("results are stored in different ways")
            steps.append((at, store))
            parts = self._t.parts(self._one(at, write=False)[1])
            store, at = np.repeat(store, (parts >= 0).sum(axis=1)), parts[parts >= 0]
        root = np.full(int(store.max()) + 1, -1, dtype=np.int64)
        root[store] = roots[np.searchsorted(products, at)]
        if (root[store] != roots[np.searchsorted(products, at)]).any():
            raise NotApplicable("a store moves the results of several tiles out")
        _, first, result = np.unique(root, return_index=True, return_inverse=True)
        stored = root[np.sort(first)]
        number = np.argsort(np.argsort(first))[result]  # results in the order of their stores
        buffers: list[str] = ["result"]  # from the products on
        roles: list[Role] = []
        for commands, owner in reversed(steps):
            together = self._together(commands, number[owner], len(stored))
            read = self._one(together, write=False)
            rows = {buffers[-1]: read}
            if len(roles) < len(steps) - 1:
                written = self._one(together, write=True)
                same = self._same(read, written)
                buffers.append(buffers[-1] if same else f"relay{len(set(buffers)) - 1}")
                rows[buffers[-1]] = written
            if (besides := self._besides(together)) is not None:
                rows[EXTRA] = besides
            roles.append(Role(together, rows))
        return roles[-1], tuple(roles[:-1]), stored

    def _together(self, commands: Column, results: Column, count: int) -> Column:
        """The commands for each result, in the order of the local rows that they read."""
        pairs = np.unique(np.stack([results, self._t.first[self._one(commands, write=False)[1]], commands]), axis=1)
        return matrix(pairs[0], pairs[2], count)

    def _same(self, one: tuple[Touch, Column], other: tuple[Touch, Column]) -> bool:
        firsts = self._t.first[one[1][:, 0]], self._t.first[other[1][:, 0]]
        return one[0].memory == other[0].memory and bool((firsts[0] == firsts[1]).all())

    # --- of some commands, which may have several forms

    def _numbers(self, commands: Column) -> list[int]:
        return [int(n) for n in np.unique(self._c.form[commands[commands >= 0]])]

    def _name(self, commands: Column) -> str:
        return self._c.forms[self._numbers(commands)[0]].name

    def _one(self, commands: Column, *, write: bool) -> tuple[Touch, Column]:
        """The one place in local memory that each command (-1: none) reads or writes, and the accesses."""
        touches: dict[int, Touch] = {}
        for number in self._numbers(commands):
            places = self._t.local(number, write=write)
            besides = None if write else self._extra_of(number)
            places = tuple(touch for touch in places if touch is not besides)
            if len(places) != 1:
                raise NotApplicable(f"{self._c.forms[number].name} touches several places")
            touches[number] = places[0]
        return self._accesses(commands, touches)

    def _besides(self, commands: Column) -> tuple[Touch, Column] | None:
        """The place that each command on results reads besides these, and the accesses; None where none does."""
        touches = {number: self._extra_of(number) for number in self._numbers(commands)}
        known = {number: touch for number, touch in touches.items() if touch is not None}
        return self._accesses(commands, known) if len(known) == len(touches) else None

    def _extra_of(self, number: int) -> Touch | None:
        """The place that the commands of a form read besides results; None where they read one place alone."""
        if number not in self._extras:
            reads = () if number in self._products else self._t.local(number, write=False)
            self._extras[number] = extra_of_result(self._t, reads)
        return self._extras[number]

    def _accesses(self, commands: Column, touches: Mapping[int, Touch]) -> tuple[Touch, Column]:
        """The one place that commands of some forms (-1: none) access, and the accesses."""
        accesses = np.full(commands.shape, -1, dtype=np.int64)
        known: Touch | None = None
        for number, touch in touches.items():
            if known is not None and (known.memory, known.operand) != (touch.memory, touch.operand):
                raise NotApplicable("tiles of one kind lie in several memories")
            known = touch
            chosen = (commands >= 0) & (self._c.form[commands] == number)
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
        return self._pointer_of(role.parts)

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


def _chosen(rows: Mapping[str, tuple[Touch, Column]], entries: Column) -> Mapping[str, tuple[Touch, Column]]:
    return {buffer: (touch, accesses[entries]) for buffer, (touch, accesses) in rows.items()}


def _named(operand: str, chain: Sequence[Role]) -> tuple[Role, ...]:
    """The roles that bring an operand, with the buffers by name: the operand's, and those on the way to it."""
    names = [*(f"{operand}{number}" for number in range(len(chain) - 1)), operand]
    roles = []
    for number, role in enumerate(chain):
        rows = {names[number]: role.rows[""]}
        if _FROM in role.rows:
            rows = {names[number - 1]: role.rows[_FROM], **rows}
        roles.append(Role(role.parts, rows))
    return tuple(roles)

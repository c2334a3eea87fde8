"""Follows values through local memory: who wrote what a command reads, and what becomes of each result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

import numpy as np

from autocomp.targets.simulator.isa.derived.meaning import Side, Transfer
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Column, Commands
from autocomp.targets.simulator.transforms.scheduling.lifting.flow import (
    Added,
    Flow,
    Products,
    Stored,
    Tiles,
    tensors_of,
)
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form
from autocomp.targets.simulator.transforms.scheduling.lifting.homes import Homes
from autocomp.targets.simulator.transforms.scheduling.lifting.images import Image, PooledStores, images_of
from autocomp.targets.simulator.transforms.scheduling.lifting.moved import Move, changed, extent, row_axis
from autocomp.targets.simulator.transforms.scheduling.lifting.writes import BLOCKS, LocalWrites


def flow_of(commands: Commands) -> Flow:
    """The computation of commands. Raises NotApplicable for what is not made of loads, products and stores."""
    return _Tracer(commands).flow()


class _Tracer:
    def __init__(self, commands: Commands) -> None:
        self._c = commands
        self._local = LocalWrites(commands)

    # --- tiles of tensors

    def _loaded(
        self, commands: Column, memory: str, rows: Column, columns: int, axes: tuple[str, str]
    ) -> Iterator[tuple[Column, Tiles]]:
        """The tiles of tensors that lie in rows when commands read them, by tensor: which commands, and the tiles.
        `rows`: for each command, one after another."""
        lines = self._local.line(memory, rows)
        writer = self._local.writes.last(lines, commands[:, None] - 1)
        if (writer < 0).any():
            raise NotApplicable("a command reads rows that nothing has written")
        tensor = np.full(lines.shape, -1)
        byte = np.zeros(lines.shape, dtype=np.int64)
        element = np.zeros(lines.shape, dtype=np.int64)
        forms = self._c.form[writer]
        for number in np.unique(forms):
            move = self._local.loads.get(int(number))
            if move is None or move.dram is None or move.adds or move.function is not None:
                name = self._c.forms[number].name
                raise NotApplicable(f"an operand is not loaded as it is in a tensor, but made by {name}")
            chosen = forms == number
            tensor[chosen], byte[chosen] = self._source(move, writer[chosen], lines[chosen], columns)
            element[chosen] = move.element
        if (tensor != tensor[:, :1]).any() or (element != element[:, :1]).any():
            raise NotApplicable("an operand comes from several tensors")
        apart = byte[:, 1] - byte[:, 0] if lines.shape[1] > 1 else np.zeros(len(byte), dtype=np.int64)
        if (byte != byte[:, :1] + apart[:, None] * np.arange(lines.shape[1])).any():
            raise NotApplicable("the rows of an operand are not equally far apart in its tensor")
        for number in np.unique(tensor[:, 0]):
            chosen = np.flatnonzero(tensor[:, 0] == number)
            size = int(element[chosen[0], 0])
            mover = int(forms[chosen[0], 0])
            yield chosen, Tiles(int(number), byte[chosen, 0], apart[chosen], *axes, size, mover)

    def _source(self, move: Move, commands: Column, lines: Column, columns: int) -> tuple[Column, Column]:
        """The tensor and byte that loads of a form moved into rows."""
        assert move.dram is not None
        offset = lines - self._local.base[commands]
        block, row = np.divmod(offset, move.pitch) if move.blocks > 1 else (np.zeros_like(offset), offset)
        left = np.minimum(move.columns - block * move.width, move.width)
        if (left < columns).any():
            raise NotApplicable("a command reads more columns than were loaded")
        tensor, byte = self._c.place(commands, move.dram.memory)
        return tensor, byte + self._c.base(
            commands, move.form, move.dram.base
        ) + row * move.stride + block * move.width * move.element

    # --- results

    def flow(self) -> Flow:
        stored: list[Stored] = []
        owner: dict[int, tuple[Column, ...]] = {}  # by tensor: roots, byte of the first row, apart
        images = self._images()
        pooled = (pair for number, image in images.items() for pair in self._pooled(number, image))
        plain = (pair for n, move in self._local.stores.items() if not move.windows for pair in self._stored(n, move))
        for part, source in chain(plain, pooled):
            stored.append(part)
            before = owner.get(part.result.tensor)
            owner[part.result.tensor] = (
                source if before is None else tuple(map(np.concatenate, zip(before, source, strict=True)))
            )
        homes = Homes(owner)
        products = tuple(p for number in self._local.computes for p in self._products(number, homes))
        added = tuple(a for number in self._local.loads for a in self._added(number, homes))
        return Flow(self._c, products, added, tuple(stored), images)

    def _images(self) -> Mapping[int, Image]:
        """The images of results that stores pool, by numbers after those of all tensors."""
        stores: dict[int, list[PooledStores]] = {}
        for number, move in self._local.stores.items():
            if move.windows:
                commands = self._local.of[number]
                assert move.dram is not None
                tensor, byte = self._c.place(commands, move.dram.memory)
                byte = byte + self._c.base(commands, move.form, move.dram.base)
                row = self._local.line(move.local.memory, self._c.base(commands, move.form, move.local.base))
                for one in np.unique(tensor):
                    at = tensor == one
                    part = PooledStores(number, commands[at], byte[at], row[at], move.windows, move.columns, move.apart)
                    stores.setdefault(int(one), []).append(part)
        tensors = tensors_of(self._c)
        return dict(enumerate(images_of(tensors, stores), len(tensors)))

    def _pooled(self, tensor: int, image: Image) -> Iterator[tuple[Stored, tuple[Column, ...]]]:
        """The rows that stores pool, and where in their images these lie."""
        for part in image.stores:
            move = self._local.stores[part.form]
            rows, byte = image.rows(part)
            root = self._local.roots(np.repeat(part.commands, rows.shape[1]), rows.reshape(-1, 1))
            apart = np.full(len(root), image.tensor.strides[-2])
            home = byte.ravel() - (rows.ravel() - self._local.root_row(root)) * apart
            tiles = Tiles(tensor, byte[:, 0], apart[: len(byte)], move.row_axis, move.column_axis, 1, part.form)
            stored = Stored(part.form, part.commands, tiles, rows.shape[1], part.columns, move.function)
            yield stored, (root, home, apart, np.ones_like(apart))

    def _stored(self, number: int, move: Move) -> Iterator[tuple[Stored, tuple[Column, ...]]]:
        """The tiles that stores of a form move out, and where the results lie in tensors."""
        commands, form = self._local.of[number], self._c.forms[number]
        assert move.dram is not None
        base = self._c.base(commands, form, move.local.base)
        tensor, byte = self._c.place(commands, move.dram.memory)
        byte = byte + self._c.base(commands, form, move.dram.base)
        for block in range(move.blocks):
            lines = self._local.line(move.local.memory, base + block * move.pitch)[:, None] + np.arange(move.rows)
            root = self._local.roots(commands, lines)
            first = byte + block * move.width * move.element
            columns = min(move.width, move.columns - block * move.width)
            for one in np.unique(tensor):
                chosen = np.flatnonzero(tensor == one)
                apart = np.full(len(chosen), move.stride)
                tiles = Tiles(int(one), first[chosen], apart, move.row_axis, move.column_axis, move.element, number)
                offset = lines[chosen, 0] - self._local.root_row(root[chosen])
                home = first[chosen] - offset * move.stride
                yield (
                    Stored(number, commands[chosen], tiles, move.rows, columns, move.function),
                    (root[chosen], home, apart, np.full(len(chosen), move.element)),
                )

    def _products(self, number: int, homes: Homes) -> Iterator[Products]:
        commands, form, transfer = self._local.of[number], self._c.forms[number], self._local.computes[number]
        assert transfer.product is not None
        product = transfer.product
        for right_form, chosen, preloads in self._right(number, commands, product.right):
            here = commands[chosen]
            preload = self._c.forms[right_form].transfers if right_form >= 0 else ()
            extents = {axis: extent(form, transfer, axis) for axis in transfer.bounds}
            right = product.right
            if right_form >= 0:
                loaded = self._local.preloads[right_form]
                assert preload
                right, limits = _through(self._c.forms[right_form], loaded, product.right, form)
                extents = {axis: min(size, limits.get(axis, size)) for axis, size in extents.items()}
            rows_axis, step = row_axis(form, transfer.target)
            columns_axis = next(axis for axis in transfer.target.steps if axis != rows_axis)
            base = self._c.base(here, form, transfer.target.base)
            lines = self._local.line(transfer.target.memory, base)[:, None] + np.arange(extents[rows_axis]) * step
            roots = self._local.roots(here, lines)
            left_rows, left_axes, left_columns = self._rows_of(here, form, product.left, extents)
            at = preloads if right_form >= 0 else here
            right_rows, right_axes, right_columns = self._rows_of(
                at, self._c.forms[right_form] if right_form >= 0 else form, right, extents
            )
            offset = lines[:, 0] - self._local.root_row(roots)
            for left_part, left in self._loaded(here, product.left.memory, left_rows, left_columns, left_axes):
                for part, source in self._loaded(
                    at[left_part], right.memory, right_rows[left_part], right_columns, right_axes
                ):
                    both = left_part[part]
                    for some, result in homes.tiles(roots[both], offset[both], step, (rows_axis, columns_axis)):
                        yield Products(
                            number,
                            right_form,
                            here[both][some],
                            at[both][some],
                            _picked(_picked(left, part), some),
                            _picked(source, some),
                            result,
                            extents,
                            rows_axis,
                            columns_axis,
                            product.depth,
                            transfer.adds,
                        )

    def _right(self, number: int, commands: Column, right: Side) -> Iterator[tuple[int, Column, Column]]:
        """The commands that brought what products read from registers: the form of these, which products, and they."""
        if right.memory not in self._local.registers:
            yield -1, np.arange(len(commands)), np.full(len(commands), -1)
            return
        slot = self._c.forms[number].number(right.base)
        writes = np.zeros(len(self._c.forms), dtype=bool)
        for other, form in enumerate(self._c.forms):
            targets = [t.target for t in form.transfers if t.target.memory == right.memory]
            writes[other] = any(form.number(target.base) == slot for target in targets)
        last = np.maximum.accumulate(np.where(writes[self._c.form], np.arange(len(self._c)), -1))[commands]
        if (last < 0).any():
            raise NotApplicable("a product reads registers that nothing has written")
        for other in np.unique(self._c.form[last]):
            chosen = np.flatnonzero(self._c.form[last] == other)
            if int(other) not in self._local.preloads:
                raise NotApplicable("a product reads registers that hold zeros")
            yield int(other), chosen, last[chosen]

    def _rows_of(
        self, commands: Column, form: Form, side: Side, extents: Mapping[str, int]
    ) -> tuple[Column, tuple[str, str], int]:
        """The rows of an operand, its axes along rows and columns, and how many columns are read."""
        axis, step = row_axis(form, side)
        column = next(other for other in side.steps if other != axis)
        base = self._c.base(commands, form, side.base)
        return base[:, None] + np.arange(extents[axis]) * step, (axis, column), extents[column]

    def _added(self, number: int, homes: Homes) -> Iterator[Added]:
        move = self._local.loads[number]
        commands, form = self._local.of[number], self._c.forms[number]
        base = self._c.base(commands, form, move.local.base)
        for block in range(move.blocks):
            lines = self._local.line(move.local.memory, base + block * move.pitch)[:, None] + np.arange(move.rows)
            if not move.adds:
                root = commands * BLOCKS + block
            else:
                start = self._local.starts.last(lines, commands[:, None])
                if (start < 0).any():
                    raise NotApplicable("a move adds to rows that nothing has written")
                root = self._local.roots(commands, lines)
            known = homes.known(root)
            offset = lines[known, 0] - self._local.root_row(root[known])
            columns = min(move.width, move.columns - block * move.width)
            for some, result in homes.tiles(root[known], offset, 1, (move.row_axis, move.column_axis)):
                here = commands[known][some]
                if move.dram is None:
                    yield Added(number, here, None, result, move.rows, columns, not move.adds, None)
                    continue
                tensor, byte = self._c.place(here, move.dram.memory)
                byte = byte + self._c.base(here, form, move.dram.base) + block * move.width * move.element
                for one in np.unique(tensor):
                    part = np.flatnonzero(tensor == one)
                    apart = np.full(len(part), move.stride)
                    source = Tiles(int(one), byte[part], apart, move.row_axis, move.column_axis, move.element, number)
                    yield Added(
                        number,
                        here[part],
                        source,
                        _picked(result, part),
                        move.rows,
                        columns,
                        not move.adds,
                        move.function,
                    )


def _picked(tiles: Tiles, chosen: Column) -> Tiles:
    return replace(tiles, byte=tiles.byte[chosen], apart=tiles.apart[chosen])


def _through(preload: Form, loaded: Transfer, register: Side, form: Form) -> tuple[Side, Mapping[str, int]]:
    """The operand that a product reads from registers as the local memory that they were loaded from, with the
    product's axes, and how far along these it reaches."""
    source = loaded.moved[0]
    if changed(preload.evaluate(source.function)) is not None:
        raise NotApplicable(f"{preload.name} changes what it brings into the array")
    names: dict[str, str] = {}
    for axis, step in loaded.target.steps.items():
        alike = [a for a, other in register.steps.items() if other.columns == step.columns]
        if len(alike) != 1:
            raise NotApplicable(f"{form.name} reads registers in another way than {preload.name} writes them")
        names[axis] = alike[0]
    steps = {names[axis]: step for axis, step in source.source.steps.items()}
    limits = {names[axis]: extent(preload, loaded, axis) for axis in loaded.bounds}
    return Side(source.source.memory, source.source.base, steps), limits

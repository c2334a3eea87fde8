"""The commands that multiply a tile, whether they start a result or add to it, bring an operand or keep it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lowering.leaves import Part
from autocomp.targets.simulator.transforms.scheduling.lowering.moves import Moves
from autocomp.targets.simulator.transforms.scheduling.lowering.spelling import CallText, spellings
from autocomp.targets.simulator.transforms.scheduling.lowering.text import NOW, Lines, address, choice, merged


class Products(Moves):
    """Products of tiles that lie in local memory."""

    def inner_tile(self) -> dict[str, str]:
        """The coordinates, in its block, of the tile that the innermost loop is at."""
        tile = {d: d for d in self.inner}
        if self._rotated:
            tile[self._rotated] = f"{self._rotated}_tile"
        return tile

    def counters(self) -> dict[str, str]:
        """The counters of the loops over a block's tiles."""
        return {d: d for d in self.inner}

    def product_number(self, number: str, block: Mapping[str, int]) -> tuple[Lines, dict[str, str], int]:
        """The counters at a product of a block of some numbers of tiles, from its own number; and how many products
        there are."""
        lines: Lines = []
        inside = 1
        for dim in reversed(self.inner):
            lines.append(f"const int {dim}_{number} = {number} / {inside} % {block[dim]};")
            inside *= block[dim]
        return lines, {dim: f"{dim}_{number}" for dim in self.inner}, inside

    def tile_at(self, counters: Mapping[str, str], block: Mapping[str, int]) -> dict[str, str]:
        """The coordinates, in its block, of the tile that loops with these counters are at."""
        if not self._rotated:
            return dict(counters)
        count = block[self._rotated]
        return {**counters, self._rotated: f"({counters[self._rotated]} + {count - 1}) % {count}"}

    def completes(self, counters: Mapping[str, str], block: Mapping[str, int]) -> tuple[str, dict[str, str]]:
        """The condition on the loops' counters that a product of the last block completes the tiles of one move of
        results; and the counters of the first of these tiles."""
        column, width = self._side("result"), self._width("result")
        whole = {*self.computation.reduction, *self.computation.windows}
        tests = [f"{counters[d]} == {block[d] - 1}" for d in self.inner if d in whole]
        if width == 1 or column not in counters:
            return " && ".join(tests) or "1", dict(counters)
        at = counters[column]
        tests.append(f"({at} % {width} == {width - 1} || {at} == {block[column] - 1})")
        return " && ".join(tests), {**counters, column: f"{at} / {width} * {width}"}

    def first_use(self, operand: str, counters: Mapping[str, str]) -> str:
        """The condition on the loops' counters that a product of a step is the first one to use a move's tiles of an
        operand. Where all tiles come at once, it is the first one of all."""
        if self.comes_at_once(operand):
            return " && ".join(f"{counters[d]} == 0" for d in self.inner) or "1"
        column, width = self._side(operand), self._width(operand)
        tests = [f"{counters[d]} == 0" for d in self.inner if d not in self.grid.dims(operand)]
        if width > 1:
            tests.append(f"{counters[column]} % {width} == 0")
        for one, (other, steps) in self.grid.shared.items() if operand == "left" else ():
            if self.inner.index(one) < self.inner.index(other):
                tests.append(f"({counters[one]} < {steps} || {counters[other]} == {self.count(other, NOW)} - 1)")
            else:
                tests.append(f"({counters[other]} == 0 || {counters[one]} >= {self.count(one, NOW)} - {steps})")
        return " && ".join(tests) or "1"

    def _rotation(self, at: str) -> Lines:
        """The declaration of the tile of a loop whose last tile comes first."""
        dim = self._rotated
        count = self.count(dim, at) if dim else ""
        return [f"const int {dim}_tile = ({dim} + {count} - 1) % {count};"] if dim else []

    def _product(self, at: str, phases: Mapping[str, str]) -> Lines:
        """The product of one tile, inside the loops over a block's tiles."""
        computation = self.computation
        tile = self.inner_tile()
        lines: Lines = []
        extents = {word: self._extent(dim, tile.get(dim, "0"), at) for dim, word in self._words.items()}
        left = self._row("left", tile, at, phases["left"])
        right = self._row("right", tile, at, phases["right"])
        result = self._row("result", tile, at, phases["result"])
        if self._row_clips:
            lines += self._clipped_rows(tile, at)
            extents["row"], left, result = "rows", f"{left} + first", f"{result} + first"
        rows = {"left": left, "right": right, "result": result}
        first = [f"{self._tile(d, tile.get(d, '0'), at)} == 0" for d in computation.reduction if self.grid.tiles[d] > 1]
        starts = "0" if self.started else " && ".join(first) or "1"
        fresh = self._fresh()
        calls = self._variants(rows, extents, starts, fresh)
        inside = self._inside(tile, at)
        if fresh == "fresh":
            calls.append("fresh = 0;")
        return [*lines, *([f"if ({inside}) {{", *calls, "}"] if inside else calls)]

    @property
    def _stationary(self) -> tuple[str, ...]:
        """The innermost loops, in all of which the right operand stays in the array."""
        if self.schedule.kept and not self.leaves.keeps:
            raise NotApplicable("the machine keeps no operand in its array from one product to the next")
        return self.grid.stationary[::-1]

    @property
    def _rotated(self) -> str:
        """The loop whose last tile comes first."""
        row = self.computation.row
        ragged = self.computation.extents[row] % self.schedule.tile.get(row, 1) != 0
        return row if self.schedule.short_first and self._stationary[-1:] == (row,) and ragged else ""

    def _fresh(self) -> str:
        """The condition that the right operand is brought into the array."""
        if not self._stationary:
            return ""
        if self.computation.clipped:
            return "fresh"
        cores = self.schedule.cores
        return " && ".join(f"{d} < {cores[d]}" if d in cores else f"{d} == 0" for d in self._stationary)

    def _variants(self, rows: Mapping[str, str], extents: Mapping[str, str], starts: str, fresh: str) -> Lines:
        """The commands of a product, in the forms that start and add to a result, and bring or keep an operand."""
        product = self.leaves.product
        lines: Lines = []
        for number in range(len(product.adding or product.starting)):
            forms = [
                [None if not parts else self._spellings(parts[number], rows, extents) for parts in pair]
                for pair in ((product.starting, product.adding), (product.kept_starting, product.kept))
            ]
            brought = self._either(starts, forms[0])
            if fresh:
                lines += choice(fresh, brought, self._either(starts, forms[1]))
            else:
                lines.append(str(brought[0]))
        return lines

    def _either(self, starts: str, forms: Sequence[list[CallText] | None]) -> list[CallText]:
        """The form that starts or adds to a result, or one that does as its operands say, in all its spellings."""
        starting, adding = forms
        if starts in ("0", "1"):
            chosen = starting if starts == "1" else adding
            if chosen:
                return chosen
        elif starting and adding:
            choices = [c for a in starting for b in adding if (c := merged(starts, a, b)) is not None]
            if choices:
                return choices
        raise NotApplicable("the machine has no product that starts, or adds to, a result")

    def _spellings(self, part: Part, rows: Mapping[str, str], extents: Mapping[str, str]) -> list[CallText]:
        operands: dict[str, str | int | float] = dict(part.operands)
        for name, word in part.addresses.items():
            operands[name] = address(int(part.operands[name]), self.leaves.product.spaces[word], rows[word])
        for name, word in part.extents.items():
            operands[name] = extents[word]
        return list(spellings(self.leaves.accelerator, part.instruction, operands))

    def ordered(self, first: str, later: str) -> Lines:
        """Calls that make what loads, products or stores do from here on wait for what others of them did so far."""
        if "store" in (first, later) and not self._pooled_in_order:
            return [] if self.leaves.fence is None else [str(self.call(*self.leaves.fence))]
        product = self.leaves.product.adding or self.leaves.product.starting
        units = {
            "load": self.leaves.left.instruction.unit,
            "product": product[-1].instruction.unit,
            "store": self.leaves.store.instruction.unit,
        }
        return self._order.between(units[first], units[later])

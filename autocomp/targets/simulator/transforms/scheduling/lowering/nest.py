"""The loops of a scheduled contraction in which each panel is loaded before it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from autocomp.targets.simulator.transforms.scheduling.lowering.products import Products
from autocomp.targets.simulator.transforms.scheduling.lowering.text import NOW, Lines
from autocomp.targets.simulator.transforms.scheduling.schedule import OPERANDS


class Nest(Products):
    """Loops over the tiles of a block, and over blocks."""

    def _loops(self, dims: Sequence[str], at: str, inside: Lines) -> Lines:
        """Loops over the tiles of a block."""
        heads = [f"for (int {d} = 0; {d} < {self.count(d, at)}; {d}++) {{" for d in dims]
        return [*heads, *inside, *["}"] * len(heads)]

    def _over_moves(self, operand: str, at: str, inside: Lines) -> Lines:
        """Loops over all moves of an operand in a step; the coordinates are those of each move's first tile."""
        column, width = self._side(operand), self._width(operand)
        dims, _ = self._moves(operand, at)
        heads = []
        for d in dims:
            by = f"{d} += {width}" if d == column and width > 1 else f"{d}++"
            heads.append(f"for (int {d} = 0; {d} < {self.places(operand, d, at)}; {by}) {{")
        return [*heads, *inside, *["}"] * len(heads)]

    def all_loads(self, operand: str, at: str, phase: str) -> Lines:
        dims, _ = self._moves(operand, at)
        return self._over_moves(operand, at, self.load(operand, {d: d for d in dims}, at, phase))

    def all_starts(self, at: str, phase: str) -> Lines:
        dims = [d for d in self.tile_order("result") if self.grid.block[d] > 1]
        return self._loops(dims, at, self.start({d: d for d in dims}, at, phase)) if self.started else []

    def all_stores(self, at: str, phase: str) -> Lines:
        dims, _ = self._moves("result", at)
        return self._over_moves("result", at, self.store({d: d for d in dims}, at, phase))

    def products(self, at: str, phases: Mapping[str, str], before: Lines) -> Lines:
        """The loops over the products of a step; `before` precedes each product."""
        inside = [*self._rotation(at), *self.first_alone(at, phases), *before, *self._product(at, phases)]
        stationary = self._stationary
        if self._fresh() == "fresh":
            outside = [d for d in self.inner if d not in stationary]
            return self._loops(outside, at, ["int fresh = 1;", *self._loops(stationary, at, inside)])
        return self._loops(self.inner, at, inside)

    def plain(self) -> Lines:
        """Loops in which each panel is loaded before it is used, and results are stored when they are complete."""
        order, outer = self.grid.order, self.grid.outer
        levels = {operand: self.grid.level(operand) for operand in OPERANDS}
        zero = dict.fromkeys((*OPERANDS, "result"), "0")

        def panel(operand: str) -> Lines:
            """A whole panel: all its slots, one after another."""
            slots = self.grid.slots(operand)
            counts = {d: self.grid.blocks[d] for d in slots}
            if operand == "left":  # the first of the steps that share tiles brings those of all
                counts |= {d: 1 for d in self.grid.shared if self.grid.blocks[d] > 1}
            heads = [
                f"for (int {name} = 0; {name} < {count}; {name}++) {{"
                for name, count in ((self.block_name(d), count) for d, count in counts.items())
            ]
            sizes = [line for d in slots for line in self.sizes(d, NOW)]
            return [*heads, *sizes, *self.all_loads(operand, NOW, "0"), *["}"] * len(heads)]

        def level(number: int) -> Lines:
            lines = [line for operand in OPERANDS if levels[operand] == number for line in panel(operand)]
            begins = number == len(outer)
            if begins:
                lines = [*self.all_starts(NOW, "0"), *lines]
            loads = bool(lines)
            lines += self.ordered("load", "product") if loads else []
            if number == len(order):
                lines += self.products(NOW, zero, [])
            else:
                dim = order[number]
                name = self.block_name(dim)
                lines.append(f"for (int {name} = 0; {name} < {self.grid.blocks[dim]}; {name}++) {{")
                lines += [*self.sizes(dim, NOW), *level(number + 1), "}"]
            if loads and number:
                lines += self.ordered("product", "load")
            if begins:
                lines += [*self.ordered("product", "store"), *self.all_stores(NOW, "0")]
                lines += self.ordered("store", "load" if self.started else "product") if number else []
            return lines

        return level(0)

    def first_load(self, operand: str, tile: Mapping[str, str]) -> Lines:
        return self.all_loads(operand, NOW, "0") if self.comes_at_once(operand) else super().first_load(operand, tile)

    def first_alone(self, at: str, phases: Mapping[str, str]) -> Lines:
        """The loads in front of the first product that come before all others."""
        return []

    def conclusion(self) -> Lines:
        """Calls after all loops."""
        return []

    def phase(self, operand: str, step: str) -> str:
        """The number of the panel that an operand has in a step."""
        inside = self.grid.steps_of_result
        if operand != "result":
            inside = prod(self.grid.blocks[d] for d in self.grid.order[self.grid.level(operand) :])
        return f"({step}) / {inside}"

    def first_visit(self, operand: str, at: str) -> str:
        """The condition that a step is the first one to use its tiles of an operand's panel."""
        return " && ".join(f"{self.block_name(d)}{at} == 0" for d in self.grid.revisits(operand)) or "1"

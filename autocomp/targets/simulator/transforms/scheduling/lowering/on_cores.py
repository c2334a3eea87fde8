"""Loops of a scheduled contraction whose tiles several equal cores take in turn.

All loops, places and local rows are those of one core. Each command is issued for the core whose tile it is about; one
about a tile that all results along the shared dimension need is issued for every core.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, ClassVar

from autocomp.targets.simulator.transforms.scheduling.lowering.cores import on_core
from autocomp.targets.simulator.transforms.scheduling.lowering.nest import Nest
from autocomp.targets.simulator.transforms.scheduling.lowering.text import Lines
from autocomp.targets.simulator.transforms.scheduling.lowering.whole import WholeNest


class _OnCores(Nest):
    """A nest of loops for all cores; `_one` is that of one of them."""

    _one: ClassVar[type[Nest]]

    @cached_property
    def _all(self) -> Sequence[Any]:
        """The nests of the cores: this one's, with commands of their own."""
        nests: list[Any] = [self]
        for core in self.leaves.cores:
            nest = copy(self)
            nest.leaves = on_core(self.leaves, core, self.leaves.accelerator)
            nests.append(nest)
        return nests

    def _in_turn_by(self, operand: str, tile: Mapping[str, str], lines: Callable[[Any], Lines]) -> Lines:
        """The lines of the core that a tile of an operand is on, or of all."""
        (dim,) = self.schedule.cores
        each = [lines(nest) for nest in self._all]
        if dim not in self.grid.dims(operand):
            return [line for one in each for line in ("{", *one, "}")]
        *others, last = each
        for number, one in reversed([*enumerate(others)]):
            last = [f"if (({tile.get(dim, '0')}) % {len(each)} == {number}) {{", *one, "} else {", *last, "}"]
        return last

    def configuration(self) -> Lines:
        first, *others = (self._one.configuration(nest) for nest in self._all)
        return [*first, *(line for other in others if other != first for line in other)]

    def load(self, operand: str, tile: Mapping[str, str], at: str, phase: str) -> Lines:
        return self._in_turn_by(operand, tile, lambda nest: self._one.load(nest, operand, tile, at, phase))

    def start(self, tile: Mapping[str, str], at: str, phase: str) -> Lines:
        return self._in_turn_by("result", tile, lambda nest: self._one.start(nest, tile, at, phase))

    def store(self, tile: Mapping[str, str], at: str, phase: str) -> Lines:
        return self._in_turn_by("result", tile, lambda nest: self._one.store(nest, tile, at, phase))

    def _product(self, at: str, phases: Mapping[str, str]) -> Lines:
        return self._in_turn_by("result", self.inner_tile(), lambda nest: self._one._product(nest, at, phases))


class NestOnCores(_OnCores):
    """The loops over tiles that semantics explain."""

    _one = Nest


class WholeNestOnCores(_OnCores, WholeNest):
    """The loops over tiles that are taken whole."""

    _one = WholeNest

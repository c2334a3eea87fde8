"""The functions that take sizes at run time, and choose a fast kernel of exactly these, blocks, or that of any size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from autocomp.errors import ConfigError
from autocomp.export.any_size import AnySize, resized, sized, validated
from autocomp.export.blocks import Blocks, Call, cuts, worth
from autocomp.export.host import run_on_simulator
from autocomp.export.schedule import Schedule
from autocomp.schedules.arguments import bound
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.workload import TensorSpec

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Dispatch:
    """All kernels of a family. `fallback` is the kernel of any size, or the reason why it cannot be made."""

    schedules: tuple[Schedule, ...]
    fallback: AnySize | str
    blocks: tuple[Blocks, ...] = ()

    @property
    def family(self) -> str:
        return self.schedules[0].family

    def calls(self, dims: Mapping[str, int]) -> tuple[Call, ...]:
        """The calls for these sizes, each at least 1; none where no kernel has them."""
        for schedule in self.schedules:
            if schedule.dims == dims:
                return (Call(schedule, dims),)
        for blocks in self.blocks:
            if dims[blocks.dimension] >= blocks.least and blocks.others.items() <= dims.items():
                return tuple(blocks.calls(dims[blocks.dimension]))
        return () if isinstance(self.fallback, str) else (Call(None, dims),)

    def run(
        self,
        dims: Mapping[str, int],
        arrays: Arrays,
        values: Mapping[str, float],
        accelerator: Accelerator,
    ) -> dict[str, npt.NDArray[Any]]:
        """All tensors after the calls for these sizes ran on the simulator, with `values` of the arguments. Raises
        ConfigError where no kernel has the sizes."""
        calls = self.calls(dims)
        if not calls:
            raise ConfigError(f"{self.family} has no kernel for {dict(dims)}: {self.fallback}")
        memory = {name: array.copy() for name, array in arrays.items()}
        for call in calls:
            text, tensors = self._kernel(call, values, accelerator)
            parts = {
                tensor.name: memory[tensor.name][call.first : call.first + tensor.shape[0]]
                if tensor.name in call.cut
                else memory[tensor.name]
                for tensor in tensors
            }
            for name, array in run_on_simulator(text, self.family, tensors, {}, accelerator, parts).items():
                parts[name][...] = array
        return memory

    def _kernel(
        self, call: Call, values: Mapping[str, float], accelerator: Accelerator
    ) -> tuple[str, tuple[TensorSpec, ...]]:
        """The text of a call's kernel with the values of its arguments, and its tensors."""
        if call.schedule is not None:
            return bound(call.schedule.kernel, call.schedule.arguments, values), call.schedule.tensors
        assert isinstance(self.fallback, AnySize)  # `calls` has no such call without it
        workload = resized(self.fallback.workload, accelerator, call.dims, values)
        return sized(self.fallback, workload, values), workload.tensors


def dispatches(schedules: Sequence[Schedule], accelerator: Accelerator) -> tuple[Dispatch, ...]:
    """A dispatch for each operation with sizes. Raises ConfigError where kernels of one take different tensors."""
    return tuple(_dispatch(tuple(group), accelerator) for group in families(schedules).values())


def families(schedules: Sequence[Schedule]) -> dict[str, list[Schedule]]:
    """The schedules with sizes by the names of their dispatch functions."""
    groups: dict[str, list[Schedule]] = {}
    for schedule in schedules:
        if schedule.dims:
            first = groups.setdefault(schedule.family, [schedule])[0]
            if first is not schedule:
                groups[schedule.family].append(schedule)
            if _taken(first) != _taken(schedule):
                raise ConfigError(
                    f"{first.source} and {schedule.source} take different tensors, and both are {schedule.family}"
                )
    return groups


def _taken(schedule: Schedule) -> object:
    return list(schedule.dims), [(t.name, t.dtype, t.role) for t in schedule.tensors], list(schedule.arguments)


def _dispatch(group: tuple[Schedule, ...], accelerator: Accelerator) -> Dispatch:
    fallback = validated(group[0], accelerator)
    kept = (worth(blocks, fallback, accelerator) for cut in cuts(group, accelerator) for blocks in cut)
    return Dispatch(group, fallback, tuple(blocks for blocks in kept if blocks.blocks))

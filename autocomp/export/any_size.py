"""Kernels for the sizes and strides that no schedule was made for, which they take at run time.

It is as fast as a starting kernel, or as the vendor's own routine where the description names one. It is exported only
if it is right on the simulator, for sizes and strides drawn at random.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml

from autocomp import workload as workloads
from autocomp.errors import AutocompError
from autocomp.export.host import random_array, run_on_simulator
from autocomp.export.schedule import Schedule
from autocomp.schedules.arguments import c_float
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.start.any_size import NAME, gemm_of_any_size, strided
from autocomp.targets.simulator.start.idioms import c_type, signature
from autocomp.workload import TensorSpec, Workload, reference
from autocomp.workload.tolerance import outside

TRIALS = 3  # sizes for which a kernel must be right before it is exported
LARGEST = 40  # size that is drawn
MOST = 1 << 20  # size that a workload, and the exported function, may have


@dataclass(frozen=True)
class AnySize:
    """`kernel` has the parameters that `gemm_of_any_size` states; the sizes of `workload` do not matter."""

    family: str
    workload: Workload
    kernel: str
    arguments: tuple[str, ...]

    @property
    def function(self) -> str:
        return _function(self.family)

    @property
    def strided(self) -> tuple[str, ...]:
        """The names of the tensors whose rows may lie apart."""
        return tuple(tensor.name for tensor in strided(self.workload))

    @property
    def strides(self) -> dict[str, str]:
        """The strides of tensors without gaps, by the tensors' names."""
        options = self.workload.options
        columns = {"A": "I" if options["transpose_a"] else "K", "B": "K" if options["transpose_b"] else "J"}
        return {name: columns.get(name, "J") for name in self.strided}


@dataclass(frozen=True)
class Trial:
    """Tensors with gaps between rows, and what is right: `workload` has the sizes, `numbers` the sizes and strides in
    the order of the function's parameters, `values` the options of type float."""

    workload: Workload
    numbers: tuple[int, ...]
    values: tuple[float, ...]
    tensors: tuple[TensorSpec, ...]
    arrays: Mapping[str, npt.NDArray[Any]]

    def wrong(self, memory: Mapping[str, npt.NDArray[Any]]) -> int:
        """How many elements of memory are not what they must be, those between rows included."""
        inside = {t.name: memory[t.name][:, : t.shape[1]] for t in self.workload.tensors}
        given = {t.name: self.arrays[t.name][:, : t.shape[1]] for t in self.workload.tensors}
        expected = reference.compute(self.workload, given)
        bounds = reference.bounds(self.workload, given, expected)
        count = sum(int(outside(inside[n], expected[n], bounds.get(n)).sum()) for n in expected)
        for name, array in self.arrays.items():
            columns = inside[name].shape[1] if name in expected else 0
            count += int(np.count_nonzero(memory[name][:, columns:] != array[:, columns:]))
        return count


def fallbacks(schedules: Sequence[Schedule], accelerator: Accelerator) -> dict[str, AnySize | str]:
    """By family what its dispatch falls back on, or why there is nothing."""
    generator = np.random.default_rng()
    return {
        family: _validated(schedule, accelerator, generator)
        for family, schedule in sorted(_families(schedules).items())
    }


def exported(schedules: Sequence[Schedule], files: Container[str], accelerator: Accelerator) -> Iterator[AnySize]:
    """The kernels of any size among the files of an export."""
    for schedule in _families(schedules).values():
        if f"{_function(schedule.family)}.c" in files:
            yield _made(schedule, accelerator)


def _families(schedules: Sequence[Schedule]) -> dict[str, Schedule]:
    """The first schedule of each family that has sizes."""
    return {schedule.family: schedule for schedule in reversed(schedules) if schedule.dims}


def _function(family: str) -> str:
    return f"{family}_any"


def _validated(schedule: Schedule, accelerator: Accelerator, generator: np.random.Generator) -> AnySize | str:
    """The kernel for every size of a schedule's family, or why there is none."""
    if schedule.operation != "gemm":
        return f"kernels of any size are made for gemm alone, not for {schedule.operation}"
    if schedule.options.get("layout"):
        return "its operands are packed for one size"
    try:
        found = _made(schedule, accelerator)
        for _ in range(TRIALS):
            trial = draw(found, accelerator, generator)
            text = _bound(found, trial)
            if trial.wrong(run_on_simulator(text, found.function, trial.tensors, {}, accelerator, trial.arrays)):
                return f"the starting kernel of {accelerator.full_name} is not right for every size and stride"
    except AutocompError as error:
        return error.message
    return found


def _made(schedule: Schedule, accelerator: Accelerator) -> AnySize:
    """Raises ConfigError where the machine cannot be started on."""
    dims, arguments = dict.fromkeys("IJK", LARGEST), tuple(schedule.arguments)
    workload = _workload(schedule.tensors[0].dtype, schedule.options, accelerator, dims)
    return AnySize(schedule.family, workload, gemm_of_any_size(workload, accelerator, arguments), arguments)


def draw(kernel: AnySize, accelerator: Accelerator, generator: np.random.Generator) -> Trial:
    """Sizes, strides and values to try a kernel with."""
    dims = {name: int(generator.integers(1, LARGEST, endpoint=True)) for name in "IJK"}
    values = {name: float(np.float32(2.0 ** -generator.uniform(0, 9))) for name in kernel.arguments}
    options = {**kernel.workload.options, **values}
    workload = _workload(kernel.workload.tensors[0].dtype, options, accelerator, dims)
    gaps = {name: int(generator.integers(0, 8)) for name in kernel.strided}
    tensors = tuple(replace(t, shape=(t.shape[0], t.shape[1] + gaps.get(t.name, 0))) for t in workload.tensors)
    strides = [tensor.shape[1] for tensor in tensors if tensor.name in gaps]
    arrays = {tensor.name: random_array(tensor, generator) for tensor in tensors}
    return Trial(workload, (*dims.values(), *strides), tuple(values.values()), tensors, arrays)


def _workload(dtype: str, options: Mapping[str, Any], accelerator: Accelerator, dims: Mapping[str, int]) -> Workload:
    stated = {name: value for name, value in options.items() if value not in (None, {})}
    document = {"operation": "gemm", "accelerator": accelerator.full_name, "dims": dims, "dtype": dtype, **stated}
    return workloads.parse(yaml.safe_dump(document), Path("any size"), accelerator.parameters)


def _bound(kernel: AnySize, trial: Trial) -> str:
    """A kernel that calls the function with the trial's sizes."""
    pointers = [f"({c_type(t.dtype)} *){t.name}" for t in trial.tensors]
    arguments = [*pointers, *map(str, trial.numbers), *map(c_float, trial.values)]
    return f"{kernel.kernel}\n{signature(trial.tensors)} {{ {NAME}({', '.join(arguments)}); }}\n"

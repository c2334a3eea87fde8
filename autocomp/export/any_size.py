"""Kernels for the sizes and strides that no schedule was made for, which they take at run time.

Each is as fast as a starting kernel, or as the vendor's own routine where the description names one. It is exported
only if it is right on the simulator, for sizes and strides drawn at random.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml

from autocomp import workload as workloads
from autocomp.errors import AutocompError, ConfigError
from autocomp.export.host import cycles_on_simulator, random_array, run_on_simulator
from autocomp.export.schedule import Schedule
from autocomp.schedules.arguments import c_float
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.start.any_size import NAME, OPERATIONS, of_any_size, refused, strided, without_gaps
from autocomp.targets.simulator.start.idioms import c_type, signature
from autocomp.workload import TensorSpec, Workload, reference
from autocomp.workload.datatypes import array_type
from autocomp.workload.tolerance import outside

TRIALS = 3  # sizes for which a kernel must be right before it is exported
LARGEST = 40  # size that is drawn, with these exceptions
SMALLER = {"N": 2, "H": 20, "W": 20, "R": 5, "S": 5}
SQUARE = 0.5  # share of filters
DRAWS = 100  # of sizes, until one leaves a result
USUAL = "int8"  # the type of operands that a workload file leaves out
MOST = 1 << 20  # size that a workload, and the exported function, may have


@dataclass(frozen=True)
class AnySize:
    """`kernel` has the parameters that `of_any_size` states; the sizes of `workload` do not matter."""

    family: str
    workload: Workload
    kernel: str
    arguments: tuple[str, ...]

    @property
    def function(self) -> str:
        return f"{self.family}_any"

    @property
    def sizes(self) -> tuple[str, ...]:
        """The sizes that the exported function and the kernel take."""
        return tuple(self.workload.dims)

    @property
    def refused(self) -> tuple[str, ...]:
        """Conditions in C on the sizes under which the exported function computes nothing."""
        return refused(self.workload)

    @property
    def strided(self) -> tuple[str, ...]:
        """The names of the tensors whose rows may lie apart."""
        return tuple(tensor.name for tensor in strided(self.workload))

    @property
    def strides(self) -> dict[str, str]:
        """The strides of tensors without gaps, by the tensors' names."""
        return {name: size for name, size in without_gaps(self.workload).items() if name in self.strided}


@dataclass(frozen=True)
class Trial:
    """Tensors, with gaps between rows where these may lie apart, and what is right: `workload` has the sizes, `strides`
    and the options of type float, `values`, are in the order of the function's parameters."""

    workload: Workload
    strides: tuple[int, ...]
    values: tuple[float, ...]
    tensors: tuple[TensorSpec, ...]
    arrays: Mapping[str, npt.NDArray[Any]]

    def wrong(self, memory: Mapping[str, npt.NDArray[Any]]) -> int:
        """The number of wrong elements in memory, those between rows included."""
        inside = {t.name: memory[t.name][..., : t.shape[-1]] for t in self.workload.tensors}
        given = {t.name: self.arrays[t.name][..., : t.shape[-1]] for t in self.workload.tensors}
        expected = reference.compute(self.workload, given)
        bounds = reference.bounds(self.workload, given, expected)
        count = sum(int(outside(inside[n], expected[n], bounds.get(n)).sum()) for n in expected)
        for name, array in self.arrays.items():
            columns = inside[name].shape[-1] if name in expected else 0
            count += int(np.count_nonzero(memory[name][..., columns:] != array[..., columns:]))
        return count


def validated(schedule: Schedule, accelerator: Accelerator) -> AnySize | str:
    """The kernel for every size of a schedule's family, or the reason why it cannot be made."""
    if schedule.operation not in OPERATIONS:
        return f"kernels of any size are made for {' and '.join(OPERATIONS)}, not for {schedule.operation}"
    if schedule.options.get("layout"):
        return "its operands are packed for one size"
    generator = np.random.default_rng()
    try:
        routine = made(schedule, accelerator)
        for _ in range(TRIALS):
            trial = draw(routine, accelerator, generator)
            text = _calling(routine, trial.workload.dims, trial.tensors, trial.strides, trial.values)
            if trial.wrong(run_on_simulator(text, routine.function, trial.tensors, {}, accelerator, trial.arrays)):
                return f"the starting kernel of {accelerator.full_name} is not right for every size and stride"
    except AutocompError as error:
        return error.message
    return routine


def made(schedule: Schedule, accelerator: Accelerator) -> AnySize:
    """The kernel, not tried. Raises ConfigError where the machine cannot be started on."""
    arguments = tuple(schedule.arguments)
    workload = resized(schedule, accelerator, schedule.dims)
    return AnySize(schedule.family, workload, of_any_size(workload, accelerator, arguments), arguments)


def draw(kernel: AnySize, accelerator: Accelerator, generator: np.random.Generator) -> Trial:
    """Sizes, strides and values to try a kernel with."""
    values = drawn_values(kernel.arguments, generator)
    drawn = (_drawn(kernel.workload, values, accelerator, generator) for _ in range(DRAWS))
    workload = next((drawing for drawing in drawn if drawing is not None), None)
    if workload is None:
        raise ConfigError(f"none of {DRAWS} sets of sizes drawn for {kernel.function} has a result")
    gaps = {name: int(generator.integers(0, 8)) for name in kernel.strided}
    return trial_of(workload, values, generator, gaps)


def drawn_values(arguments: Iterable[str], generator: np.random.Generator) -> dict[str, float]:
    """Values of arguments to try a kernel with."""
    return {name: float(np.float32(2.0 ** -generator.uniform(0, 9))) for name in arguments}


def trial_of(
    workload: Workload,
    values: Mapping[str, float],
    generator: np.random.Generator,
    gaps: Mapping[str, int] = MappingProxyType({}),
) -> Trial:
    """Random tensors of a workload, with `gaps` elements between the rows of those that may have them."""
    tensors = tuple(replace(t, shape=(*t.shape[:-1], t.shape[-1] + gaps.get(t.name, 0))) for t in workload.tensors)
    apart = [tensor.name for tensor in strided(workload)]
    strides = tuple(tensor.shape[-1] for tensor in tensors if tensor.name in apart)
    arrays = {tensor.name: random_array(tensor, generator) for tensor in tensors}
    return Trial(workload, strides, tuple(values.values()), tensors, arrays)


def any_size_cycles(kernel: AnySize, dims: Mapping[str, int], accelerator: Accelerator) -> int:
    """Cycles of the kernel on the simulator for these sizes, with tensors without gaps."""
    workload = resized(kernel.workload, accelerator, dims)
    text = sized(kernel, workload, {name: workload.options[name] for name in kernel.arguments})
    arrays = {tensor.name: np.zeros(tensor.shape, array_type(tensor.dtype)) for tensor in workload.tensors}
    return cycles_on_simulator(text, kernel.function, workload.tensors, accelerator, arrays)


def _drawn(
    workload: Workload, values: Mapping[str, float], accelerator: Accelerator, generator: np.random.Generator
) -> Workload | None:
    """The workload with other sizes; None where these leave no result."""
    dims = {name: int(generator.integers(1, SMALLER.get(name, LARGEST), endpoint=True)) for name in workload.dims}
    if workload.operation == "conv2d":
        groups = workload.options["groups"]
        dims |= {name: groups * -(-dims[name] // groups) for name in "CK"}
        # Groups are computed one after the other: with many of them, a large image needs millions of commands.
        most = max(SMALLER["R"], round(SMALLER["H"] * (LARGEST / max(LARGEST, dims["C"], dims["K"])) ** 0.5))
        dims |= {name: (dims[name] - 1) % most + 1 for name in "HW"}
        if workload.options["pool"] is not None or generator.random() < SQUARE:
            dims["S"] = dims["R"]
    try:
        return resized(workload, accelerator, dims, values)
    except ConfigError:
        return None


def resized(
    like: Schedule | Workload,
    accelerator: Accelerator,
    dims: Mapping[str, int],
    values: Mapping[str, float] = MappingProxyType({}),
) -> Workload:
    """The workload with other sizes and values of arguments. Raises ConfigError where these leave no result."""
    options = {**like.options, **values}
    stated = {name: value for name, value in options.items() if value not in (None, {})}
    if like.tensors[0].dtype != USUAL:
        stated["dtype"] = like.tensors[0].dtype
    document = {"operation": like.operation, "accelerator": accelerator.full_name, "dims": dict(dims), **stated}
    return workloads.parse(yaml.safe_dump(document), Path("any size"), accelerator.parameters)


def sized(kernel: AnySize, workload: Workload, values: Mapping[str, float]) -> str:
    """A kernel of these sizes, of tensors without gaps: it calls that of any size."""
    strides = [tensor.shape[-1] for tensor in strided(workload)]
    return _calling(kernel, workload.dims, workload.tensors, strides, [values[name] for name in kernel.arguments])


def _calling(
    kernel: AnySize,
    dims: Mapping[str, int],
    tensors: tuple[TensorSpec, ...],
    strides: Sequence[int],
    values: Sequence[float],
) -> str:
    pointers = [f"({c_type(t.dtype)} *){t.name}" for t in tensors]
    numbers = [*(dims[name] for name in kernel.sizes), *strides]
    arguments = [*pointers, *map(str, numbers), *map(c_float, values)]
    return f"{kernel.kernel}\n{signature(tensors)} {{ {NAME}({', '.join(arguments)}); }}\n"

"""The model of a workload: tensors, the reference result, inputs to try, and the work it takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy.typing as npt

from autocomp.workload.datatypes import data_type

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class TensorSpec:
    """A tensor parameter of the kernel, in the order of the kernel's signature. `dtype` is the name of a
    data type."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    role: Literal["input", "output", "inout"]

    @property
    def bytes(self) -> int:
        return data_type(self.dtype).bytes(math.prod(self.shape))


@dataclass(frozen=True)
class InputSet:
    """One named set of inputs: `kind` is the distribution, `seed` makes it repeatable."""

    name: str
    kind: str  # as `inputs.make_inputs` lists them
    seed: int


Host = Literal["control", "compute", "data_dependent"]


@dataclass(frozen=True)
class Tolerance:
    """The error allowed in a result of a custom operation: see `tolerance.of_custom`. `magnitude` names a function
    beside the reference that gives the sum of the magnitudes of the terms of each result."""

    relative: float = 0.0
    absolute: float = 0.0
    roundings: int = 0
    magnitude: str | None = None


@dataclass(frozen=True)
class Workload:
    """A tensor operation with fixed shapes. Picklable; the reference is a NumPy definition or the user's function.

    `dims` names the sizes (gemm: I, J, K; conv2d: N, H, W, C, K, R, S); `options` the rest of the operation (bias,
    scale, activation, transposes, strides …).
    `constants` are the symbolic names a kernel may use. `tolerance` is what a custom operation states.
    `host` says what a kernel's own code may do. With "control" these are control flow, addresses and configuration,
    none of which depends on data. With "compute" it also reads and writes elements of tensors, and its time counts.
    With "data_dependent" data also decide which commands it issues.
    `text` is that of the workload's file and `files` those of the files that it names, by their keys there, so that a
    workload can be read again wherever it is. The user's function runs only if it is `trusted`.
    """

    name: str
    operation: str  # gemm, conv2d or custom
    target: str  # the machine that kernels are for, as KIND:MACHINE; empty where the file names none
    overrides: Mapping[str, int | float]  # parameters of the machine (`--set`)
    tensors: tuple[TensorSpec, ...]
    dims: Mapping[str, int]
    options: Mapping[str, Any]
    constants: Mapping[str, int]
    tolerance: Tolerance | None
    multiply_accumulates: int
    starting_kernel: str | None  # the user's own kernel text, or None for the generated naive one
    reference_source: str | None = None  # "file.py:function" for custom operations
    path: str = ""
    digest: str = ""
    unused_bytes: int = 0  # of the inputs, which no result depends on
    host: Host = "control"
    text: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    trusted: bool = True

    @cached_property
    def problem(self) -> str:
        """The part of the workload that kernels see, as text: equal for one problem in different files."""
        named = (self.dims, self.options, self.constants)
        sizes = (self.multiply_accumulates, self.unused_bytes)
        return repr((self.operation, self.host, self.tensors, *(sorted(each.items()) for each in named), *sizes))

    @property
    def reference_text(self) -> str | None:
        """The Python file of the user's own function; None without one."""
        if self.reference_source is None:
            return None
        return self.files.get("reference") or Path(self.reference_source.rsplit(":", 1)[0]).read_text(encoding="utf-8")

    @property
    def accelerator(self) -> str:
        """The machine's name, without the kind of target."""
        return self.target.partition(":")[2]

    @property
    def exact(self) -> bool:
        """True if results must equal the reference."""
        return self.tolerance is None and not any(data_type(t.dtype).is_float for t in self.outputs)

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return tuple(t for t in self.tensors if t.role != "output")

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return tuple(t for t in self.tensors if t.role != "input")

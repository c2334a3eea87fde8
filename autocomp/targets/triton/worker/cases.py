"""The inputs that a kernel is judged on: sizes, data types and kinds of values. Pure: a function of the workload."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from autocomp.targets.triton.worker.kinds import IN_PLACE_OF, VALUES, Kind
from autocomp.workload.datatypes import data_type
from autocomp.workload.tensor import Operand, Operation, operation

INFINITE = ("softmax",)  # operations of which an input may hold -inf
INTERPRETED = 1 << 16  # elements of a tensor that Triton's interpreter gets through in about a second


@dataclass(frozen=True)
class Task:
    """A computation: an operation at its own sizes and data type, and others at which it must be right too."""

    operation: str
    dims: Mapping[str, int]
    dtype: str
    options: Mapping[str, Any] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ()
    sizes: tuple[Mapping[str, int], ...] = ()
    custom: str = ""  # of a user's own operation: its tensors and its reference, as JSON
    host: str = "control"  # "compute" where the kernel's host may call PyTorch's operators on elements

    @property
    def host_computes(self) -> bool:
        return self.host == "compute"

    @property
    def definition(self) -> Operation:
        if not self.custom:
            return operation(self.operation)
        from autocomp.targets.triton.worker.custom import custom_operation

        return custom_operation(self.custom)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Task:
        """The task of a message."""
        custom = document.get("custom")
        options = {} if custom else operation(document["operation"]).with_defaults(document.get("options", {}))
        return cls(
            document["operation"],
            dict(document["dims"]),
            document["dtype"],
            options,
            tuple(document.get("dtypes", ())),
            tuple(dict(size) for size in document.get("sizes", ())),
            json.dumps(custom, sort_keys=True) if custom else "",
            document.get("host", "control"),
        )


@dataclass(frozen=True)
class Case:
    """One judgement: sizes, data type and kind of values."""

    dims: Mapping[str, int]
    dtype: str
    kind: Kind

    def describe(self) -> str:
        sizes = "".join(f", {name} {extent}" for name, extent in self.dims.items())
        return f"{self.kind} inputs in {self.dtype}{sizes}"


def operands(task: Task, case: Case) -> tuple[Operand, ...]:
    return task.definition.operands(case.dims, case.dtype, task.options)


def smoke_cases(task: Task, interpreted: bool) -> tuple[Case, ...]:
    """The workload's own size, and a small one that no tile divides. An interpreter gets the small one alone where the
    own size would take it minutes."""
    dtype = judged_dtype(task.dtype, interpreted)
    small = Case(edge_sizes(task)[0], dtype, "random")
    own = Case(task.dims, dtype, "random")
    if small == own:
        return (own,)
    return (small,) if interpreted and not fits_interpreter(task, own) else (small, own)


def size_cases(task: Task, interpreted: bool) -> tuple[Case, ...]:
    """Each data type at each of the edge sizes, and at the sizes that the workload adds; the smoke stage had some."""
    dtypes = dict.fromkeys(judged_dtype(dtype, interpreted) for dtype in task.dtypes or (task.dtype,))
    cases = [Case(size, dtype, "random") for dtype in dtypes for size in (*edge_sizes(task), *task.sizes)]
    had = smoke_cases(task, interpreted)
    return tuple(case for case in cases if case not in had and (not interpreted or fits_interpreter(task, case)))


def value_cases(task: Task, interpreted: bool) -> tuple[Case, ...]:
    """Each kind of values at an edge size; and at the own size numbers around a centre, where sums are long."""
    dtype = judged_dtype(task.dtype, interpreted)
    if task.custom:
        from autocomp.targets.triton.worker.custom import custom_operation

        return tuple(Case(task.dims, dtype, kind) for kind in custom_operation(task.custom).kinds)
    kinds = (*VALUES, "infinite") if task.operation in INFINITE else VALUES
    sizes = [s for s in edge_sizes(task) if not interpreted or fits_interpreter(task, Case(s, dtype, "zeros"))]
    cases = [Case(sizes[-1], dtype, kind) for kind in kinds if sizes]
    own = Case(task.dims, dtype, "centred")
    return tuple(cases) if interpreted and not fits_interpreter(task, own) else (*cases, own)


def judged_dtype(dtype: str, interpreted: bool) -> str:
    """The data type that a case is judged in: an interpreter replaces some types by others."""
    return IN_PLACE_OF.get(dtype, dtype) if interpreted else dtype


def edge_sizes(task: Task) -> tuple[Mapping[str, int], ...]:
    return task.definition.edges(task.dims, task.options)


def fits_interpreter(task: Task, case: Case) -> bool:
    return all(_elements(operand) <= INTERPRETED for operand in operands(task, case))


def bytes_of(task: Task, case: Case) -> tuple[int, int]:
    """Bytes of the inputs and of the outputs."""
    sizes = {"input": 0, "output": 0}
    for operand in operands(task, case):
        sizes[operand.role] += data_type(operand.dtype).bytes(_elements(operand))
    return sizes["input"], sizes["output"]


def _elements(operand: Operand) -> int:
    count = 1
    for extent in operand.shape:
        count *= extent
    return count

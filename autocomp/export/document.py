"""What an export holds, as JSON for compilers. docs/reference/export.schema.json is made from these models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from autocomp.export.schedule import Schedule
from autocomp.export.source import DISPATCH, HEADER, dispatch_name
from autocomp.schedules.record import Tensor
from autocomp.targets.simulator.isa.model import Accelerator


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Machine(_Part):
    """The accelerator, as in `name` or `name:configuration`; `digest` is that of its description with the parameters
    applied."""

    name: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*(:[A-Za-z0-9_]+)?$")
    parameters: dict[str, int | float]
    digest: str


class Kernel(_Part):
    """A C function for one size of one operation. The function `dispatch` chooses among sizes: its first arguments are
    those of `dims` in this order."""

    function: str
    file: str
    dispatch: str | None
    operation: str
    dims: dict[str, int]
    options: dict[str, Any]
    tensors: tuple[Tensor, ...]
    cycles: int = Field(gt=0, description="on the simulator")
    bound_cycles: int = Field(description="no kernel takes fewer")


class Export(_Part):
    """The C files of an export and what is in them."""

    version: Literal[1] = 1
    accelerator: Machine
    vendor_header: str
    header: str
    dispatch: str
    kernels: tuple[Kernel, ...]


def document(schedules: Sequence[Schedule], accelerator: Accelerator, vendor_header: str) -> Export:
    """What `export.json` holds."""
    return Export(
        accelerator=Machine(
            name=accelerator.full_name, parameters=dict(accelerator.parameters), digest=accelerator.digest
        ),
        vendor_header=vendor_header,
        header=HEADER,
        dispatch=DISPATCH,
        kernels=tuple(
            Kernel(
                function=s.function,
                file=f"{s.function}.c",
                dispatch=dispatch_name(s),
                operation=s.operation,
                dims=dict(s.dims),
                options=dict(s.options),
                tensors=tuple(Tensor(name=t.name, dtype=t.dtype, shape=t.shape, role=t.role) for t in s.tensors),
                cycles=s.cycles,
                bound_cycles=s.bound_cycles,
            )
            for s in schedules
        ),
    )

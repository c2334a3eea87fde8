"""The content of an export, as JSON for compilers. docs/reference/export.schema.json is made from these models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from autocomp.export import blocks as exported_blocks
from autocomp.export.any_size import AnySize
from autocomp.export.dispatch import Dispatch
from autocomp.export.quantised import SOURCE, layers
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
    arguments: tuple[str, ...] = Field((), description="options that follow the tensors, each as a float")
    cycles: int = Field(gt=0, description="on the simulator")
    bound_cycles: int = Field(description="no kernel takes fewer")


class Fallback(_Part):
    """For other sizes a dispatch function calls `function`. Its arguments are the sizes, then the tensors, of which
    those in `strided` are each followed by the elements from row to row, then `arguments`. Without a function it
    returns -1, for this `reason`."""

    function: str | None
    file: str | None
    strided: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    reason: str | None = None


class Block(_Part):
    """A kernel for `size` of the dimension that is cut, called while at least `least` and less than `limit` is left.
    Where `least` is below its size it computes the last `size`, if the whole is as large."""

    function: str
    size: int
    least: int
    limit: int | None = None


class Blocks(_Part):
    """For the sizes `others`, and at least the least `size` in `blocks` of the dimension `cut`, a dispatch function
    calls the first of `blocks` that may be, until nothing is left or none may be. The fallback computes the rest."""

    dispatch: str
    cut: str
    others: dict[str, int]
    blocks: tuple[Block, ...]


class Quantised(_Part):
    """A function for whole quantised layers. It takes what the dispatch function does without the scale, then int8
    results if the kernels leave `sums`, then a pointer to `struct autocomp_quantisation`."""

    function: str
    file: str
    sums: bool


class Export(_Part):
    """The C files of an export and what is in them."""

    version: Literal[1] = 1
    accelerator: Machine
    vendor_header: str
    header: str
    dispatch: str
    kernels: tuple[Kernel, ...]
    fallbacks: dict[str, Fallback] = Field({}, description="by dispatch function")
    quantised: dict[str, Quantised] = Field({}, description="functions for whole layers, by dispatch function")
    families: tuple[Blocks, ...] = Field((), description="kernels that differ in one size")


def document(
    schedules: Sequence[Schedule], operations: Sequence[Dispatch], accelerator: Accelerator, vendor_header: str
) -> Export:
    """The content of `export.json`."""
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
                arguments=tuple(s.arguments),
                cycles=s.cycles,
                bound_cycles=s.bound_cycles,
            )
            for s in schedules
        ),
        fallbacks={operation.family: _fallback(operation.fallback) for operation in operations},
        quantised={
            layer.first.family: Quantised(function=layer.function, file=SOURCE, sums=layer.sums)
            for layer in layers(schedules)
        },
        families=tuple(_blocks(operation.family, blocks) for operation in operations for blocks in operation.blocks),
    )


def _blocks(family: str, blocks: exported_blocks.Blocks) -> Blocks:
    parts = tuple(
        Block(
            function=block.schedule.function,
            size=block.size,
            least=block.least,
            limit=int(block.limit) if block.limit < math.inf else None,
        )
        for block in blocks.blocks
    )
    return Blocks(dispatch=family, cut=blocks.dimension, others=blocks.others, blocks=parts)


def _fallback(fallback: AnySize | str) -> Fallback:
    if isinstance(fallback, str):
        return Fallback(function=None, file=None, reason=fallback)
    return Fallback(
        function=fallback.function,
        file=f"{fallback.function}.c",
        strided=fallback.strided,
        arguments=fallback.arguments,
    )

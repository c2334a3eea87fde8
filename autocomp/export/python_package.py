"""Export of GPU kernels: a Python package with a module a kernel, and a function an operation that chooses among them.

The package needs PyTorch and Triton and nothing of this program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from autocomp.errors import ConfigError
from autocomp.workload.tensor import OPERATIONS

if TYPE_CHECKING:
    from autocomp.schedules.record import ScheduleRecord

GPU = "triton"  # the kind of target whose kernels are Python
JUDGED = ("dtype", "dtypes", "sizes")  # options that say what a kernel was judged at, not what it computes
IN_TORCH = {"float8_e4m3": "float8_e4m3fn"}  # where PyTorch has another name
_CHOICE = '''\
"""Chooses a kernel by data types, device and sizes."""

import importlib
import math
import re


def run(package, kernels, tensors):
    """Run the kernel that suits these tensors best: of those judged with their data types one for this device, and of
    these the one measured at the nearest sizes. Raises TypeError where none was judged with such tensors, and
    ValueError where a tensor is not contiguous."""
    given = tuple(str(tensor.dtype).removeprefix("torch.") for tensor in tensors)
    shapes = [tuple(tensor.shape) for tensor in tensors]
    fitting = [
        kernel
        for kernel in kernels
        if given in kernel["dtypes"] and [len(s) for s in shapes] == [len(s) for s in kernel["shapes"]]
    ]
    if not fitting:
        known = "; ".join(sorted({", ".join(dtypes) for kernel in kernels for dtypes in kernel["dtypes"]}))
        raise TypeError(f"no kernel was judged with tensors of {', '.join(given)}; known: {known}")
    if not all(tensor.is_contiguous() for tensor in tensors):
        raise ValueError("the kernels expect contiguous tensors: call .contiguous() first")
    device = device_of(tensors[0])
    chosen = min(fitting, key=lambda kernel: (kernel["device"] != device, distance(kernel["shapes"], shapes)))
    if chosen["descriptors"]:
        _give_memory(tensors[0].device)
    importlib.import_module("." + chosen["module"], package).solution(*tensors)


def device_of(tensor):
    """The name of a tensor's device, as the table has it."""
    if tensor.device.type != "cuda":
        return tensor.device.type
    import torch

    return re.sub(r"[^a-z0-9]+", "-", torch.cuda.get_device_name(tensor.device).lower()).strip("-")


def distance(shapes, others):
    """How far sizes are apart: 0 for equal ones."""
    pairs = [pair for shape, other in zip(shapes, others) for pair in zip(shape, other)]
    return sum(abs(math.log(max(a, 1) / max(b, 1))) for a, b in pairs)


def _give_memory(device):
    """Kernels that make descriptors themselves need memory for them."""
    import torch
    import triton

    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=device))
'''
_OPERATION = '''\
"""{doc}: {count}, chosen by device and sizes."""

from ._choice import run

KERNELS = (
{rows})


def {name}({arguments}):
    """Write {outputs} from {inputs}: contiguous tensors on one device."""
    run(__package__, KERNELS, ({arguments},))
'''


def package_files(records: Sequence[ScheduleRecord]) -> dict[str, str]:
    """The files of a package by name. Raises ConfigError for a record that is not of a GPU kernel, and for two kernels
    of one operation that take other tensors."""
    functions: dict[str, list[ScheduleRecord]] = {}
    for record in records:
        if record.target.kind != GPU:
            raise ConfigError(
                f"{record.file_name} is for {record.target.spec}, not for a GPU",
                hint="export the two kinds of kernels into folders of their own",
            )
        functions.setdefault(function_name(record), []).append(record)
    files = {"_choice.py": _CHOICE}
    for name, group in functions.items():
        files |= {f"{module_name(record)}.py": record.kernel for record in group}
        files[f"{name}.py"] = _operation(name, group)
    names = sorted(functions)
    imports = "".join(f"from .{name} import {name}\n" for name in names)
    listed = ", ".join(repr(name) for name in names)
    files["__init__.py"] = f'"""Kernels for GPUs, by operation."""\n\n{imports}\n__all__ = [{listed}]\n'
    return files


def function_name(record: ScheduleRecord) -> str:
    """The operation, with those options that are not the usual ones."""
    operation = record.operation
    known = OPERATIONS.get(operation.name)
    usual = known.with_defaults({}) if known else {}
    options = {k: v for k, v in operation.options.items() if k not in JUDGED and v != usual.get(k)}
    return _word("_".join([operation.name, *(f"{key}_{value}" for key, value in sorted(options.items()))]))


def module_name(record: ScheduleRecord) -> str:
    sizes = "_".join(f"{name}{size}" for name, size in record.operation.dims.items())
    return _word(f"{function_name(record)}_{sizes}_{record.target.name}_{record.identity[:8]}")


def _operation(name: str, group: Sequence[ScheduleRecord]) -> str:
    tensors = group[0].operation.tensors
    names = [tensor.name for tensor in tensors]
    for record in group:
        if [tensor.name for tensor in record.operation.tensors] != names:
            raise ConfigError(f"{record.file_name} has other tensors than {group[0].file_name}")
    known = OPERATIONS.get(group[0].operation.name)
    return _OPERATION.format(
        name=name,
        doc=known.doc[:1].upper() + known.doc[1:] if known else name,
        count=f"{len(group)} kernel{'s' if len(group) > 1 else ''}",
        rows="".join(f"    {_row(record)!r},\n" for record in group),
        arguments=", ".join(names),
        inputs=", ".join(tensor.name for tensor in tensors if tensor.role == "input"),
        outputs=", ".join(tensor.name for tensor in tensors if tensor.role != "input"),
    )


def _row(record: ScheduleRecord) -> Mapping[str, Any]:
    operation = record.operation
    own = str(operation.options.get("dtype", ""))
    listed = operation.options.get("dtypes") or [own]
    alike = [str(dtype) for dtype in listed] if isinstance(listed, list) else [own]
    return {
        "module": module_name(record),
        "device": record.target.name,
        "shapes": [tensor.shape for tensor in operation.tensors],
        "dtypes": [
            tuple(_in_torch(other if tensor.dtype == own else tensor.dtype) for tensor in operation.tensors)
            for other in dict.fromkeys([own, *alike])
        ],
        "us": round(float(record.result.value), 2),
        "descriptors": "make_tensor_descriptor" in record.kernel,
    }


def _in_torch(dtype: str) -> str:
    return IN_TORCH.get(dtype, dtype)


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", text)

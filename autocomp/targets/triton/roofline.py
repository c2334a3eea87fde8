"""Bounds from what a device was measured to reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autocomp.targets.evaluation import Bound
from autocomp.workload.datatypes import data_type
from autocomp.workload.model import Workload
from autocomp.workload.tensor import OPERATIONS
from autocomp.workload.tensor.operation import Work


@dataclass(frozen=True)
class Peaks:
    """The peak rates of a device: bytes a second of a copy, operations a second of products by data type."""

    bandwidth: float
    products: Mapping[str, float] = field(default_factory=dict)
    launch_us: float = 0.0


def traffic(workload: Workload) -> tuple[int, int]:
    """Bytes of the inputs, each read once, and of the outputs, each written once."""
    sizes = {"input": 0, "output": 0}
    for tensor in workload.tensors:
        elements = 1
        for extent in tensor.shape:
            elements *= extent
        sizes["input" if tensor.role == "input" else "output"] += data_type(tensor.dtype).bytes(elements)
    return sizes["input"], sizes["output"]


def bound_of(workload: Workload, peaks: Peaks | None) -> Bound | None:
    """The time in microseconds that no kernel beats: the traffic at the measured bandwidth, or the products at the
    measured peak of their data type. None where nothing was measured."""
    if peaks is None or workload.operation not in OPERATIONS:
        return None
    work = _work(workload)
    return bound_from(sum(traffic(workload)), work.tensor, peaks.products.get(work.multiplied), peaks)


def products_of(workload: Workload) -> int:
    """The operations in products of matrices that a workload needs; 0 where that is not known."""
    return _work(workload).tensor if workload.operation in OPERATIONS else 0


def _work(workload: Workload) -> Work:
    options = {k: v for k, v in workload.options.items() if k in OPERATIONS[workload.operation].choices}
    return OPERATIONS[workload.operation].work(workload.dims, str(workload.options["dtype"]), options)


def bound_of_traced(needs: Mapping[str, int], dtype: str, peaks: Peaks | None) -> Bound | None:
    """The same for an operation that a worker has traced. Products in float32 may go through tensor cores in several
    passes; their bound is that of one, at half the rate of 16-bit floats."""
    if peaks is None:
        return None
    half = peaks.products.get("float16")
    peak = half and half / 2 if dtype == "float32" else peaks.products.get(dtype)
    return bound_from(needs["bytes"], needs["products"], peak, peaks)


def bound_from(moved: int, products: int, peak: float | None, peaks: Peaks) -> Bound:
    parts = {"memory": moved / peaks.bandwidth * 1e6}
    said = f"{moved:,} bytes at {peaks.bandwidth / 1e9:,.0f} GB/s"
    if products and peak:
        parts["compute"] = products / peak * 1e6
        said += f"; {products:,} operations at {peak / 1e12:,.0f} TFLOP/s"
    return Bound(max(parts.values()), said, parts)

"""The identity of a device and its peak rates: measured, not looked up by its name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy
import torch

from autocomp.errors import ConfigError

COPIED = 4 << 30  # bytes of the copy that measures bandwidth
PRODUCT = 8192  # rows and columns of the matrices that measure a data type's peak
REPEATS = 10
MULTIPLIED = ("float16", "bfloat16", "float32", "float8_e4m3")


def has_gpu() -> bool:
    return bool(torch.cuda.is_available())


def choose(device: str) -> None:
    """Make a GPU the one that this process works on. Raises ConfigError where there is none of that number."""
    index, count = torch.device(device).index or 0, torch.cuda.device_count()
    if index >= count:
        raise ConfigError(f"there is no device {device!r}: found {count} GPUs", hint="`cpu` is Triton's interpreter")
    torch.cuda.set_device(index)


def describe(device: str) -> dict[str, Any]:
    """Names and versions; of a GPU also its sizes."""
    import triton

    versions = {"torch": torch.__version__, "triton": triton.__version__, "numpy": numpy.__version__}
    if device == "cpu":
        return {"device": "cpu", "name": "Triton's interpreter", "versions": versions}
    properties = torch.cuda.get_device_properties(device)
    backend = "hip" if torch.version.hip else "cuda"
    return {
        "device": device,
        "name": properties.name,
        "backend": backend,
        "capability": list(torch.cuda.get_device_capability(device)),
        "multiprocessors": properties.multi_processor_count,
        "memory_bytes": properties.total_memory,
        "cache_bytes": properties.L2_cache_size,
        "shared_bytes": getattr(properties, "shared_memory_per_block_optin", 0),
        "versions": {**versions, backend: torch.version.hip or torch.version.cuda},
    }


def probe(device: str) -> dict[str, Any]:
    """Peaks of a GPU: bandwidth in bytes a second, products of matrices in operations a second by data type, and the
    time of an empty launch in microseconds."""
    if device == "cpu":
        raise RuntimeError("there is no GPU to probe")
    source = torch.empty(COPIED // 2, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    seconds = _seconds(functools.partial(target.copy_, source))
    del source, target
    peaks = {name: 2 * PRODUCT**3 / _product_seconds(device, name) for name in MULTIPLIED if _multiplies(device, name)}
    small = torch.empty(1, device=device)
    return {"bandwidth": COPIED / seconds, "products": peaks, "launch_us": _seconds(small.zero_) * 1e6}


def _multiplies(device: str, dtype: str) -> bool:
    return dtype != "float8_e4m3" or torch.cuda.get_device_capability(device) >= (8, 9)


def _product_seconds(device: str, dtype: str) -> float:
    from autocomp.targets.triton.worker.memory import TYPES

    a, b = (torch.randn(PRODUCT, PRODUCT, device=device) for _ in range(2))
    if dtype == "float8_e4m3":
        one = torch.ones((), device=device)
        left, right = a.to(TYPES[dtype]), b.to(TYPES[dtype]).t()
        return _seconds(lambda: torch._scaled_mm(left, right, one, one, out_dtype=torch.bfloat16))
    left, right = a.to(TYPES[dtype]), b.to(TYPES[dtype])
    out = torch.empty_like(left)
    return _seconds(lambda: torch.matmul(left, right, out=out))


def _seconds(action: Callable[[], Any]) -> float:
    """The shortest of some runs: a peak is what the device can do."""
    for _ in range(3):
        action()
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(REPEATS)]
    for start, end in events:
        start.record()
        action()
        end.record()
    torch.cuda.synchronize()
    samples = [start.elapsed_time(end) / 1e3 for start, end in events]
    return float(min(samples))

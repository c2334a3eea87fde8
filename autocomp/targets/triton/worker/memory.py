"""Tensors in memory that a referee shares with candidate processes, each between two guards that must stay as they are.

On a GPU the memory is shared through CUDA's handles, and comes from a pool of its own, so that a handle opens nothing
but tensors that the candidate is given. On a CPU it is a file without a name, which another process reaches through the
one that made it, and which goes with that process, however it ends.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from autocomp.targets.triton.worker.sharing import open_shared, share

GUARD = 1 << 14  # bytes on each side
ALIGNMENT = 512  # bytes, as torch's allocator has it
PATTERN = 0xFF  # of guards: NaN in every float type, -1 in every integer
TYPES = {
    "float8_e4m3": torch.float8_e4m3fn,
    "float8_e5m2": torch.float8_e5m2,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float32": torch.float32,
    "float64": torch.float64,
    "int8": torch.int8,
    "uint8": torch.uint8,
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
}


@dataclass(frozen=True)
class SharedTensor:
    """A tensor, and the bytes around it. `handle` is what another process opens it with."""

    tensor: torch.Tensor
    buffer: torch.Tensor
    handle: dict[str, Any]

    def guards_hold(self) -> bool:
        """True if nothing was written outside of the tensor."""
        end = GUARD + self.tensor.numel() * self.tensor.element_size()
        sides = (self.buffer[:GUARD], self.buffer[end:])
        return all(bool((side == PATTERN).all()) for side in sides)


class Arena:
    """Where a referee allocates the tensors that it shares. Closing it gives a CPU's memory back."""

    def __init__(self, device: str) -> None:
        self._device = torch.device(device)
        self._files: list[int] = []
        self._pool: Any = torch.cuda.MemPool() if self._device.type == "cuda" else None

    def close(self) -> None:
        while self._files:
            os.close(self._files.pop())
        self._pool = None

    def tensor(self, shape: Sequence[int], dtype: str) -> SharedTensor:
        """A tensor in row-major order, contents undefined, between two guards."""
        kind = TYPES[dtype]
        size = torch.empty((), dtype=kind).element_size()
        for extent in shape:
            size *= extent
        total = GUARD + -(-size // ALIGNMENT) * ALIGNMENT + GUARD
        buffer, handle = self._bytes(total)
        buffer.fill_(PATTERN)
        document = {**handle, "shape": list(shape), "dtype": dtype}
        return SharedTensor(inside(buffer, shape, kind), buffer, document)

    def _bytes(self, size: int) -> tuple[torch.Tensor, dict[str, Any]]:
        if self._pool is None:
            self._files.append(os.memfd_create("autocomp-tensor"))
            os.truncate(self._files[-1], size)
            path = f"/proc/{os.getpid()}/fd/{self._files[-1]}"
            return torch.from_file(path, shared=True, size=size, dtype=torch.uint8), {"file": path, "size": size}
        with torch.cuda.use_mem_pool(self._pool):
            buffer = torch.empty(size, dtype=torch.uint8, device=self._device)
        return buffer, {**share(buffer), "size": size}


def attach(handle: dict[str, Any]) -> torch.Tensor:
    """The tensor that another process shares."""
    if "file" in handle:
        buffer = torch.from_file(handle["file"], shared=True, size=handle["size"], dtype=torch.uint8)
    else:
        buffer = open_shared(handle)
    return inside(buffer, handle["shape"], TYPES[handle["dtype"]])


def inside(buffer: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """The tensor between the guards of a buffer."""
    size = torch.empty((), dtype=dtype).element_size()
    for extent in shape:
        size *= extent
    return buffer[GUARD : GUARD + size].view(dtype).view(*shape)

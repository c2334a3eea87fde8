"""Memory of a GPU that two processes see, through the CUDA driver's handles.

PyTorch has a way of its own, which counts references between processes; a process that is killed never gives its own
back, and the memory stays. The driver's handles end with the process that opened them (CUDA driver API, cuIpc*).
"""

from __future__ import annotations

import base64
import ctypes
from functools import cache
from typing import Any

import torch

HANDLE_BYTES = 64
LAZY_PEER_ACCESS = 1


class _Handle(ctypes.Structure):
    _fields_ = (("reserved", ctypes.c_byte * HANDLE_BYTES),)


class _Foreign:
    """Memory that torch is to look at, by the array interface."""

    def __init__(self, pointer: int, size: int) -> None:
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (pointer, False), "version": 3}


def share(buffer: torch.Tensor) -> dict[str, Any]:
    """A document with which another process opens a tensor's memory: its allocation's handle, and the offset in it."""
    pointer = buffer.data_ptr()
    base, size = ctypes.c_uint64(), ctypes.c_size_t()
    driver = _driver()
    _check(driver.cuMemGetAddressRange_v2(ctypes.byref(base), ctypes.byref(size), ctypes.c_uint64(pointer)))
    handle = _Handle()
    _check(driver.cuIpcGetMemHandle(ctypes.byref(handle), base))
    text = base64.b64encode(bytes(handle)).decode()
    return {"cuda": text, "offset": pointer - base.value, "device": buffer.device.index or 0}


def open_shared(document: dict[str, Any]) -> torch.Tensor:
    """The bytes that another process shares. The memory stays that process's own."""
    torch.cuda.set_device(document["device"])
    torch.cuda.current_stream()  # makes the context that the handle is opened in
    base = _opened(document["cuda"], document["device"])
    holder = _Foreign(base + document["offset"], document["size"])
    return torch.as_tensor(holder, device=f"cuda:{document['device']}")


@cache
def _opened(text: str, device: int) -> int:
    """The address of an allocation, which a process may open once."""
    torch.empty(1, device=f"cuda:{device}")
    handle = _Handle.from_buffer_copy(base64.b64decode(text))
    pointer = ctypes.c_uint64()
    driver = _driver()
    driver.cuIpcOpenMemHandle_v2.argtypes = [ctypes.POINTER(ctypes.c_uint64), _Handle, ctypes.c_uint]
    _check(driver.cuIpcOpenMemHandle_v2(ctypes.byref(pointer), handle, LAZY_PEER_ACCESS))
    return pointer.value


@cache
def _driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")


def _check(status: int) -> None:
    if status != 0:
        raise RuntimeError(f"the CUDA driver cannot share memory: error {status}")

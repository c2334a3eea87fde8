"""Devices that one evaluation at a time may use, on this computer, whichever process or search it belongs to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock

from autocomp.data import cache_folder


@contextmanager
def claimed(device: str | None) -> Iterator[None]:
    """Hold a device alone, and wait for it if need be; None holds nothing. The claim ends with the process that holds
    it, however that ends."""
    if device is None:
        yield
        return
    folder = cache_folder("devices")
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / hashlib.sha256(device.encode()).hexdigest()[:16]):
        yield

"""Turns on a device, and parts of its memory, for the processes that share it: locks on files of this computer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

from filelock import FileLock, Timeout

from autocomp.data import cache_folder

SHARED = 0.65  # of the device's memory that judgements divide among them; the rest is for what workers keep
SLOT_BYTES = 8 << 30
PEAK = 7  # bytes that a judgement needs for each byte of inputs and outputs: results in float64, and their errors
WAIT = 0.05  # seconds between two looks for free memory


@dataclass(frozen=True)
class Turns:
    """Parts of a device that one process holds alone for a while. A lock ends with the process that holds it, however
    that ends."""

    device: str

    def alone(self) -> AbstractContextManager[object]:
        """Have the device alone."""
        return self._lock("turn")

    @contextmanager
    def room(self, size: int) -> Iterator[None]:
        """Have the memory for a judgement whose inputs and outputs have `size` bytes. The memory is divided into slots.
        One process at a time waits for its slots."""
        import torch  # which what reads records of launches does without

        total = max(1, int(SHARED * torch.cuda.mem_get_info(self.device)[1]) // SLOT_BYTES)
        wanted = min(total, -(-PEAK * size // SLOT_BYTES))
        with ExitStack() as held:
            with self._lock("memory"):
                free = list(range(total))
                while wanted and free:
                    for slot in list(free):
                        if wanted and self._taken(slot, held):
                            free.remove(slot)
                            wanted -= 1
                    if wanted:
                        time.sleep(WAIT)
            yield

    def _taken(self, slot: int, held: ExitStack) -> bool:
        """True if the slot was free; `held` has it then."""
        try:
            held.enter_context(self._lock(f"memory-{slot}").acquire(blocking=False))
        except Timeout:
            return False
        return True

    def _lock(self, purpose: str) -> FileLock:
        folder = cache_folder("devices")
        folder.mkdir(parents=True, exist_ok=True)
        return FileLock(folder / f"{self.device.replace(':', '-')}-{purpose}.lock")

"""An accelerator's RTL, ready to run traces: a model, the roles of its ports, and the memory at its port."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.simulator import _core
from autocomp.targets.simulator.isa.lowering.lower import MachineTables
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.rtl.commands import GUARD, encode_trace, place
from autocomp.targets.simulator.rtl.model.build import RtlModel
from autocomp.targets.simulator.rtl.model.interface import begin, find_interface
from autocomp.targets.simulator.rtl.model.native import MemoryConditions, NativeDriver, RtlRun, Strays

Arrays = Mapping[str, npt.NDArray[Any]]


def most_cycles(simulated: int) -> int:
    """When a run is cut off: the hardware hangs, or takes 20 times as long as the simulator says."""
    return 20 * simulated + 10_000


@dataclass(frozen=True)
class RtlResult:
    """A run, every tensor after it, and how long it took. `reads` and `writes` describe accesses beyond the tensors, ""
    without any."""

    run: RtlRun
    outputs: Arrays
    seconds: float
    reads: str = ""
    writes: str = ""


class RtlMachine:
    """Runs traces of one machine, each on a design fresh from reset. Memory is as fast as the machine's description
    says: its latency, and its bus or the design's, whichever is narrower."""

    def __init__(self, accelerator: Accelerator, tables: MachineTables, model: RtlModel) -> None:
        """Raises ConfigError when the model's ports do not fit the accelerator."""
        self.accelerator = accelerator
        self.tables = tables
        self.model = model
        self.interface = find_interface(model.ports, accelerator)
        dram = accelerator.dram.settings
        self.latency = max(1, int(dram.get("latency", 0)))
        self.bandwidth = int(dram.get("bus", 0)) or self.interface.bus_bytes

    def run(self, trace: _core.Trace, tensors: Arrays | None, most_cycles: int) -> RtlResult:
        """`tensors` are copied, in the order in which the trace's pointers name them. None: an open memory, of which
        nothing is kept. Raises ConfigError for a command that cannot be encoded."""
        arrays = {name: np.array(array, order="C", copy=True) for name, array in (tensors or {}).items()}
        addresses = place([array.nbytes for array in arrays.values()]) if tensors is not None else None
        commands = encode_trace(self.accelerator, self.tables, trace, addresses)
        memory: Sequence[tuple[int, npt.NDArray[Any]]] = list(zip(addresses or (), arrays.values(), strict=True))
        driver = NativeDriver(self.model.library)
        try:
            started = time.perf_counter()
            begin(driver, self.interface)
            conditions = MemoryConditions(self.latency, self.bandwidth, most_cycles, GUARD)
            outcome = driver.run(self.interface, commands, memory, conditions)
            seconds = time.perf_counter() - started
        finally:
            driver.close()
        places = [(name, address, array.nbytes) for (address, array), name in zip(memory, arrays, strict=True)]
        reads = _beyond(outcome.reads, "requests that read", places)
        return RtlResult(outcome, arrays, seconds, reads, _beyond(outcome.writes, "bytes written", places))


def _beyond(strays: Strays, what: str, places: Sequence[tuple[str, int, int]]) -> str:
    """A run's accesses beyond its tensors, in words: their number and the first. Tensors are (name, address, bytes)."""
    if not strays.count:
        return ""
    distances = [
        (address - strays.first, f"{address - strays.first:,} bytes before {name}")
        if strays.first < address
        else (strays.first - address - size, f"{strays.first - address - size:,} bytes after the end of {name}")
        for name, address, size in places
    ]
    return f"{strays.count:,} {what} beyond the tensors, the first {min(distances)[1]}"

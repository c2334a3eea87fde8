"""Lower bounds: cycles that no kernel of a workload can do without on a machine."""

from __future__ import annotations

import math

from autocomp.targets.evaluation import Bound
from autocomp.targets.simulator.isa.contractions import peak
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.workload import Workload


def peak_multiply_accumulates(accelerator: Accelerator) -> int:
    """Multiply-accumulates a cycle at full use; 0 for a machine whose description does not tell."""
    return peak(accelerator)


def bound(workload: Workload, accelerator: Accelerator) -> Bound:
    """In cycles, the larger of what the multipliers and what the memory bus need, both taken as never waiting.

    Compute: multiply-accumulates / peak. Memory: every input that a result depends on crosses the bus at least once and
    every output once; the two directions overlap, so the larger counts.
    """
    rate = peak(accelerator)
    macs = workload.multiply_accumulates
    compute = math.ceil(macs / rate) if rate else 0
    bus = int(accelerator.dram.settings.get("bus", 0))
    into = sum(tensor.bytes for tensor in workload.inputs) - workload.unused_bytes
    out = sum(tensor.bytes for tensor in workload.outputs)
    memory = math.ceil(max(into, out) / bus) if bus else 0
    parts = []
    if compute:
        parts.append(f"{macs} multiply-accumulates at {rate} a cycle take {compute} cycles")
    if memory:
        parts.append(f"{into} bytes in and {out} bytes out at {bus} a cycle each way take {memory} cycles")
    limit = "the multipliers set" if compute >= memory else "the memory bus sets"
    explanation = "; ".join(parts) + f"; {limit} the bound" if parts else "nothing is known that bounds it"
    return Bound(max(compute, memory, 1), explanation, {"compute": compute, "memory": memory})


def utilisation(workload: Workload, accelerator: Accelerator, cycles: int | None) -> float:
    """Useful multiply-accumulates / peak / cycles; 0 where there are none or the kernel did not run."""
    rate = peak(accelerator)
    return workload.multiply_accumulates / rate / cycles if rate and cycles else 0.0

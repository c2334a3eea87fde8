"""Lower bounds: cycles that no kernel of a workload can do without on a machine."""

from __future__ import annotations

import math

from autocomp.targets.evaluation import Bound
from autocomp.targets.simulator.isa.contractions import peak
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.workload import Workload

HOST_RATE = 8  # multiply-accumulates and bytes a cycle that no host exceeds: a word of 64 bits of int8


def peak_multiply_accumulates(accelerator: Accelerator) -> int:
    """Multiply-accumulates a cycle at full use; 0 for a machine whose description does not tell."""
    return peak(accelerator)


def bound(workload: Workload, accelerator: Accelerator) -> Bound:
    """In cycles, the larger of what the multipliers and what the memory bus need, both taken as never waiting.

    Compute: multiply-accumulates / peak. Memory: every input that a result depends on crosses the bus at least once and
    every output once; the two directions overlap, so the larger counts. Of tensors that are both, nobody knows which
    elements are. A host that may compute does a part of either beside the machine.
    """
    beside = 0 if workload.host == "control" else HOST_RATE
    rate = peak(accelerator)
    macs = workload.multiply_accumulates
    compute = math.ceil(macs / (rate + beside)) if rate else 0
    bus = int(accelerator.dram.settings.get("bus", 0))
    into = sum(tensor.bytes for tensor in workload.tensors if tensor.role == "input") - workload.unused_bytes
    out = sum(tensor.bytes for tensor in workload.tensors if tensor.role == "output")
    memory = math.ceil(max(into, out) / (bus + beside)) if bus else 0
    parts = []
    if compute:
        parts.append(f"{macs} multiply-accumulates at {rate + beside} a cycle take {compute} cycles")
    if memory:
        parts.append(f"{into} bytes in and {out} bytes out at {bus + beside} a cycle each way take {memory} cycles")
    if beside:
        parts.append(f"{beside} of either are the most that the host does beside the machine")
    limit = "the multipliers set" if compute >= memory else "the memory bus sets"
    explanation = "; ".join(parts) + f"; {limit} the bound" if parts else "nothing is known that bounds it"
    return Bound(max(compute, memory, 1), explanation, {"compute": compute, "memory": memory})


def beyond(workload: Workload, accelerator: Accelerator, cycles: int) -> str | None:
    """What is impossible about a kernel's cycles, or None."""
    least, used = bound(workload, accelerator), utilisation(workload, accelerator, cycles)
    if cycles >= least.value and used <= 1:
        return None
    limit = f"fewer than the {least.value:,} that any kernel needs ({least.explanation})"
    if cycles >= least.value:
        limit = f"a utilisation of {used:.1%}"
    return (
        f"{cycles:,} cycles are {limit}: that is impossible, and so a fault of the judge, of the description of "
        f"{accelerator.full_name!r} or of what the workload says it needs, not a merit of the kernel"
    )


def utilisation(workload: Workload, accelerator: Accelerator, cycles: int | None) -> float:
    """Useful multiply-accumulates / peak / cycles; 0 where there are none or the kernel did not run."""
    rate = peak(accelerator)
    return workload.multiply_accumulates / rate / cycles if rate and cycles else 0.0

"""Lower bounds: cycles that no kernel of a workload can do without on a machine."""

from __future__ import annotations

import math

from autocomp.evaluate.model import Bound
from autocomp.isa.model import Accelerator
from autocomp.isa.roles import contraction_tile
from autocomp.workload import Workload


def peak_multiply_accumulates(accelerator: Accelerator) -> int:
    """Multiply-accumulates a cycle at full use: one row of operands a cycle meets columns x depth multipliers.

    0 for a machine without a contraction. A setting `peak.multiply_accumulates` of the description overrides it.
    """
    stated = accelerator.settings.get("peak.multiply_accumulates")
    if stated is not None:
        return int(stated)
    tile = contraction_tile(accelerator)
    return 0 if tile is None else tile[1] * tile[2]


def bound(workload: Workload, accelerator: Accelerator) -> Bound:
    """The larger of what the multipliers and what the memory bus need, both taken as never waiting.

    Compute: multiply-accumulates / peak. Memory: every input crosses the bus at least once and every output once;
    the two directions overlap, so the larger counts.
    """
    peak = peak_multiply_accumulates(accelerator)
    macs = workload.multiply_accumulates
    compute = math.ceil(macs / peak) if peak else 0
    bus = int(accelerator.dram.settings.get("bus", 0))
    into = sum(tensor.bytes for tensor in workload.inputs)
    out = sum(tensor.bytes for tensor in workload.outputs)
    memory = math.ceil(max(into, out) / bus) if bus else 0
    parts = []
    if compute:
        parts.append(f"{macs} multiply-accumulates at {peak} a cycle take {compute} cycles")
    if memory:
        parts.append(f"{into} bytes in and {out} bytes out at {bus} a cycle each way take {memory} cycles")
    limit = "the multipliers set" if compute >= memory else "the memory bus sets"
    explanation = "; ".join(parts) + f"; {limit} the bound" if parts else "nothing is known that bounds it"
    return Bound(max(compute, memory, 1), compute, memory, explanation)


def utilisation(workload: Workload, accelerator: Accelerator, cycles: int | None) -> float:
    """Useful multiply-accumulates / peak / cycles; 0 where there are none or the kernel did not run."""
    peak = peak_multiply_accumulates(accelerator)
    return workload.multiply_accumulates / peak / cycles if peak and cycles else 0.0

"""Lower bounds: cycles that no kernel of a workload can do without on a machine."""

from __future__ import annotations

import math

from autocomp.targets.simulator.evaluate.model import Bound
from autocomp.targets.simulator.isa.algebra import substitute
from autocomp.targets.simulator.isa.model import Accelerator, Instruction
from autocomp.targets.simulator.isa.roles import contractions
from autocomp.targets.simulator.isa.tree import Expression, Name, Number
from autocomp.workload import Workload


def peak_multiply_accumulates(accelerator: Accelerator) -> int:
    """Multiply-accumulates a cycle at full use, 0 for a machine without a contraction.

    A contraction whose description says how long it keeps its unit busy does its largest tile in that time; any other
    streams one row a cycle past columns x depth multipliers.
    """
    return max((_rate(instruction, tile) for instruction, tile in contractions(accelerator)), default=0)


def _rate(instruction: Instruction, tile: tuple[int, int, int]) -> int:
    rows, cols, depth = tile
    highs = {p.name: Number(p.high) for p in instruction.parameters if p.high is not None}

    def largest(part: Expression) -> Expression | None:
        return highs.get(part.name) if isinstance(part, Name) else None

    stated = instruction.timing.get("busy")
    busy = substitute(stated, largest) if stated is not None else None
    cycles = max(1, int(busy.value)) if isinstance(busy, Number) else rows
    return math.ceil(rows * cols * depth / cycles)


def bound(workload: Workload, accelerator: Accelerator) -> Bound:
    """The larger of what the multipliers and what the memory bus need, both taken as never waiting.

    Compute: multiply-accumulates / peak. Memory: every input that a result depends on crosses the bus at least once and
    every output once; the two directions overlap, so the larger counts.
    """
    peak = peak_multiply_accumulates(accelerator)
    macs = workload.multiply_accumulates
    compute = math.ceil(macs / peak) if peak else 0
    bus = int(accelerator.dram.settings.get("bus", 0))
    into = sum(tensor.bytes for tensor in workload.inputs) - workload.unused_bytes
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

"""Which fences order anything: two accesses of the same elements of a tensor, by two units or a unit and the host."""

from __future__ import annotations

from autocomp.transforms.straight.footprint import Access
from autocomp.transforms.straight.program import Program


def unneeded(program: Program) -> set[int]:
    """The numbers of the steps that are fences and order nothing that another one does not; the last one stays."""
    fences = [number for number, step in enumerate(program.steps) if step.kind == "fence"]
    kept = set(fences[-1:])
    since = -1  # the last fence that is kept
    seen: list[tuple[int, str, Access]] = []
    for number, step in enumerate(program.steps):
        for access in (*step.dram(write=False), *step.dram(write=True)):
            rivals = [
                earlier
                for earlier, unit, other in seen
                if earlier > since and unit != step.unit and (access.write or other.write) and access.meets(other)
            ]
            between = [fence for fence in fences if rivals and max(rivals) < fence < number]
            if between:
                since = between[-1]
                kept.add(since)
                seen = []
        seen.extend((number, step.unit, a) for a in step.accesses if not a.local)
    return set(fences) - kept

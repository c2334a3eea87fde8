"""Drop fences: only two accesses of the same elements of a tensor, by two units or a unit and the host, need one."""

from __future__ import annotations

from collections.abc import Iterator

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.straight.footprint import Access
from autocomp.targets.simulator.transforms.straight.program import Program


def drop_fences(program: Program) -> Iterator[ast.Kernel]:
    """The kernel without the fences that order nothing which another one does not."""
    gone = _unneeded(program)
    if gone:
        yield program.kernel(step for number, step in enumerate(program.steps) if number not in gone)


def _unneeded(program: Program) -> set[int]:
    """The numbers of these fences; the last one stays."""
    fences = [number for number, step in enumerate(program.steps) if step.kind == "fence"]
    kept = set(fences[-1:])
    latest = -1  # fence so far
    seen: list[tuple[int, str, Access]] = []  # accesses since the last fence that is kept
    for number, step in enumerate(program.steps):
        if step.kind == "fence":
            latest = number
        accesses = [access for access in step.accesses if not access.local]
        ordered = (entry for entry in seen if entry[0] < latest and entry[1] != step.unit)
        if any((a.write or other.write) and a.meets(other) for _, _, other in ordered for a in accesses):
            kept.add(latest)
            seen = [entry for entry in seen if entry[0] > latest]
        seen.extend((number, step.unit, access) for access in accesses)
    return set(fences) - kept

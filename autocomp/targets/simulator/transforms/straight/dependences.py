"""The dependences between the steps of a kernel that is written out."""

from __future__ import annotations

from collections import defaultdict

from autocomp.remember import remembered
from autocomp.targets.simulator.transforms.straight.footprint import Access
from autocomp.targets.simulator.transforms.straight.program import Program


@remembered
def dependences(program: Program) -> tuple[frozenset[int], ...]:
    """The numbers of the steps before each one that have to stay before it: those that touch the same elements, unless
    both only read or both add to them. Fences order the host, one another, and DRAM but for tensors that no step
    writes."""
    written = {access.memory for step in program.steps for access in step.writes if not access.local}
    earlier: dict[tuple[str, int], list[tuple[int, Access, int, int]]] = defaultdict(list)  # by memory and row
    fences: set[int] = set()
    outside: set[int] = set()  # fences, the host, and what touches DRAM that is written
    result: list[frozenset[int]] = []
    for number, step in enumerate(program.steps):
        is_outside = step.kind in ("fence", "host") or any(a.memory in written for a in step.accesses)
        before = set(outside if step.kind == "fence" else fences if is_outside else ())
        cells = [(access, *span) for access in step.accesses for span in access.spans]
        for access, row, first, end in cells:
            before.update(
                other
                for other, rival, start, stop in earlier[access.memory, row]
                if first < stop and start < end and _conflict(access, rival)
            )
        for access, row, first, end in cells:
            earlier[access.memory, row].append((number, access, first, end))
        if step.kind == "fence":
            fences.add(number)
        if is_outside:
            outside.add(number)
        result.append(frozenset(before))
    return tuple(result)


def _conflict(one: Access, two: Access) -> bool:
    return (one.write or two.write) and not (one.adds and two.adds)

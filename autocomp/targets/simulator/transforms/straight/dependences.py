"""The dependences between the steps of a kernel that is written out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from autocomp.remember import remembered
from autocomp.targets.simulator.transforms.straight.footprint import Access
from autocomp.targets.simulator.transforms.straight.program import Program

_Place = tuple[str, int, int]  # memory, row, and which part of it: tensors are one long row
_PLACE = 256  # columns of a part
# The accesses of the same elements that have to stay before one of each kind.
_IN_CONFLICT = {"reads": ("writes", "adds"), "adds": ("reads", "writes"), "writes": ("reads", "writes", "adds")}


@remembered
def dependences(program: Program) -> tuple[frozenset[int], ...]:
    """The numbers of the steps before each one that have to stay before it: those that touch the same elements, unless
    both only read or both add to them. Fences order the host, one another, and DRAM but for tensors that no step
    writes. Steps whose elements another one overwrites are left out after that: they stay before it in any case."""
    written = {access.memory for step in program.steps for access in step.writes if not access.local}
    earlier: dict[tuple[_Place, str], list[tuple[int, int, int]]] = defaultdict(list)  # by place and kind
    fences: set[int] = set()
    outside: set[int] = set()  # fences, the host, and what touches DRAM that is written
    result: list[frozenset[int]] = []
    for number, step in enumerate(program.steps):
        is_outside = step.kind in ("fence", "host") or any(a.memory in written for a in step.accesses)
        before = set(outside if step.kind == "fence" else fences if is_outside else ())
        cells = [(_kind(access), *cell) for access in step.accesses for cell in _cells(access)]
        for kind, place, first, end in cells:
            for rival in _IN_CONFLICT[kind]:
                others = earlier[place, rival]
                before.update(other for other, start, stop in others if first < stop and start < end)
        for kind, place, first, end in cells:
            for overwritten in _IN_CONFLICT[kind] if kind == "writes" else ():
                others = earlier[place, overwritten]
                others[:] = (other for other in others if other[1] < first or end < other[2])
        for kind, place, first, end in cells:
            earlier[place, kind].append((number, first, end))
        if step.kind == "fence":
            fences.add(number)
        if is_outside:
            outside.add(number)
        result.append(frozenset(before))
    return tuple(result)


def _cells(access: Access) -> Iterator[tuple[_Place, int, int]]:
    """The places of an access, each with its first column there and where its columns end."""
    for row, first, end in access.spans:
        for part in range(first // _PLACE, (end - 1) // _PLACE + 1):
            yield (access.memory, row, part), max(first, part * _PLACE), min(end, (part + 1) * _PLACE)


def _kind(access: Access) -> str:
    return "adds" if access.adds else "writes" if access.write else "reads"

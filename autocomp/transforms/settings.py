"""The configuring calls that are in force where a move stands."""

from __future__ import annotations

from autocomp.transforms.affine import affine
from autocomp.transforms.facts import Facts, Site
from autocomp.transforms.protocol import NotApplicable


def in_force(facts: Facts, site: Site) -> tuple[Site, ...]:
    """The configurations that may be in force at a move: the last one before it, or all of its kind where some stand in
    loops, and so come round again."""
    read = site.role.role.states_read
    found = [
        other
        for other in facts.sites
        if other.kind == "configuration" and other.role.role.states_written & read and other.selector == site.selector
    ]
    if any(other.loops for other in found):
        return tuple(found)
    return tuple([other for other in found if other.path < site.path][-1:])


def dram_stride(facts: Facts, site: Site) -> int:
    """Bytes from one DRAM row of a move to the next. Raises NotApplicable where that is not known."""
    given = [site] if site.argument("dram stride") is not None else list(in_force(facts, site))
    found = given[0].argument("dram stride") if len(given) == 1 else None
    stride = None if found is None else affine(found)
    if stride is None or not stride.is_constant:
        raise NotApplicable(f"it is not known how far apart in DRAM the rows are that {site.call.function} moves")
    return stride.constant

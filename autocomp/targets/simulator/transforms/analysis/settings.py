"""The configuring calls that are in force at a move, and after a place of the kernel."""

from __future__ import annotations

from autocomp.targets.simulator.transforms.analysis.facts import Facts, Site
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.syntax.affine import affine, interval


def in_force(facts: Facts, site: Site) -> tuple[Site, ...]:
    """The configurations that may be in force at a move: the last one before it, or all of its kind if some are in
    loops and therefore repeat."""
    read = site.role.role.states_read
    settings = [
        other
        for other in facts.sites
        if other.kind == "configuration" and other.role.role.states_written & read and other.selector == site.selector
    ]
    if any(other.loops for other in settings):
        return tuple(settings)
    return tuple([other for other in settings if other.path < site.path][-1:])


def dram_stride(facts: Facts, site: Site) -> int:
    """Bytes from one DRAM row of a move to the next. Raises NotApplicable where that is not known."""
    given = [site] if site.argument("dram stride") is not None else list(in_force(facts, site))
    value = given[0].argument("dram stride") if len(given) == 1 else None
    stride = None if value is None else affine(value)
    if stride is None or not stride.is_constant:
        raise NotApplicable(f"it is not known how far apart in DRAM the rows are that {site.call.function} moves")
    return stride.constant


def stride_setting(facts: Facts, site: Site, home: int) -> tuple[Site, int, int]:
    """The call that configures the DRAM stride of a move for the kernel's statement number `home` and all later ones,
    the position of the stride among its arguments, and its value in bytes. Raises NotApplicable unless
    all such calls come before `home`, outside of loops, and the value is known."""
    used = site.role.role.states_read
    settings = [s for s in facts.sites if s.kind == "configuration" and s.role.role.states_written & used]
    settings = [s for s in settings if s.selector == site.selector]
    if not settings or any(len(s.path) > 1 or s.path[0] >= home for s in settings):
        raise NotApplicable(f"{site.call.function} must be configured before all loops, and not again later")
    position = settings[-1].role.position("dram stride")
    stride = None if position is None else interval(settings[-1].call.arguments[position], {})
    if position is None or stride is None:
        raise NotApplicable(f"{settings[-1].call.function} gives {site.call.function} no stride that is known")
    return settings[-1], position, stride[0]

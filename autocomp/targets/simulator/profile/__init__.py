"""Where every cycle of a kernel goes: the critical path, lines, units, memories, and what would change it."""

from __future__ import annotations

from autocomp.targets.profile import OverTime as OverTime
from autocomp.targets.profile import Profile as Profile
from autocomp.targets.simulator.profile.build import over_time as over_time
from autocomp.targets.simulator.profile.build import profile as profile
from autocomp.targets.simulator.profile.build import profile_kernel as profile_kernel
from autocomp.targets.simulator.profile.recording import Recording as Recording
from autocomp.targets.simulator.profile.recording import record as record
from autocomp.targets.simulator.profile.timeline import timeline as timeline

__all__ = [
    "OverTime",
    "Profile",
    "Recording",
    "over_time",
    "profile",
    "profile_kernel",
    "record",
    "timeline",
]

"""A kernel that the simulator ran under observation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from autocomp.targets.profile import OverTime, Profile, Recorded
from autocomp.targets.simulator.profile import Recording, over_time, profile, timeline
from autocomp.targets.simulator.profile.spans import spans


@dataclass(frozen=True)
class SimulatedRun(Recorded):
    recording: Recording

    def over_time(self) -> OverTime | None:
        return over_time(self.recording)

    def profile(self) -> Profile:
        return profile(self.recording)

    def timeline(self) -> dict[str, Any]:
        return timeline(self.recording)

    def spans(self) -> dict[str, Any]:
        return spans(self.recording.timing, self.recording.accelerator)

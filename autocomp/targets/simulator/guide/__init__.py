"""Guides to a machine: times of its commands, and advice for fast kernels, from its description and the simulator."""

from autocomp.targets.simulator.guide.brief import brief, issued_instructions, used_instructions
from autocomp.targets.simulator.guide.page import timing_page

__all__ = ["brief", "issued_instructions", "timing_page", "used_instructions"]

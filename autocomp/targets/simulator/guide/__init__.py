"""How long commands of a machine take, and what a fast kernel does: from its description and the simulator."""

from autocomp.targets.simulator.guide.brief import brief, issued_instructions, used_instructions
from autocomp.targets.simulator.guide.page import timing_page

__all__ = ["brief", "issued_instructions", "timing_page", "used_instructions"]

"""The timing page of a machine: what its units do at the same time, what commands cost, why they wait, what is fast."""

from autocomp.targets.simulator.guide.page import timing_page

__all__ = ["timing_page"]

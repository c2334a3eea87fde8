"""Is a kernel right, how fast is it, how fast could it be, and where do its cycles go?"""

from __future__ import annotations

from autocomp.targets.simulator.evaluate.bounds import bound as bound
from autocomp.targets.simulator.evaluate.bounds import peak_multiply_accumulates as peak_multiply_accumulates
from autocomp.targets.simulator.evaluate.objectives import CYCLES as CYCLES
from autocomp.targets.simulator.evaluate.objectives import ENERGY as ENERGY
from autocomp.targets.simulator.evaluate.objectives import OBJECTIVES as OBJECTIVES
from autocomp.targets.simulator.evaluate.simulator import SimulatorEvaluator as SimulatorEvaluator
from autocomp.targets.simulator.evaluate.stages import STAGES as STAGES

__all__ = ["CYCLES", "ENERGY", "OBJECTIVES", "STAGES", "SimulatorEvaluator", "bound", "peak_multiply_accumulates"]

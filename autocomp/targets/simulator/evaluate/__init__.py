"""Is a kernel right, how fast is it, how fast could it be, and where do its cycles go?"""

from __future__ import annotations

from autocomp.targets.simulator.evaluate.bounds import bound as bound
from autocomp.targets.simulator.evaluate.bounds import peak_multiply_accumulates as peak_multiply_accumulates
from autocomp.targets.simulator.evaluate.model import STAGES as STAGES
from autocomp.targets.simulator.evaluate.model import Bound as Bound
from autocomp.targets.simulator.evaluate.model import Evaluation as Evaluation
from autocomp.targets.simulator.evaluate.model import Evaluator as Evaluator
from autocomp.targets.simulator.evaluate.model import LineCycles as LineCycles
from autocomp.targets.simulator.evaluate.model import StageVerdict as StageVerdict
from autocomp.targets.simulator.evaluate.serial import evaluation_from_json as evaluation_from_json
from autocomp.targets.simulator.evaluate.serial import evaluation_to_json as evaluation_to_json
from autocomp.targets.simulator.evaluate.simulator import SimulatorEvaluator as SimulatorEvaluator
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.workload import Workload

__all__ = [
    "STAGES",
    "Bound",
    "Evaluation",
    "Evaluator",
    "LineCycles",
    "SimulatorEvaluator",
    "StageVerdict",
    "bound",
    "evaluate_kernel",
    "evaluation_from_json",
    "evaluation_to_json",
    "peak_multiply_accumulates",
]


def evaluate_kernel(
    kernel_text: str,
    workload: Workload,
    accelerator: Accelerator,
    *,
    record_commands: bool = False,
    source_name: str = "kernel.c",
) -> Evaluation:
    """All five stages and the metrics of one kernel; `record_commands` keeps the per-command record in `timing`."""
    evaluator = SimulatorEvaluator(accelerator, workload, source_name)
    return evaluator.evaluate(kernel_text, record_commands=record_commands)

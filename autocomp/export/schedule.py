"""A schedule to export: a kernel, the operation that it computes, and its name in C."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autocomp.errors import CandidateFailure, ConfigError
from autocomp.schedules.arguments import binary32
from autocomp.schedules.measured import arguments_of, operation_of
from autocomp.schedules.record import SIMULATED, ScheduleRecord
from autocomp.targets.protocol import Target
from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.walk import walk
from autocomp.targets.simulator.target import accelerator_of
from autocomp.workload import TensorSpec, Workload
from autocomp.workload.schema import usual_options


@dataclass(frozen=True)
class Schedule:
    """One kernel. `source` is what messages call it; `cycles` are measured on the simulator. `arguments` are the
    options that its function takes at run time, with their values in the kernel's text."""

    operation: str
    dims: Mapping[str, int]
    options: Mapping[str, Any]
    tensors: tuple[TensorSpec, ...]
    constants: Mapping[str, int]
    kernel: str
    source: str
    cycles: int
    bound_cycles: int
    arguments: Mapping[str, float] = field(default_factory=dict)

    @property
    def unusual(self) -> dict[str, Any]:
        """The options that are neither arguments nor what a workload file leaves out."""
        usual = {name: value for name, value in usual_options(self.operation).items() if name not in self.arguments}
        return {name: value for name, value in self.options.items() if name in usual and value != usual[name]}

    @property
    def family(self) -> str:
        """The C name of the operation for all sizes, as in `gemm_bias_row`."""
        return _identifier("_".join([self.operation, *self._option_words()]))

    @property
    def function(self) -> str:
        """The C name, as in `gemm_I512_J512_K512_bias_row_scale` of a kernel that takes its scale as an argument: the
        same for every kernel of the same operation."""
        sizes = [f"{name}{size}" for name, size in self.dims.items()]
        return _identifier("_".join([self.operation, *sizes, *self._option_words()]))

    def _option_words(self) -> list[str]:
        words = {
            **{name: f"{name}_{_word(value)}" for name, value in self.unusual.items()},
            **dict.fromkeys(self.arguments),
        }
        return [word or name for name, word in sorted(words.items())]


def of_record(record: ScheduleRecord, source: str, accelerator: Accelerator) -> Schedule:
    """The kernel of a record. Raises ConfigError where it is for another machine than the accelerator."""
    target = record.target
    if target.kind != SIMULATED:
        raise ConfigError(f"{source} is for {target.spec}; only kernels of simulated accelerators are exported")
    present = {name: accelerator.parameters.get(name) for name in target.parameters}
    if (target.name, target.parameters) != (accelerator.full_name, present):
        raise ConfigError(
            f"{source} is for {target.name} with other parameters than {accelerator.full_name} has here",
            hint="export the records of one machine at a time, with the --set that they were searched with",
        )
    operation = record.operation
    constants = operation.dims if operation.reference is not None else {}
    names = {**accelerator.all_constants, **constants}
    return Schedule(
        operation.name,
        operation.dims,
        operation.options,
        tuple(TensorSpec(t.name, t.dtype, t.shape, t.role) for t in operation.tensors),
        constants,
        record.kernel,
        source,
        int(record.result.value),
        int(record.result.bound or 0),
        _in_entry(kernel.parse(record.kernel, source, names), operation.bound),
    )


def of_kernel(text: str, source: str, workload: Workload, target: Target) -> Schedule:
    """A kernel for a workload, evaluated. Raises CandidateFailure where it is wrong."""
    evaluation = target.evaluator(workload, source).evaluate(text)
    if evaluation.failure is not None or evaluation.value is None or evaluation.bound is None:
        reason = evaluation.failure.message if evaluation.failure is not None else "it did not finish"
        raise CandidateFailure(f"{source} is not exported, since it is wrong: {reason}")
    arguments = arguments_of(workload, target, text, evaluation.value)
    names = {**accelerator_of(target, "exporting").all_constants, **workload.constants}
    return Schedule(
        workload.name if workload.operation == "custom" else workload.operation,
        workload.dims,
        workload.options,
        workload.tensors,
        workload.constants,
        text,
        source,
        int(evaluation.value),
        int(evaluation.bound.value),
        _in_entry(kernel.parse(text, source, names), operation_of(workload, arguments).bound),
    )


def _in_entry(tree: ast.Kernel, arguments: Mapping[str, float]) -> dict[str, float]:
    """The arguments whose values occur only in the kernel's entry function. The numbers of helpers stay constants."""
    *helpers, _ = tree.functions
    fixed = [node.value for helper in helpers for node in walk(helper) if isinstance(node, ast.FloatLiteral)]
    return {n: value for n, value in arguments.items() if binary32(value) not in map(binary32, fixed)}


def check_names(schedules: Sequence[Schedule]) -> None:
    """Raises ConfigError where two kernels would have the same C name."""
    by_name: dict[str, Schedule] = {}
    for schedule in schedules:
        present = by_name.setdefault(schedule.function, schedule)
        if present is not schedule:
            raise ConfigError(
                f"{present.source} and {schedule.source} would both become {schedule.function}()",
                hint="export one of them",
            )


def _word(value: Any) -> str:
    if isinstance(value, Mapping):
        return "_".join(f"{name}{_word(part)}" for name, part in value.items())
    return value if isinstance(value, str) else json.dumps(value)


def _identifier(text: str) -> str:
    """A name of C; what is not a letter or digit is an underscore, a minus says so."""
    name = re.sub(r"\W", "_", text.replace("-", "minus"), flags=re.ASCII)
    return f"_{name}" if name[:1].isdigit() else name

"""Kernels as compilers ask for them: known or adapted, validated, run on the simulator, written as C."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import numpy.typing as npt

from autocomp import schedules
from autocomp import workload as workloads
from autocomp.errors import ConfigError
from autocomp.export import export_files
from autocomp.export.activation import with_activation
from autocomp.export.any_size import resized
from autocomp.export.dispatch import dispatches
from autocomp.export.host import run_on_simulator
from autocomp.export.schedule import Schedule, of_record
from autocomp.schedules.arguments import bound
from autocomp.schedules.fresh import fresh_record
from autocomp.schedules.index import default_roots, user_root
from autocomp.schedules.measured import arguments_of, machine_of, operation_of
from autocomp.schedules.record import SIMULATED, ScheduleRecord
from autocomp.schedules.store import Store, all_schedules, of_sizes, record_at
from autocomp.schedules.verify import renewed, workload_of
from autocomp.targets.protocol import Target
from autocomp.targets.registry import load_target
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.target import accelerator_of
from autocomp.workload import Workload

EVALUATIONS = 16  # of a search that adapts: some seconds
ACTIVATION = "activation"  # the option
Asked = Workload | str | Mapping[str, Any]  # a workload, a file's name, or the keys of a file


@dataclass(frozen=True)
class Answer:
    """A validated kernel for exactly the workload asked for.

    `origin` is `exact` where a store had it, and `adapted` where a search of `evaluations` kernels found it, which
    begins with the plans of the nearest schedules. `path` is the record's file, if it was kept.
    """

    workload: Workload
    target: Target
    record: ScheduleRecord
    origin: Literal["exact", "adapted"]
    path: Path | None
    evaluations: int = 0

    @property
    def kernel(self) -> str:
        """The record's kernel, with the values that this workload has of its arguments."""
        present = self.record.operation.bound
        return bound(self.record.kernel, present, {name: self.workload.options[name] for name in present})

    def run(self, arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
        """All tensors after the kernel ran on the simulator, by name; arrays have the shapes and types of the
        workload's tensors. Raises ConfigError for other arrays or another kind of target, KernelError where it fails.
        """
        _check(self.workload, arrays)
        accelerator = accelerator_of(self.target, "running a kernel on the simulator")
        tensors, constants = self.workload.tensors, self.workload.constants
        return run_on_simulator(self.kernel, self._name, tensors, constants, accelerator, arrays)

    def to_c(self, vendor_header: str | None = None) -> dict[str, str]:
        """The texts of `autocomp export` by file name; see `autocomp.export.export_files`."""
        return to_c([self], vendor_header)

    @property
    def _name(self) -> str:
        return str(self.path or self.workload.name)


@dataclass(frozen=True)
class Match(schedules.Match):
    """A schedule found, which runs on the simulator and is written as C. Where the sizes differ, the function that
    chooses kernels by size does: it takes blocks by fast kernels, and the rest by one of any size."""

    def run(self, arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
        """As `Answer.run`. Raises ConfigError as well where the match assumes options, or no kernel has the sizes."""
        answer = self._answer()
        if self.exact:
            return answer.run(arrays)
        accelerator = accelerator_of(answer.target, "running a kernel on the simulator")
        workload = resized(answer.workload, accelerator, self.shape)
        _check(workload, arrays)
        values = {name: float(value) for name, value in self.arguments.items()}
        (dispatch,) = dispatches(self._alike(answer, accelerator), accelerator)
        return dispatch.run(self.shape, arrays, values, accelerator)

    def to_c(self, vendor_header: str | None = None) -> dict[str, str]:
        """As `Answer.to_c`, with all kernels that differ in one size alone where this is for other sizes. Raises
        ConfigError where the match assumes options."""
        answer = self._answer()
        accelerator = accelerator_of(answer.target, "writing C")
        return export_files(self._alike(answer, accelerator), accelerator, vendor_header)

    def _answer(self) -> Answer:
        path = self.stored.path
        if self.assumed:
            raise ConfigError(
                f"the nearest schedule, {path}, assumes {dict(self.assumed)}: it does not compute what was asked for",
                hint="lookup_or_adapt makes a kernel for exactly a workload",
            )
        record = record_at(self.stored)
        target = load_target(record.target.spec, record.target.parameters)
        workload = workload_of(record, target, path, ())
        answer = _valid(replace(workload, options={**workload.options, **self.arguments}), target, record, path)
        if answer is None:
            raise ConfigError(f"{path} is for another description of {target.name}, and wrong on this one")
        return answer

    def _alike(self, answer: Answer, accelerator: Accelerator) -> list[Schedule]:
        """The schedule; for other sizes also those of its operation that differ from these in one size."""
        found = {answer.record.identity: of_record(answer.record, str(self.stored.path), accelerator)}
        for stored in [] if self.exact else all_schedules(_warn, default_roots()):
            entry = stored.entry
            differing = sum(entry.dims.get(name) != size for name, size in self.shape.items())
            if (entry.target, entry.operation) != (self.stored.entry.target, answer.record.operation.name):
                continue
            if differing > 1 or entry.parameters != self.stored.entry.parameters:
                continue
            record = record_at(stored)
            schedule = of_record(record, str(stored.path), accelerator)
            if record.target.digest == answer.target.digest and schedule.family == found[answer.record.identity].family:
                found.setdefault(record.identity, schedule)
        return list(found.values())


def lookup(
    operation: str,
    shape: Mapping[str, int],
    accelerator: str | None = None,
    *,
    target: str | None = None,
    options: Mapping[str, Any] | None = None,
    parameters: Mapping[str, int | float] | None = None,
) -> Match | None:
    """As `autocomp.schedules.lookup`, by the standard library alone; an exact match also runs and becomes C."""
    match = schedules.lookup(operation, shape, accelerator, target=target, options=options, parameters=parameters)
    return None if match is None else Match(**vars(match))


def lookup_or_adapt(workload: Asked, *, evaluations: int = EVALUATIONS, keep: bool = True, seed: int = 0) -> Answer:
    """The kernel for a workload, a workload file, its keys, or the name of a shipped one. It is the store's, or one of
    the store's for the other activation where the machine takes that as an operand. Else it is the best that a short
    search makes of the nearest schedules. The user's store keeps what it did not have.

    A record for another description of the machine counts only if its kernel is still correct. Raises AutocompError
    where there is no workload of that name, or where its naive kernel fails.
    """
    asked = _workload(workload)
    target = load_target(asked.target, asked.overrides)
    served = known(asked, target)
    if served is not None:
        return served
    record, count = turned(asked, target), 1
    if record is None:
        record = fresh_record(asked, target, evaluations, _warn, seed=seed)
        count = record.provenance.evaluations
    path = Store(user_root()).put(record)[0] if keep else None
    return Answer(asked, target, record, "adapted", path, count)


def lookup_or_adapt_all(
    asked: Sequence[Workload | str | Mapping[str, Any]],
    *,
    evaluations: int = EVALUATIONS,
    keep: bool = True,
    seed: int = 0,
) -> list[Answer]:
    """`lookup_or_adapt` for each; of equal workloads once."""
    answers: dict[tuple[str, str], Answer] = {}
    results = []
    for one in asked:
        workload = _workload(one)
        target = load_target(workload.target, workload.overrides)
        key = operation_of(workload).model_dump_json(), machine_of(target).model_dump_json()
        if key not in answers:
            answers[key] = lookup_or_adapt(workload, evaluations=evaluations, keep=keep, seed=seed)
        results.append(answers[key])
    return results


def _workload(asked: Asked) -> Workload:
    if isinstance(asked, Mapping):
        return workloads.stated(asked)
    return workloads.load(asked) if isinstance(asked, str) else asked


def to_c(answers: Sequence[Answer], vendor_header: str | None = None) -> dict[str, str]:
    """One export of several answers for one machine, each kernel once. Raises ConfigError for several machines."""
    if not answers:
        return {}
    accelerator = accelerator_of(answers[0].target, "writing C")
    schedules = {answer.record.identity: of_record(answer.record, answer._name, accelerator) for answer in answers}
    return export_files(list(schedules.values()), accelerator, vendor_header)


def known(workload: Workload, target: Target) -> Answer | None:
    """The stores' record of exactly this workload, if its kernel is correct on the machine as it is described now."""
    operation, machine = operation_of(workload), machine_of(target)
    for stored in of_sizes(machine, operation, _warn):
        record = record_at(stored)
        if not record.operation.computes(operation) or record.target.parameters != machine.parameters:
            continue
        answer = _valid(workload, target, record, stored.path)
        if answer is not None:
            return answer
        _warn(f"{stored.path} is for another description of {target.name}, and wrong on this one")
    return None


def turned(workload: Workload, target: Target) -> ScheduleRecord | None:
    """A record that the stores have for the other activation, with its kernel for the workload's; it is evaluated. None
    where they have none, or where the machine does not take the activation as an operand."""
    operation, machine = operation_of(workload), machine_of(target)
    for stored in of_sizes(machine, operation, _warn) if machine.kind == SIMULATED else ():
        record = record_at(stored)
        options = {**record.operation.options, ACTIVATION: workload.options.get(ACTIVATION)}
        other = record.operation.model_copy(update={"options": options})
        if not other.computes(operation) or record.target.parameters != machine.parameters:
            continue
        present = record.operation.bound
        text = bound(record.kernel, present, {name: workload.options[name] for name in present})
        accelerator = accelerator_of(target, "changing a kernel")
        kernel = with_activation(text, str(stored.path), accelerator, workload.constants)
        evaluation = None if kernel is None else target.evaluator(workload).evaluate(kernel)
        if kernel is not None and evaluation is not None and evaluation.correct and evaluation.value is not None:
            arguments = arguments_of(workload, target, kernel, evaluation.value)
            now = datetime.now().astimezone()
            record = record.model_copy(update={"kernel": kernel})
            return renewed(record, target, workload, evaluation, now, arguments)
    return None


def _valid(workload: Workload, target: Target, record: ScheduleRecord, path: Path) -> Answer | None:
    """A record as an answer, if its kernel is correct on the machine as it is described now."""
    answer = Answer(workload, target, record, "exact", path)
    holds = record.target.digest == target.digest or target.evaluator(workload).evaluate(answer.kernel).correct
    return answer if holds else None


def _check(workload: Workload, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    for tensor in workload.tensors:
        array = arrays.get(tensor.name)
        given = "nothing" if array is None else f"{array.dtype}{list(array.shape)}"
        if given != f"{tensor.dtype}{list(tensor.shape)}":
            raise ConfigError(
                f"tensor {tensor.name} of {workload.name} is {tensor.dtype}{list(tensor.shape)}, not {given}"
            )


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=2)

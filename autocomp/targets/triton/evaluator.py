"""Judging a kernel through a worker, and what its times mean beside the device's roofline."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from autocomp.errors import ConfigError, KernelError
from autocomp.targets.evaluation import (
    PHASES,
    Bound,
    Evaluation,
    Evidence,
    Measurement,
    Objective,
    Phase,
    Stage,
    StageVerdict,
)
from autocomp.targets.protocol import Evaluator
from autocomp.targets.triton.connection import Host, ask
from autocomp.targets.triton.dialect import TritonPython
from autocomp.workload import require_trusted
from autocomp.workload.model import Workload

MICROSECONDS = Objective("us", "lower")
CHECK = Stage(
    "check", "screen", "The text is of the language: allowed imports, names and calls, seen by parsing alone."
)
COMPILE = Stage("compile", "screen", "Triton compiles what the launches of the workload's sizes need.")
SMOKE = Stage("smoke", "screen", "Random inputs at a small odd size and at the workload's own.")
TIMING = Stage("timing", "screen", "Timed on the device; results of timed runs are compared too.")
SIZES = Stage("sizes", "prove", "Each data type at sizes that no tile divides.")
VALUES = Stage("values", "prove", "Values around a centre, of different magnitudes, sparse, constant, zero, infinite.")
DETERMINISM = Stage("determinism", "prove", "The same inputs give the same result, bit for bit.")
ACCESSES = Stage("accesses", "prove", "Every access lies in a tensor, as NVIDIA's compute-sanitizer sees it.")
BELIEVED = 0.9  # of the roofline: a kernel that is faster than this share of its bound has not done the work
ROUNDS = 5  # turns that kernels take when they are measured side by side


@dataclass(frozen=True)
class TritonEvaluator(Evaluator):
    """Judges kernels of one workload on one device. `has_device` is whether there is a GPU to time on."""

    host: Host
    workload: Workload
    has_device: bool
    effort: Mapping[str, float] = field(default_factory=dict)
    source: str = "kernel.py"
    device: str | None = None
    keeps: bool = False
    bound: Bound | None = None

    @property
    def stages(self) -> tuple[Stage, ...]:  # type: ignore[override]
        if self.has_device:
            further = (ACCESSES,) if self.effort.get("sanitize") else ()
            return (CHECK, COMPILE, SMOKE, TIMING, SIZES, VALUES, DETERMINISM, *further)
        return (CHECK, SMOKE, SIZES, VALUES, DETERMINISM)

    @property
    def version(self) -> str:  # type: ignore[override]
        return judge_version()

    def evaluate(self, kernel: str, phases: Collection[Phase] = PHASES, seed: int | None = None) -> Evaluation:
        seed = secrets.randbits(48) if seed is None else seed
        stages = [stage for stage in self.stages if stage.phase in phases]
        verdicts: list[StageVerdict] = []
        if CHECK in stages:
            fault = self._fault(kernel)
            verdicts.append(StageVerdict("check", "failed" if fault else "passed", *_told(fault)))
        answer: Mapping[str, Any] = {}
        if all(verdict.status == "passed" for verdict in verdicts):
            answer = self._ask("judge", kernel=kernel, phases=sorted(phases), seed=seed)
            verdicts += [_verdict(document) for document in answer["stages"]]
        measurement = _measurement(answer.get("measurement"))
        verdicts = _doubted(verdicts, measurement, self.bound)
        reached = {verdict.stage for verdict in verdicts}
        verdicts += [StageVerdict(stage.name, "skipped") for stage in stages if stage.name not in reached]
        return Evaluation(
            tuple(verdicts),
            MICROSECONDS,
            measurement if all(v.status != "failed" for v in verdicts) else None,
            self.bound,
            _evidence(answer, measurement, self.bound, self.has_device),
            float(answer.get("seconds", 0.0)),
            seed,
        )

    def measure_beside(self, kernels: Sequence[str]) -> tuple[Measurement | None, ...]:
        if not self.has_device:
            return tuple(None for _ in kernels)
        answer = self._ask("beside", kernels=list(kernels), seed=secrets.randbits(48), rounds=ROUNDS)
        return tuple(_measurement(document) for document in answer["measurements"])

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        return ask(self.host, method, task=task_of(self.workload), effort=dict(self.effort), **params)

    def _fault(self, kernel: str) -> KernelError | None:
        try:
            TritonPython().check(kernel, self.workload, self.source)
        except KernelError as error:
            return error
        return None


def task_of(workload: Workload) -> dict[str, Any]:
    """A workload as a worker's message has it. Raises TrustError for a reference that may not run."""
    if workload.operation == "custom":
        return _custom_task(workload)
    options = dict(workload.options)
    dtypes, sizes = options.pop("dtypes", ()), options.pop("sizes", ())
    return {
        "operation": workload.operation,
        "dims": dict(workload.dims),
        "dtype": options.pop("dtype"),
        "options": options,
        "dtypes": list(dtypes),
        "sizes": [dict(size) for size in sizes],
        "host": workload.host,
    }


def _custom_task(workload: Workload) -> dict[str, Any]:
    require_trusted(workload)
    tolerance = workload.tolerance
    if tolerance is not None and tolerance.magnitude is not None:
        raise ConfigError("a reference in PyTorch has no `magnitude`: state `relative` and `absolute` alone")
    stated = {} if tolerance is None else {"relative": tolerance.relative, "absolute": tolerance.absolute}
    tensors = [{"name": t.name, "dtype": t.dtype, "shape": list(t.shape), "role": t.role} for t in workload.tensors]
    named = str(workload.reference_source).rsplit(":", 1)[1]
    return {
        "operation": workload.operation,
        "dims": {},
        "dtype": workload.outputs[0].dtype,
        "host": workload.host,
        "custom": {
            "reference": workload.reference_text,
            "name": named,
            "tensors": tensors,
            "ranges": dict(workload.options.get("ranges", {})),
            "tolerance": stated,
            "convolutions": workload.options.get("convolutions", "float32"),
        },
    }


@cache
def judge_version() -> str:
    """A digest of the code that judges: of the worker, the language's check, and the operations' references."""
    digest = hashlib.sha256()
    here = Path(__file__).parent
    tensor = here.parent.parent / "workload" / "tensor"
    for folder in (here / "worker", here / "language", tensor):
        for file in sorted(folder.glob("*.py")):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def _told(fault: KernelError | None) -> tuple[str, int | None]:
    if fault is None:
        return "", None
    return str(fault), fault.place.line if fault.place else None


def _verdict(document: Mapping[str, Any]) -> StageVerdict:
    passed = document["status"] == "passed"
    seconds = float(document["seconds"])
    return StageVerdict(document["stage"], "passed" if passed else "failed", document["message"], None, seconds)


def _measurement(document: Mapping[str, Any] | None) -> Measurement | None:
    if document is None:
        return None
    return Measurement(document["value"], document["spread"], tuple(document["samples"]))


def _doubted(verdicts: list[StageVerdict], measurement: Measurement | None, bound: Bound | None) -> list[StageVerdict]:
    """A result beyond the roofline is a fault of the judgement or a trick of the kernel, and no record."""
    if measurement is None or bound is None or measurement.value >= BELIEVED * bound.value:
        return verdicts
    message = (
        f"{measurement.value:.1f} us is beyond the device's roofline of {bound.value:.1f} us ({bound.explanation}); "
        "the kernel cannot have done the work in every timed run"
    )
    return [StageVerdict(v.stage, "failed", message, None, v.seconds) if v.stage == "timing" else v for v in verdicts]


def _evidence(
    answer: Mapping[str, Any], measurement: Measurement | None, bound: Bound | None, has_device: bool
) -> Evidence:
    """The evidence of a kernel without a profile: its times beside the roofline, and the resources of a multiprocessor
    that it uses."""
    figures: dict[str, float] = {}
    story: list[str] = []
    if measurement is not None and bound is not None:
        names = {"memory": "bandwidth", "compute": "arithmetic"}
        limit = max(bound.parts, key=lambda part: bound.parts[part])
        figures = {f"share of {names[part]}": float(v) / float(measurement.value) for part, v in bound.parts.items()}
        story.append(
            f"The kernel takes {measurement.value:.1f} us; {names[limit]} alone would take {bound.value:.1f} us, "
            f"{bound.value / measurement.value:.0%} of it."
        )
    elif not has_device:
        story.append("There is no GPU: the kernel was judged on Triton's interpreter and not timed.")
    state = (answer.get("measurement") or {}).get("state", {})
    figures |= {name.replace("_", " "): float(value) for name, value in state.items()}
    for kernel in answer.get("resources", ()):
        story.append(f"{kernel['name']} uses {kernel['shared']:,} bytes of shared memory and {kernel['warps']} warps.")
    return Evidence(figures=figures, story=tuple(story))

"""A GPU, or Triton's interpreter in its place, as a target."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from autocomp.data import cache_folder, write_atomically
from autocomp.documents import problems, read_mapping
from autocomp.errors import ConfigError, DeviceError
from autocomp.targets.evaluation import Bound, Evidence, Number
from autocomp.targets.protocol import Focus, Knowledge, Rules, Target
from autocomp.targets.rewriting import RewritingCoder
from autocomp.targets.triton.connection import Host, ask
from autocomp.targets.triton.dialect import TritonPython
from autocomp.targets.triton.evaluator import MICROSECONDS, TritonEvaluator, task_of
from autocomp.targets.triton.knowledge import knowledge
from autocomp.targets.triton.planner import TritonPlanner
from autocomp.targets.triton.profile import RecordedKernel, record
from autocomp.targets.triton.roofline import Peaks, bound_of, bound_of_traced
from autocomp.targets.triton.start import starting_kernel
from autocomp.targets.triton.start.adopted import adopted
from autocomp.targets.triton.start.traced import traced_kernel
from autocomp.targets.triton.transformations import Device, TritonTransformations
from autocomp.workload.datatypes import data_type
from autocomp.workload.model import Workload

INTERPRETER = "cpu"
CUSTOM = "custom"  # the operation of a workload with a reference of the user's own
PARAMETERS: dict[str, float] = {
    "fewest": 20,  # timed runs, at least
    "repeats": 200,  # timed runs, at most
    "timing_seconds": 0.15,  # of timing, after which the fewest runs are enough
    "precision": 0.003,  # of the median that the confidence interval may be wide for timing to end
    "run_seconds": 5.0,  # that one run may take
    "sanitize": 0,  # 1 for a further stage, in which compute-sanitizer watches the kernel's accesses
}


class _HostFile(BaseModel):
    """A file that says where a device is."""

    model_config = ConfigDict(extra="forbid")
    command: list[str] = []
    python: str = "python3"
    device: str = ""


@dataclass(frozen=True)
class _Snapshot:
    """A device as a run folder keeps it."""

    __pydantic_config__ = ConfigDict(extra="forbid")
    name: str
    host: Host
    greeting: dict[str, Any]
    peaks: Peaks | None = None
    parameters: dict[str, Number] = field(default_factory=dict)


_SNAPSHOT: TypeAdapter[_Snapshot] = TypeAdapter(_Snapshot)


class TritonTarget(Target):
    """One device. `greeting` is what its worker says of it; `peaks` what it was measured to reach, None for the
    interpreter."""

    kind = "triton"
    objective = MICROSECONDS
    language = TritonPython()
    causes = ("Memory", "Compute", "Latency", "Load", "Barrier", "Launch", "Tail", "Softmax")

    def __init__(
        self,
        name: str,
        host: Host,
        greeting: Mapping[str, Any],
        peaks: Peaks | None,
        parameters: Mapping[str, Number] | None = None,
    ) -> None:
        unknown = [key for key in parameters or {} if key not in PARAMETERS]
        if unknown:
            raise ConfigError(
                f"the target {self.kind} has no parameter {unknown[0]!r}", hint=f"known: {', '.join(PARAMETERS)}"
            )
        self.name = name
        self.host = host
        self.greeting = dict(greeting)
        self.peaks = peaks
        self.overrides = dict(parameters or {})
        self.parameters = {**PARAMETERS, **self.overrides}
        self.family = _slug(str(greeting["name"]))
        self.has_device = greeting["device"] != INTERPRETER
        self.digest = _digest(greeting, self.parameters)
        self.device = _device_of(greeting)
        self.transformations = TritonTransformations(self.device)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TritonTarget) and self.snapshot() == other.snapshot()

    def __hash__(self) -> int:
        return hash(self.digest)

    @classmethod
    def load(
        cls, name: str, parameters: Mapping[str, Number], paths: Sequence[Path], trust: bool = False
    ) -> TritonTarget:
        """The device of a name: "" for the first GPU, or the interpreter on a machine without one; `cpu` for the
        interpreter; `cuda:1` for another GPU; a YAML file that names a host. Starts a worker there. Raises TrustError
        for programs that such a file names and the user has not allowed."""
        host = _host(name, paths)
        if trust:
            host.allow(name)
        greeting = ask(host, "hello", device=host.device)
        peaks = None if greeting["device"] == INTERPRETER else _peaks(host, greeting)
        return cls(_slug(str(greeting["name"])), host, greeting, peaks, parameters)

    @classmethod
    def restore(cls, snapshot: Mapping[str, Any], trust: bool = False) -> TritonTarget:
        try:
            kept = _SNAPSHOT.validate_python(snapshot)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in fault["loc"])
            raise ConfigError(f"the device of a run folder, field {where!r}: {fault['msg']}") from None
        if trust:
            kept.host.allow(f"the run folder of {kept.name}")
        try:
            return cls(kept.name, kept.host, kept.greeting, kept.peaks, kept.parameters)
        except (LookupError, TypeError, ValueError) as error:
            raise ConfigError(f"the device of a run folder, field 'greeting': {error!r}") from None

    def probe(self) -> dict[str, Any]:
        """The device and its peak rates: measured anew and kept. Bandwidth in bytes a second, products in operations a
        second by data type. Raises ConfigError for the interpreter."""
        if not self.has_device:
            raise ConfigError(
                f"{self.greeting['name']} is not a GPU, and has no peaks to measure", hint="a probe needs a GPU"
            )
        self.peaks = _peaks(self.host, self.greeting, again=True)
        return {**self.greeting, **asdict(self.peaks)}

    def snapshot(self) -> dict[str, Any]:
        snapshot = _Snapshot(self.name, self.host, self.greeting, self.peaks, self.overrides)
        document: dict[str, Any] = _SNAPSHOT.dump_python(snapshot, mode="json")
        return document

    def starting_kernel(self, workload: Workload) -> str:
        if workload.operation == CUSTOM:
            outputs = [tensor.name for tensor in workload.outputs]
            floats = {tensor.dtype for tensor in workload.tensors if data_type(tensor.dtype).is_float}
            tf32 = workload.options.get("convolutions") == "tf32"
            return traced_kernel(self._traced(workload)["graph"], outputs, floats == {"float32"}, tf32)
        return starting_kernel(workload.operation, workload.dims, workload.options)

    def completed(self, kernel: str, workload: Workload) -> str:
        return adopted(kernel, computes=workload.host == "compute")

    def evaluator(self, workload: Workload, source: str = "kernel.py") -> TritonEvaluator:
        if workload.host == "data_dependent":
            raise ConfigError(
                "host: data_dependent: the host of a GPU kernel reads no results",
                hint="`host: compute` lets it call PyTorch's functions on tensors",
            )
        return TritonEvaluator(
            self.host, workload, self.has_device, self.parameters, source, bound=self.bound(workload)
        )

    def bound(self, workload: Workload) -> Bound | None:
        if workload.operation == CUSTOM and self.peaks is not None:
            needs = self._traced(workload)["needs"]
            return bound_of_traced(needs, workload.outputs[0].dtype, self.peaks)
        return bound_of(workload, self.peaks)

    def _traced(self, workload: Workload) -> dict[str, Any]:
        """The graph of a user's own operation, and what it needs at least, from a worker."""
        return traced_by(self.host, json.dumps(task_of(workload), sort_keys=True))

    def menus(self, operation: str) -> tuple[str, ...]:
        return ("triton",)

    def knowledge(self, workload: Workload, focus: Focus) -> Knowledge:
        return knowledge(workload, self.greeting, self.peaks, focus)

    def diagnose(self, kernel: str, workload: Workload) -> Evidence | None:
        """Phases of the kernel's loops by marks, and what to change; None without a GPU or where recording fails."""
        if not self.has_device:
            return None
        try:
            return self.record(kernel, workload, counters=False).evidence()
        except (ConfigError, DeviceError):
            return None

    def record(self, kernel: str, workload: Workload, source: str = "kernel", counters: bool = True) -> RecordedKernel:
        self.language.check(kernel, workload, source)
        if not self.has_device:
            raise ConfigError(f"{self.greeting['name']} records nothing", hint="a profile needs a GPU")
        device = str(self.greeting["device"])
        answer = record(self.host, device, task_of(workload), kernel, secrets.randbits(48), counters)
        shared, capability = int(self.greeting["shared_bytes"]), self.greeting.get("capability", ())
        return RecordedKernel(answer, kernel, self.name, shared, workload, capability)

    def rules(self) -> Rules:
        return Rules(TritonPlanner(self.device), RewritingCoder(), dives=False)


@cache
def traced_by(host: Host, task: str) -> dict[str, Any]:
    return ask(host, "trace", task=json.loads(task))


def _host(name: str, paths: Sequence[Path]) -> Host:
    if not name or name == INTERPRETER or re.fullmatch(r"(cuda|hip):\d+", name):
        return Host(device=name)
    places = [Path(name), *(folder / name for folder in paths), *(folder / f"{name}.yaml" for folder in paths)]
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        raise ConfigError(
            f"no device named {name!r}",
            hint="expected `cpu`, `cuda:N`, or a file that describes a host; leave it out for the first GPU",
        )
    content = read_mapping(file, "a description of a host")
    try:
        told = _HostFile.model_validate(content)
    except ValidationError as error:
        keys = list(_HostFile.model_fields)
        faults = "; ".join(problems(error, content, lambda _: keys))
        raise ConfigError(f"{file}: {faults}", hint=f"keys: {', '.join(keys)}") from None
    return Host(tuple(told.command), told.python, told.device)


def _peaks(host: Host, greeting: Mapping[str, Any], again: bool = False) -> Peaks:
    """The peak rates of the device, measured once and kept; `again` measures once more."""
    key = hashlib.sha256(json.dumps([host.command, greeting], sort_keys=True).encode()).hexdigest()[:16]
    file = cache_folder("devices") / f"triton-{key}.json"
    if file.is_file() and not again:
        return Peaks(**json.loads(file.read_text(encoding="utf-8")))
    peaks = ask(host, "probe")
    write_atomically(file, json.dumps(peaks))
    return Peaks(**peaks)


def _digest(greeting: Mapping[str, Any], parameters: Mapping[str, Number]) -> str:
    """The device and the versions that decide how it does; not where it is reached."""
    meaning = {key: value for key, value in greeting.items() if key not in ("protocol", "device")}
    text = json.dumps([meaning, dict(sorted(parameters.items()))], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _device_of(greeting: Mapping[str, Any]) -> Device:
    if greeting["device"] == INTERPRETER or greeting.get("backend") != "cuda":
        return Device(int(greeting.get("multiprocessors", 8)), int(greeting.get("shared_bytes", 65_536)), (0, 0))
    capability = greeting["capability"]
    return Device(int(greeting["multiprocessors"]), int(greeting["shared_bytes"]), (capability[0], capability[1]))


def _slug(name: str) -> str:
    """A name as file names have it: 'NVIDIA H200' is `nvidia-h200`."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")

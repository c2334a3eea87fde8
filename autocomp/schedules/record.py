"""A schedule: the fastest kernel known for one operation on one machine, how it came about, and its file's form."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, ValidationError, model_serializer
from typing_extensions import TypeAliasType

from autocomp.errors import ConfigError
from autocomp.targets.evaluation import Objective
from autocomp.yaml_text import read_yaml

VERSION = 3
_WITHOUT_DIGEST = 1  # the version before records stated the digest of their content
_OF_ACCELERATORS = 2  # the last version whose records were all of simulated accelerators, in cycles
SIMULATED = "simulator"
_NOT_PLAIN = re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff]")  # YAML breaks lines at these, or refuses them


# Names go into C, options into its comments, which no option can end: a record may come from anyone.
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9_ .+/%-]{0,100}$")]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Option = TypeAliasType("Option", "bool | int | Finite | Word | list[Option] | dict[Identifier, Option] | None")
Size = Annotated[int, Field(ge=1, le=1 << 40)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class RecordedTarget(_Part):
    """The target that the kernel is for: its kind, and its name within the kind. `digest` is that of its meaning with
    the parameters applied."""

    kind: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")
    name: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*(:[A-Za-z0-9_.-]+)?$")
    parameters: dict[str, int | float]
    digest: str

    @property
    def spec(self) -> str:
        """KIND:NAME."""
        return f"{self.kind}:{self.name}"

    @property
    def folder(self) -> str:
        """The machine's folder in a store."""
        return (self.name if self.kind == SIMULATED else self.spec).replace(":", "-")


class Tensor(_Part):
    """A pointer argument of the kernel: row-major, elements of a NumPy type."""

    name: Identifier
    dtype: Identifier
    shape: Annotated[tuple[Size, ...], Field(max_length=8)]
    role: Literal["input", "output", "inout"]


class Operation(_Part):
    """The operation that a kernel computes. `reference` is the digest of a user's own definition, which `name` alone
    does not identify. `arguments` are the options that the kernel takes at run time. `options` has the values that it
    was measured with; they are numbers in its text, and other numbers may replace them."""

    name: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")
    dims: dict[Identifier, int]
    options: dict[Identifier, Option] = {}
    tensors: tuple[Tensor, ...]
    reference: str | None = None
    arguments: tuple[Identifier, ...] = ()

    @model_serializer(mode="wrap")
    def _without_an_empty_list(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """As before there were arguments, so that the digests of records without them stay."""
        content: dict[str, Any] = handler(self)
        return content if self.arguments else {name: value for name, value in content.items() if name != "arguments"}

    @property
    def bound(self) -> dict[str, float]:
        """The arguments with their values in the kernel's text."""
        return {name: float(str(self.options[name])) for name in self.arguments}

    def general(self) -> Operation:
        """The operation for any values of its arguments."""
        return self.model_copy(update={"options": {**self.options, **dict.fromkeys(self.arguments)}})

    def computes(self, asked: Operation) -> bool:
        """True if the kernel, with the asked values of its arguments, computes what is asked for."""
        if not self.arguments:
            return self == asked
        return self.general() == asked.model_copy(update={"arguments": self.arguments}).general()


class PlanStep(_Part):
    """One step from the naive kernel; `value` is what was measured after it."""

    option: str
    text: str
    transformation: str | None = None
    parameters: dict[str, Any] = {}
    author: str
    value: int | float


class Result(_Part):
    """Values of the objective: of the kernel, with the half-width of its confidence interval, of the naive kernel, and
    the bound; `ratio` is how much of the bound is reached. None where it is not known."""

    objective: Objective
    value: int | float = Field(gt=0)
    spread: int | float = Field(0, ge=0)
    naive: int | float
    bound: int | float | None = None
    ratio: float | None = None
    utilisation: float | None = None
    stages: dict[str, str]


class Provenance(_Part):
    """Where a record comes from: enough to run the search again. `versions` and `created` are those of the figures."""

    strategy: str
    seed: int
    planner: str
    coder: str
    evaluations: int
    versions: dict[str, str]
    created: str


class ScheduleRecord(_Part):
    """One file of the store; fields are in the order in which a reviewer wants them."""

    version: Literal[3] = 3
    target: RecordedTarget
    operation: Operation
    result: Result
    plans: tuple[PlanStep, ...]
    provenance: Provenance
    kernel: str

    @property
    def identity(self) -> str:
        """sha256 of what the record is a schedule for; records of the same identity compete."""
        target = self.target
        simulated = {"accelerator": [target.name, target.parameters]}  # as in all records before there were others
        machine = simulated if target.kind == SIMULATED else {"target": [target.kind, target.name, target.parameters]}
        parts = {**machine, "operation": self.operation.general().model_dump(mode="json")}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    @property
    def digest(self) -> str:
        """sha256 of the whole content, which its file states."""
        return _digest(self.model_dump(mode="json"))

    @property
    def folder(self) -> str:
        """`accelerator/operation`, or `kind-machine/operation` of other kinds of targets; a configuration follows after
        a hyphen."""
        return f"{self.target.folder}/{self.operation.name}"

    @property
    def file_name(self) -> str:
        """Readable sizes, then part of the identity, which distinguishes records of the same sizes:
        `I512_J512_K512-1a2b3c4d.yaml`."""
        sizes = "_".join(f"{name}{size}" for name, size in self.operation.dims.items())
        return f"{re.sub(r'[^A-Za-z0-9_]', '', sizes)[:80] or 'record'}-{self.identity[:8]}.yaml"


def better(present: ScheduleRecord, other: ScheduleRecord) -> bool:
    """True if another record of the same identity replaces the present one. On the same machine under the same
    objective the better, and of equals the one found first; else the one found last, as they cannot be compared."""
    created, other_found = present.provenance.created, other.provenance.created
    objective = present.result.objective
    if present.target.digest != other.target.digest or objective != other.result.objective:
        return (other_found, other.digest) > (created, present.digest)
    rank, other_rank = objective.rank(present.result.value), objective.rank(other.result.value)
    return (other_rank, other_found, other.digest) < (rank, created, present.digest)


def to_yaml(record: ScheduleRecord) -> str:
    """The record as YAML with its kernel as a literal block; `from_yaml` gives back an equal record."""
    document = {"version": record.version, "digest": record.digest, **record.model_dump(mode="json")}
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)


def from_yaml(text: str, source: str) -> ScheduleRecord:
    """Read a record; one of an earlier version is brought up to this one.

    Raises ConfigError naming the file and the field at fault, also where the content is not what its digest says.
    """
    document, _ = read_yaml(text, source)
    if not isinstance(document, Mapping):
        raise ConfigError(f"{source}: a schedule holds keys and values, found {type(document).__name__}")
    version = document.get("version")
    if version not in (_WITHOUT_DIGEST, _OF_ACCELERATORS, VERSION):
        raise ConfigError(f"{source}: schedule version {version!r}; this program reads up to {VERSION}")
    content = {name: value for name, value in document.items() if name != "digest"}
    stated = document.get("digest")
    digest = _digest(content) if version == _OF_ACCELERATORS else None
    record = _validated(content if version == VERSION else _upgraded(content, source), source)
    if version != _WITHOUT_DIGEST and stated != (digest or record.digest):
        raise ConfigError(
            f"{source}: the content has digest {digest or record.digest}, the file says {stated!r}",
            hint="it was changed or damaged after it was written; search again, or take the file from its source",
        )
    return record


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def _upgraded(content: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The content of a record of an earlier version, whose target was a simulated accelerator, as this one writes it.
    Raises ConfigError for a field that is not there."""
    try:
        result = content["result"]
        return {
            **{name: value for name, value in content.items() if name not in ("accelerator", "result", "plans")},
            "version": VERSION,
            "target": {"kind": SIMULATED, **content["accelerator"]},
            "result": {
                "objective": {"unit": "cycles", "direction": "lower"},
                "value": result["cycles"],
                "naive": result["naive_cycles"],
                "bound": result["bound_cycles"],
                **{name: result[name] for name in ("ratio", "utilisation", "stages")},
            },
            "plans": [
                {**{name: value for name, value in plan.items() if name != "cycles"}, "value": plan["cycles"]}
                for plan in content["plans"]
            ],
        }
    except (AttributeError, KeyError, TypeError) as error:
        raise ConfigError(f"{source}: not a schedule of version {content.get('version')}: {error!r}") from None


def _validated(document: Mapping[str, Any], source: str) -> ScheduleRecord:
    try:
        return ScheduleRecord.model_validate(document)
    except ValidationError as error:
        detail = error.errors()[0]
        where = ".".join(str(part) for part in detail["loc"])
        raise ConfigError(f"{source}: field {where!r}: {detail['msg']}") from None


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as literal blocks, sequences of numbers on one line."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    if _NOT_PLAIN.search(text):
        style = '"'
    elif "\n" in text:
        style = '"' if text.startswith((" ", "\n")) else "|"
    else:
        style = None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _list(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=all(isinstance(i, int) for i in items))


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)

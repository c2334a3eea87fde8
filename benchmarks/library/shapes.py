"""The operations that the shipped schedules are for: what a model computes, from a file per model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from autocomp.workload import Workload, parse
from autocomp.yaml_text import read_yaml

FOLDER = Path(__file__).parent


class Operation(BaseModel):
    """An operation of a model, and its count; the other keys are those of a workload file."""

    model_config = ConfigDict(extra="allow")
    count: int = Field(ge=1)


class Other(BaseModel):
    """Multiplications of a model that no workload can say, and why."""

    model_config = ConfigDict(extra="forbid")
    count: int = Field(ge=1)
    multiply_accumulates: int = Field(ge=1)
    reason: str


class ModelFile(BaseModel):
    """A model; `common` are keys of all its operations that do not state them, where they have them."""

    model_config = ConfigDict(extra="forbid")
    model: str
    source: str
    accelerator: str
    common: dict[str, Any]
    operations: list[Operation]
    stays: list[Other] = []


@dataclass(frozen=True)
class Shape:
    """One operation of a model."""

    model: str
    count: int
    workload: Workload


def model_files() -> list[Path]:
    return sorted(FOLDER.glob("*.yaml"))


def read(file: Path) -> ModelFile:
    return ModelFile.model_validate(read_yaml(file.read_text(encoding="utf-8"), str(file))[0])


def shapes(file: Path) -> Iterator[Shape]:
    """The operations of a model, in the file's order."""
    model = read(file)
    for operation in model.operations:
        own = operation.model_dump(exclude={"count"})
        document = {"accelerator": model.accelerator, **model.common, **own}
        workload = parse(yaml.safe_dump(document), Path(f"{_name(own)}.yaml"))
        yield Shape(model.model, operation.count, workload)


def _name(document: dict[str, Any]) -> str:
    """Readable, and different for different operations, as in `gemm_I64_J64_K64_transpose_b_True`."""
    sizes = [f"{name}{size}" for name, size in document["dims"].items()]
    others = [f"{key}_{_word(value)}" for key, value in document.items() if key not in ("operation", "dims")]
    return "_".join([document["operation"], *sizes, *others])


def _word(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, list) else str(value)

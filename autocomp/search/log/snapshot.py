"""The request of a run, as a document in its folder: a run resumes from that alone.

A folder may come from anyone. Its workload, machine and menu are read like files of a stranger's, its Python reference
runs only if the user trusts it, and its models are asked where this user says (`autocomp.agents.config.granted`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from autocomp import trust
from autocomp import workload as workloads
from autocomp.agents import config as agents
from autocomp.agents.config import AGENTS, Agents
from autocomp.data import read_regular, write_atomically
from autocomp.documents import problems
from autocomp.errors import AutocompError, ConfigError, RunFolderError
from autocomp.search.log.folder import RunFolder
from autocomp.search.options import Options
from autocomp.targets.evaluation import Objective
from autocomp.targets.menu import Menu
from autocomp.targets.planning import Experience, Precedent
from autocomp.targets.protocol import Target
from autocomp.targets.registry import restore_target
from autocomp.workload.model import Workload

_MENU: TypeAdapter[Menu] = TypeAdapter(Menu)
_PRECEDENTS: TypeAdapter[tuple[Precedent, ...]] = TypeAdapter(tuple[Precedent, ...])
_EXPERIENCE: TypeAdapter[tuple[Experience, ...]] = TypeAdapter(tuple[Experience, ...])


@dataclass(frozen=True)
class Request:
    """All that decides a search; keys are never part of it. `precedents` are the schedules that it begins with,
    `experience` what earlier searches found of the menu's options."""

    workload: Workload
    target: Target
    menu: Menu
    agents: Agents
    options: Options
    strategy: str = "beam"
    precedents: tuple[Precedent, ...] = ()
    experience: tuple[Experience, ...] = ()


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


_Name = Annotated[str, Field(max_length=4096, pattern=r"^[^\x00-\x1f\x7f]*$")]
_Overrides = dict[str, int | float]


class _Workload(_Part):
    """The text of its file, and the texts of the files that it names, by their keys there."""

    name: _Name
    path: _Name
    text: str
    files: dict[str, str]
    overrides: _Overrides
    constants: dict[str, int] = {}


class _Target(_Part):
    """`machine` is what the target itself wrote, and reads."""

    kind: _Name
    name: _Name
    digest: str
    objective: Objective
    suffix: str = ".c"  # of kernels
    machine: dict[str, Any]


class _Judge(_Part):
    stages: tuple[_Name, ...]
    version: _Name


class _Snapshot(_Part):
    format: int
    created: _Name
    versions: dict[_Name, _Name]
    workload: _Workload
    target: _Target
    judge: _Judge
    menu: Menu
    agents: Agents
    strategy: _Name
    options: Options
    precedents: tuple[Precedent, ...]
    experience: tuple[Experience, ...] = ()


def versions() -> dict[str, str]:
    """Versions that a result may depend on."""
    return {"autocomp": metadata.version("autocomp"), "numpy": np.__version__, "python": platform.python_version()}


def create(path: Path, request: Request, now: datetime) -> RunFolder:
    """A new run folder for a request, with copies of all that the request refers to. It is known as the user's own."""
    workload, target = request.workload, request.target
    folder = RunFolder.create(
        path,
        {
            "created": now.isoformat(timespec="seconds"),
            "versions": versions(),
            "workload": {
                "name": workload.name,
                "path": workload.path,
                "text": workload.text,
                "files": dict(workload.files),
                "overrides": dict(workload.overrides),
                "constants": dict(workload.constants),
            },
            "target": {
                "kind": target.kind,
                "name": target.name,
                "digest": target.digest,
                "objective": dataclasses.asdict(target.objective),
                "suffix": target.language.suffix,
                "machine": target.snapshot(),
            },
            "judge": judge_of(request),
            "menu": _MENU.dump_python(request.menu, mode="json"),
            "agents": AGENTS.dump_python(request.agents, mode="json"),
            "strategy": request.strategy,
            "options": request.options.model_dump(mode="json"),
            "precedents": _PRECEDENTS.dump_python(request.precedents, mode="json"),
            "experience": _EXPERIENCE.dump_python(request.experience, mode="json"),
        },
    )
    _keep_reference(workload, folder)
    with contextlib.suppress(ConfigError):  # without the list, a run that is resumed is a stranger's
        if request.agents.models:
            trust.trust("run", read_regular(folder.config), str(path.absolute()))
        if workload.trusted:
            workloads.as_trusted(workload, say=True)
    return folder


def granted(request: Request, folder: RunFolder, given: Agents) -> Request:
    """The request with what this user allows: the models of a run that they began themselves are asked as they said
    then, others as they say now. Raises TrustError for a model, for templates or for a reference that they have not
    allowed."""
    workloads.require_trusted(request.workload)
    own = trust.is_trusted("run", read_regular(folder.config))
    if own and not given.models:
        return request
    return replace(request, agents=agents.granted(request.agents, given))


def restore(folder: RunFolder, say_trusted: bool = False) -> Request:
    """The request of a run folder; with `say_trusted` the user says that its reference may run, and programs that its
    target names.

    Raises RunFolderError if the snapshot is not as this version writes it.
    """
    document = folder.snapshot()
    place = f"{folder.path}/config.json"
    try:
        snapshot = _Snapshot.model_validate(document)
        stored = snapshot.target
        target = restore_target(stored.kind, stored.machine, say_trusted)
        request = Request(
            workload=_workload(snapshot.workload, folder, say_trusted),
            target=target,
            menu=snapshot.menu,
            agents=snapshot.agents,
            options=snapshot.options,
            strategy=snapshot.strategy,
            precedents=snapshot.precedents,
            experience=snapshot.experience,
        )
    except ValidationError as error:
        faults = "; ".join(problems(error, document, lambda _: []))
        raise RunFolderError(f"{place} is not as this version writes it: {faults:.400}") from None
    except AutocompError as error:
        raise RunFolderError(f"{place} cannot be restored: {error}") from error
    if target.digest != stored.digest:
        raise RunFolderError(
            f"the target in {place} has another digest than when the run started",
            hint="the snapshot was edited, or this version reads descriptions differently; start a new search",
        )
    return request


def judge_of(request: Request) -> dict[str, Any]:
    """Who judges the kernels of a request: the stages in their order, and the version."""
    evaluator = request.target.evaluator(request.workload)
    return {"stages": [stage.name for stage in evaluator.stages], "version": evaluator.version}


def check_judge(folder: RunFolder, request: Request) -> str | None:
    """The change of a run's judge since the run started; None if it is the same.

    Raises RunFolderError where it has other stages: the verdicts in the log cannot be completed.
    """
    then, now = folder.snapshot().get("judge"), judge_of(request)
    if then is None or then == now:
        return None
    if then["stages"] != now["stages"]:
        raise RunFolderError(
            f"{folder.path} was judged by other stages: {', '.join(then['stages'])}; now: {', '.join(now['stages'])}",
            hint="start a new search; autocomp report still shows this one",
        )
    return "its judge has changed: verdicts from before and from now on may differ"


def version_changes(snapshot: Mapping[str, Any]) -> list[str]:
    """The differences between the versions that a run started with and the present ones."""
    now = versions()
    then = snapshot.get("versions", {})
    return [f"{name} {then.get(name)} -> {now[name]}" for name in now if then.get(name) != now[name]]


def _workload(stored: _Workload, folder: RunFolder, say_trusted: bool) -> Workload:
    """The workload as it was when the run started. Nothing is read but what the folder holds."""

    def read(key: str, name: str) -> str:
        if key not in stored.files:
            raise RunFolderError(f"the text of the workload's {key} {name!r} is missing")
        return stored.files[key]

    workload = workloads.parse(stored.text, Path(stored.path), stored.overrides, read)
    workload = workloads.with_constants(workloads.as_trusted(workload, say_trusted), stored.constants)
    return replace(workload, name=stored.name, reference_source=_reference_source(workload, folder))


def _keep_reference(workload: Workload, folder: RunFolder) -> None:
    """Copy the user's reference into the folder, for people to read."""
    if workload.reference_text is not None:
        write_atomically(_copy_of(workload.reference_text, folder), workload.reference_text)


def _reference_source(workload: Workload, folder: RunFolder) -> str | None:
    """The reference as messages name it: the user's file if that is unchanged, else the copy."""
    if workload.reference_source is None:
        return None
    file, function = workload.reference_source.rsplit(":", 1)
    text = str(workload.reference_text)
    try:
        unchanged = read_regular(Path(file)) == text.encode()
    except OSError:
        unchanged = False
    return workload.reference_source if unchanged else f"{_copy_of(text, folder)}:{function}"


def _copy_of(text: str, folder: RunFolder) -> Path:
    return folder.path / f"reference_{hashlib.sha256(text.encode()).hexdigest()[:16]}.py"

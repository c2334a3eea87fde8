"""What a run was asked to do, as a document in its folder: a run resumes from that alone."""

from __future__ import annotations

import dataclasses
import hashlib
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from autocomp.agents.config import AGENTS, Agents
from autocomp.data import write_atomically
from autocomp.errors import AutocompError, RunFolderError
from autocomp.search.folder import RunFolder
from autocomp.search.options import Options
from autocomp.targets.menu import Menu
from autocomp.targets.planning import Precedent
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.workload.model import Workload

_WORKLOAD: TypeAdapter[Workload] = TypeAdapter(Workload)
_MENU: TypeAdapter[Menu] = TypeAdapter(Menu)
_PRECEDENTS: TypeAdapter[tuple[Precedent, ...]] = TypeAdapter(tuple[Precedent, ...])


@dataclass(frozen=True)
class Request:
    """All that decides a search; keys are never part of it. `precedents` are the schedules that it begins with."""

    workload: Workload
    accelerator: Accelerator
    menu: Menu
    agents: Agents
    options: Options
    strategy: str = "beam"
    precedents: tuple[Precedent, ...] = ()


def versions() -> dict[str, str]:
    """Versions that a result may depend on."""
    return {"autocomp": metadata.version("autocomp"), "numpy": np.__version__, "python": platform.python_version()}


def create(path: Path, request: Request, now: datetime) -> RunFolder:
    """A new run folder for a request, with copies of all that the request refers to."""
    accelerator = request.accelerator
    reference = _reference_text(request.workload)
    return RunFolder.create(
        path,
        {
            "created": now.isoformat(timespec="seconds"),
            "versions": versions(),
            "workload": _WORKLOAD.dump_python(request.workload, mode="json"),
            "accelerator": {
                "name": accelerator.name,
                "path": accelerator.path,
                "configuration": accelerator.configuration,
                "overrides": dict(request.workload.overrides),
                "digest": accelerator.digest,
                "source": accelerator.source,
            },
            "menu": _MENU.dump_python(request.menu, mode="json"),
            "agents": AGENTS.dump_python(request.agents, mode="json"),
            "strategy": request.strategy,
            "options": dataclasses.asdict(request.options),
            "reference": reference,
            "precedents": _PRECEDENTS.dump_python(request.precedents, mode="json"),
        },
    )


def restore(folder: RunFolder) -> Request:
    """The request of a run folder. Raises RunFolderError if the snapshot is not as this version writes it."""
    snapshot = folder.snapshot()
    try:
        stored = snapshot["accelerator"]
        accelerator = isa.parse(
            stored["source"], stored["path"] or stored["name"], stored["overrides"], stored["configuration"]
        )
        workload = _with_reference(_WORKLOAD.validate_python(snapshot["workload"]), snapshot["reference"], folder)
        request = Request(
            workload=workload,
            accelerator=accelerator,
            menu=_MENU.validate_python(snapshot["menu"]),
            agents=AGENTS.validate_python(snapshot["agents"]),
            options=Options.from_json(snapshot["options"]),
            strategy=snapshot["strategy"],
            precedents=_PRECEDENTS.validate_python(snapshot.get("precedents", ())),  # older runs have none
        )
    except (KeyError, TypeError, ValidationError) as error:
        raise RunFolderError(f"{folder.path}/config.json is not as this version writes it: {error!r}") from error
    except AutocompError as error:
        raise RunFolderError(f"{folder.path}/config.json cannot be restored: {error}") from error
    if accelerator.digest != stored["digest"]:
        raise RunFolderError(
            f"the accelerator in {folder.path}/config.json has another digest than when the run started",
            hint="the snapshot was edited, or this version reads descriptions differently; start a new search",
        )
    return request


def version_changes(snapshot: Mapping[str, Any]) -> list[str]:
    """What differs between the versions that a run started with and the present ones."""
    now = versions()
    then = snapshot.get("versions", {})
    return [f"{name} {then.get(name)} -> {now[name]}" for name in now if then.get(name) != now[name]]


def _reference_text(workload: Workload) -> str | None:
    """The file of the user's own reference function."""
    if workload.reference_source is None:
        return None
    return Path(workload.reference_source.rsplit(":", 1)[0]).read_text(encoding="utf-8")


def _with_reference(workload: Workload, text: str | None, folder: RunFolder) -> Workload:
    """The workload with its reference function as it was when the run started: the user's file if that is unchanged
    (it may import its neighbours), else the copy."""
    if workload.reference_source is None or text is None:
        return workload
    file, function = workload.reference_source.rsplit(":", 1)
    original = Path(file)
    if original.is_file() and original.read_text(encoding="utf-8") == text:
        return workload
    copy = folder.path / f"reference_{hashlib.sha256(text.encode()).hexdigest()[:16]}.py"
    if not copy.exists():
        write_atomically(copy, text)
    return replace(workload, reference_source=f"{copy}:{function}")

"""The experience of earlier searches: how often each option of a menu helped, by machine and operation.

One file an operation, beside its records. It holds counts, speed-ups, ids and digests: no word of a model, so that
a store of somebody else's puts no text into a prompt.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from autocomp.data import read_regular, write_atomically
from autocomp.schedules.index import default_roots
from autocomp.schedules.measured import machine_of, operation_of
from autocomp.schedules.record import SIMULATED
from autocomp.schedules.store import Store, Warn
from autocomp.search import RunFolder, SearchResult
from autocomp.search.findings import by_option
from autocomp.search.log.folder import MOST_BYTES as MOST_CONFIG
from autocomp.search.log.snapshot import Request
from autocomp.targets.planning import Experience
from autocomp.targets.protocol import Target
from autocomp.workload.model import Workload

FILE = "experience.json"
MOST_RUNS = 64  # of a file: the latest
MOST_BYTES = 1 << 20

Count = Annotated[int, Field(ge=0, le=1_000_000)]
SpeedUp = Annotated[float, Field(gt=0, le=1e12)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class _Option(_Part):
    option: Id
    tried: Annotated[int, Field(ge=1, le=1_000_000)]
    faster: Count
    failed: Count
    mean: SpeedUp | None
    best: SpeedUp | None


class _Run(_Part):
    """One search. `machine` is the digest of the machine's description, `problem` that of what the kernel computes."""

    run: Digest
    machine: Digest
    problem: Digest
    options: Annotated[list[_Option], Field(max_length=200)]


class _File(_Part):
    version: Literal[1] = 1
    target: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]+$")]
    operation: Id
    runs: Annotated[list[_Run], Field(max_length=MOST_RUNS)]


@dataclass(frozen=True)
class Known:
    """The experience in one file: of a target and an operation, from `runs` searches."""

    path: Path
    target: str
    operation: str
    runs: int
    options: tuple[Experience, ...]


def remember(request: Request, folder: RunFolder, result: SearchResult, root: Path, warn: Warn) -> Path | None:
    """Add the outcomes of a search to the store; the file, None if the search tried no option. A search that was
    continued takes the place of its earlier part. A damaged file is named to `warn` and begun anew. Raises
    RunFolderError where the store cannot be written."""
    judged = [c for step in result.history.steps for c in step.candidates if c.evaluation is not None]
    ids = {option.id for option in request.menu.options}
    experiences = [one for one in by_option(result.history, judged) if one.option in ids]
    if not experiences:
        return None
    run = _Run(
        run=_digest(read_regular(folder.config, MOST_CONFIG)),
        machine=_digest(request.target.digest.encode()),
        problem=_problem(request.workload),
        options=[_Option.model_validate(asdict(one)) for one in experiences],
    )
    path = root / _place(request.workload, request.target)
    with Store(root).writing(path):
        present = _read(path, warn)
        others = [other for other in present.runs if other.run != run.run] if present else []
        target, operation = machine_of(request.target).spec, operation_of(request.workload).name
        kept = _File(target=target, operation=operation, runs=[*others, run][-MOST_RUNS:])
        write_atomically(path, kept.model_dump_json(indent=1) + "\n")
    return path


def experience_for(
    workload: Workload, target: Target, warn: Warn, roots: Sequence[Path] | None = None
) -> tuple[Experience, ...]:
    """The experience with a workload's operation on the machine as it is described now, by option. Searches for the
    very problem are left out, so that a repeated search is the same search. Damaged files are named to `warn`."""
    machine, problem = _digest(target.digest.encode()), _problem(workload)
    files = [_read(root / _place(workload, target), warn) for root in roots or default_roots()]
    runs = {run.run: run for file in files if file is not None for run in file.runs}
    return _together(run for run in runs.values() if run.machine == machine and run.problem != problem)


def all_experience(root: Path, warn: Warn) -> list[Known]:
    """All that one store holds."""
    files = ((path, _read(path, warn)) for path in sorted(root.glob(f"*/*/{FILE}")))
    return [
        Known(path, file.target, file.operation, len(file.runs), _together(file.runs))
        for path, file in files
        if file is not None
    ]


def forget(root: Path, targets: Sequence[str] = ()) -> list[Path]:
    """Remove the experience with targets (KIND:NAME; of simulated accelerators the name alone will do), or all that a
    store holds; the files that went. Raises RunFolderError where the store cannot be written."""
    folders = {target.removeprefix(f"{SIMULATED}:").replace(":", "-") for target in targets}
    gone = [path for path in sorted(root.glob(f"*/*/{FILE}")) if not targets or path.parts[-3] in folders]
    if gone:
        with Store(root).writing(gone[0]):
            for path in gone:
                path.unlink(missing_ok=True)
    return gone


def _place(workload: Workload, target: Target) -> Path:
    return Path(machine_of(target).folder, operation_of(workload).name, FILE)


def _problem(workload: Workload) -> str:
    stated = operation_of(workload).model_dump(mode="json")
    return _digest(json.dumps(stated, sort_keys=True).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _together(runs: Iterator[_Run] | Sequence[_Run]) -> tuple[Experience, ...]:
    """The sums by option, in the order of their ids."""
    groups: dict[str, list[Experience]] = {}
    for run in runs:
        for one in run.options:
            groups.setdefault(one.option, []).append(Experience(**one.model_dump()))
    return tuple(reduce(add, ones) for _, ones in sorted(groups.items()))


def _read(path: Path, warn: Warn) -> _File | None:
    """A file's content. Returns None for a missing file, and for content that `remember` did not write."""
    try:
        return _File.model_validate_json(read_regular(path, MOST_BYTES))
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        warn(f"left out the experience in {path}: {str(error).splitlines()[0]}; `schedules forget` removes it")
        return None

"""python -m benchmarks.library [--evaluations N] [--store FOLDER] [--runs FOLDER] [MODEL...]

Searches for a schedule of every operation in the models' files, beginning with what the store has of similar ones, and
keeps the results in the store. Continues where it was interrupted: an operation that has a schedule on the machine as
it is described now is left alone. `python -m benchmarks.networks` prints what the schedules reach.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from autocomp.agents.config import Agents
from autocomp.data import data_dir
from autocomp.errors import CandidateFailure, KernelError
from autocomp.schedules.from_run import record_of
from autocomp.schedules.record import ScheduleRecord
from autocomp.schedules.reuse import precedents_for
from autocomp.schedules.store import Store, all_schedules, record_at
from autocomp.search import Options, RunFolder
from autocomp.search.log.snapshot import Request, create, restore
from autocomp.search.session import Means, run_session
from autocomp.targets import menu_file
from autocomp.targets.protocol import Target
from autocomp.targets.registry import load_target
from autocomp.workload import Workload
from benchmarks.library.shapes import model_files, shapes

EVALUATIONS = 40
PRECEDENTS = 2
BEAM, PLANS = 2, 3  # few evaluations are spent on few kernels, lest they end before the plans that build on each other


def warn(message: str) -> None:
    print(f"warning: {message}", file=sys.stderr)


def found(root: Path, workload: Workload, target: Target) -> ScheduleRecord | None:
    """The store's schedule of a workload on the machine as it is described now."""
    for stored in all_schedules(warn, [root]):
        entry = stored.entry
        if (entry.target, entry.operation, entry.dims) != (
            f"{target.kind}:{target.name}",
            workload.operation,
            dict(workload.dims),
        ):
            continue
        if entry.options == dict(workload.options):
            record = record_at(stored)
            return record if record.target.digest == target.digest else None
    return None


def search(root: Path, runs: Path, workload: Workload, target: Target, evaluations: int) -> str:
    """Search for a schedule and keep it; what came of it, in words."""
    path = runs / workload.name
    if (path / "config.json").exists():
        folder = RunFolder.open(path)
        request = restore(folder)
    else:
        precedents = precedents_for(workload, target, PRECEDENTS, warn, [root])
        options = Options(evaluations=evaluations, beam=BEAM, plans_per_parent=PLANS)
        options_of = menu_file.load([workload.operation]).for_operation(workload.operation)
        request = Request(workload, target, options_of, Agents(), options, precedents=precedents)
        folder = create(path, request, datetime.now().astimezone())
    result = run_session(request, folder, Means())
    best = result.best
    if best == result.naive or best.evaluation is None:
        return "nothing faster than the naive kernel"
    Store(root).put(record_of(request, result, best, folder.kernel(best.kernel), datetime.now().astimezone()))
    return f"{result.naive.value:,} -> {best.value:,} cycles, {best.evaluation.ratio:.1%} of the bound"


def fill(files: Sequence[Path], root: Path, runs: Path, evaluations: int) -> None:
    """Search for what is missing; an operation whose naive kernel fails is named, and the next one taken."""
    for shape in (shape for file in files for shape in shapes(file)):
        target = load_target(shape.workload.target, shape.workload.overrides)
        if found(root, shape.workload, target) is not None:
            continue
        try:
            outcome = search(root, runs, shape.workload, target, evaluations)
        except (CandidateFailure, KernelError) as error:
            outcome = f"failed: {error.message}"
        print(f"{shape.model}: {shape.workload.name}: {outcome}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="names of models' files (default: all)")
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS)
    parser.add_argument("--store", type=Path, default=data_dir("schedules"))
    parser.add_argument("--runs", type=Path, default=Path("build/library"))
    arguments = parser.parse_args()
    files = [file for file in model_files() if not arguments.models or file.stem in arguments.models]
    fill(files, arguments.store, arguments.runs, arguments.evaluations)


if __name__ == "__main__":
    main()

"""The common parts of `search` and `resume`: progress, the schedule record, the summary, and Ctrl-C."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import click

from autocomp.agents.config import describe
from autocomp.cli.confirm import Confirmed, conclusion, confirmation_table, kept
from autocomp.cli.confirm import confirm as confirm_best
from autocomp.cli.confirm import document as confirmation_document
from autocomp.cli.options import print_json, say, warn
from autocomp.cli.over_time import print_shape, shape_of
from autocomp.data import data_dir, write_atomically
from autocomp.errors import DeviceError, ModelError
from autocomp.report import RunView, SearchProgress, make_console, print_paths, print_search
from autocomp.report.evaluation import UTILISATION
from autocomp.report.runs.costs import costs_document
from autocomp.report.runs.listing import comparison, summary_of, with_units
from autocomp.report.terminal import amount_text
from autocomp.schedules.experience import remember
from autocomp.schedules.from_run import record_of
from autocomp.schedules.record import from_yaml
from autocomp.schedules.store import Store, as_fast, user_root
from autocomp.search import RunFolder, SearchResult
from autocomp.search.budget import Budget
from autocomp.search.candidate import Candidate
from autocomp.search.log.snapshot import Request, create
from autocomp.search.rules_first import after_rules, without_models
from autocomp.search.search import ROUTINE
from autocomp.search.session import Means, left_over
from autocomp.targets.evaluation import Objective
from autocomp.workbench.run import run_request
from autocomp.workload import Workload

INTERRUPTED = 130
_FAR = 0.5  # of the bound: below it, something else than the schedule may be in the way


def search_and_report(
    runs: Sequence[tuple[RunFolder, Request]],
    means: Means,
    *,
    confirm: str | None,
    as_json: bool,
    plain: bool,
    resumed: bool = False,
    most: Budget | None = None,
) -> None:
    """Run the sessions one after the other; what one leaves of its budget goes to the next. People read the ends on
    standard output, programs with --json instead: one document, or a list of them for several runs. With `confirm` the
    best kernels are run on the hardware description, and the one that is fastest there is kept."""
    console = make_console(sys.stderr if as_json else sys.stdout, plain or as_json)
    documents = []
    failed = False
    grant: Budget | None = None
    for position, (folder, request) in enumerate(runs):
        title = f"{request.workload.name} on {request.target.name}"
        try:
            with SearchProgress(console, title, request.options) as progress:
                result = run_request(request, folder, means, progress, grant, recheck=resumed, most=most)
        except KeyboardInterrupt:
            kernel = _keep_best(folder, progress.view)
            _interrupted([unfinished for unfinished, _ in runs[position:]], kernel, progress.view, as_json)
        except (ModelError, DeviceError):
            _continued(
                [unfinished for unfinished, _ in runs[position:]], _keep_best(folder, progress.view), progress.view
            )
            raise
        confirmed = confirm_best(request, folder, result) if confirm is not None else ()
        chosen = kept(confirmed) if confirmed else result.best
        best = chosen or result.best
        write_atomically(folder.best_kernel, folder.kernel(best.kernel))
        schedule = None if chosen is None else keep(request, folder, result, chosen)
        if request.target.scheduled:
            remember(request, folder, result, user_root(), warn)
        grant = left_over(result)
        useless = useless_answers(request, result)
        advice = advice_of(request, best)
        failed = failed or useless is not None
        if as_json:
            summary = {**document(folder, result, best, schedule, progress.view, confirmed), "advice": advice}
            documents.append(summary if useless is None else {**summary, "useless": useless})
            continue
        print_search(console, progress.view, _utilisation(result.best))
        if (evaluation := best.evaluation) is not None:
            text = folder.best_kernel.read_text(encoding="utf-8")
            print_shape(console, shape_of(text, request.workload, request.target, evaluation), evaluation)
        if advice is not None:
            console.print(f"hint: {advice}", markup=False)
        if confirmed:
            console.print(confirmation_table(confirmed))
            console.print(conclusion(confirmed), markup=False)
        print_paths(
            console, folder.best_kernel, folder.path, _schedule_text(schedule, best), _findable(request.workload)
        )
        if useless is not None:
            say(f"error: {useless}\nhint: read what was said: autocomp report {folder.path}", err=True)
    if as_json:
        print_json(documents if len(runs) > 1 else documents[0])
    elif len(runs) > 1:
        console.print(comparison([summary_of(folder) for folder, _ in runs]))
    if failed:
        raise click.exceptions.Exit(ModelError.exit_code)


def useless_answers(request: Request, result: SearchResult) -> str | None:
    """The reason why the agents of a search with models made no kernel at all, if that is so."""
    asked = result.usage.requests + result.usage.cached
    made = [c for step in result.history.steps for c in step.candidates if c.plan != ROUTINE]
    if not request.agents.models or not asked or not made or any(candidate.kernel for candidate in made):
        return None
    reasons = Counter(candidate.message.partition("; ")[0] for candidate in made if candidate.message)
    last = "".join(f": {reason}" for reason, _ in reasons.most_common(1))
    return f"none of {asked} requests to {describe(request.agents.models)} led to a kernel{last}"


def advice_of(request: Request, best: Candidate) -> str | None:
    """The target's advice on the workload where the best kernel of a search stays far from its bound."""
    evaluation = best.evaluation
    if evaluation is None or evaluation.ratio is None or evaluation.ratio >= _FAR:
        return None
    return request.target.advice(request.workload)


def search_by_rules(request: Request, path: Path, means: Means, *, plain: bool) -> Request:
    """The request with what the rules agent finds first, in a run folder of its own."""
    console = make_console(sys.stderr, plain)
    folder = create(path, without_models(request), datetime.now().astimezone())
    title = f"{request.workload.name} by the rules alone"
    with SearchProgress(console, title, request.options) as progress:
        changed = after_rules(request, folder, means, progress)
    view = progress.view
    say(f"the rules alone: {amount_text(view.best)} {view.objective.unit}, in {path}", err=True)
    return changed


def _keep_best(folder: RunFolder, view: RunView) -> Path | None:
    """Write the best validated kernel of an interrupted search; None before there is any."""
    if view.best is None:
        return None
    write_atomically(folder.best_kernel, folder.kernel(view.candidates[view.best_id]["kernel"]))
    return folder.best_kernel


def _interrupted(folders: Sequence[RunFolder], kernel: Path | None, view: RunView, as_json: bool) -> NoReturn:
    """Name the best kernel so far and the command that continues, and end."""
    paths = [str(folder.path) for folder in folders]
    _continued(folders, kernel, view, "interrupted; ")
    if as_json:
        runs = {"run": paths[0]} if len(paths) == 1 else {"runs": paths}
        print_json({"interrupted": True, **runs, "kernel": str(kernel) if kernel else None, "exit_code": INTERRUPTED})
    raise click.exceptions.Exit(INTERRUPTED) from None


def _continued(folders: Sequence[RunFolder], kernel: Path | None, view: RunView, why: str = "") -> None:
    """Name the best kernel so far, and the command that continues."""
    if kernel is not None:
        say(f"best kernel so far, {amount_text(view.best)} {view.objective.unit}: {kernel}", err=True)
    say(
        f"{why}continue with: autocomp resume {shlex.join(str(folder.path) for folder in folders)}",
        err=True,
        whole=True,
    )


def document(
    folder: RunFolder,
    result: SearchResult,
    best: Candidate,
    schedule: Path | None,
    view: RunView,
    confirmed: Sequence[Confirmed] = (),
) -> dict[str, Any]:
    """A finished search that keeps `best`, as --json prints it; times in seconds."""
    evaluation = best.evaluation
    bound = evaluation.bound.value if evaluation is not None and evaluation.bound is not None else None
    values = {"naive": result.naive.value, "best": best.value, "bound": bound}
    return {
        **with_units(values, best.objective),
        "objective": asdict(best.objective),
        "ratio": evaluation.ratio if evaluation is not None else None,
        "utilisation": _utilisation(best),
        "evaluations": result.evaluations,
        "candidates": dict(result.history.outcomes()),
        "steps": len(result.history.steps),
        "seconds": result.seconds,
        "reason": result.reason,
        "lineage": [
            {"option": step.plan.option, **with_units({"": step.value}, best.objective)}
            for step in result.history.lineage(best)
        ],
        "starts": view.starts(),
        "conditions": {
            event["name"]: with_units({"": event["value"], "routine": event["routine"]}, best.objective)
            for event in view.conditions
        },
        "usage": dict(view.usage),
        "costs": costs_document(view),
        "cached": view.cached,
        "reuse": [_valued(reused, best.objective) for reused in view.reuse()],
        "kernel": str(folder.best_kernel),
        "run": str(folder.path),
        "schedule": str(schedule) if schedule else None,
        **({"confirmation": confirmation_document(confirmed)} if confirmed else {}),
    }


def keep(request: Request, folder: RunFolder, result: SearchResult, best: Candidate) -> Path | None:
    """Put the winner into the user's store, unless a schedule serves the same and is as fast: the file of either. The
    naive kernel is not a schedule, nor is one for an objective that the library is not looked up by."""
    if best == result.naive or not request.target.scheduled:
        return None
    record = record_of(request, result, best, folder.kernel(best.kernel), datetime.now().astimezone())
    return as_fast(record, warn) or Store(user_root()).put(record)[0]


def _schedule_text(path: Path | None, best: Candidate) -> str:
    """The file, and the value of the schedule in it if that is a better one, from before this search."""
    if path is None:
        return ""
    result = from_yaml(path.read_text(encoding="utf-8"), str(path)).result
    before = f"; its kernel is from before: {amount_text(result.value)} {result.objective.unit}"
    return f"{path}{before if result.value != best.value else ''}"


def _utilisation(candidate: Candidate) -> float | None:
    return candidate.evaluation.evidence.figures.get(UTILISATION) if candidate.evaluation else None


def _valued(reused: dict[str, Any], objective: Objective) -> dict[str, Any]:
    """The outcome of reusing a schedule, with the unit in the name of the value."""
    return {**{k: v for k, v in reused.items() if k != "value"}, **with_units({"": reused["value"]}, objective)}


def _findable(workload: Workload) -> str:
    """The value of --workload that finds it: its file, or the name of one that ships."""
    path = Path(workload.path) if workload.path else None
    if path is None or path.parent == data_dir("workloads"):
        return workload.name
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)

"""The page's data of a run, as one plain document: candidates, evaluations, kernels, and profiles of some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from autocomp.errors import CandidateFailure, KernelError, RunFolderError
from autocomp.report.page.exchanges import exchanges_document
from autocomp.report.runs.costs import costs_document
from autocomp.report.runs.listing import summary_of
from autocomp.report.runs.run import RunView
from autocomp.search.log.folder import RunFolder
from autocomp.search.log.journal import Event, read_events
from autocomp.search.log.snapshot import Request, restore
from autocomp.targets.evaluation import Evaluation
from autocomp.targets.profile import Recorded
from autocomp.targets.serial import from_document, to_document

SEGMENTS = 40  # of a critical path


class Profiles:
    """Profiles and timelines of a run's candidates: each kernel is recorded once."""

    def __init__(self, folder: RunFolder, request: Request) -> None:
        self._folder = folder
        self._request = request
        self._known: dict[str, dict[str, Any]] = {}

    def of(self, candidate: Event) -> dict[str, Any]:
        """`timeline` and `profile` of a candidate. Raises RunFolderError for one that does not run to its end."""
        digest = candidate["kernel"]
        if digest not in self._known:
            if not candidate["value"]:
                raise RunFolderError(
                    f"candidate {candidate['id']} ({candidate['outcome']}) was not measured, hence it has no profile",
                    hint="choose one that is correct, or screened",
                )
            try:
                recorded = self._request.target.record(self._folder.kernel(digest), self._request.workload)
            except CandidateFailure as error:
                raise RunFolderError(
                    f"candidate {candidate['id']} no longer runs to its end: {error.message}"
                ) from error
            self._known[digest] = {"timeline": recorded.spans(), "profile": _profile(recorded)}
        return self._known[digest]


def _profile(recorded: Recorded) -> dict[str, Any]:
    """A profile as the page shows it, bounded: of the critical path, SEGMENTS that take the most cycles.

    `rest` are the segments left out and their cycles. Lines and the source are known from elsewhere. Of a kernel whose
    marked regions are not closed, only the `problem`.
    """
    try:
        profile = recorded.profile()
    except KernelError as error:
        return {"problem": str(error)}
    document = to_document(profile)
    document["rest"] = [len(profile.path[SEGMENTS:]), sum(segment.cycles for segment in profile.path[SEGMENTS:])]
    document["path"] = document["path"][:SEGMENTS]
    shown = ("cycles", "window", "units", "overlap", "memories", "operands", "path", "rest", "what_if", "regions")
    return {name: document[name] for name in shown}


def run_document(folder: RunFolder, request: Request | None = None) -> dict[str, Any]:
    """All that the log of a run says, for the page. Raises RunFolderError if the folder or its log is damaged."""
    request = request or restore(folder)
    events = read_events(folder.events)[0] if folder.events.exists() else []
    view = RunView.folded(events)
    evaluations = _evaluations(events)
    place = {evaluation["hash"]: number for number, evaluation in enumerate(evaluations)}
    kernels = list(dict.fromkeys(c["kernel"] for c in view.candidates.values() if c["kernel"]))
    index = {digest: number for number, digest in enumerate(kernels)}
    return {
        "run": _run(folder, view),
        "about": _about(folder, request),
        "causes": {name: cause.meaning for name, cause in request.target.glossary.items()},
        "machine": _machine(request),
        "candidates": [_candidate(view, c, place, index) for c in view.candidates.values()],
        "evaluations": evaluations,
        "kernels": [folder.kernel(digest) for digest in kernels],
        "profiles": {},
        "costs": costs_document(view),
        **exchanges_document(folder),
    }


def _run(folder: RunFolder, view: RunView) -> dict[str, Any]:
    summary = summary_of(folder)
    return {
        "workload": summary.workload,
        "target": summary.target,
        "strategy": summary.strategy,
        "seed": summary.seed,
        "created": summary.created,
        "state": summary.state,
        "end": view.end,
        "step": view.step,
        "unit": summary.objective.unit,
        "direction": summary.objective.direction,
        "naive": view.naive,
        "best": view.best,
        "bound": view.bound,
        "gain": view.gain,
        "ratio": view.ratio,
        "best_id": view.best_id,
        "evaluations": view.evaluations,
        "cached": view.cached,
        "seconds": view.seconds,
        "usage": dict(view.usage),
        "conditions": [{name: event[name] for name in ("name", "value", "routine")} for event in view.conditions],
    }


def _about(folder: RunFolder, request: Request) -> dict[str, Any]:
    """All that decides the result of the run: workload, machine, options, versions."""
    config = folder.snapshot()
    target = request.target
    return {
        "workload": {"name": request.workload.name, "text": config["workload"]["text"]},
        "machine": {
            "name": f"{target.kind}:{target.name}",
            "digest": target.digest,
            "parameters": dict(target.parameters),
            "area": target.area,
            "area_note": target.area_note,
        },
        "options": {name: value for name, value in config["options"].items() if value is not None},
        "versions": config["versions"],
        "suffix": target.language.suffix,
    }


def _machine(request: Request) -> dict[str, Any] | None:
    """The roofs and the work of a roofline, for each unit of the objective; None where they are not known."""
    roofs = request.target.roofs(request.workload)
    work = request.workload.multiply_accumulates
    return None if roofs is None else {**asdict(roofs), "multiply_accumulates": work}


def _evaluations(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Evaluations in their order, each with what the search had spent when it came; proofs add their stages."""
    evaluations: dict[str, dict[str, Any]] = {}
    spent: Counter[str] = Counter()
    for event in events:
        spent.update(event.get("usage", {}))
        kind, _, canonical = event.get("key", "").partition("/")
        document = event.get("evaluation")
        if kind == "evaluate":
            known = _evaluation(from_document(Evaluation, document)) if document else {"value": None, "stages": []}
            tokens = spent["prompt_tokens"] + spent["completion_tokens"]
            evaluations[canonical] = {
                "hash": canonical,
                "seconds": event["t"],
                "money": spent["money"],
                "tokens": tokens,
            }
            evaluations[canonical].update(known)
        elif kind == "prove" and document and canonical in evaluations:
            proof = from_document(Evaluation, document)
            evaluations[canonical]["stages"] += _stages(proof)
            evaluations[canonical]["memories"] = proof.evidence.resources or evaluations[canonical]["memories"]
    return list(evaluations.values())


def _evaluation(evaluation: Evaluation) -> dict[str, Any]:
    evidence = evaluation.evidence
    return {
        "value": evaluation.value,
        "bound": evaluation.bound and evaluation.bound.explanation,
        "stages": _stages(evaluation),
        "figures": evidence.figures,
        "units": evidence.parts,
        "memories": evidence.resources,
        "lines": [[line.line, line.count, line.cost, line.causes] for line in evidence.lines],
    }


def _stages(evaluation: Evaluation) -> list[dict[str, Any]]:
    return [{"stage": s.stage, "status": s.status, "message": s.message, "line": s.line} for s in evaluation.stages]


def _candidate(view: RunView, candidate: Event, place: dict[str, int], kernels: dict[str, int]) -> dict[str, Any]:
    plan = candidate["plan"]
    return {
        "id": candidate["id"],
        "step": candidate["step"],
        "parent": candidate["parent"],
        "plan": plan and {key: plan.get(key) for key in ("option", "text", "parameters", "author", "gain")},
        "outcome": candidate["outcome"],
        "message": candidate["message"],
        "repaired": candidate["repaired"],
        "value": candidate["value"],
        "gain": view.gain_of(candidate),
        "kernel": kernels.get(candidate["kernel"]),
        "evaluation": place.get(candidate["hash"]),
    }


def worth_a_profile(view: RunView, count: int) -> list[int]:
    """The best and the starting kernel, and the `count` fastest."""
    ends = [view.best_id, 0]
    fastest = sorted(
        (view.objective.rank(candidate["value"]), number)
        for number, candidate in view.candidates.items()
        if candidate["value"] is not None
    )
    chosen = dict.fromkeys([*ends, *(number for _, number in fastest[:count])])
    return [number for number in chosen if number in view.candidates and view.candidates[number]["value"]]


def profiles_of(profiles: Profiles, view: RunView, ids: Iterable[int]) -> dict[str, Any]:
    """The profiles of some candidates, by id. Raises RunFolderError for an id that the run has not."""
    documents = {}
    for number in ids:
        if number not in view.candidates:
            raise RunFolderError(f"the run has no candidate {number}; it has 0 to {max(view.candidates, default=0)}")
        documents[str(number)] = profiles.of(view.candidates[number])
    return documents

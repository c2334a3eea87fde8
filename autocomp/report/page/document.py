"""What the page knows of a run, as one plain document: candidates, evaluations, kernels, and profiles of some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from autocomp.errors import CandidateFailure, KernelError, RunFolderError
from autocomp.report.page.timeline import timeline
from autocomp.report.run import RunView
from autocomp.report.runs import summary_of
from autocomp.search.folder import RunFolder
from autocomp.search.journal import Event, read_events
from autocomp.search.snapshot import Request, restore
from autocomp.targets.simulator.evaluate.bounds import peak_multiply_accumulates
from autocomp.targets.simulator.profile import Recording, profile, record

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
            if not candidate["cycles"]:
                raise RunFolderError(
                    f"candidate {candidate['id']} ({candidate['outcome']}) has no cycles, hence no profile",
                    hint="choose one that is correct, or passed smoke",
                )
            try:
                recording = record(self._folder.kernel(digest), self._request.workload, self._request.accelerator)
            except CandidateFailure as error:
                raise RunFolderError(
                    f"candidate {candidate['id']} does not run to its end any more: {error.message}"
                ) from error
            self._known[digest] = {
                "timeline": timeline(recording.timing, recording.accelerator),
                "profile": _profile(recording),
            }
        return self._known[digest]


def _profile(recording: Recording) -> dict[str, Any]:
    """What the page shows of a profile, bounded: of the critical path, SEGMENTS that take the most cycles.

    `rest` are the segments left out and their cycles. Lines and the source are known from elsewhere. Of a kernel whose
    marked regions are not closed, only the `problem`.
    """
    try:
        found = profile(recording)
    except KernelError as error:
        return {"problem": str(error)}
    document = found.to_json()
    document["rest"] = [len(found.path[SEGMENTS:]), sum(segment.cycles for segment in found.path[SEGMENTS:])]
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
        "machine": _machine(request),
        "candidates": [_candidate(c, place, index) for c in view.candidates.values()],
        "evaluations": evaluations,
        "kernels": [folder.kernel(digest) for digest in kernels],
        "profiles": {},
    }


def _run(folder: RunFolder, view: RunView) -> dict[str, Any]:
    summary = summary_of(folder)
    return {
        "workload": summary.workload,
        "accelerator": summary.accelerator,
        "strategy": summary.strategy,
        "seed": summary.seed,
        "created": summary.created,
        "state": summary.state,
        "reason": summary.reason,
        "step": view.step,
        "naive_cycles": view.naive_cycles,
        "best_cycles": view.best_cycles,
        "bound_cycles": view.bound_cycles,
        "best_id": view.best_id,
        "evaluations": view.evaluations,
        "cached": view.cached,
        "seconds": view.seconds,
        "usage": dict(view.usage),
    }


def _machine(request: Request) -> dict[str, Any]:
    """The two roofs: multiply-accumulates a cycle, bytes a cycle in each direction; 0 where not defined."""
    return {
        "peak": peak_multiply_accumulates(request.accelerator),
        "bus": int(request.accelerator.dram.settings.get("bus", 0)),
        "multiply_accumulates": request.workload.multiply_accumulates,
    }


def _evaluations(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Evaluations in their order, each with what the search had spent when it came; proofs add their stages."""
    found: dict[str, dict[str, Any]] = {}
    spent: Counter[str] = Counter()
    for event in events:
        spent.update(event.get("usage", {}))
        kind, _, canonical = event.get("key", "").partition("/")
        document = event.get("evaluation")
        if kind == "evaluate":
            known = _evaluation(document) if document else {"cycles": None, "stages": []}
            tokens = spent["prompt_tokens"] + spent["completion_tokens"]
            found[canonical] = {"hash": canonical, "seconds": event["t"], "money": spent["money"], "tokens": tokens}
            found[canonical].update(known)
        elif kind == "prove" and document and canonical in found:
            found[canonical]["stages"] += _stages(document)
            found[canonical]["memories"] = document["memory_rows"] or found[canonical]["memories"]
    return list(found.values())


def _evaluation(document: Event) -> dict[str, Any]:
    return {
        "cycles": document["cycles"],
        "bound": document["bound"],
        "utilisation": document["utilisation"],
        "commands": document["commands"],
        "stages": _stages(document),
        "units": document["unit_cycles"],
        "memories": document["memory_rows"],
        "dram": document["dram_bytes"],
        "lines": [[line["line"], line["commands"], line["wait_cycles"], line["causes"]] for line in document["lines"]],
    }


def _stages(document: Event) -> list[dict[str, Any]]:
    return [{key: s[key] for key in ("stage", "status", "message", "line")} for s in document["stages"]]


def _candidate(candidate: Event, place: dict[str, int], kernels: dict[str, int]) -> dict[str, Any]:
    plan = candidate["plan"]
    return {
        "id": candidate["id"],
        "step": candidate["step"],
        "parent": candidate["parent"],
        "plan": plan and {key: plan.get(key) for key in ("option", "text", "parameters", "author", "gain")},
        "outcome": candidate["outcome"],
        "message": candidate["message"],
        "repaired": candidate["repaired"],
        "cycles": candidate["cycles"],
        "kernel": kernels.get(candidate["kernel"]),
        "evaluation": place.get(candidate["hash"]),
    }


def worth_a_profile(view: RunView, count: int) -> list[int]:
    """The best and the starting kernel, and the `count` fastest."""
    ends = [view.best_id, 0]
    fastest = sorted(
        (candidate["cycles"], number) for number, candidate in view.candidates.items() if candidate["cycles"]
    )
    chosen = dict.fromkeys([*ends, *(number for _, number in fastest[:count])])
    return [number for number in chosen if number in view.candidates and view.candidates[number]["cycles"]]


def profiles_of(profiles: Profiles, view: RunView, ids: Iterable[int]) -> dict[str, Any]:
    """The profiles of some candidates, by id. Raises RunFolderError for an id that the run has not."""
    found = {}
    for number in ids:
        if number not in view.candidates:
            raise RunFolderError(f"the run has no candidate {number}; it has 0 to {max(view.candidates, default=0)}")
        found[str(number)] = profiles.of(view.candidates[number])
    return found

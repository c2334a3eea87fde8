"""What the tools of a session answer, as text and plain documents; nothing of the protocol is in here.

A kernel is given as its text, or by the number that `evaluate` gave it.
"""

from __future__ import annotations

import difflib
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console

from autocomp.errors import ConfigError, NotApplicable
from autocomp.mcp.session import Session
from autocomp.report import make_console
from autocomp.report.compare import print_comparison
from autocomp.report.profile import print_profile
from autocomp.schedules.reuse import precedents_for
from autocomp.search.candidate import Candidate
from autocomp.targets.evaluation import Evaluation
from autocomp.targets.profile import Profile
from autocomp.targets.protocol import Focus
from autocomp.targets.simulator.profile.compare import compare as compared

MOST_PROPOSALS = 3  # of each transformation
MOST_SCHEDULES = 5
MOST_LINES = 8  # of a kernel, that cost most


class Tools:
    """The session's tools; each call is one question. Errors are AutocompErrors, whose text is for the agent."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._request = session.request
        self._target = session.request.target
        self._workload = session.request.workload

    # --- judging -------------------------------------------------------------------------------------------------

    def check(self, kernel: str) -> str:
        """Parse and check a kernel. Costs nothing."""
        self._target.language.check(self._text(kernel), self._workload)
        return "it parses and checks"

    def evaluate(self, kernel: str, idea: str, parent: int | None) -> dict[str, Any]:
        """The verdict on a kernel, and where its time goes."""
        before = self._session.history.evaluations
        candidate = self._session.evaluate(self._text(kernel), idea, parent)
        return {
            **self._verdict(candidate),
            "charged": self._session.history.evaluations - before,
            "evaluations_left": self._session.left,
        }

    def submit(self, number: int | None) -> dict[str, Any]:
        submitted = self._session.submit(number)
        return {
            **self._verdict(submitted.best),
            "file": str(submitted.kernel),
            "schedule": None if submitted.schedule is None else str(submitted.schedule),
            "run": str(self._session.folder.path),
        }

    def history(self) -> dict[str, Any]:
        """All kernels so far, and what is left of the budget."""
        history = self._session.history
        kernels = [
            {
                "kernel": candidate.id,
                "parent": candidate.parent,
                "idea": candidate.plan.text if candidate.plan else "the starting kernel",
                "outcome": candidate.outcome,
                "value": candidate.value if candidate.promising else None,
            }
            for candidate in history
        ]
        return {
            "unit": self._target.objective.unit,
            "best": history.best.id,
            "kernels": kernels,
            "evaluations_left": self._session.left,
            "ended": self._session.ended,
        }

    def kernel(self, number: int) -> str:
        return self._session.kernel(self._session.candidate(number))

    # --- understanding -------------------------------------------------------------------------------------------

    def profile(self, kernel: str) -> str:
        """Where the time goes, and what-ifs. Costs nothing."""
        return _printed(lambda console: print_profile(console, self._profile(kernel)))

    def explain(self, kernel: str, line: int) -> str:
        """Why the commands of a line wait, what that costs, and what usually helps."""
        profile = self._profile(kernel)
        found = next((entry for entry in profile.lines if entry.line == line), None)
        if found is None:
            known = ", ".join(str(entry.line) for entry in profile.lines)
            raise ConfigError(f"line {line} issues no commands", hint=f"lines that do: {known}")
        cost, total = found.cost, max(1, profile.cycles)
        unit = self._target.objective.unit
        said = [
            f"line {line}: {found.text.strip()}",
            f"{cost.commands:,} commands; {cost.path_cycles:,} of {profile.cycles:,} {unit} of the critical path "
            f"({cost.path_cycles / total:.1%}).",
            *(segment.words for segment in profile.path if segment.line == line),
        ]
        waits = {cause: count for cause, count in cost.waits.items() if count}
        if waits:
            said.append("Its commands waited, added up over all of them:")
        for cause, count in sorted(waits.items(), key=lambda item: -item[1]):
            entry = self._target.glossary.get(cause)
            meaning = f" {entry.meaning} Usual remedy: {entry.remedy}." if entry else ""
            said.append(f"- {cause}: {count:,} {unit}.{meaning}")
        return "\n".join(said)

    def diff(self, first: str, second: str) -> str:
        """How two kernels differ, in text and in cost by cause and line."""
        before, after = self._text(first), self._text(second)
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "first", "second", lineterm="", n=1)
        parts = ["\n".join(lines) or "the texts are the same"]
        found = compared(self._profile(before), self._profile(after))
        parts.append(_printed(lambda console: print_comparison(console, found)))
        return "\n\n".join(parts)

    # --- changing ------------------------------------------------------------------------------------------------

    def transformations(self, kernel: str) -> list[dict[str, Any]]:
        """What can be applied to a kernel as it stands, the most promising first."""
        text = self._text(kernel)
        found: list[dict[str, Any]] = []
        for name in self._target.transformations.names:
            try:
                ready = self._target.ready(name, text, self._workload)
                for _, (proposal, _) in zip(range(MOST_PROPOSALS), ready, strict=False):
                    parameters = json.loads(json.dumps(dict(proposal.parameters), default=str))
                    entry = {"name": name, "parameters": parameters, "why": proposal.reason}
                    found.append({**entry, "estimated_saving": round(proposal.gain, 1)})
            except NotApplicable:
                continue
        return sorted(found, key=lambda entry: -entry["estimated_saving"])

    def transform(self, kernel: str, name: str, parameters: Mapping[str, Any]) -> str:
        """The kernel with a transformation applied. Raises NotApplicable with the reason."""
        return self._target.transformations.apply(name, self._text(kernel), self._workload, parameters)

    def schedules(self) -> list[dict[str, Any]]:
        """What made similar operations fast, from the user's store and the shipped one, the nearest first."""
        found = precedents_for(self._workload, self._target, MOST_SCHEDULES, lambda message: None)
        return [
            {
                "problem": precedent.problem,
                "reaches": round(precedent.ratio, 3),
                "steps": [
                    {"option": step.plan.option, "change": step.plan.text, "value": step.value, "speed_up": step.gain}
                    for step in precedent.lineage
                ],
            }
            for precedent in found
        ]

    # --- what there is to read -----------------------------------------------------------------------------------

    def machine(self) -> str:
        return self._target.knowledge(self._workload, Focus(everything=True)).machine

    def language(self) -> str:
        knowledge = self._target.knowledge(self._workload, Focus(everything=True))
        return f"{knowledge.role}\n\n{knowledge.language}"

    def workload(self) -> str:
        bound = self._target.bound(self._workload)
        reached = (
            "" if bound is None else f"\n# bound: {bound.value:,} {self._target.objective.unit}: {bound.explanation}\n"
        )
        reference = self._workload.reference_text
        shown = "" if reference is None else f"\n# its reference:\n{reference}"
        return (
            f"{self._workload.text}{reached}\n# signature:\n{self._target.language.signature(self._workload)}\n{shown}"
        )

    # --- parts ---------------------------------------------------------------------------------------------------

    def _text(self, kernel: str) -> str:
        return self.kernel(int(kernel)) if kernel.strip().isdecimal() else kernel

    def _profile(self, kernel: str) -> Profile:
        return self._target.record(self._text(kernel), self._workload, "kernel").profile()

    def _verdict(self, candidate: Candidate) -> dict[str, Any]:
        evaluation = candidate.evaluation
        document: dict[str, Any] = {
            "kernel": candidate.id,
            "outcome": candidate.outcome,
            "correct": candidate.promising,
            "message": candidate.message,
            "unit": self._target.objective.unit,
            "value": None,
            "best": self._session.history.best.id,
            "best_value": self._session.history.best.value,
        }
        return document if evaluation is None else {**document, **self._behaviour(evaluation, candidate)}

    def _behaviour(self, evaluation: Evaluation, candidate: Candidate) -> dict[str, Any]:
        if evaluation.failure is not None:
            text = self._session.kernel(candidate)
            cause = self._target.cause(text, self._workload, evaluation)
            return {"line": evaluation.failure.line, "cause": cause}
        return {
            "value": evaluation.value,
            "bound": None if evaluation.bound is None else evaluation.bound.value,
            "ratio": None if evaluation.ratio is None else round(evaluation.ratio, 4),
            "speed_up_over_parent": self._session.history.gain(candidate),
            "story": list(
                self._target.story(evaluation, self._target.diagnose(self._session.kernel(candidate), self._workload))
            ),
            "lines": [
                {"line": cost.line, "text": cost.text.strip(), "waited": cost.cost, "causes": dict(cost.causes)}
                for cost in evaluation.evidence.lines[:MOST_LINES]
            ],
        }

    def _story(self, evaluation: Evaluation, candidate: Candidate) -> list[str]:
        diagnosis = self._target.diagnose(self._session.kernel(candidate), self._workload)
        return list(self._target.story(evaluation, diagnosis))


def _printed(draw: Callable[[Console], None]) -> str:
    """What is drawn on a plain console, as text."""
    stream = io.StringIO()
    draw(make_console(stream, plain=True))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())

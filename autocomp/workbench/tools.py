"""The tools of a session: questions and their answers, as text and plain documents. No protocol is in here.

Names, signatures and docstrings are what agents see of a tool, over any protocol.
"""

from __future__ import annotations

import difflib
import io
import json
import re
from collections.abc import Callable
from typing import Any

from rich.console import Console

from autocomp.errors import ConfigError, NotApplicable
from autocomp.report import make_console
from autocomp.report.compare import print_comparison
from autocomp.report.profile import print_profile
from autocomp.schedules.reuse import precedents_for
from autocomp.search.candidate import Candidate
from autocomp.targets.evaluation import Evaluation
from autocomp.targets.profile import Profile
from autocomp.targets.protocol import Proposal
from autocomp.targets.simulator.profile.compare import compare as compared
from autocomp.workbench import reading
from autocomp.workbench.session import Session

Kernel = str | int  # a kernel's text, or the number that `evaluate` gave it
NAMES = (
    "check",
    "evaluate",
    "profile",
    "explain",
    "diff",
    "transformations",
    "transform",
    "schedules",
    "history",
    "read_kernel",
    "submit",
)
ADVICE = """Kernel 0 is the slow, correct starting kernel. Work in rounds: `profile` or `explain` the best kernel to see
what limits it, change one thing, by hand or with `transform`, `check` it, then `evaluate` it with the idea in a
sentence. Only `evaluate` costs of the budget. A wrong kernel counts for nothing. When you cannot make it faster, or the
budget is spent, `submit`.

Wherever a kernel is asked for, give its text or the number that `evaluate` gave it."""
MOST_PROPOSALS = 3  # of each transformation
MOST_SCHEDULES = 5
MOST_KERNEL = 1 << 20  # characters
MOST_IDEA = 10_000  # also of the parameters of a transformation, as JSON
MOST_LINES = 8  # of a kernel, that cost most


class Tools:
    """The session's tools; each call is one question. Errors are AutocompErrors, whose text is for the agent."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._request = session.request
        self._target = session.request.target
        self._workload = session.request.workload

    # --- judging -------------------------------------------------------------------------------------------------

    def check(self, kernel: Kernel) -> str:
        """Parse and check a kernel without running it. Free."""
        self._target.language.check(self._text(kernel), self._workload)
        return "it parses and checks"

    def evaluate(self, kernel: Kernel, idea: str, parent: int | None = None) -> dict[str, Any]:
        """Judge a kernel: is it right, how fast is it, where does its time go. Costs one evaluation, unless the same
        kernel was judged before. `idea` says in a sentence what was changed and why; `parent` is the number of the
        kernel that it was made from, by default the best."""
        before = self._session.history.evaluations
        candidate = self._session.evaluate(self._text(kernel), _bounded(idea, "an idea", MOST_IDEA), parent)
        return {
            **self._verdict(candidate),
            "charged": self._session.history.evaluations - before,
            "evaluations_left": self._session.left,
        }

    def submit(self, kernel: int | None = None) -> dict[str, Any]:
        """End the session with a kernel by its number, by default the best: it is validated in full and kept as a
        schedule."""
        submitted = self._session.submit(kernel)
        return {
            **self._verdict(submitted.best),
            "file": str(submitted.kernel),
            "schedule": None if submitted.schedule is None else str(submitted.schedule),
            "run": str(self._session.folder.path),
        }

    def history(self) -> dict[str, Any]:
        """All kernels of the session with their outcomes, and what is left of the budget. Free."""
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

    def read_kernel(self, kernel: int) -> str:
        """The text of a kernel of the session by its number; 0 is the starting kernel. Free."""
        return self._session.kernel(self._session.candidate(kernel))

    # --- understanding -------------------------------------------------------------------------------------------

    def profile(self, kernel: Kernel) -> str:
        """Where the time of a kernel goes: its critical path in words, what-ifs, units, memories, lines. Free."""
        return _printed(lambda console: print_profile(console, self._profile(kernel)))

    def explain(self, kernel: Kernel, line: int) -> str:
        """Explain the waits of one line's commands: their causes, their cost, and what usually helps. Free."""
        profile = self._profile(kernel)
        row = next((entry for entry in profile.lines if entry.line == line), None)
        if row is None:
            known = ", ".join(str(entry.line) for entry in profile.lines)
            raise ConfigError(f"line {line} issues no commands", hint=f"lines that do: {known}")
        cost, total = row.cost, max(1, profile.cycles)
        unit = self._target.objective.unit
        said = [
            f"line {line}: {row.text.strip()}",
            f"{cost.commands:,} commands; {cost.path_cycles:,} of {profile.cycles:,} {unit} of the critical path "
            f"({cost.path_cycles / total:.1%}):",
            *(
                f"- {segment.cycles:,}: {segment.words.removeprefix(f'line {line}: ')}"
                for segment in profile.path
                if segment.line == line
            ),
        ]
        waits = {cause: count for cause, count in cost.waits.items() if count}
        if waits:
            said.append("Its commands waited, added up over all of them:")
        for cause, count in sorted(waits.items(), key=lambda item: -item[1]):
            entry = self._target.glossary.get(cause)
            meaning = f" {entry.meaning} Usual remedy: {entry.remedy}." if entry else ""
            said.append(f"- {cause}: {count:,} {unit}.{meaning}")
        return "\n".join(said)

    def diff(self, first: Kernel, second: Kernel) -> str:
        """Compare two kernels: their texts, and why one is faster than the other. Free."""
        before, after = self._text(first), self._text(second)
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "first", "second", lineterm="", n=1)
        parts = ["\n".join(lines) or "the texts are the same"]
        comparison = compared(self._profile(before), self._profile(after))
        parts.append(_printed(lambda console: print_comparison(console, comparison)))
        return "\n\n".join(parts)

    # --- changing ------------------------------------------------------------------------------------------------

    def transformations(self, kernel: Kernel) -> dict[str, list[dict[str, Any]]]:
        """Exact rewrites that apply to a kernel, with parameters and either the value that they were seen to lead to,
        or the estimated saving; empty if none applies. The first of each name says what it is about. Other parameters
        may fit too. Free."""
        text = self._text(kernel)
        about = {option.transformation: " ".join(option.guidance.split()) for option in self._target.options()}
        rows: list[dict[str, Any]] = []
        for name in self._target.transformations.names:
            try:
                ready = self._target.ready(name, text, self._workload)
                for _, (proposal, _) in zip(range(MOST_PROPOSALS), ready, strict=False):
                    parameters = json.loads(json.dumps(dict(proposal.parameters), default=str))
                    entry = {"name": name, "parameters": parameters, "why": proposal.reason}
                    rows.append({**entry, **_promise(proposal)})
            except NotApplicable:
                continue
        ordered = sorted(rows, key=self._rank)
        told = [{**row, "about": about.pop(row["name"])} if row["name"] in about else row for row in ordered]
        return {"transformations": told}

    def _rank(self, entry: dict[str, Any]) -> tuple[bool, float]:
        """Values that were seen come first, the best of them ahead."""
        seen = "value" in entry
        return not seen, self._target.objective.rank(entry["value"]) if seen else -entry["estimated_saving"]

    def transform(self, kernel: Kernel, name: str, parameters: dict[str, Any]) -> str:
        """The text of a kernel with one of the rewrites that `transformations` lists applied. Free."""
        _bounded(json.dumps(parameters, default=str), "the list of parameters", MOST_IDEA)
        return self._target.transformations.apply(name, self._text(kernel), self._workload, parameters)

    def schedules(self) -> dict[str, list[dict[str, Any]]]:
        """The steps that made the most similar operations fast; empty if none is known. Free."""
        known = self._request.precedents
        records = known or precedents_for(self._workload, self._target, MOST_SCHEDULES, lambda message: None)
        told = [
            {
                "problem": precedent.problem,
                "reaches": round(precedent.ratio, 3),
                "steps": [
                    {"option": step.plan.option, "change": step.plan.text, "value": step.value, "speed_up": step.gain}
                    for step in precedent.lineage
                ],
            }
            for precedent in records
        ]
        return {"schedules": told}

    # --- what there is to read -----------------------------------------------------------------------------------

    def machine(self) -> str:
        """The machine: instructions, memories, rules, and how long things take."""
        return reading.machine(self._target, self._workload)

    def language(self) -> str:
        """The language that kernels are written in, and how they are judged."""
        return reading.language(self._target, self._workload)

    def workload(self) -> str:
        """The operation, the kernel's signature, and the bound that no kernel can beat."""
        return reading.task(self._target, self._workload)

    # --- parts ---------------------------------------------------------------------------------------------------

    def _text(self, kernel: Kernel) -> str:
        named = str(kernel).strip()
        if re.fullmatch(r"[0-9]{1,9}", named):
            return self.read_kernel(int(named))
        return _bounded(str(kernel), "a kernel", MOST_KERNEL)

    def _profile(self, kernel: Kernel) -> Profile:
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
        gain = self._session.history.gain(candidate)
        return {
            "value": evaluation.value,
            "bound": None if evaluation.bound is None else evaluation.bound.value,
            "ratio": None if evaluation.ratio is None else round(evaluation.ratio, 4),
            "speed_up_over_parent": None if gain is None else round(gain, 4),
            "story": self._story(evaluation, candidate),
            "lines": [
                {"line": cost.line, "text": cost.text.strip(), "waited": cost.cost, "causes": dict(cost.causes)}
                for cost in evaluation.evidence.lines[:MOST_LINES]
            ],
        }

    def _story(self, evaluation: Evaluation, candidate: Candidate) -> list[str]:
        diagnosis = self._target.diagnose(self._session.kernel(candidate), self._workload)
        return list(self._target.story(evaluation, diagnosis))


def _promise(proposal: Proposal) -> dict[str, Any]:
    seen = proposal.result
    return {"estimated_saving": round(proposal.gain, 1)} if seen is None else {"value": seen}


def _bounded(text: str, what: str, most: int) -> str:
    """The text with a question mark for each half of a surrogate pair, which no file can hold. Raises ConfigError for
    one that is too long."""
    if len(text) > most:
        raise ConfigError(f"{what} has at most {most:,} characters, this one {len(text):,}")
    return text.encode("utf-8", "replace").decode()


def _printed(draw: Callable[[Console], None]) -> str:
    """The text that is drawn on a plain console."""
    stream = io.StringIO()
    draw(make_console(stream, plain=True))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())

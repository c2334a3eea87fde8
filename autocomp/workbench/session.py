"""A search whose agent is outside: it sends kernels, we judge them, and the run folder remembers everything."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from autocomp.data import write_atomically
from autocomp.errors import CandidateFailure, ConfigError, RunFolderError
from autocomp.search.budget import Budget
from autocomp.search.candidate import PENDING, Candidate, History, Step
from autocomp.search.effects import Effects
from autocomp.search.executors import make_executor
from autocomp.search.log.folder import RunFolder
from autocomp.search.log.journal import Journal, Listener
from autocomp.search.log.keys import key_of
from autocomp.search.log.snapshot import Request, check_judge
from autocomp.search.search import SearchResult
from autocomp.search.session import granted_options, judge_of, judge_seed, starting_kernel
from autocomp.search.strategies import CONVERSATION, OUTSIDE
from autocomp.search.targets import EvaluationTarget
from autocomp.search.verdict import require_correct_start
from autocomp.targets.planning import Plan
from autocomp.targets.serial import from_document

SUBMITTED = "submitted by the agent"
Keep = Callable[[Request, RunFolder, SearchResult, Candidate], Path | None]


@dataclass(frozen=True)
class Submitted:
    """The kernel that the session ended with; `schedule` is the file that keeps it, None for the starting kernel."""

    best: Candidate
    kernel: Path
    schedule: Path | None


class Session:
    """One run, in one folder, by one process at a time. A session that was cut off goes on where it was. `keep` puts
    the kernel that is submitted where schedules are kept, and says where; None for one that is not a schedule.
    `listener` hears every event. `grant` and `most` are budgets, as of `run_session`.

    Raises RunFolderError for a folder that another process uses, or that a search made; KernelError or CandidateFailure
    if the starting kernel is not correct.
    """

    def __init__(
        self,
        request: Request,
        folder: RunFolder,
        keep: Keep | None = None,
        listener: Listener | None = None,
        grant: Budget | None = None,
        most: Budget | None = None,
    ) -> None:
        if request.strategy not in (OUTSIDE, CONVERSATION):
            raise RunFolderError(
                f"{folder.path} is the run of a search",
                hint=f"continue it with: autocomp resume {shlex.quote(str(folder.path))}",
            )
        changed = check_judge(folder, request)
        if changed is not None:
            raise RunFolderError(f"{folder.path}: {changed}", hint="start a new session")
        self.request = request
        self.folder = folder
        self._keep = keep
        self._closing = ExitStack()
        self._closing.enter_context(folder.locked())
        try:
            self._begin(listener, grant, most)
        except BaseException:
            self._closing.close()
            raise

    def _begin(self, listener: Listener | None, grant: Budget | None, most: Budget | None) -> None:
        self.journal = Journal(self.folder.events, listener)
        self._closing.callback(self.journal.close)
        options = granted_options(self.request.options, self.journal, grant)
        request = replace(self.request, options=options if most is None else most.over_models(options))
        self.request = request
        executor = make_executor("inline", 1)
        self._closing.callback(executor.shutdown)
        judge = EvaluationTarget(judge_of(request), judge_seed(request.options, self.journal))
        self._effects = Effects(None, judge, self.folder, self.journal, executor, executor, None)
        self.history = self._remembered() or self._started()

    def close(self) -> None:
        """Let go of the folder."""
        self._closing.close()

    @property
    def ended(self) -> bool:
        return "stop" in self.journal

    @property
    def left(self) -> int | None:
        """Evaluations that may still be made; None for any number."""
        allowed = self.request.options.evaluations
        return None if allowed is None else max(0, allowed - self.history.evaluations)

    def kernel(self, candidate: Candidate) -> str:
        return self.folder.kernel(candidate.kernel)

    def candidate(self, number: int) -> Candidate:
        """Raises ConfigError for a number that no kernel has."""
        match = next((candidate for candidate in self.history if candidate.id == number), None)
        if match is None:
            last = max(candidate.id for candidate in self.history)
            raise ConfigError(f"no kernel has the number {number}", hint=f"numbers are 0 to {last}")
        return match

    def evaluate(self, kernel: str, idea: str, parent: int | None = None) -> Candidate:
        """Judge a kernel that was made from `parent`, by default the best one. One that may be the best goes through
        all stages. A kernel that was judged before costs nothing.

        Raises ConfigError when the session has ended, or its budget of evaluations is spent.
        """
        if self.ended:
            raise ConfigError("the session has ended: a kernel was submitted", hint="start a new one: autocomp mcp")
        fingerprint = self.request.target.language.fingerprint(kernel)
        known = next((c for c in self.history if c.hash == fingerprint), None)
        if known is not None:
            return known
        if self.left == 0:
            raise ConfigError(
                f"the budget of evaluations is spent: {self.request.options.evaluations}",
                hint="submit the best kernel; check, profile, explain and diff are still free",
            )
        origin = self.history.best if parent is None else self.candidate(parent)
        number = len(self.history.steps) + 1
        draft = Candidate(
            max(candidate.id for candidate in self.history) + 1,
            number,
            origin.id,
            Plan("", idea or "no reason given", author=OUTSIDE),
            self.folder.store_kernel(kernel),
            fingerprint,
            PENDING,
        )
        self._effects.step = number
        self._effects.evaluate("evaluate", "screen", [draft])
        judged = self._effects.judged(draft)
        if judged.promising and judged.rank < self.history.best.rank:
            judged = self._proven(judged)
        self._effects.record_candidate("candidate", judged)
        self.history = self.history.extended(Step(number, (origin.id,), (judged,), 1))
        self._effects.record_step(self.history)
        return judged

    @property
    def result(self) -> SearchResult:
        """The result of an ended session."""
        stop = self.journal["stop"]
        return SearchResult(
            self.history, str(stop["reason"]), float(stop["t"]), self.request.options, self.journal.usage
        )

    def submit(self, number: int | None = None, reason: str = SUBMITTED) -> Submitted:
        """End the session with a kernel, by default the best, once it has passed all stages.

        Raises CandidateFailure where it does not, ConfigError for a number that no kernel has.
        """
        candidate = self.history.best if number is None else self.candidate(number)
        if candidate.promising and not candidate.correct:
            candidate = self._proven(candidate)
            self._effects.record_candidate("verdict", candidate)
            self.history = self.history.updated({candidate.id: candidate})
        if not candidate.correct:
            raise CandidateFailure(f"kernel {candidate.id} is not correct ({candidate.outcome}): {candidate.message}")
        payload = {"reason": reason, "best": candidate.id, "value": candidate.value}
        self.journal.record("stop", "stop", {**payload, "outcomes": self.history.outcomes()})
        write_atomically(self.folder.best_kernel, self.kernel(candidate))
        kept = None if self._keep is None else self._keep(self.request, self.folder, self.result, candidate)
        return Submitted(candidate, self.folder.best_kernel, kept)

    # --- what is in the journal ----------------------------------------------------------------------------------

    def _started(self) -> History:
        text = starting_kernel(self.request.workload, self.request.target)
        fingerprint = self.request.target.language.fingerprint(text)
        draft = Candidate(0, 0, None, None, self.folder.store_kernel(text), fingerprint, PENDING)
        self._effects.evaluate("evaluate", "evaluate", [draft], always=True)
        root = self._effects.judged(draft)
        require_correct_start(root, text, self.request.target, self.request.workload)
        self._effects.record_candidate("candidate", root)
        return History(root)

    def _remembered(self) -> History | None:
        """The history of a session that was cut off, None for a new one. A kernel without verdict is judged again."""
        history: History | None = None
        number = 0
        while key_of("candidate", number) in self.journal:
            event = self.journal[key_of("candidate", number)]
            plan = None if event["plan"] is None else from_document(Plan, event["plan"])
            draft = Candidate(number, event["step"], event["parent"], plan, event["kernel"], event["hash"], PENDING)
            judged = self._effects.judged(draft)
            if history is None:
                history = History(judged)
            else:
                history = history.extended(Step(event["step"], (event["parent"],), (judged,), 1))
            number += 1
        return history

    def _proven(self, candidate: Candidate) -> Candidate:
        """The candidate with the verdict of the stages that screening left out."""
        self._effects.evaluate("prove", "prove", [candidate], always=True)
        return self._effects.judged(replace(candidate, outcome=PENDING, evaluation=None))

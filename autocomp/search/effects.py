"""The effects of a search: answers of agents and verdicts of the evaluator, each made once and kept in the journal."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from autocomp.errors import DeviceError, RunFolderError
from autocomp.search.cache import EvaluationCache
from autocomp.search.candidate import DEVICE_FAILED, ERROR, PLAUSIBLE, SKIPPED, WORKER_LOST, Candidate, History
from autocomp.search.executors import Executor, Lost, Target, TargetCall, run_calls
from autocomp.search.executors.calls import Key
from autocomp.search.log.folder import RunFolder
from autocomp.search.log.journal import Event, Journal
from autocomp.search.log.keys import key_of
from autocomp.search.targets import (
    AgentCall,
    AgentTarget,
    EvaluationTarget,
    SelectCall,
    lost_answer,
    plan_document,
    usage_of,
)
from autocomp.search.verdict import with_verdict
from autocomp.targets.evaluation import Evaluation, Measurement, Number
from autocomp.targets.planning import Usage
from autocomp.targets.serial import from_document

OUT_OF_TIME = "the budget of seconds is spent"
DEVICE_GONE_AFTER = 3  # kernels in a row at which the device failed twice: it is not the kernels then


class Effects:
    """All side effects of a search: agent calls and evaluations. An effect whose key is in the journal is not repeated;
    once the budget of `seconds` is spent, none is made any more, neither now nor when the run is replayed. Without
    `agents`, whoever sends the kernels is outside, and nothing is asked."""

    def __init__(
        self,
        agents: AgentTarget | None,
        evaluation: EvaluationTarget,
        folder: RunFolder,
        journal: Journal,
        executor: Executor,
        agent_executor: Executor,
        seconds: float | None,
        cache: EvaluationCache | None = None,
    ) -> None:
        self._agents = Target(agents)
        self._evaluator = Target(evaluation)
        self._judge = evaluation.evaluator
        self._device_failures = 0  # in a row
        self._folder = folder
        self._journal = journal
        self._executor = executor
        self._agent_executor = agent_executor
        self._seconds = seconds
        self._cache = cache
        self.step = 0  # that is under way

    # --- agents --------------------------------------------------------------------------------------------------

    def ask(self, kind: str, method: str, calls: Mapping[str, AgentCall | SelectCall]) -> None:
        """Make the agent calls whose answers the journal does not have. Kernels go to the run folder."""
        missing = [
            TargetCall(key, self._agents, method, replace(call, key=key))
            for key, call in calls.items()
            if key not in self._journal
        ]
        for key, result in self._run(self._agent_executor, missing):
            if isinstance(result, Lost):
                result = lost_answer(calls[key], method, result.message)
            text = result.get("kernel")
            stored = result if text is None else {**result, "kernel": self._folder.store_kernel(text)}
            usage = dataclasses.asdict(self._journal.settled(key, usage_of(result)))
            self._journal.record(kind, key, {**stored, "usage": usage})

    def answer(self, key: str) -> Event:
        """The answer recorded under a key; empty for an unknown key."""
        return self._journal.get(key)

    def usage(self, keys: Iterable[str]) -> Usage:
        """The cost of calls."""
        return sum(map(self._journal.cost, keys), Usage())

    # --- evaluation ----------------------------------------------------------------------------------------------

    def evaluate(self, kind: str, method: str, candidates: Iterable[Candidate], *, always: bool = False) -> None:
        """Evaluate the kernels whose verdict the journal does not have; `always` even when time is up."""
        wanted = {c.hash: c for c in candidates if not self.is_known(kind, c)}
        if always or not self.expired():
            self._recall(kind, method, wanted)
        missing = {h: c for h, c in wanted.items() if not self.is_known(kind, c)}
        calls = [TargetCall(h, self._evaluator, method, self._folder.kernel(c.kernel)) for h, c in missing.items()]
        alone = 1 if self._judge.device is not None else None
        results = run_calls(self._executor, calls, at_once=alone) if always else self._run(self._executor, calls, alone)
        for canonical, result in results:
            kernel = missing[canonical].kernel
            payload = self._lost(result, method) if isinstance(result, Lost) else result
            self._journal.record(kind, key_of(kind, canonical), {"kernel": kernel, **payload})
            if payload["evaluation"] is not None:
                self._device_failures = 0
                if self._cache is not None:
                    self._cache.keep(method, kernel, payload)

    def _lost(self, result: Lost, method: str) -> dict[str, Any]:
        """The record of a kernel without a verdict. Raises DeviceError, and nothing is recorded, where the device
        fails at the starting kernel, or at every kernel."""
        self._device_failures += result.device
        if result.device and (self._device_failures >= DEVICE_GONE_AFTER or method == "evaluate"):
            raise DeviceError(
                f"{result.message} (at {self._device_failures} kernels in a row)",
                hint=f"once it works again: autocomp resume {shlex.quote(str(self._folder.path))}",
            )
        fault = DEVICE_FAILED if result.device else WORKER_LOST
        return {"evaluation": None, "message": result.message, "fault": fault}

    def measure_beside(self, key: str, candidates: Sequence[Candidate]) -> list[Measurement | None]:
        """New measurements of correct kernels, made beside each other; None for those that could not be measured."""
        if key not in self._journal:
            kernels = tuple(self._folder.kernel(candidate.kernel) for candidate in candidates)
            call = TargetCall(key, self._evaluator, "measure_beside", kernels)
            ((_, result),) = run_calls(self._executor, [call])
            made = [None] * len(kernels) if isinstance(result, Lost) else result
            document = {"candidates": [candidate.id for candidate in candidates], "measurements": made}
            self._journal.record("measure", key, document)
        measured = self._journal[key]["measurements"]
        return [None if document is None else Measurement(**document) for document in measured]

    def _recall(self, kind: str, method: str, wanted: Mapping[str, Candidate]) -> None:
        """Record the verdicts that the cache has."""
        if self._cache is None:
            return
        damaged = self._cache.damaged
        for canonical, candidate in wanted.items():
            verdict = self._cache.find(method, candidate.kernel)
            if verdict is not None:
                document = {"kernel": candidate.kernel, **verdict, "cached": True}
                self._journal.record(kind, key_of(kind, canonical), document)
        if self._cache.damaged > damaged:
            self._journal.note("cache", {"damaged": self._cache.damaged - damaged})

    def is_known(self, kind: str, candidate: Candidate) -> bool:
        """True if the journal has a verdict on the candidate's kernel."""
        return key_of(kind, candidate.hash) in self._journal

    def judged(self, candidate: Candidate) -> Candidate:
        """The candidate with the verdict that the journal has on its kernel."""
        event = self.answer(key_of("evaluate", candidate.hash))
        if not event:
            return replace(candidate, outcome=SKIPPED, message=OUT_OF_TIME)
        if event["evaluation"] is None:
            return replace(candidate, outcome=event.get("fault", ERROR), message=event["message"])
        evaluation = from_document(Evaluation, event["evaluation"])
        proof = self.answer(key_of("prove", candidate.hash))
        if proof:
            if proof["evaluation"] is None:
                return replace(candidate, outcome=proof.get("fault", ERROR), message=proof["message"])
            proven = from_document(Evaluation, proof["evaluation"])
            stages, seconds = (*evaluation.stages, *proven.stages), evaluation.seconds + proven.seconds
            evaluation = replace(_slower(evaluation, proven), stages=stages, seconds=seconds)
        verdict = with_verdict(candidate, evaluation, self._judge.stages)
        if proof and verdict.outcome == PLAUSIBLE:
            raise RunFolderError(
                f"the log's validation of the kernel {candidate.kernel} lacks stages",
                hint="it was edited, or another version wrote it; start a new search",
            )
        return verdict

    def routine(self, text: str, kernel: str) -> Number | None:
        """The measurement of the vendor's routine, even when time is up; None where it does not hold. `kernel` is the
        digest of its text."""
        if "routine" not in self._journal:
            ((_, measured),) = self._measured([TargetCall("routine", self._evaluator, "screen", text)])
            self._journal.record("routine", "routine", {"value": measured, "kernel": kernel})
        value: Number | None = self._journal["routine"]["value"]
        return value

    def compare(self, best: str, routine: str | None, conditions: Mapping[str, EvaluationTarget]) -> None:
        """Record what the best kernel and the vendor's routine are measured at in each condition, even when time is up;
        None where a kernel does not hold."""
        missing = {
            name: target for name, target in conditions.items() if key_of("condition", name) not in self._journal
        }
        texts = {"value": best} | ({} if routine is None else {"routine": routine})
        calls = [
            TargetCall((name, field), Target(target), "screen", text)
            for name, target in missing.items()
            for field, text in texts.items()
        ]
        measured: dict[str, dict[str, Number | None]] = {name: {"value": None, "routine": None} for name in missing}
        for (name, field), value in self._measured(calls):
            measured[name][field] = value
        for name, values in measured.items():
            self._journal.record("condition", key_of("condition", name), {"name": name, **values})

    def _measured(self, calls: Sequence[TargetCall[Key]]) -> Iterator[tuple[Key, Number | None]]:
        """The value of each kernel that is screened, None where it fails or cannot be measured."""
        alone = 1 if self._judge.device is not None else None
        for key, result in run_calls(self._executor, calls, at_once=alone):
            document = None if isinstance(result, Lost) else result["evaluation"]
            evaluation = None if document is None else from_document(Evaluation, document)
            yield key, evaluation.value if evaluation is not None and evaluation.correct else None

    # --- time ----------------------------------------------------------------------------------------------------

    def expired(self) -> bool:
        """True if the budget of seconds is spent. Once it is, the journal says so, and in which step."""
        if "expired" not in self._journal and self._seconds is not None and self._journal.seconds >= self._seconds:
            self._journal.record("expired", "expired", {"step": self.step})
        return "expired" in self._journal

    def expired_before(self, step: int) -> bool:
        """True if the budget of seconds was spent before a step began."""
        return self.expired() and step > self._journal["expired"]["step"]

    def _run(
        self, executor: Executor, calls: Sequence[TargetCall[str]], at_once: int | None = None
    ) -> Iterator[tuple[str, Any]]:
        if not self.expired():
            yield from run_calls(executor, calls, self.expired, at_once)
            self.expired()

    # --- what became of it ---------------------------------------------------------------------------------------

    def record_candidate(self, kind: str, candidate: Candidate) -> None:
        evaluation = candidate.evaluation if candidate.promising else None
        document = {
            "id": candidate.id,
            "step": candidate.step,
            "parent": candidate.parent,
            "plan": plan_document(candidate.plan) if candidate.plan else None,
            "kernel": candidate.kernel,
            "hash": candidate.hash,
            "outcome": candidate.outcome,
            "message": candidate.message,
            "repaired": candidate.repaired,
            "value": evaluation.value if evaluation else None,
            "ratio": evaluation.ratio if evaluation else None,
        }
        self._journal.record(kind, key_of(kind, candidate.id), document)

    def record_step(self, history: History) -> None:
        """The last step, and how far it got."""
        step, best = history.rounds[-1], history.best
        document = {
            "step": step.number,
            "parents": list(step.parents),
            "best": best.id,
            "value": best.value,
            "evaluations": history.evaluations,
        }
        self._journal.record("step", key_of("step", step.number), document)


def _slower(screened: Evaluation, proven: Evaluation) -> Evaluation:
    """Of two evaluations of one kernel, the one with the worse measurement: where data have a say in it, the worst of
    all runs counts."""
    if screened.measurement is None or proven.measurement is None:
        return screened
    rank = screened.objective.rank
    return proven if rank(proven.measurement.value) > rank(screened.measurement.value) else screened

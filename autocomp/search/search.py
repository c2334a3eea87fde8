"""The search loop: ask the strategy, ask the agents, evaluate, remember."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from autocomp.data import write_atomically
from autocomp.search.cache import EvaluationCache
from autocomp.search.candidate import (
    DUPLICATE,
    FAILED,
    PENDING,
    SKIPPED,
    Candidate,
    History,
    Selection,
    Step,
)
from autocomp.search.drafts import Drafts
from autocomp.search.effects import Effects
from autocomp.search.executors import Executor
from autocomp.search.log.folder import RunFolder
from autocomp.search.log.journal import Journal
from autocomp.search.log.keys import key_of
from autocomp.search.options import Options, spent_budget
from autocomp.search.strategy import Decision, Expand, Select, Stop, Strategy
from autocomp.search.targets import AgentTarget, EvaluationTarget, SelectCall, plan_document
from autocomp.search.verdict import require_correct_start
from autocomp.targets.evaluation import Measurement
from autocomp.targets.planning import Plan, Replay, Usage
from autocomp.targets.serial import from_document

AFTER_FAILURE = "follows a kernel that does not hold"
ROUTINE = Plan("routine", "Call the vendor's own routine: nothing that was found is faster", author="search")
LEADERS = 4  # kernels that are measured again beside their parents before the search ends, where there is noise
COMPARISONS = 3  # of leaders, as new ones may come to the front


@dataclass(frozen=True)
class Problem:
    """The problem of a search: its start, its agents, its judge. `opening` carries out the plans of the
    agents' precedents. At its end a search says how the best kernel holds in other `conditions`, beside the vendor's
    own `routine` if there is one. Where that is better than all that was found, it is the result."""

    starting_kernel: str
    agents: AgentTarget
    evaluation: EvaluationTarget
    opening: Callable[[], Replay] | None = None
    routine: str | None = None
    conditions: Mapping[str, EvaluationTarget] = field(default_factory=dict)


@dataclass(frozen=True)
class SearchResult:
    history: History
    reason: str  # why the search ended
    seconds: float
    options: Options
    usage: Usage  # of the models, in calls that were cut off too

    @property
    def naive(self) -> Candidate:
        return self.history.root

    @property
    def best(self) -> Candidate:
        return self.history.best

    @property
    def evaluations(self) -> int:
        return self.history.evaluations


class Search:
    """One run from its start to its end; everything that happened before is taken from the journal.

    The result is a function of the problem, the strategy, the options and the journal alone: neither the number of
    workers nor the order in which they finish has an influence. Only the budget of seconds depends on the clock, and
    when it runs out, that is an event of the journal.
    """

    def __init__(
        self,
        problem: Problem,
        strategy: Strategy,
        options: Options,
        folder: RunFolder,
        journal: Journal,
        executor: Executor,
        agent_executor: Executor,
        cache: EvaluationCache | None = None,
    ) -> None:
        self._problem = problem
        self._strategy = strategy
        self._options = options
        self._folder = folder
        self._journal = journal
        self._effects = Effects(
            problem.agents, problem.evaluation, folder, journal, executor, agent_executor, options.seconds, cache
        )
        self._drafts = Drafts(self._effects, folder, options.seed, problem.agents.writes)

    def run(self) -> SearchResult:
        """Search until the strategy stops or a budget is spent.

        Raises KernelError or CandidateFailure if the starting kernel is not correct.
        """
        history = self._opened(History(self._root()))
        while True:
            self._effects.step = len(history.steps)
            decision = self._decide(history)
            if isinstance(decision, Select):
                history = self._select(history, decision)
                continue
            rivals = _rivals(history) if isinstance(decision, Stop) else ()
            wanted = (history.best, *rivals) if isinstance(decision, Stop) else decision.parents
            unproven = [candidate for candidate in wanted if not candidate.correct]
            if unproven:
                history = self._prove(history, unproven, last=isinstance(decision, Stop))
            elif rivals:
                history = self._measure_beside(history, rivals)
            elif isinstance(decision, Stop):
                break
            else:
                history = history.extended(self._step(history, decision))
                self._effects.record_step(history)
                self._write_findings(history)
        history = self._with_routine(history)
        best = history.best
        write_atomically(self._folder.best_kernel, self._folder.kernel(best.kernel))
        self._effects.compare(self._folder.kernel(best.kernel), self._problem.routine, self._problem.conditions)
        payload = {"reason": decision.reason, "best": best.id, "value": best.value, "outcomes": history.outcomes()}
        stop = self._journal.record("stop", "stop", payload)
        return SearchResult(history, str(stop["reason"]), float(stop["t"]), self._options, self._journal.usage)

    def _with_routine(self, history: History) -> History:
        """The history with the vendor's routine as its last candidate, where that is better than all that was found.

        Like the validation of the result, its judgement counts against no budget.
        """
        text, best = self._problem.routine, history.best.evaluation
        if text is None or best is None or best.measurement is None:
            return history
        canonical = self._problem.agents.target.language.fingerprint(text)
        value = None if canonical in history.hashes else self._effects.routine(text, self._folder.store_kernel(text))
        if value is None or not best.objective.better(Measurement(value), best.measurement):
            return history
        number, identity = len(history.steps) + 1, max(candidate.id for candidate in history) + 1
        kernel = self._folder.store_kernel(text)
        draft = Candidate(identity, number, history.root.id, ROUTINE, kernel, canonical, PENDING)
        self._effects.evaluate("evaluate", "evaluate", [draft], always=True)
        judged = self._effects.judged(draft)
        self._effects.record_candidate("candidate", judged)
        history = history.extended(Step(number, (history.root.id,), (judged,)))
        self._effects.record_step(history)
        return history

    # --- steps ---------------------------------------------------------------------------------------------------

    def _decide(self, history: History) -> Decision:
        """The strategy's decision, or the end where a budget is spent."""
        if self._left(history) == 0:
            return Stop("budget of evaluations spent")
        spent = spent_budget(history.usage, self._options)
        if spent:
            return Stop(spent)
        decision = self._strategy.decide(history)
        if not isinstance(decision, Stop) and self._out_of_time(history, decision):
            return Stop("budget of seconds spent")
        return decision

    def _select(self, history: History, request: Select) -> History:
        """The history with the selector's answer, or as it was if time ran out before there was one."""
        key = _selection_key(history)
        population = tuple(self._drafts.peer(history, c) for c in request.population)
        self._effects.ask(
            "select", "select", {key: SelectCall(population, request.findings, f"{self._options.seed}/{key}")}
        )
        answer = self._effects.answer(key)
        if not answer:
            return history
        usage = self._effects.usage([key])
        step = len(history.steps) + 1
        return history.selected(Selection(step, answer["base"], answer["reference"], answer["reason"], usage))

    def _left(self, history: History) -> int | None:
        """Evaluations that may still be made; None without a budget."""
        allowed = self._options.evaluations
        return None if allowed is None else max(0, allowed - history.evaluations)

    def _out_of_time(self, history: History, decision: Expand | Select) -> bool:
        """True if time ran out before the next step; effects made for it by then still count."""
        if not self._effects.expired_before(len(history.steps) + 1):
            return False
        if isinstance(decision, Select):
            return not self._effects.answer(_selection_key(history))
        return not any(self._effects.is_known("prove", parent) for parent in decision.parents if not parent.correct)

    def _root(self) -> Candidate:
        text = self._problem.starting_kernel
        kernel = self._folder.store_kernel(text)
        canonical = self._problem.agents.target.language.fingerprint(text)
        draft = Candidate(0, 0, None, None, kernel, canonical, PENDING)
        self._effects.evaluate("evaluate", "evaluate", [draft], always=True)
        root = self._effects.judged(draft)
        look = f"look at it with: autocomp run {self._folder.kernel_path(kernel)} --workload ..."
        agents = self._problem.agents
        require_correct_start(root, text, agents.target, agents.workload, look)
        self._effects.record_candidate("candidate", root)
        return root

    def _opened(self, history: History) -> History:
        """The history with the kernels that the precedents' plans lead to. The descendants of a kernel that fails are
        skipped, since their lineage fails too."""
        if self._problem.opening is None or ("replay" not in self._journal and self._effects.expired()):
            return history
        if "replay" not in self._journal:
            self._journal.record("replay", "replay", self._replay_document(self._problem.opening()))
        drafts = [
            Candidate(
                position, 0, step["parent"], from_document(Plan, step["plan"]), step["kernel"], step["hash"], PENDING
            )
            for position, step in enumerate(self._journal["replay"]["steps"], start=1)
        ]
        judged, made = self._evaluate(drafts, history.hashes, self._left(history))
        holding = {history.root.id}
        candidates: list[Candidate] = []
        for candidate in judged:
            if candidate.parent not in holding and candidate.evaluation is not None:
                candidate = replace(candidate, outcome=SKIPPED, message=AFTER_FAILURE)
            if candidate.promising:
                holding.add(candidate.id)
            candidates.append(candidate)
            self._effects.record_candidate("candidate", candidate)
        history = replace(history, opening=Step(0, (), tuple(candidates), made))
        self._effects.record_step(history)
        return history

    def _replay_document(self, replay: Replay) -> dict[str, Any]:
        """The outcome of the precedents' plans; parents are ids of candidates, of which 0 is the starting kernel."""
        steps = [
            {
                "record": step.record,
                "plan": plan_document(step.plan),
                "kernel": self._folder.store_kernel(step.kernel),
                "hash": self._problem.agents.target.language.fingerprint(step.kernel),
                "parent": 0 if step.parent is None else step.parent + 1,
            }
            for step in replay.steps
        ]
        records = [
            {"record": p.record, "digest": p.digest, "problem": p.problem, "distance": p.distance}
            for p in self._problem.agents.precedents
        ]
        return {"records": records, "steps": steps, "left_out": [list(entry) for entry in replay.left_out]}

    def _step(self, history: History, request: Expand) -> Step:
        number = self._effects.step = len(history.steps) + 1
        drafts = self._drafts.implemented(history, number, self._drafts.planned(history, request, number))
        left = self._left(history)
        judged, made = self._evaluate(drafts, history.hashes, left)
        if self._options.repair:
            left = None if left is None else left - made
            judged, repairs = self._repair(history, judged, left)
            made += repairs
        for candidate in judged:
            self._effects.record_candidate("candidate", candidate)
        asked = [key_of("plan", number, parent.id) for parent in request.parents]
        asked += [key_of(kind, number, candidate.id) for candidate in judged for kind in ("code", "repair")]
        asked += [key_of("code", number, f"{candidate.id}/again") for candidate in judged]
        return Step(
            number, tuple(parent.id for parent in request.parents), tuple(judged), made, self._effects.usage(asked)
        )

    def _evaluate(
        self, drafts: Sequence[Candidate], seen: frozenset[str], left: int | None
    ) -> tuple[list[Candidate], int]:
        """Judge what has a kernel not seen before, `left` of them at most; also how many evaluations that took."""
        chosen: dict[str, Candidate] = {}
        marked: list[Candidate] = []
        for draft in drafts:
            if draft.outcome == PENDING and (draft.hash in seen or draft.hash in chosen):
                draft = replace(draft, outcome=DUPLICATE)
            elif draft.outcome == PENDING and left is not None and len(chosen) >= left:
                draft = replace(draft, outcome=SKIPPED, message="the budget of evaluations is spent")
            elif draft.outcome == PENDING:
                chosen[draft.hash] = draft
            marked.append(draft)
        self._effects.evaluate("evaluate", "screen", chosen.values())
        made = sum(1 for c in chosen.values() if self._effects.is_known("evaluate", c))
        return [self._effects.judged(c) if c.outcome == PENDING else c for c in marked], made

    def _repair(self, history: History, judged: Sequence[Candidate], left: int | None) -> tuple[list[Candidate], int]:
        """One more attempt at each kernel that failed a stage; a repair that fails leaves the failure as it was."""
        failed = {c.id: c for c in judged if c.outcome.startswith(FAILED) and not c.repaired}
        if not failed or left == 0:
            return list(judged), 0
        drafts = self._drafts.mended(history, failed.values())
        seen = history.hashes | {c.hash for c in judged if c.hash}
        repaired, made = self._evaluate(drafts, seen, left)
        mended = {c.id: c for c in repaired if c.promising}
        return [mended.get(candidate.id, candidate) for candidate in judged], made

    def _prove(self, history: History, unproven: Sequence[Candidate], last: bool) -> History:
        """Put promising candidates through the stages that screening left out. The proof of the search's `last` word
        does not count against the budget of seconds."""
        self._effects.evaluate("prove", "prove", unproven, always=last)
        judged = [self._effects.judged(c) for c in unproven if self._effects.is_known("prove", c)]
        made, usage = 0, Usage()
        if self._options.repair and not last:
            judged, made = self._repair(history, judged, self._left(history))
            usage = self._effects.usage(key_of("repair", candidate.step, candidate.id) for candidate in judged)
        for candidate in judged:
            self._effects.record_candidate("verdict", candidate)
        return history.updated({c.id: c for c in judged}, made, usage)

    def _measure_beside(self, history: History, rivals: Sequence[Candidate]) -> History:
        key = key_of("measure", len(history.compared) + 1)
        made = self._effects.measure_beside(key, rivals)
        return history.measured_again({c.id: new for c, new in zip(rivals, made, strict=True)})

    def _write_findings(self, history: History) -> None:
        text = self._strategy.findings(history)
        if text:
            write_atomically(self._folder.findings, text)


def _rivals(history: History) -> tuple[Candidate, ...]:
    """The kernels that noise does not tell from the best, with their parents: to be measured again beside each other,
    since the luckiest of many noisy measurements is too good. None where there is no noise, or once the present ones
    were compared."""
    best = history.best
    if not best.measurement.spread or len(history.compared) == COMPARISONS:
        return ()
    ranked = sorted((c for c in history if c.promising), key=lambda c: c.rank)
    leaders = [c for c in ranked if not best.beats(c)][:LEADERS]
    parents = [history[c.parent] for c in leaders if c.parent is not None]
    rivals = {c.id: c for c in (*leaders, *parents) if c.promising}
    if history.compared and rivals.keys() <= history.compared[-1]:
        return ()
    return tuple(rivals.values())


def _selection_key(history: History) -> str:
    return key_of("select", len(history.selections) + 1)

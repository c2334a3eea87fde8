"""A run as its event log tells it: the basis of progress, tables and summaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autocomp.errors import RunFolderError
from autocomp.search.candidate import CORRECT, DUPLICATE, ERROR, FAILED, PLAUSIBLE, SKIPPED, in_order
from autocomp.search.log.journal import Event, read_events
from autocomp.search.search import AFTER_FAILURE
from autocomp.targets.evaluation import Evaluation, Number, Objective
from autocomp.targets.planning import GENERATED
from autocomp.targets.serial import from_document


@dataclass
class RunView:
    """Folds events, one after the other; usable live and afterwards. Values are None until the first evaluation, and
    the bound where none is known. The best kernel is the best that passed every stage: a faster one that was only
    screened may still fail."""

    candidates: dict[int, Event] = field(default_factory=dict)
    objective: Objective = field(default_factory=lambda: Objective(""))  # the first evaluation says it
    naive: Number | None = None
    bound: Number | None = None
    best: Number | None = None
    best_id: int = 0
    step: int = 0
    step_best: int = 0  # the best kernel of the last step, which may not be validated yet
    evaluations: int = 0
    cached: int = 0  # of the evaluations and proofs, those taken from the cache
    damaged: int = 0  # entries of the cache that were not as they were written
    seconds: float = 0.0
    latest: str = ""  # kind of the last event that a search wrote when an effect ended
    reason: str | None = None
    fault: str | None = None  # the error that ended the last session
    agent_messages: Counter[str] = field(default_factory=Counter)
    trajectory: list[float] = field(default_factory=list)  # `ratio` after each evaluation, validation included
    replay: Event | None = None  # the schedules that the run began with, what came of their plans
    conditions: list[Event] = field(default_factory=list)  # how the best kernel holds, beside the vendor's routine
    costs: Counter[tuple[str, str, int, str]] = field(default_factory=Counter)  # by model, phase, step, name of `Usage`
    _live: Counter[str] = field(default_factory=Counter)
    _routine: str | None = None  # the kernel of the vendor's, which is judged outside of the budget
    _settled: Counter[str] = field(default_factory=Counter)  # of calls that are recorded, by the names of `Usage`
    _charged: dict[str, Counter[str]] = field(default_factory=dict)  # of calls under way

    @classmethod
    def of(cls, events_file: Path) -> RunView:
        return cls.folded(read_events(events_file)[0])

    @classmethod
    def folded(cls, events: Iterable[Event]) -> RunView:
        view = cls()
        for event in events:
            view.add(event)
        return view

    def add(self, event: Event) -> None:
        """Raises RunFolderError for an event that is not as this version writes it."""
        handler = getattr(self, f"_on_{event['kind']}", None)
        try:
            self.seconds = max(self.seconds, float(event.get("t", 0.0)))
            self.latest, self.fault = event["kind"], None
            if handler is not None:
                handler(event)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise RunFolderError(
                f"the run's event {event.get('key', event['kind'])!r} is not as this version writes it: {error!r}",
                hint="was its log edited, or written by another version? cut it off before that event and resume",
            ) from error

    @property
    def usage(self) -> Counter[str]:
        """Tokens, requests and money, by the names of `Usage`."""
        total = Counter(self._settled)
        for charged in self._charged.values():
            total.update(charged)
        return total

    @property
    def ratio(self) -> float | None:
        """The share of the bound that the best kernel reaches; None where either is unknown."""
        return None if self.bound is None or self.best is None else self.objective.ratio(self.bound, self.best)

    @property
    def gain(self) -> float | None:
        """The speed-up of the best kernel over the naive one."""
        return None if self.naive is None or self.best is None else self.objective.gain(self.naive, self.best)

    @property
    def end(self) -> str:
        """The reason why the search, or its last session, ended."""
        return self.reason or (f"interrupted: {self.fault}" if self.fault else "interrupted")

    @property
    def outcomes(self) -> dict[str, int]:
        """Candidates by outcome; those of a step under way as far as they are known."""
        return dict(in_order(Counter(c["outcome"] for c in self.candidates.values() if c["id"]) + self._live))

    def causes(self) -> list[tuple[str, str, int]]:
        """The causes of failed candidates: (outcome, first line of the message, how many), most frequent first."""
        counted = Counter(
            (c["outcome"], first_line(c["message"]))
            for c in self.candidates.values()
            if c["outcome"] not in (CORRECT, PLAUSIBLE, DUPLICATE)
        )
        return [(outcome, message, n) for (outcome, message), n in counted.most_common() if outcome != SKIPPED]

    def lineage(self) -> list[Event]:
        """Candidates from the naive kernel to the best."""
        chain: list[Event] = []
        current: int | None = self.best_id
        while current is not None and current in self.candidates:
            chain.append(self.candidates[current])
            current = self.candidates[current]["parent"]
        return chain[::-1]

    def gain_of(self, candidate: Event) -> float | None:
        """The speed-up of a candidate over its parent; None where either was not measured."""
        parent = None if candidate["parent"] is None else self.candidates.get(candidate["parent"])
        if parent is None or parent["value"] is None or candidate["value"] is None:
            return None
        return self.objective.gain(parent["value"], candidate["value"])

    def reuse(self) -> list[dict[str, Any]]:
        """The schedules that the run began with: which plans were replayed, which left out and why. Then the value of
        the best kernel that they led to (None if none holds), and how many evaluations that took."""
        if self.replay is None:
            return []
        return [self._reused(record, self.replay) for record in self.replay["records"]]

    def _reused(self, record: dict[str, Any], replay: Event) -> dict[str, Any]:
        own = [(i, step) for i, step in enumerate(replay["steps"], start=1) if step["record"] == record["record"]]
        made = [self.candidates[i] for i, _ in own if i in self.candidates]
        return {
            **record,
            "replayed": [step["plan"]["option"] for _, step in own],
            "left_out": [reason for name, reason in replay["left_out"] if name == record["record"]],
            "value": min((c["value"] for c in made if c["value"] is not None), key=self.objective.rank, default=None),
            "evaluations": sum(1 for c in made if c["outcome"] != SKIPPED or c["message"] == AFTER_FAILURE),
        }

    def starts(self) -> dict[str, Number]:
        """Where a user's kernel and the generated one were both tried, the value of the best kernel that came of each;
        nothing where there was one start."""
        plans = {number: candidate.get("plan") or {} for number, candidate in self.candidates.items()}
        generated = {number for number, plan in plans.items() if plan.get("option") == GENERATED}
        values: dict[str, Number] = {}
        for number, candidate in self.candidates.items() if generated else ():
            if candidate["outcome"] not in (CORRECT, PLAUSIBLE) or candidate["value"] is None:
                continue
            start = number
            while start and start not in generated:
                start = self.candidates[start]["parent"] or 0
            name = "the generated kernel" if start else "the kernel given"
            values[name] = min(values.get(name, candidate["value"]), candidate["value"], key=self.objective.rank)
        return values

    def _on_replay(self, event: Event) -> None:
        self.replay = event

    def _on_charge(self, event: Event) -> None:
        self._charged.setdefault(event["call"], Counter()).update(event["cost"])
        phase, step = phase_of(event["call"])
        for name, amount in event["cost"].items():
            self.costs[event.get("model", ""), phase, step, name] += amount

    def _settle(self, event: Event) -> None:
        self._charged.pop(event["key"], None)
        self._settled.update(event.get("usage", {}))

    _on_select = _settle
    _on_repair = _settle

    def _on_turn(self, event: Event) -> None:
        self._settle(event)
        self.agent_messages.update(first_line(message) for message in event["messages"])

    def _on_plan(self, event: Event) -> None:
        self._settle(event)
        if event["plans"]:  # without plans, the messages are those of a candidate that has none
            self.agent_messages.update(first_line(message) for message in event["messages"])

    def _on_code(self, event: Event) -> None:
        self._settle(event)
        if event["kernel"] is None:
            self._live["error" if event.get("error") else "not implemented"] += 1

    def _on_routine(self, event: Event) -> None:
        self._routine = event.get("kernel")

    def _on_evaluate(self, event: Event) -> None:
        self.evaluations += event["kernel"] != self._routine
        self.cached += bool(event.get("cached"))
        self._judge(event)
        self.trajectory.append(self.ratio or 0.0)

    def _judge(self, event: Event) -> None:
        if event["evaluation"] is None:
            self._live[event.get("fault", ERROR)] += 1
            return
        evaluation = from_document(Evaluation, event["evaluation"])
        failure = evaluation.failure
        if self.naive is not None:
            self._live[f"{FAILED}{failure.stage}" if failure else PLAUSIBLE] += 1
        if failure is None and evaluation.value is not None:
            self.objective = evaluation.objective
            self.bound = evaluation.bound.value if evaluation.bound is not None else None
            self.naive = evaluation.value if self.naive is None else self.naive

    def _on_prove(self, event: Event) -> None:
        self.cached += bool(event.get("cached"))

    def _on_cache(self, event: Event) -> None:
        self.damaged += event["damaged"]

    def _on_candidate(self, event: Event) -> None:
        self.candidates[event["id"]] = event
        self._live.clear()
        self._contend(event)

    def _on_verdict(self, event: Event) -> None:
        self.candidates[event["id"]] = event
        self._contend(event)

    def _contend(self, candidate: Event) -> None:
        """Take a candidate for the best if it passed every stage and no other that did is as good."""
        value, rank = candidate["value"], self.objective.rank
        if candidate["outcome"] != CORRECT or value is None:
            return
        if self.best is None or rank(value) < rank(self.best):
            self._settle_on(candidate["id"], value)

    def _settle_on(self, number: int, value: Number) -> None:
        self.best_id, self.best = number, value
        if self.trajectory:
            self.trajectory[-1] = self.ratio or 0.0

    def _on_measure(self, event: Event) -> None:
        for number, measurement in zip(event["candidates"], event["measurements"], strict=True):
            if measurement is not None:
                value = measurement["value"]
                ratio = None if self.bound is None else self.objective.ratio(self.bound, value)
                self.candidates[number] = {**self.candidates[number], "value": value, "ratio": ratio}
        self.best = None
        for candidate in self.candidates.values():
            self._contend(candidate)

    def _on_step(self, event: Event) -> None:
        self.step, self.step_best = event["step"], event["best"]

    def _on_condition(self, event: Event) -> None:
        self.conditions.append(event)

    def _on_fault(self, event: Event) -> None:
        self.fault = first_line(event["message"])

    def _on_stop(self, event: Event) -> None:
        self.reason = event["reason"]
        self._settle_on(event["best"], event["value"])


def first_line(message: Any) -> str:
    lines = str(message).strip().splitlines()
    return lines[0] if lines else ""


def phase_of(call: str) -> tuple[str, int]:
    """The phase and the step of an agent's call; step 0 for a selection, which belongs to no step."""
    phase, *numbers = call.split("/")
    return phase or "other", int(numbers[0]) if len(numbers) > 1 and numbers[0].isdecimal() else 0

"""References among the events of a run's log: each event names candidates that came before it, so that no candidate
is its own ancestor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autocomp.search.candidate import CORRECT, PLAUSIBLE
from autocomp.search.log.events import EventError
from autocomp.search.log.keys import key_of


class CandidateGraph:
    """The candidates that the events of a log have named so far. `check` refuses an event that names one wrongly: a
    parent comes before its child, and who is built on or compared with is a kernel that ran."""

    def __init__(self) -> None:
        self._outcomes: dict[int, str] = {}
        self._parents: dict[int, int | None] = {}
        self._keys: set[str] = set()

    def check(self, event: Mapping[str, Any]) -> None:
        """Raises EventError."""
        key = event.get("key")
        if key is not None:
            if key in self._keys:
                raise EventError(event, f"field 'key': {key!r} occurs twice")
            self._keys.add(key)
        handler = getattr(self, f"_check_{event['kind']}", None)
        if handler is not None:
            handler(event)

    def _check_candidate(self, event: Mapping[str, Any]) -> None:
        number, parent = event["id"], event["parent"]
        if event["key"] != key_of("candidate", number):
            raise EventError(event, f"field 'id': {number} is not the one of its key {event['key']!r}")
        if (parent is None) != (number == 0):
            raise EventError(event, "field 'parent': only candidate 0 has no parent")
        if parent is not None:
            self._known(event, "parent", parent)
        self._enter(event)

    def _check_verdict(self, event: Mapping[str, Any]) -> None:
        self._known(event, "id", event["id"])
        if event["parent"] != self._parents[event["id"]]:
            raise EventError(event, f"field 'parent': candidate {event['id']} had another parent before")
        self._enter(event)

    def _enter(self, event: Mapping[str, Any]) -> None:
        if event["outcome"] in (CORRECT, PLAUSIBLE) and (event["value"] is None or not event["kernel"]):
            raise EventError(event, "field 'value': missing, although the kernel ran")
        self._outcomes[event["id"]] = event["outcome"]
        self._parents[event["id"]] = event["parent"]

    def _check_evaluate(self, event: Mapping[str, Any]) -> None:
        if event["evaluation"] is None and "message" not in event:
            raise EventError(event, "field 'message' is missing, and so is an evaluation")

    _check_prove = _check_evaluate

    def _check_step(self, event: Mapping[str, Any]) -> None:
        for parent in event["parents"]:
            self._known(event, "parents", parent)
        self._ran(event, "best", event["best"])

    def _check_stop(self, event: Mapping[str, Any]) -> None:
        self._ran(event, "best", event["best"])

    def _check_measure(self, event: Mapping[str, Any]) -> None:
        for number in event["candidates"]:
            self._ran(event, "candidates", number)
        if len(event["measurements"]) != len(event["candidates"]):
            raise EventError(event, "field 'measurements': expected one for each candidate")

    def _check_select(self, event: Mapping[str, Any]) -> None:
        self._ran(event, "base", event["base"])
        if event["reference"] is not None:
            self._ran(event, "reference", event["reference"])

    def _check_replay(self, event: Mapping[str, Any]) -> None:
        for position, step in enumerate(event["steps"]):
            if step["parent"] > position:
                raise EventError(event, f"field 'steps.{position}.parent': {step['parent']} comes later")

    def _check_plan(self, event: Mapping[str, Any]) -> None:
        for position, plan in enumerate(event["plans"]):
            if "partner" in plan:
                self._ran(event, f"plans.{position}.partner", plan["partner"])

    def _check_code(self, event: Mapping[str, Any]) -> None:
        if "partner" in event.get("plan", {}):
            self._ran(event, "plan.partner", event["plan"]["partner"])
        if event["kernel"] is not None and "hash" not in event:
            raise EventError(event, "field 'hash' is missing")

    _check_repair = _check_code

    def _known(self, event: Mapping[str, Any], field: str, number: int) -> None:
        if number not in self._outcomes:
            raise EventError(event, f"field {field!r}: no candidate {number} came before")

    def _ran(self, event: Mapping[str, Any], field: str, number: int) -> None:
        self._known(event, field, number)
        if self._outcomes[number] not in (CORRECT, PLAUSIBLE):
            outcome = self._outcomes[number]
            raise EventError(event, f"field {field!r}: candidate {number} is {outcome!r}")

"""A model works on a kernel by itself: it calls the session's tools over several turns.

A turn is one request to the model and the answers to the calls that it asks for. Both are in the journal, so that a
conversation that was cut off goes on where it was: nothing is asked, called or paid for twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from random import Random
from typing import Any

from autocomp.agents.llm import Ensemble, Ledger, Message
from autocomp.agents.llm.endpoints.forms.message import ToolCall
from autocomp.search.log.keys import key_of
from autocomp.search.log.snapshot import Request
from autocomp.search.options import spent_budget
from autocomp.targets.planning import Usage
from autocomp.workbench import reading
from autocomp.workbench.calling import Callables
from autocomp.workbench.session import SUBMITTED, Session
from autocomp.workbench.tools import ADVICE, Tools

MOST_CALLS = 16  # of one turn
MOST_IDLE = 3  # turns in a row without a call
NUDGE = "You called no tool. Call one, or `submit` the best kernel."
TOO_MANY = f"error: a turn makes at most {MOST_CALLS} calls; this one was not made"
ENDED = "error: the session has ended; this call was not made"


def opening(request: Request, start: str) -> tuple[Message, ...]:
    """The messages that a conversation begins with; `start` is the starting kernel."""
    target, workload = request.target, request.workload
    known = "\n\n".join((reading.language(target, workload), reading.machine(target, workload)))
    work = f"# How to work\n\nYou have tools. {ADVICE}\n"
    kernel = f"# Kernel 0\n\n```{target.language.fence}\n{start.strip()}\n```\n"
    task = f"# The task\n\n{reading.task(target, workload)}\n{kernel}"
    return Message("system", f"{known}\n\n{work}"), Message("user", task)


class Conversation:
    """The conversation of a session with one model of an ensemble, or with another where that one is down."""

    def __init__(self, session: Session, ensemble: Ensemble, ledger: Ledger) -> None:
        self._session = session
        self._journal = session.journal
        self._options = session.request.options
        self._ensemble = ensemble
        self._ledger = ledger
        self._first = ensemble.pick(Random(f"{self._options.seed}/conversation"))
        self._callables = Callables(Tools(session))
        start = session.kernel(session.history.root)
        self._messages = list(opening(session.request, start))

    def run(self) -> str:
        """Go on until the model submits, a budget is spent, or nothing comes of it any more; the result says which.

        Raises EndpointRefusalError where no model can answer.
        """
        idle, unsent = 0, 0
        for number in range(1, self._options.max_steps + 1):
            key = key_of("turn", number)
            if key not in self._journal:
                spent = self._spent(unsent)
                if spent is not None:
                    return spent
                self._ask(key)
            turn = self._journal[key]
            unsent = turn["usage"].get("unsent", 0)
            self._take(number, turn)
            if self._session.ended:
                return SUBMITTED
            idle = 0 if turn["calls"] else idle + 1
            if idle == MOST_IDLE and not unsent:
                return f"no tool called in {MOST_IDLE} turns"
        return self._spent(unsent) or f"{self._options.max_steps} turns made"

    def _spent(self, unsent: int) -> str | None:
        """The reason to end the conversation now, or None."""
        if self._session.left == 0:
            return "budget of evaluations spent"
        if self._options.seconds is not None and self._journal.seconds >= self._options.seconds:
            return "budget of seconds spent"
        best = self._session.history.best.evaluation
        if best is not None and best.ratio is not None and best.ratio >= self._options.ratio:
            return "target ratio reached"
        return spent_budget(self._journal.usage + Usage(unsent=unsent), self._options)

    def _ask(self, key: str) -> None:
        """Record what the model says next."""
        with self._ledger.on_account_of(key):
            reply = self._ensemble.ask(
                self._messages,
                Random(f"{self._options.seed}/{key}"),
                first=self._first,
                tools=self._callables.schemas,
            )
        document = {
            "text": reply.text,
            "calls": [asdict(call) for call in reply.calls],
            "author": reply.author,
            "messages": list(reply.messages),
            "usage": asdict(self._journal.settled(key, reply.usage)),
            **({"items": [dict(item) for item in reply.items]} if reply.items else {}),
        }
        self._journal.record("turn", key, document)

    def _take(self, number: int, turn: Mapping[str, Any]) -> None:
        """Add a turn to the messages, with the answers to its calls; a turn that failed adds nothing."""
        if turn["text"] is None:
            return
        calls = tuple(ToolCall(**call) for call in turn["calls"])
        given = tuple(turn.get("items", ()))
        self._messages.append(Message("assistant", turn["text"], calls, items=given, origin=turn["author"]))
        if not calls:
            self._messages.append(Message("user", NUDGE))
            return
        key = key_of("tools", number)
        if key not in self._journal:
            self._journal.record("tools", key, {"answers": self._answers(calls)})
        answers = self._journal[key]["answers"]
        self._messages += [Message("tool", said, call=call.id) for call, said in zip(calls, answers, strict=True)]

    def _answers(self, calls: Sequence[ToolCall]) -> list[str]:
        answers: list[str] = []
        for position, call in enumerate(calls):
            refused = ENDED if self._session.ended else TOO_MANY if position >= MOST_CALLS else None
            answers.append(refused or self._callables.call(call.name, call.arguments))
        return answers

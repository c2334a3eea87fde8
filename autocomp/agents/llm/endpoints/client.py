"""Asks one model: a cache of answers, budgets, limits, and retries with back-off around single exchanges."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tenacity

from autocomp.agents.config import Member
from autocomp.agents.llm.endpoints.asking import Asking, Schema
from autocomp.agents.llm.endpoints.cache import AnswerCache, request_key
from autocomp.agents.llm.endpoints.endpoint import parse_spec
from autocomp.agents.llm.endpoints.forms.answer import Answer
from autocomp.agents.llm.endpoints.forms.form import form_of
from autocomp.agents.llm.endpoints.forms.message import Message
from autocomp.agents.llm.endpoints.gate import Gate
from autocomp.agents.llm.endpoints.ledger import Ledger
from autocomp.agents.llm.endpoints.tokens import estimate_prompt, estimate_tokens
from autocomp.agents.llm.endpoints.transport import (
    EndpointRefusalError,
    TooSmallError,
    TransientError,
    Transport,
    UnreachableError,
)
from autocomp.data import cache_folder
from autocomp.errors import ModelError
from autocomp.targets.planning import Usage

FEW_ATTEMPTS = 3  # at an endpoint that is not known to answer, and does not say itself that it is busy
BUDGETED_ANSWER = 8192  # tokens that an answer may take under a budget, where the user states no limit


class EndpointDownError(ModelError):
    """All attempts at a request failed."""


@dataclass
class _Question:
    """A request under way: what it is made of, the attempts since the last charge, and what all of them cost."""

    asking: Asking
    request: Mapping[str, Any]
    attempts: int = 0
    spent: Usage = field(default_factory=Usage)
    failure: str = ""  # of the last attempt

    def charge(self, ledger: Ledger, usage: Usage, model: str) -> None:
        cost = replace(usage, requests=self.attempts)
        self.attempts = 0
        self.spent += cost
        ledger.charge(cost, model)


class Client:
    """One member of an ensemble. Safe to call from several threads, and picklable. Clients share the ledger of the run
    and the gate of the endpoint; both are passed in."""

    def __init__(
        self,
        member: Member,
        ledger: Ledger | None = None,
        gate: Gate | None = None,
        *,
        cache_dir: Path | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.member = member
        self.name = member.model
        self.endpoint = parse_spec(member.model)
        self.ledger = ledger or Ledger()
        self.gate = gate or Gate(member.concurrency, member.requests_per_minute, sleep=sleep)
        self._transport = Transport(self.endpoint, member)
        self._cache = AnswerCache(cache_dir or cache_folder("answers"))
        self._sleep = sleep

    def complete(
        self,
        messages: Sequence[Message],
        *,
        sample: int = 0,
        schema: Schema | None = None,
        tools: Sequence[Schema] = (),
    ) -> Answer:
        """The model's answer to `messages`. `sample` distinguishes requests that are otherwise equal. `schema` is the
        JSON schema of the answer, which applies if the endpoint can promise it. `tools` are the tools that the model
        may call, each with its `name`, `description` and `parameters`.

        Raises EndpointRefusalError where no request can succeed, EndpointDownError where this one did not after all
        attempts, BudgetSpentError where a budget forbids it, ModelError where the request itself is at fault.
        """
        asking = self._asking(messages, schema, tools)
        request = form_of(self.member).body(asking)
        key = self._key(request, sample)
        answer = self._cache.get(key)
        if answer is None:
            answer = self._ask(_Question(asking, request))
            answer = replace(answer, unkept=self._cache.put(key, request, answer))
        self.ledger.exchanged(self.name, key, request, answer.outcome, answer.shown, answer.usage)
        return answer

    def kept(
        self,
        messages: Sequence[Message],
        *,
        sample: int = 0,
        schema: Schema | None = None,
        tools: Sequence[Schema] = (),
    ) -> Answer | None:
        """The answer that the cache has, if it has one."""
        return self._cache.get(self._key(self.body(messages, schema, tools), sample))

    def body(
        self, messages: Sequence[Message], schema: Schema | None = None, tools: Sequence[Schema] = ()
    ) -> dict[str, Any]:
        """The request's body, as it is sent."""
        return form_of(self.member).body(self._asking(messages, schema, tools))

    def _asking(self, messages: Sequence[Message], schema: Schema | None, tools: Sequence[Schema]) -> Asking:
        return Asking(self.endpoint, self.member, messages, schema, tools, self._answer_limit())

    def _key(self, request: Mapping[str, Any], sample: int) -> str:
        return request_key({"base_url": self.endpoint.base_url, "sample": sample, **request})

    def _answer_limit(self) -> int | None:
        return self.member.max_tokens or (BUDGETED_ANSWER if self.ledger.limited else None)

    def _most(self, question: _Question) -> Usage:
        """The most that a request can cost."""
        limit = self._answer_limit()
        meter = self.ledger.meter(self.endpoint.model)
        prompt = meter.most(question.asking.messages, question.asking.sent_schema)
        return self._paid(Usage(prompt, 0 if limit is None else meter.longest(limit)))

    def _priced(self, answer: Answer, question: _Question) -> Answer:
        """The answer with its cost; where the endpoint counts no tokens, they are estimated, and where it counts what
        cannot be, it is the most."""
        usage, estimated = answer.usage, estimate_tokens(answer.shown)
        if answer.doubt:
            most = self._most(question)
            usage = Usage(most.prompt_tokens, max(most.completion_tokens, estimated))
        elif not usage.tokens:
            usage = Usage(estimate_prompt(question.asking.messages), estimated)
        else:
            meter = self.ledger.meter(self.endpoint.model)
            meter.learn(
                question.asking.messages, question.asking.sent_schema, usage.prompt_tokens, usage.completion_tokens
            )
        hide = self._transport.redacted
        calls = tuple(replace(call, arguments=hide(call.arguments)) for call in answer.calls)
        items = tuple(json.loads(hide(json.dumps(item))) for item in answer.items)
        return replace(answer, usage=self._paid(usage), text=hide(answer.text), calls=calls, items=items)

    def _paid(self, usage: Usage) -> Usage:
        """The usage with its price."""
        price = self.member.price
        if price is None:
            return usage
        reread = price.prompt if price.cached is None else price.cached
        fresh = usage.prompt_tokens - usage.prompt_cached
        cost = price.prompt * fresh + reread * usage.prompt_cached + price.completion * usage.completion_tokens
        return replace(usage, money=cost / 1e6)

    def _ask(self, question: _Question) -> Answer:
        retrying = tenacity.Retrying(
            stop=self._enough,
            wait=self._wait,
            retry=tenacity.retry_if_exception(self._worth_another),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            answer: Answer = retrying(self._once, question)
        except TransientError as failure:
            raise self._failed(failure, retrying.statistics["attempt_number"]) from None
        except TooSmallError as error:
            if self.gate.answered:  # it is this prompt that is too long for it
                raise ModelError(error.message, hint=error.hint) from None
            self.gate.refused()
            raise
        except EndpointRefusalError:
            self.gate.refused()
            raise
        self.gate.succeeded()
        return answer

    def _failed(self, failure: TransientError, attempts: int) -> ModelError:
        """The error after the last attempt: of this request, or of an endpoint from which nothing can be had now."""
        absent = not failure.connection or failure.silent
        if absent and not self.gate.answered:
            self.gate.refused()
        else:
            self.gate.failed()
        here = self.gate.answered and failure.connection and not self._too_long(failure) and not self.gate.opens_in
        tried = f" ({attempts} attempts)" if attempts > 1 else ""
        return self._transport.error(EndpointDownError if here else UnreachableError, f"{failure}{tried}", failure.hint)

    def _once(self, question: _Question) -> Answer:
        """One attempt. Its greatest cost is reserved first. Its actual cost is charged before anything else is done
        with the answer, so the account stays exact even if the program ends."""
        most = self._most(question)
        question.attempts += 1
        before = f" (the attempt before: {question.failure})" if question.failure else ""
        with self.gate.passage(), self.ledger.reserved(most.tokens, most.money, before):
            try:
                answer = self._transport.exchange(question.request)
            except TransientError as error:
                question.failure = str(error)
                if error.lost:  # it was perhaps made, and paid for
                    question.charge(self.ledger, most, self.name)
                raise
            answer = self._priced(answer, question)
            question.charge(self.ledger, answer.usage, self.name)
        return replace(answer, usage=question.spent)

    def _enough(self, state: tenacity.RetryCallState) -> bool:
        """True if no further attempt is to follow. An endpoint gets few before its first answer and after a request
        that failed. One that is silent gets a second one only if it answers else: each takes all of its time."""
        error = state.outcome.exception() if state.outcome else None
        most = self.member.attempts
        if isinstance(error, TransientError) and error.silent:
            most = min(most, 2 if self.gate.sound else 1)
        elif isinstance(error, TransientError) and not self.gate.sound and not error.busy:
            most = min(most, FEW_ATTEMPTS)
        return state.attempt_number >= most

    def _worth_another(self, error: BaseException) -> bool:
        return isinstance(error, TransientError) and not self._too_long(error)

    def _too_long(self, failure: TransientError) -> bool:
        """True if the endpoint asks for a longer wait than the user allows."""
        return (failure.retry_after or 0) > self.member.longest_wait

    def _wait(self, state: tenacity.RetryCallState) -> float:
        """Retry-After where the endpoint gives it, else 1, 2, 4 … s with full jitter, up to the longest wait."""
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, TransientError) and error.retry_after is not None:
            return error.retry_after
        if isinstance(error, TransientError) and not error.connection and not self.gate.answered:
            return min(0.5, self.member.longest_wait)
        return float(tenacity.wait_random_exponential(multiplier=1, max=self.member.longest_wait)(state))

"""Asks one model: a cache of answers, budgets, limits, and retries with back-off around single exchanges."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tenacity

from autocomp.agents.config import Member
from autocomp.agents.llm.answer import Answer
from autocomp.agents.llm.cache import AnswerCache, request_key
from autocomp.agents.llm.endpoint import parse_spec
from autocomp.agents.llm.gate import Gate
from autocomp.agents.llm.ledger import Ledger
from autocomp.agents.llm.prompts import Message
from autocomp.agents.llm.tokens import estimate_prompt, estimate_tokens, most_tokens
from autocomp.agents.llm.transport import EndpointRefusalError, TransientError, Transport
from autocomp.data import cache_folder
from autocomp.errors import ModelError
from autocomp.targets.planning import Usage

BUDGETED_ANSWER = 8192  # tokens that an answer may take under a budget, where the user states no limit
Schema = Mapping[str, Any]


class EndpointDownError(ModelError):
    """All attempts at a request failed."""


class Client:
    """One member of an ensemble. Safe to call from several threads, and picklable. What is shared with other clients
    is given: the ledger of the run, and the gate of the endpoint."""

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

    def complete(self, messages: Sequence[Message], *, sample: int = 0, schema: Schema | None = None) -> Answer:
        """The model's answer to `messages`. `sample` tells apart requests that are otherwise the same; `schema` is the
        JSON schema that the answer is to follow, where the endpoint can promise that.

        Raises EndpointRefusalError where no request can succeed, EndpointDownError where this one did not after all
        attempts, BudgetSpentError where a budget forbids it, ModelError where the request itself is at fault.
        """
        kept = self.kept(messages, sample=sample, schema=schema)
        if kept is not None:
            return kept
        request = self.body(messages, schema)
        tokens, money = self._most(messages)
        with self.ledger.reserved(tokens, money):
            answer = self._priced(self._ask(request), messages)
            self.ledger.charge(answer.usage)  # first: the account is exact, whatever ends the program next
            unkept = self._cache.put(self._key(request, sample), request, answer)
        return replace(answer, unkept=unkept)

    def kept(self, messages: Sequence[Message], *, sample: int = 0, schema: Schema | None = None) -> Answer | None:
        """The answer that the cache has, if it has one."""
        return self._cache.get(self._key(self.body(messages, schema), sample))

    def body(self, messages: Sequence[Message], schema: Schema | None = None) -> dict[str, Any]:
        """The request's body, as it is sent."""
        member = self.member
        body: dict[str, Any] = {
            "model": self.endpoint.model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
        }
        if member.temperature is not None:
            body["temperature"] = member.temperature
        limit = self._answer_limit()
        if limit is not None:
            # The public endpoint has renamed the field; other servers know the old name.
            body["max_completion_tokens" if self.endpoint.public else "max_tokens"] = limit
        if schema is not None and member.answers == "schema":
            named = {"name": "answer", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif schema is not None and member.answers == "json":
            body["response_format"] = {"type": "json_object"}
        if member.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return {**body, **member.extra}

    def _key(self, request: Mapping[str, Any], sample: int) -> str:
        return request_key({"base_url": self.endpoint.base_url, "sample": sample, **request})

    def _answer_limit(self) -> int | None:
        return self.member.max_tokens or (BUDGETED_ANSWER if self.ledger.limited else None)

    def _most(self, messages: Sequence[Message]) -> tuple[int, float]:
        """Tokens and money that a request can cost at most."""
        prompt, answer, price = most_tokens(messages), self._answer_limit() or 0, self.member.price
        money = (price.prompt * prompt + price.completion * answer) / 1e6 if price else 0.0
        return prompt + answer, money

    def _priced(self, answer: Answer, messages: Sequence[Message]) -> Answer:
        """The answer with its cost; where the endpoint counts no tokens, they are estimated."""
        usage, price = answer.usage, self.member.price
        if not usage.tokens:
            usage = replace(
                usage, prompt_tokens=estimate_prompt(messages), completion_tokens=estimate_tokens(answer.text)
            )
        if price is not None:
            cost = price.prompt * usage.prompt_tokens + price.completion * usage.completion_tokens
            usage = replace(usage, money=cost / 1e6)
        return replace(answer, usage=usage, text=self._transport.redacted(answer.text))

    def _ask(self, request: Mapping[str, Any]) -> Answer:
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self.member.attempts),
            wait=self._wait,
            retry=tenacity.retry_if_exception(self._worth_another),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            answer: Answer = retrying(self._once, request)
        except TransientError as failure:
            self.gate.failed()
            attempts = retrying.statistics["attempt_number"]
            tried = f" ({attempts} attempts)" if attempts > 1 else ""
            raise self._transport.error(EndpointDownError, f"{failure}{tried}", failure.hint) from None
        except EndpointRefusalError:
            self.gate.refused()
            raise
        self.gate.succeeded()
        return replace(answer, usage=answer.usage + Usage(requests=retrying.statistics["attempt_number"]))

    def _once(self, request: Mapping[str, Any]) -> Answer:
        with self.gate.passage():
            return self._transport.exchange(request)

    def _worth_another(self, error: BaseException) -> bool:
        return isinstance(error, TransientError) and (error.retry_after or 0) <= self.member.longest_wait

    def _wait(self, state: tenacity.RetryCallState) -> float:
        """Retry-After where the endpoint gives it, else 1, 2, 4 … s with full jitter, up to the longest wait."""
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, TransientError) and error.retry_after is not None:
            return error.retry_after
        return float(tenacity.wait_random_exponential(multiplier=1, max=self.member.longest_wait)(state))

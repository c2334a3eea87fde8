"""Asks a model: timeouts, retries with back-off, a cache of answers. The key is read from the environment when the
first request is made and kept in the HTTP client alone."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import openai
import tenacity

from autocomp.agents.llm.answer import Answer, MalformedAnswerError, parse_completion
from autocomp.agents.llm.cache import AnswerCache, default_folder, request_key
from autocomp.agents.llm.endpoint import Endpoint, api_key, redacted
from autocomp.agents.llm.prompts import Message
from autocomp.errors import ModelError


class EndpointRefusalError(ModelError):
    """No request to this endpoint can succeed as things are: wrong key, unknown model, no credit."""


@dataclass(frozen=True)
class Options:
    """How to ask. What is None is left to the endpoint. Times in seconds."""

    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float = 300.0
    attempts: int = 6
    longest_wait: float = 60.0
    use_cache: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)  # further fields of the request's body, e.g. top_p


class Client:
    """One endpoint. Safe to call from several threads, and picklable."""

    def __init__(
        self,
        endpoint: Endpoint,
        options: Options | None = None,
        *,
        cache_dir: Path | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.endpoint = endpoint
        self.options = options or Options()
        self._cache = AnswerCache(cache_dir or default_folder()) if self.options.use_cache else None
        self._sleep = sleep
        self._lock = threading.Lock()
        self._http: openai.OpenAI | None = None
        self._key: str | None = None

    def complete(self, messages: Sequence[Message], *, sample: int = 0) -> Answer:
        """The model's answer to `messages`. `sample` tells apart requests that are otherwise the same.

        Raises EndpointRefusalError where no request can succeed, ModelError where this one did not after all attempts.
        """
        request = self._body(messages)
        key = request_key({"base_url": self.endpoint.base_url, "sample": sample, **request})
        kept = self._cache.get(key) if self._cache else None
        if kept is not None:
            return kept
        answer = self._ask(request)
        answer = replace(answer, text=redacted(answer.text, self._key))
        if self._cache:
            self._cache.put(key, request, answer)
        return answer

    def _body(self, messages: Sequence[Message]) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.endpoint.model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
        }
        if self.options.temperature is not None:
            body["temperature"] = self.options.temperature
        if self.options.max_tokens is not None:
            # The public endpoint has renamed the field; other servers know the old name.
            body["max_completion_tokens" if self.endpoint.public else "max_tokens"] = self.options.max_tokens
        return {**body, **self.options.extra}

    def _ask(self, request: Mapping[str, Any]) -> Answer:
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self.options.attempts),
            wait=self._wait,
            retry=tenacity.retry_if_exception(self._worth_another),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            answer: Answer = retrying(self._once, request)
        except _TransientError as failure:
            attempts = retrying.statistics["attempt_number"]
            tried = f" ({attempts} attempts)" if attempts > 1 else ""
            raise self._error(ModelError, f"{failure}{tried}", failure.hint) from None
        return replace(answer, usage=replace(answer.usage, requests=retrying.statistics["attempt_number"]))

    def _once(self, request: Mapping[str, Any]) -> Answer:
        try:
            # The raw response: the package builds its objects without checking the body's form.
            raw = self._connection().chat.completions.with_raw_response.create(
                model=request["model"], messages=request["messages"], extra_body=_rest(request)
            )
            return parse_completion(raw.content.decode("utf-8", errors="replace"))
        except MalformedAnswerError as error:
            raise _TransientError(str(error)) from error
        except openai.APITimeoutError as error:
            raise _TransientError(f"no answer within {self.options.timeout:g} s") from error
        except openai.APIConnectionError as error:
            cause = f": {error.__cause__}" if error.__cause__ and str(error.__cause__) else ""
            raise _TransientError(f"the connection failed{cause}") from error
        except openai.APIStatusError as error:
            raise self._classified(error) from None

    def _classified(self, error: openai.APIStatusError) -> Exception:
        status, reason = error.status_code, _reason(error)
        message = f"HTTP {status}: {reason}"
        if status == 429 and error.code == "insufficient_quota":
            return self._error(EndpointRefusalError, message, "the account has no credit left")
        if status in (408, 409, 425, 429) or status >= 500:
            return _TransientError(message, retry_after=_retry_after(error.response.headers))
        if status in (401, 403):
            return self._error(EndpointRefusalError, message, "check OPENAI_API_KEY and what the key may use")
        if status == 404:
            return self._error(EndpointRefusalError, message, "check the model's name and the address (it ends in /v1)")
        return self._error(ModelError, message)

    def _worth_another(self, error: BaseException) -> bool:
        return isinstance(error, _TransientError) and (error.retry_after or 0) <= self.options.longest_wait

    def _wait(self, state: tenacity.RetryCallState) -> float:
        """Retry-After where the endpoint gives it, else 1, 2, 4 … s with full jitter, up to the longest wait."""
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, _TransientError) and error.retry_after is not None:
            return error.retry_after
        return float(tenacity.wait_random_exponential(multiplier=1, max=self.options.longest_wait)(state))

    def _connection(self) -> openai.OpenAI:
        with self._lock:
            if self._http is None:
                self._key = api_key(self.endpoint)
                self._http = openai.OpenAI(
                    api_key=self._key or "none",
                    base_url=self.endpoint.base_url,
                    timeout=self.options.timeout,
                    max_retries=0,
                )
            return self._http

    def _error(self, kind: type[ModelError], message: str, hint: str | None = None) -> ModelError:
        text = f"{self.endpoint.model} at {self.endpoint.base_url}: {message}"
        return kind(redacted(text, self._key), hint=hint)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "_http": None, "_key": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()


class _TransientError(Exception):
    """A failure that another attempt may not meet. `retry_after` is the endpoint's own wish, in seconds."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after

    @property
    def hint(self) -> str | None:
        return f"the endpoint asks to wait {self.retry_after:g} s" if self.retry_after else None


def _rest(request: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in request.items() if name not in ("model", "messages")}


def _reason(error: openai.APIStatusError) -> str:
    """The endpoint's own words, from the usual places of an error body."""
    body: object = error.body
    if isinstance(body, dict):
        inner = body.get("error", body)
        body = inner.get("message", inner) if isinstance(inner, dict) else inner
    text = body if isinstance(body, str) else json.dumps(body) if body else "no reason given"
    return " ".join(text.split())[:400]


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the endpoint asks to wait: a number, or the time until a date (RFC 9110, 10.2.3)."""
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except ValueError:
            return None
        aware = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
        seconds = (aware - datetime.now(timezone.utc)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None

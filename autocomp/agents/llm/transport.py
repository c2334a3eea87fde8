"""One exchange with an endpoint over HTTP: the request, its timeouts, and what a failure means for another attempt.

`openai` takes a second to import; only who asks a model waits for it.
"""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from autocomp.agents.config import Member
from autocomp.agents.llm.answer import Answer, MalformedAnswerError, parse_completion, parse_stream, writable
from autocomp.agents.llm.endpoint import Endpoint, api_key, redacted
from autocomp.errors import ModelError

if TYPE_CHECKING:
    import openai

MOST_BYTES = 16 << 20  # of an answer; the longest that models give are a hundredth of it


class EndpointRefusalError(ModelError):
    """No request to this endpoint can succeed as things are: wrong key, unknown model, no credit."""


class TransientError(Exception):
    """A failure that another attempt may not meet. `retry_after` is the endpoint's own wish, in seconds."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after

    @property
    def hint(self) -> str | None:
        return f"the endpoint asks to wait {self.retry_after:g} s" if self.retry_after else None


class Transport:
    """Connects when the first request is made: only then is the key read, and only the HTTP client keeps it. Safe to
    use from several threads; picklable."""

    def __init__(self, endpoint: Endpoint, member: Member) -> None:
        self.endpoint = endpoint
        self.member = member
        self._lock = threading.Lock()
        self._http: openai.OpenAI | None = None
        self._key: str | None = None

    def exchange(self, request: Mapping[str, Any]) -> Answer:
        """The answer to one request. Raises TransientError, EndpointRefusalError, or ModelError where this request
        is at fault."""
        import openai

        try:
            return self._read(request)
        except MalformedAnswerError as error:
            raise TransientError(str(error)) from error
        except openai.APITimeoutError as error:
            raise TransientError(f"no answer within {self.member.read_timeout:g} s") from error
        except openai.APIConnectionError as error:
            cause = f": {error.__cause__}" if error.__cause__ and str(error.__cause__) else ""
            raise TransientError(f"the connection failed{cause}") from error
        except openai.APIStatusError as error:
            raise self._classified(error) from None
        except _http_error() as error:  # while the body is read, beyond the package's own classes
            what = "the answer stalled" if "Timeout" in type(error).__name__ else "the answer was cut off on its way"
            raise TransientError(f"{what}: {error}" if str(error) else what) from error

    def error(self, kind: type[ModelError], message: str, hint: str | None = None) -> ModelError:
        """An error that names the endpoint and not the key."""
        text = f"{self.endpoint.model} at {self.endpoint.base_url}: {message}"
        return kind(self.redacted(text), hint=hint)

    def redacted(self, text: str) -> str:
        return redacted(text, self._key)

    def _read(self, request: Mapping[str, Any]) -> Answer:
        deadline = time.monotonic() + self.member.total_timeout
        extra = {name: value for name, value in request.items() if name not in ("model", "messages")}
        create = self._connection().chat.completions.with_streaming_response.create
        # The body as it comes: the package builds its objects without checking the form.
        with create(model=request["model"], messages=request["messages"], extra_body=extra) as response:
            body = bytearray()
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MOST_BYTES:
                    raise TransientError(f"the answer goes on beyond {MOST_BYTES:,} bytes")
                if time.monotonic() > deadline:
                    raise TransientError(f"no whole answer within {self.member.total_timeout:g} s")
        text = body.decode("utf-8", errors="replace")
        streamed = response.headers.get("content-type", "").startswith("text/event-stream")
        return parse_stream(text) if streamed else parse_completion(text)

    def _classified(self, error: openai.APIStatusError) -> Exception:
        status, reason = error.status_code, _reason(error)
        message = f"HTTP {status}: {reason}"
        if status == 429 and error.code == "insufficient_quota":
            return self.error(EndpointRefusalError, message, "the account has no credit left")
        if status in (408, 409, 425, 429) or status >= 500:
            return TransientError(message, retry_after=_retry_after(error.response.headers))
        if status in (401, 403):
            return self.error(EndpointRefusalError, message, "check the key (OPENAI_API_KEY) and what it may use")
        if status == 404:
            return self.error(EndpointRefusalError, message, "check the model's name and the address (it ends in /v1)")
        if "response_format" in reason:
            return self.error(ModelError, message, "say `answers: json` or `answers: text` for it in the agents file")
        return self.error(ModelError, message)

    def _connection(self) -> openai.OpenAI:
        import openai

        with self._lock:
            if self._http is None:
                member = self.member
                self._key = api_key(self.endpoint, member.key)
                self._http = openai.OpenAI(
                    api_key=self._key or "none",
                    base_url=self.endpoint.base_url,
                    timeout=openai.Timeout(
                        min(member.read_timeout, member.total_timeout),
                        connect=min(member.connect_timeout, member.total_timeout),
                    ),
                    max_retries=0,
                )
            return self._http

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "_http": None, "_key": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()


def _http_error() -> type[Exception]:
    """The base of the exceptions of the HTTP library beneath `openai`, whose name depends on the version."""
    import openai

    library = sys.modules[openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0]]
    kind: type[Exception] = library.HTTPError
    return kind


def _reason(error: openai.APIStatusError) -> str:
    """The endpoint's own words, from the usual places of an error body."""
    body: object = error.body
    if isinstance(body, dict):
        inner = body.get("error", body)
        body = inner.get("message", inner) if isinstance(inner, dict) else inner
    text = body if isinstance(body, str) else json.dumps(body) if body else "no reason given"
    return writable(" ".join(text.split())[:400])


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

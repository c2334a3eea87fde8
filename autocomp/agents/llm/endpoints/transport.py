"""One exchange with an endpoint over HTTP: the request, its timeouts, and what a failure means for another attempt.

`openai` takes a second to import; only who asks a model waits for it.
"""

from __future__ import annotations

import json
import logging
import math
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from autocomp.agents.config import Member
from autocomp.agents.llm.endpoints.endpoint import Endpoint, api_key, redacted
from autocomp.agents.llm.endpoints.exchange import REMINDER, Exchange, HttpFailureError, check_status
from autocomp.agents.llm.endpoints.forms.answer import Answer, MalformedAnswerError, writable
from autocomp.agents.llm.endpoints.forms.form import form_of
from autocomp.errors import ModelError

if TYPE_CHECKING:
    import openai

TOO_LONG = ("context_length_exceeded", "exceed_context_size_error")
TOO_LONG_SAID = re.compile(
    r"context (length|size|window)|maximum context|prompt is too long|too many tokens", re.IGNORECASE
)
MOST_BYTES = 16 << 20  # of an answer; the longest that models give are a hundredth of it


class EndpointRefusalError(ModelError):
    """No request to this endpoint can succeed as things are: wrong key, unknown model, no credit."""


class UnreachableError(EndpointRefusalError):
    """The endpoint gives no answer: nobody is there, it is silent, it fails, or it asks to wait for too long."""

    exit_code = 11


class TooSmallError(EndpointRefusalError):
    """The endpoint's context is too small for a prompt."""

    exit_code = 13


class TransientError(Exception):
    """A failure that another attempt may not meet. `retry_after` is the endpoint's own wish, in seconds. The cost of a
    `lost` answer is unknown. Without a `connection` nothing was sent. The time of a `silent` endpoint ran out; a `busy`
    one says itself that it will answer later."""

    def __init__(
        self,
        message: str,
        retry_after: float | None = None,
        *,
        lost: bool = False,
        connection: bool = True,
        silent: bool = False,
        busy: bool = False,
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.lost = lost
        self.connection = connection
        self.silent = silent
        self.busy = busy

    @property
    def hint(self) -> str:
        """Advice for whoever runs the search."""
        if not self.connection:
            return "is it running, and is the address right?"
        if self.silent:
            return (
                "does it answer others? `read_timeout` and `total_timeout` in the agents file say how long it may take"
            )
        if self.retry_after:
            return f"the endpoint asks to wait {self.retry_after:g} s"
        return "does it answer others, and is the address right (it ends in /v1)?"


class Transport:
    """Connects when the first request is made: only then is the key read, and only the HTTP client keeps it. Safe to
    use from several threads; picklable."""

    def __init__(self, endpoint: Endpoint, member: Member) -> None:
        self.endpoint = endpoint
        self.member = member
        self._key: str | None = None
        self._reminded = float("-inf")
        self._make_locks()

    def _make_locks(self) -> None:
        self._lock = threading.Lock()
        self._present = threading.local()
        self._http: openai.OpenAI | None = None

    def exchange(self, request: Mapping[str, Any]) -> Answer:
        """The answer to one request. Raises TransientError, EndpointRefusalError, or ModelError where this request
        is at fault."""
        import openai

        with Exchange(self.member.total_timeout, self._waiting) as present:
            self._present.exchange = present
            try:
                return self._read(request)
            except MalformedAnswerError as error:
                if present.expired:  # the body ended because the connection was shut down
                    raise self._out_of_time() from error
                raise TransientError(str(error), lost=True) from error
            except HttpFailureError as error:
                raise self._classified(error) from None
            except (openai.APIConnectionError, _http_error()) as error:  # the latter while the body is read
                if isinstance(error.__cause__, HttpFailureError):  # as earlier versions of the package hand it on
                    raise self._classified(error.__cause__) from None
                raise self._lost(error, present) from error

    def _waiting(self, seconds: float) -> None:
        """Log that an answer is awaited: one line, however many requests are under way."""
        now = time.monotonic()
        with self._lock:
            if now < self._reminded + REMINDER / 2:
                return
            self._reminded = now
        member = self.member
        silence = min(member.read_timeout, member.total_timeout)
        logging.getLogger(__name__).warning(
            f"waiting for {member.model} for {seconds:.0f} s; a request ends after {silence:g} s of silence "
            f"(read_timeout), or {member.total_timeout:g} s in all (total_timeout)"
        )

    def _lost(self, error: Exception, present: Exchange) -> TransientError:
        """The failure of an exchange that did not come to its end."""
        import openai

        begun = not isinstance(error, openai.APIConnectionError)  # the body was being read
        cause = error.__cause__ or error
        kind = type(cause).__name__
        said = f": {cause}" if str(cause) else ""
        if kind in ("ConnectError", "ConnectTimeout"):
            return TransientError(f"the connection failed{said}", connection=False)
        if present.expired:
            return self._out_of_time()
        if begun:
            stalled = "Timeout" in kind
            return TransientError(f"the answer {'stalled' if stalled else 'was cut off on its way'}{said}", lost=True)
        if "Timeout" in kind:
            return TransientError(f"no answer within {self.member.read_timeout:g} s", lost=True, silent=True)
        return TransientError(f"the connection failed{said}", lost=True)

    def _out_of_time(self) -> TransientError:
        return TransientError(f"no whole answer within {self.member.total_timeout:g} s", lost=True, silent=True)

    def error(self, kind: type[ModelError], message: str, hint: str | None = None) -> ModelError:
        """An error that names the endpoint and not the key."""
        text = f"{self.endpoint.model} at {self.endpoint.base_url}: {message}"
        return kind(self.redacted(text), hint=hint)

    def redacted(self, text: str) -> str:
        return redacted(text, self._key)

    def _read(self, request: Mapping[str, Any]) -> Answer:
        form = form_of(self.member)
        with form.send(self._connection(), request) as response:
            encoding = response.headers.get("content-encoding", "identity")
            if encoding != "identity":  # a few bytes might unpack to any number
                raise MalformedAnswerError(
                    f"the endpoint's answer is compressed ({encoding}), although the request asked for plain text"
                )
            body = bytearray()
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MOST_BYTES:
                    raise TransientError(f"the answer has more than {MOST_BYTES:,} bytes", lost=True)
        text = body.decode("utf-8", errors="replace")
        streamed = response.headers.get("content-type", "").startswith("text/event-stream")
        return form.parse(text, streamed)

    def _classified(self, failure: HttpFailureError) -> Exception:
        status, error = failure.status, _error_of(failure.body)
        reason = _reason(error)
        message = f"HTTP {status}: {reason}"
        if status < 400:
            there = failure.headers.get("location", "another address")
            hint = "if that is right, and you trust it, name that address"
            return self.error(EndpointRefusalError, f"HTTP {status}: it sends requests on to {there!r:.200}", hint)
        if status == 429 and isinstance(error, dict) and error.get("code") == "insufficient_quota":
            return self.error(EndpointRefusalError, message, "the account has no credit left")
        if status in (408, 409, 425, 429) or status >= 500:
            return TransientError(message, retry_after=_retry_after(failure.headers), busy=status in (429, 503))
        if status in (401, 403):
            return self.error(EndpointRefusalError, message, "check the key (OPENAI_API_KEY) and what it may use")
        if status == 404:
            hint = "check the model's name and the address (it ends in /v1)"
            without = "; without a Responses API it needs `api: chat`" if self.member.api == "responses" else ""
            return self.error(EndpointRefusalError, message, hint + without)
        if (isinstance(error, dict) and error.get("code") in TOO_LONG) or TOO_LONG_SAID.search(reason):
            return self.error(TooSmallError, message, "give it a larger context, or ask for less: `plans: choice`")
        if "ncrypted" in reason and self.member.api == "responses":
            return self.error(ModelError, message, "say `extra: {include: []}` for a model that does not think")
        if "response_format" in reason or "text.format" in reason:
            return self.error(ModelError, message, "say `answers: json` or `answers: text` for it in the agents file")
        return self.error(ModelError, message)

    def _connection(self) -> openai.OpenAI:
        import openai

        with self._lock:
            if self._http is None:
                member = self.member
                self._key = api_key(self.endpoint, member.key)
                hooks: dict[str, list[Callable[..., Any]]] = {"request": [self._bound], "response": [check_status]}
                self._http = openai.OpenAI(
                    api_key=self._key or "none",
                    base_url=self.endpoint.base_url,
                    timeout=openai.Timeout(
                        min(member.read_timeout, member.total_timeout),
                        connect=min(member.connect_timeout, member.total_timeout),
                    ),
                    max_retries=0,
                    # A connection for each exchange, which ends with it.
                    default_headers={"Connection": "close", "Accept-Encoding": "identity"},
                    http_client=openai.DefaultHttpxClient(follow_redirects=False, event_hooks=hooks),
                )
            return self._http

    def _bound(self, request: Any) -> None:
        """Have the exchange that is under way in this thread watch the request's connection."""
        request.extensions["trace"] = self._present.exchange.trace

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "_present": None, "_http": None, "_key": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_locks()


def _http_error() -> type[Exception]:
    """The base of the exceptions of the HTTP library beneath `openai`, whose name depends on the version."""
    import openai

    library = sys.modules[openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0]]
    kind: type[Exception] = library.HTTPError
    return kind


def _error_of(body: str) -> Any:
    """The endpoint's description of an error, from the usual places of its body."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return body
    return document.get("error", document) if isinstance(document, dict) else document


def _reason(error: Any) -> str:
    """The endpoint's own words."""
    error = error.get("message", error) if isinstance(error, dict) else error
    text = error if isinstance(error, str) else json.dumps(error) if error else "no reason given"
    return writable(" ".join(text.split())[:400]) or "no reason given"


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

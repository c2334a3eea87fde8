"""Bounds of one exchange with an endpoint: its time, however slowly bytes come, and the length of a failure's text."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from typing_extensions import Self

REMINDER = 30.0  # seconds between two calls for an exchange that is still under way
MOST_OF_A_FAILURE = 1 << 16  # bytes of an error's body


class HttpFailureError(Exception):
    """An answer with another status than 2xx, as far as its body was read. Redirections are failures too: the prompt is
    for the host that the user named."""

    def __init__(self, status: int, headers: Mapping[str, str], body: str) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.headers = headers
        self.body = body


class Exchange:
    """One request and its answer. Use as a context manager around both: when `seconds` are over, the connection is shut
    down, and whoever waits for it goes on with an error. Until then, `waiting` is called every `REMINDER` seconds, with
    the seconds that have passed, in a thread of its own.

    Time-outs of the HTTP library are for one read each: headers that come byte by byte would never end.
    """

    def __init__(self, seconds: float, waiting: Callable[[float], None]) -> None:
        self._start = time.monotonic()
        self._deadline = self._start + seconds
        self._waiting = waiting
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []

    @property
    def expired(self) -> bool:
        return time.monotonic() >= self._deadline

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        with self._lock:
            for connection in self._sockets:
                connection.close()
            self._sockets.clear()

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Note the connections that the HTTP library makes; it calls this while it works (its extension `trace`)."""
        if event.endswith("connect_tcp.complete"):
            connection = info["return_value"].get_extra_info("socket")
            with self._lock:
                self._sockets.append(connection.dup())  # the library's own becomes part of an encrypted one
            if self.expired:
                self._end()

    def _watch(self) -> None:
        while not self._over.wait(max(0.0, min(REMINDER, self._deadline - time.monotonic()))):
            if self.expired:
                self._end()
                return
            self._waiting(time.monotonic() - self._start)

    def _end(self) -> None:
        with self._lock, contextlib.suppress(OSError):  # it was closed meanwhile
            for connection in self._sockets:
                connection.shutdown(socket.SHUT_RDWR)


def check_status(response: Any) -> None:
    """Raises HttpFailureError for a response with an error status, before reading its whole body."""
    if response.status_code < 300:
        return
    body = bytearray()
    for piece in response.iter_raw():
        body += piece
        if len(body) > MOST_OF_A_FAILURE:
            break
    text = bytes(body[:MOST_OF_A_FAILURE]).decode("utf-8", errors="replace")
    raise HttpFailureError(response.status_code, dict(response.headers), text)

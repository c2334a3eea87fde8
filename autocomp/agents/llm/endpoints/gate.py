"""Limits of an endpoint: requests at once, requests a minute, and none while it is down."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

FAILURES_TO_OPEN = 2  # requests that failed after all their attempts, in a row
COOL_DOWN = 60.0  # seconds until an endpoint that is down is tried again


class Gate:
    """Concurrency, rate and circuit breaker of one endpoint. Safe to use from several threads; picklable.

    The breaker opens when requests keep failing, and lets the next one through after `COOL_DOWN`; it opens for good
    when the endpoint refuses all requests (a wrong key, an unknown model).
    """

    def __init__(
        self,
        concurrency: int,
        per_minute: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.concurrency = concurrency
        self.interval = 60.0 / per_minute if per_minute else 0.0
        self._clock = clock
        self._sleep = sleep
        self.answered = False  # whether it ever gave an answer
        self._slots = threading.Semaphore(concurrency)
        self._lock = threading.Lock()
        self._next_start = float("-inf")
        self._failures = 0
        self._open_until = float("-inf")

    @contextmanager
    def passage(self) -> Iterator[None]:
        """Hold one of the concurrent places, from when the rate allows it."""
        with self._slots:
            self._wait_for_turn()
            yield

    @property
    def sound(self) -> bool:
        """True if the last request was answered."""
        with self._lock:
            return self.answered and not self._failures

    @property
    def opens_in(self) -> float:
        """Seconds until requests are let through; 0 while they are, infinite where they never will be."""
        with self._lock:
            return max(0.0, self._open_until - self._clock())

    def succeeded(self) -> None:
        with self._lock:
            self.answered = True
            self._failures = 0
            self._open_until = float("-inf")

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= FAILURES_TO_OPEN:
                self._open_until = self._clock() + COOL_DOWN

    def refused(self) -> None:
        with self._lock:
            self._open_until = float("inf")

    def _wait_for_turn(self) -> None:
        """Starts are at least `interval` seconds apart."""
        with self._lock:
            now = self._clock()
            start = max(now, self._next_start)
            self._next_start = start + self.interval
        if start > now:
            self._sleep(start - now)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_slots": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._slots = threading.Semaphore(self.concurrency)
        self._lock = threading.Lock()

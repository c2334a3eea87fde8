"""Many calls through an executor, none of them lost with a worker that dies."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from autocomp.errors import ConfigError
from autocomp.search.executors.protocol import Executor, Target

LONGEST_WAIT = 1.0  # seconds; a signal that comes just before a wait begins is seen only when that ends
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Call(Generic[Key]):
    key: Key
    target: Target
    method: str
    argument: object


@dataclass(frozen=True)
class WorkerLost:
    """The process that worked on a call died of it, twice."""

    message: str = "the worker process died while it worked on this"


def run_calls(
    executor: Executor, calls: Sequence[Call[Key]], expired: Callable[[], bool] = lambda: False
) -> Iterator[tuple[Key, Any]]:
    """Results by key, as they arrive; once `expired`, no further call starts and those in flight are waited for.

    A dying process takes all calls in flight with it: those are then run one at a time, and what kills its process
    again yields WorkerLost.
    """
    waiting = list(reversed(calls))
    flying: dict[Future[Any], Call[Key]] = {}
    lost: list[Call[Key]] = []
    while flying or (waiting and not expired()):
        while waiting and len(flying) < executor.capacity and not expired():
            call = waiting.pop()
            flying[executor.submit(call.target, call.method, call.argument)] = call
        done, _ = wait(flying, timeout=LONGEST_WAIT, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=lambda f: list(flying).index(f)):
            call = flying.pop(future)
            try:
                yield call.key, future.result()
            except executor.lost:
                lost.append(call)
            except CancelledError as error:
                raise _gone() from error
    for call in lost:
        try:
            yield call.key, executor.submit(call.target, call.method, call.argument).result()
        except executor.lost:
            yield call.key, WorkerLost()


def _gone() -> ConfigError:
    return ConfigError(
        "the cluster that worked on this is gone",
        hint="nothing is lost: resume the run, there or with another --executor",
    )

"""Many calls through an executor, none of them lost with a worker that dies or a device that fails."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from autocomp.errors import ConfigError, DeviceError
from autocomp.search.executors.protocol import Executor, Target

LONGEST_WAIT = 1.0  # seconds; a signal that comes just before a wait begins is seen only when that ends
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class TargetCall(Generic[Key]):
    key: Key
    target: Target
    method: str
    argument: object


@dataclass(frozen=True)
class Lost:
    """A call that gave no result, twice: its process died of it, or its device failed at it."""

    message: str
    device: bool = False


def run_calls(
    executor: Executor,
    calls: Sequence[TargetCall[Key]],
    expired: Callable[[], bool] = lambda: False,
    at_once: int | None = None,
) -> Iterator[tuple[Key, Any]]:
    """Results by key, as they arrive; once `expired`, no further call starts and those in flight are waited for.
    `at_once` calls at most are in flight, or as many as the executor works on.

    A dying process takes all calls in flight with it, and a device that fails may recover. Those calls are run once
    more at the end, one at a time, and what is lost again yields Lost.
    """
    capacity = min(executor.capacity, at_once or executor.capacity)
    waiting = list(reversed(calls))
    flying: dict[Future[Any], TargetCall[Key]] = {}
    lost: list[TargetCall[Key]] = []
    while flying or (waiting and not expired()):
        while waiting and len(flying) < capacity and not expired():
            call = waiting.pop()
            flying[executor.submit(call.target, call.method, call.argument)] = call
        done, _ = wait(flying, timeout=LONGEST_WAIT, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=lambda f: list(flying).index(f)):
            call = flying.pop(future)
            try:
                yield call.key, future.result()
            except (executor.lost, DeviceError):
                lost.append(call)
            except CancelledError as error:
                raise _gone() from error
    for call in lost:
        try:
            yield call.key, executor.submit(call.target, call.method, call.argument).result()
        except executor.lost:
            yield call.key, Lost("the worker process died while it worked on this")
        except DeviceError as error:
            yield call.key, Lost(f"the device failed: {error.message}", device=True)


def _gone() -> ConfigError:
    return ConfigError(
        "the cluster that worked on this is gone",
        hint="nothing is lost: resume the run, there or with another --executor",
    )

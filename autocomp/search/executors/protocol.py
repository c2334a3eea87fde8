"""The protocol of executors, and the calls that they make."""

from __future__ import annotations

import functools
import pickle
from concurrent.futures import Future
from typing import Any, Protocol


class Target:
    """An object whose methods are called by an executor; pickled once, when first sent to another process."""

    def __init__(self, instance: object) -> None:
        self.instance = instance

    @functools.cached_property
    def pickled(self) -> bytes:
        return pickle.dumps(self.instance)

    def call(self, method: str, argument: object) -> Any:
        return getattr(self.instance, method)(argument)


@functools.lru_cache(maxsize=4)
def _unpickled(pickled: bytes) -> object:
    return pickle.loads(pickled)


def call_pickled(pickled: bytes, method: str, argument: object) -> Any:
    return getattr(_unpickled(pickled), method)(argument)


class Executor(Protocol):
    """`capacity` calls are worth having in flight; a call whose process dies ends in the exception `lost`."""

    capacity: int
    lost: type[Exception]

    def submit(self, target: Target, method: str, argument: object) -> Future[Any]: ...

    def shutdown(self) -> None: ...

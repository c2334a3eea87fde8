"""Where the work of a search runs: in this process, in threads, in worker processes, or on a Dask cluster."""

from __future__ import annotations

import functools
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Generic, Protocol, TypeVar

from autocomp.errors import ConfigError

Key = TypeVar("Key", bound=Hashable)


class Target:
    """An object whose methods are called by an executor; pickled once, when first sent to another process."""

    def __init__(self, instance: object) -> None:
        self.instance = instance

    @functools.cached_property
    def pickled(self) -> bytes:
        return pickle.dumps(self.instance)

    def call(self, method: str, argument: object) -> Any:
        return getattr(self.instance, method)(argument)


class Executor(Protocol):
    """`capacity` calls are worth having in flight; a call whose process dies ends in the exception `lost`."""

    capacity: int
    lost: type[Exception]

    def submit(self, target: Target, method: str, argument: object) -> Future[Any]: ...

    def shutdown(self) -> None: ...


class InlineExecutor:
    """Calls at once, in this process."""

    capacity = 1
    lost: type[Exception] = BrokenProcessPool

    def submit(self, target: Target, method: str, argument: object) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(target.call(method, argument))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self) -> None:
        return None


class ThreadExecutor:
    """A thread of this process for each call, for calls that wait on a network. None outlives the process, which
    therefore ends at once, whatever is waited for."""

    lost: type[Exception] = BrokenProcessPool

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity

    def submit(self, target: Target, method: str, argument: object) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(target.call(method, argument))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, name="agent", daemon=True).start()
        return future

    def shutdown(self) -> None:
        return None


class ProcessExecutor:
    """Worker processes on this machine; they outlive a crash of one.

    Each worker watches a pipe of which this process alone holds the other end: it ends at once when that is closed,
    by `shutdown` or by the death of this process, whatever it is working on.
    """

    lost: type[Exception] = BrokenProcessPool

    def __init__(self, workers: int) -> None:
        self.capacity = workers
        method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
        self._context = multiprocessing.get_context(method)
        self._watched, self._held = self._context.Pipe(duplex=False)
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, target: Target, method: str, argument: object) -> Future[Any]:
        try:
            return self._ready().submit(call_pickled, target.pickled, method, argument)
        except BrokenProcessPool:
            self._pool = None
            return self._ready().submit(call_pickled, target.pickled, method, argument)

    def shutdown(self) -> None:
        self._held.close()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
        self._watched.close()

    def _ready(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self.capacity, mp_context=self._context, initializer=_start_worker, initargs=(self._watched,)
            )
        return self._pool


FORMS = "inline, processes:N, dask://HOST:PORT, or local-cluster:N"


def make_executor(spec: str | None, workers: int) -> Executor:
    """The executor of a spec; without one, one worker runs in this process, and more are processes.

    Raises ConfigError for a spec that is none, for a cluster that does not answer, and where Dask is missing.
    """
    if spec is None:
        spec = "inline" if workers == 1 else f"processes:{workers}"
    kind, _, rest = spec.partition(":")
    if spec == "inline":
        return InlineExecutor()
    if kind in ("processes", "local-cluster"):
        if not rest.isdecimal() or int(rest) < 1:
            raise ConfigError(f"--executor {spec!r} has no number of workers, at least 1, behind the colon")
        if kind == "processes":
            return ProcessExecutor(int(rest))
    elif kind != "dask" or not rest.startswith("//") or not rest.rpartition(":")[2].isdecimal():
        raise ConfigError(f"--executor {spec!r} is no executor", hint=f"known: {FORMS}")
    from autocomp.search.dask_executor import DaskExecutor

    return DaskExecutor.local(int(rest)) if kind == "local-cluster" else DaskExecutor.at(rest.removeprefix("//"))


def available_cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


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
        done, _ = wait(flying, return_when=FIRST_COMPLETED)
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


@functools.lru_cache(maxsize=4)
def _unpickled(pickled: bytes) -> object:
    return pickle.loads(pickled)


def call_pickled(pickled: bytes, method: str, argument: object) -> Any:
    return getattr(_unpickled(pickled), method)(argument)


def _start_worker(watched: Connection) -> None:
    """Leave Ctrl-C to the main process, and end with it: workers of a killed pool would wait for work for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(watched,), daemon=True).start()


def _end_with_parent(watched: Connection) -> None:
    multiprocessing.connection.wait([watched])
    os._exit(1)

"""Work on this machine: in this process, in threads, or in worker processes."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Any

from autocomp.process import prepare
from autocomp.search.executors.protocol import Target, call_pickled

IMPORTED_ONCE = ["__main__", "autocomp.search.targets"]
SAFE_PATH = "PYTHONSAFEPATH"  # keeps the current folder out of the module path; Python 3.11 and later
# Several threads of several workers would wait for one another on a product that one does in a few milliseconds.
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL", "VECLIB", "BLIS")}


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

    Each worker watches a pipe of which this process alone holds the other end. It ends at once when that is closed,
    by `shutdown` or by the death of this process, whatever it is working on.
    """

    lost: type[Exception] = BrokenProcessPool

    def __init__(self, workers: int, preload: Sequence[str] = ()) -> None:
        self.capacity = workers
        self._forks = "forkserver" in multiprocessing.get_all_start_methods()
        self._context = multiprocessing.get_context("forkserver" if self._forks else "spawn")
        if sys.version_info >= (3, 11):
            self._context.set_forkserver_preload([*IMPORTED_ONCE, *preload])  # not by each worker
        self._watched, self._held = self._context.Pipe(duplex=False)
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, target: Target, method: str, argument: object) -> Future[Any]:
        try:
            return self._ready().submit(call_pickled, target.pickled, method, argument)
        except (BrokenProcessPool, OSError):  # OSError: a worker's death closed the pipes while another was started
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
            if self._forks:
                with _environment({**ONE_THREAD, **os.environ, SAFE_PATH: "1"}):
                    forkserver.ensure_running()
            self._pool = ProcessPoolExecutor(
                self.capacity, mp_context=self._context, initializer=_start_worker, initargs=(self._watched,)
            )
        return self._pool


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """The environment of processes that start meanwhile.

    They must not look for modules in the current folder. The server that forks workers would: a folder `autocomp`
    there, such as that of a checkout, would take the place of the installed package. Workers themselves have this
    process's module path. Numerical libraries read how many threads they may use when they are loaded.
    """
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _start_worker(watched: Connection) -> None:
    """Leave Ctrl-C to the main process, and end with it: workers of a killed pool would wait for work for ever."""
    os.environ.update({**ONE_THREAD, **os.environ})  # where no server was there to fork it
    prepare()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(watched,), daemon=True).start()


def _end_with_parent(watched: Connection) -> None:
    multiprocessing.connection.wait([watched])
    os._exit(1)

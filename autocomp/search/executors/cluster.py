"""Work on a Dask cluster: one that runs already, or one of this machine's processes."""

from __future__ import annotations

import logging
import signal
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswer  # its own class before Python 3.11
from threading import Thread
from typing import Any

from autocomp.errors import ConfigError
from autocomp.search.executors.protocol import Target, call_pickled

CALLS_PER_THREAD = 2  # in flight, so that no worker waits for its next call
CONNECT_SECONDS = 20
REMINDER = 10.0  # seconds between two lines about a cluster without workers


class DaskExecutor:
    """The scheduler gives the call of a worker that died to another; a call that took several workers with it ends in
    `lost`."""

    def __init__(self, client: Any, cluster: Any = None) -> None:
        self.lost: type[Exception] = _distributed().KilledWorker
        self._client = client
        self._cluster = cluster
        self._pool = client.get_executor(pure=False)
        self.capacity = max(1, CALLS_PER_THREAD * sum(client.ncores().values()))

    @classmethod
    def at(cls, address: str) -> DaskExecutor:
        """The cluster whose scheduler listens at HOST:PORT, once it has a worker. Raises ConfigError if none
        answers."""
        make, client = _distributed().Client, Future[Any]()

        def connect() -> None:
            try:
                client.set_result(make(f"tcp://{address}", timeout=CONNECT_SECONDS))
            except Exception as error:
                client.set_exception(error)

        # Dask's own time limit does not hold where another service listens, such as the scheduler's page for browsers.
        Thread(target=connect, daemon=True).start()
        try:
            connected = client.result(CONNECT_SECONDS + 1)
        except (OSError, TimeoutError, NoAnswer) as error:
            raise ConfigError(
                f"no Dask scheduler answers at {address}",
                hint="dask scheduler --port 8786 starts one, and prints its address",
            ) from error
        _await_worker(connected, address)
        return cls(connected)

    @classmethod
    def local(cls, workers: int) -> DaskExecutor:
        """A cluster of processes on this machine, which ends with the executor."""
        cluster = _distributed().LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},  # a free port, not 8787
            silence_logs=logging.ERROR,  # lost calls are told of by `lost`
            preload=__name__,
        )
        return cls(_distributed().Client(cluster), cluster)

    def submit(self, target: Target, method: str, argument: object) -> Future[Any]:
        future: Future[Any] = self._pool.submit(call_pickled, target.pickled, method, argument)
        return future

    def shutdown(self) -> None:
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


def dask_setup(worker: object) -> None:
    """The preload of a worker of a local cluster: it leaves Ctrl-C, which a terminal
    sends to all processes, to the one that runs the search."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _await_worker(client: Any, address: str) -> None:
    """Log every `REMINDER` seconds that the cluster has no workers, until it has one."""
    while not client.ncores():
        try:
            client.wait_for_workers(1, timeout=REMINDER)
        except _distributed().TimeoutError:
            logging.getLogger(__name__).warning(
                f"waiting for a worker of the Dask cluster at {address}; dask worker tcp://{address} starts one"
            )


def _distributed() -> Any:
    try:
        import distributed  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise ConfigError(
            "evaluating on a cluster needs the package 'distributed'", hint="pip install 'autocomp[cluster]'"
        ) from error
    return distributed

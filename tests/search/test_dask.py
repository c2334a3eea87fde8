"""A real Dask cluster on this machine, whose workers are killed while a search is under way."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from toy_search import Toy, Worker, summary

from autocomp.errors import ConfigError
from autocomp.search.executors import Call, Executor, Target, WorkerLost, make_executor, run_calls
from autocomp.search.journal import Event, read_events

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]  # the cluster's own


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """A scheduler with two worker processes, which can import the toy problem."""
    from distributed import LocalCluster

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as running:
        yield running


def connect(cluster: object) -> Executor:
    return make_executor("dask://" + cluster.scheduler_address.removeprefix("tcp://"), 1)  # type: ignore[attr-defined]


def test_killed_workers_lose_nothing_and_nothing_counts_twice(tmp_path: Path, cluster: object) -> None:
    expected = summary(Toy(tmp_path / "alone").run())
    killed: list[int] = []

    def kill_now_and_then(event: Event) -> None:
        if event["kind"] == "evaluate" and len(seen) % 9 == 4 and len(killed) < 3:
            worker = next(w for w in cluster.workers.values() if w.pid is not None)  # type: ignore[attr-defined]
            os.kill(worker.pid, signal.SIGKILL)
            killed.append(worker.pid)
        seen.append(event)

    seen: list[Event] = []
    toy = Toy(tmp_path / "run", delay=0.02, executor=lambda: connect(cluster))
    assert summary(toy.run(kill_now_and_then)) == expected
    assert len(killed) == 3
    events, _ = read_events(toy.folder / "events.jsonl")
    keys = Counter(event["key"] for event in events if "key" in event)
    assert set(keys.values()) == {1}


def test_a_call_that_takes_every_worker_with_it_is_lost_and_the_others_are_not(cluster: object) -> None:
    executor = connect(cluster)
    target = Target(Worker())
    calls = [Call(n, target, "die" if n == 1 else "double", n) for n in range(4)]
    assert dict(run_calls(executor, calls)) == {0: 0, 1: WorkerLost(), 2: 4, 3: 6}
    executor.shutdown()


def test_a_cluster_of_this_machine_ends_with_its_executor() -> None:
    executor = make_executor("local-cluster:1", 1)
    assert dict(run_calls(executor, [Call("k", Target(abs), "__call__", -3)])) == {"k": 3}
    executor.shutdown()


def test_a_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from autocomp.search.executors import cluster

    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with pytest.raises(ConfigError, match=r"no Dask scheduler answers at 127\.0\.0\.1:9"):
        make_executor("dask://127.0.0.1:9", 1)

"""A real Dask cluster on this machine, whose workers are killed while a search is under way."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import descendants, ended
from toy_search import Toy, Worker, summary

from autocomp.errors import ConfigError
from autocomp.search.executors import Executor, Lost, Target, TargetCall, make_executor, run_calls
from autocomp.search.executors.cluster import DaskExecutor
from autocomp.search.log.journal import Event, read_events

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
    calls = [TargetCall(n, target, "die" if n == 1 else "double", n) for n in range(4)]
    assert dict(run_calls(executor, calls)) == {
        0: 0,
        1: Lost("the worker process died while it worked on this"),
        2: 4,
        3: 6,
    }
    executor.shutdown()


def test_a_cluster_without_workers_says_what_it_waits_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from distributed import LocalCluster

    class Reader(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())
            running.scale(1)

    lines: list[str] = []
    log, reader = logging.getLogger(DaskExecutor.__module__), Reader()
    monkeypatch.setattr(sys.modules[DaskExecutor.__module__], "REMINDER", 0.2)
    with LocalCluster(n_workers=0, processes=False, dashboard_address=None, protocol="tcp") as running:
        log.addHandler(reader)
        executor = connect(running)
        log.removeHandler(reader)
        assert executor.capacity >= 2
        executor.shutdown()
    assert lines[0].startswith("waiting for a worker of the Dask cluster at 127.0.0.1:")


def test_a_cluster_of_this_machine_ends_with_its_executor() -> None:
    executor = make_executor("local-cluster:1", 1)
    assert dict(run_calls(executor, [TargetCall("k", Target(abs), "__call__", -3)])) == {"k": 3}
    executor.shutdown()


def test_ctrl_c_ends_a_search_with_its_cluster_and_leaves_a_run_that_resumes(tmp_path: Path) -> None:
    places = {
        "AUTOCOMP_CACHE": str(tmp_path / "cache"),
        "AUTOCOMP_SCHEDULES": str(tmp_path / "schedules"),
        "AUTOCOMP_SHIPPED_SCHEDULES": "0",
    }
    autocomp = [sys.executable, "-m", "autocomp"]
    arguments = ["--executor", "local-cluster:2", "--run-dir", "run", "--evaluations", "60", "--reuse", "0", "--plain"]
    search = subprocess.Popen(
        [*autocomp, "search", "gemm_17x33x65.yaml", *arguments],
        cwd=tmp_path,
        env={**os.environ, **places},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert search.stdout is not None
    while "evaluations" not in search.stdout.readline():
        assert search.poll() is None
    processes = descendants(search.pid)
    assert len(processes) >= 2
    os.killpg(search.pid, signal.SIGINT)  # as a terminal does: the workers get it too
    _, err = search.communicate(timeout=120)
    assert (search.returncode, err.splitlines()[-1]) == (130, "interrupted; continue with: autocomp resume run")
    assert re.match(r"best kernel so far, [\d,]+ cycles: run/best\.c\n", err)
    assert ended(processes)

    resume = [*autocomp, "resume", "run", "--workers", "1", "--json"]
    out = subprocess.run(resume, cwd=tmp_path, env={**os.environ, **places}, capture_output=True, check=True).stdout
    assert json.loads(out)["evaluations"] <= 60
    events, _ = read_events(tmp_path / "run" / "events.jsonl")
    keys = Counter(event["key"] for event in events if "key" in event)
    assert set(keys.values()) == {1}


def test_an_address_is_named_where_no_scheduler_answers_though_something_listens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from autocomp.search.executors import cluster

    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ConfigError, match=f"no Dask scheduler answers at {address}"):
            make_executor(f"dask://{address}", 1)

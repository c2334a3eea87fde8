"""Executors: results by key, deaths of workers, and an end at any time."""

from __future__ import annotations

import errno
from concurrent.futures import ProcessPoolExecutor

import pytest
from toy_search import Worker

from autocomp.search.executors import (
    InlineExecutor,
    Lost,
    ProcessExecutor,
    Target,
    TargetCall,
    ThreadExecutor,
    run_calls,
)


def test_results_carry_their_keys() -> None:
    target = Target(Worker())
    calls = [TargetCall(f"k{n}", target, "double", n) for n in range(5)]
    for executor in (InlineExecutor(), ThreadExecutor(3)):
        assert dict(run_calls(executor, calls)) == {f"k{n}": 2 * n for n in range(5)}
        executor.shutdown()


def test_nothing_starts_once_time_is_up() -> None:
    started: list[int] = []

    class Counting(InlineExecutor):
        def submit(self, target, method, argument):  # type: ignore[no-untyped-def]
            started.append(argument)
            return super().submit(target, method, argument)

    calls = [TargetCall(n, Target(Worker()), "double", n) for n in range(5)]
    assert dict(run_calls(Counting(), calls, expired=lambda: len(started) >= 2)) == {0: 0, 1: 2}


def test_a_failure_of_the_call_is_raised() -> None:
    with pytest.raises(ValueError, match="no 7"):
        list(run_calls(InlineExecutor(), [TargetCall("k", Target(Worker()), "fail", 7)]))


def test_a_dying_process_costs_only_its_own_call() -> None:
    target = Target(Worker())
    executor = ProcessExecutor(2)
    calls = [TargetCall(n, target, "die" if n == 1 else "double", n) for n in range(4)]
    results = dict(run_calls(executor, calls))
    executor.shutdown()
    assert results == {0: 0, 1: Lost("the worker process died while it worked on this"), 2: 4, 3: 6}


def test_a_death_while_another_worker_is_started_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It closes the pipes that the new worker would get."""
    spawn, deaths = ProcessPoolExecutor._spawn_process, iter([True])

    def closed(pool: ProcessPoolExecutor) -> None:
        if next(deaths, False):
            raise OSError(errno.EBADF, "Bad file descriptor")
        spawn(pool)

    monkeypatch.setattr(ProcessPoolExecutor, "_spawn_process", closed)
    executor = ProcessExecutor(2)
    assert executor.submit(Target(Worker()), "double", 4).result() == 8
    executor.shutdown()


def test_shutdown_does_not_wait_for_what_is_under_way() -> None:
    executor = ProcessExecutor(1)
    executor.submit(Target(Worker()), "double", 1).result()
    future = executor.submit(Target(Worker()), "sleep", 1000.0)
    executor.shutdown()
    assert future.done()

"""A run that was killed, and resumed, ends as if nothing had happened."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from processes import descendants, ended
from toy_search import WORDS, Toy, summary

from autocomp.errors import RunFolderError
from autocomp.search import Options, RunFolder
from autocomp.search.log.journal import Journal, read_events
from autocomp.search.strategies import STRATEGIES

KILLS = 3
SMALL = Options(seed=3, beam=2, plans_per_parent=3, patience=3, max_steps=2)

CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from toy_search import Toy
from autocomp.search.executors import InlineExecutor, ProcessExecutor
if __name__ == "__main__":
    executor = InlineExecutor if sys.argv[3] == "1" else lambda: ProcessExecutor(2)
    Toy(Path(sys.argv[2]), delay=0.002, log=Path(sys.argv[2] + ".log"), executor=executor).run(
        lambda event: print(event["kind"], flush=True)
    )
"""


def small(folder: Path) -> Toy:
    return Toy(folder, SMALL, words=("lucky", *WORDS), mends=True)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    toy = small(tmp_path_factory.mktemp("undisturbed") / "run")
    toy.run()
    return toy


def test_truncation_at_every_event_and_inside_lines(undisturbed: Toy, tmp_path: Path) -> None:
    expected = summary(undisturbed.run())
    content = (undisturbed.folder / "events.jsonl").read_bytes()
    ends = [0] + [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]
    inside = [cut for a, b in itertools.pairwise(ends) for cut in ((a + b) // 2, b - 1)]
    cuts = set(ends) | set(inside[::5])
    copy = tmp_path / "run"
    shutil.copytree(undisturbed.folder, copy)
    for cut in sorted(cuts):
        (copy / "events.jsonl").write_bytes(content[:cut])
        assert summary(small(copy).run()) == expected, f"log cut at byte {cut}"
        read_events(copy / "events.jsonl")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_resumes_from_every_event(tmp_path: Path, strategy: str) -> None:
    toy = replace(small(tmp_path / "run"), strategy=strategy, dives=True).with_options(max_steps=2, beam=1)
    expected = summary(toy.run())
    log = toy.folder / "events.jsonl"
    content = log.read_bytes()
    for cut in [0] + [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]:
        log.write_bytes(content[:cut])
        assert summary(toy.run()) == expected, f"log cut at byte {cut}"


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.long)])
def test_kill_at_random_instants(tmp_path: Path, workers: str) -> None:
    expected = summary(Toy(tmp_path / "undisturbed", delay=0.002).run())
    run = tmp_path / "run"
    chance = random.Random(workers)
    command = [sys.executable, "-c", CHILD, str(Path(__file__).parent), str(run), workers]
    for _ in range(KILLS):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        for _ in range(len(read_events(run / "events.jsonl")[0]) if run.exists() else 0):
            child.stdout.readline()
        for _ in range(chance.randrange(1, 40)):
            child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
    assert summary(Toy(run, delay=0.002).run()) == expected
    evaluated = (tmp_path / "run.log").read_text().splitlines()
    assert len(evaluated) <= len(set(evaluated)) + KILLS * 2, "only what was in flight is evaluated again"


def test_workers_end_when_the_search_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(Path(__file__).parent), str(tmp_path / "run"), "2"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    while child.stdout.readline().strip() != "step":
        pass
    workers = descendants(child.pid)
    assert workers
    child.kill()
    child.wait()
    child.stdout.read()  # ends when the last process that holds the pipe has ended
    child.stdout.close()
    assert ended(workers)


def test_resuming_a_finished_run_does_nothing(undisturbed: Toy) -> None:
    before = (undisturbed.folder / "events.jsonl").read_bytes()
    undisturbed.run()
    assert (undisturbed.folder / "events.jsonl").read_bytes() == before


def test_time_is_counted_over_all_sessions(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    for _ in range(2):
        ticks = iter([0.0, 5.0])
        journal = Journal(log, clock=lambda ticks=ticks: next(ticks))  # type: ignore[misc]
        journal.note("tick", {})
        journal.close()
    assert [event["t"] for event in read_events(log)[0]] == [5.0, 10.0]


def test_a_damaged_line_before_the_end_is_an_error_with_its_place(undisturbed: Toy, tmp_path: Path) -> None:
    lines = (undisturbed.folder / "events.jsonl").read_bytes().split(b"\n")
    lines[3] = b'{"kind": garbage'
    (tmp_path / "events.jsonl").write_bytes(b"\n".join(lines))
    with pytest.raises(RunFolderError, match=r"events\.jsonl:4: not an event"):
        read_events(tmp_path / "events.jsonl")


def test_two_writers_are_refused(undisturbed: Toy) -> None:
    folder = RunFolder.open(undisturbed.folder)
    with folder.locked(), pytest.raises(RunFolderError, match=f"in use by another search .process {os.getpid()}"):
        undisturbed.run()


def test_a_run_folder_is_not_overwritten(undisturbed: Toy) -> None:
    with pytest.raises(RunFolderError, match="already exists"):
        RunFolder.create(undisturbed.folder, {})


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="is not a run folder"):
        RunFolder.open(tmp_path)


def test_a_changed_kernel_is_noticed(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", {})
    digest = folder.store_kernel("a kernel")
    (folder.path / "kernels" / f"{digest}.c").write_text("another")
    with pytest.raises(RunFolderError, match="was changed"):
        folder.kernel(digest)

"""The cache of verdicts: shared between runs, bounded, and never more than a shortcut."""

from __future__ import annotations

import multiprocessing
import os
from dataclasses import replace
from pathlib import Path

import pytest
from toy_search import Toy, summary

from autocomp import workload as workloads
from autocomp.data import cache_folder
from autocomp.report import RunView
from autocomp.search.cache import EvaluationCache, scope_of
from autocomp.search.log.journal import read_events
from autocomp.targets.registry import load_target

DOCUMENT = {"evaluation": {"cycles": 7}}


@pytest.fixture
def cache(tmp_path: Path) -> EvaluationCache:
    return EvaluationCache(tmp_path / "cache", "scope")


def entries(cache: EvaluationCache) -> list[Path]:
    return sorted(cache.folder.glob("*/*"))


def test_what_was_kept_is_found_under_all_of_its_key(cache: EvaluationCache) -> None:
    cache.keep("screen", "k1", DOCUMENT)
    assert cache.find("screen", "k1") == DOCUMENT
    assert cache.find("prove", "k1") is None
    assert cache.find("screen", "k2") is None
    assert EvaluationCache(cache.folder, "other").find("screen", "k1") is None


@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
def test_a_damaged_entry_is_counted_and_is_no_entry(cache: EvaluationCache, damage: bytes | None) -> None:
    cache.keep("screen", "k1", DOCUMENT)
    (entry,) = entries(cache)
    content = bytearray(entry.read_bytes())
    content[3] ^= 1
    entry.write_bytes(bytes(content) if damage is None else damage)
    assert (cache.find("screen", "k1"), cache.damaged) == (None, 1)
    assert (cache.find("screen", "k1"), cache.damaged) == (None, 1), "it is gone"


def test_the_entries_used_longest_ago_go_first(tmp_path: Path) -> None:
    cache = EvaluationCache(tmp_path / "cache", "scope", limit=10**9)
    for number in range(10):
        cache.keep("screen", str(number), {"n": number})
    for age, entry in enumerate(entries(cache)):
        os.utime(entry, (1000 + age, 1000 + age))
    assert cache.find("screen", "3") is not None, "and so it was used now"
    size = sum(entry.stat().st_size for entry in entries(cache))
    oldest = min(entries(cache), key=lambda entry: entry.stat().st_mtime)
    EvaluationCache(cache.folder, "scope", limit=size).trim()
    assert len(entries(cache)) == 10, "within its limit, it keeps all"
    EvaluationCache(cache.folder, "scope", limit=size // 2).trim()
    assert sum(entry.stat().st_size for entry in entries(cache)) <= size // 2
    assert not oldest.exists()
    assert cache.find("screen", "3") is not None


def _keep_and_find(folder: Path) -> int:
    cache = EvaluationCache(folder, "scope", limit=2000)
    found = 0
    for number in range(60):
        cache.keep("screen", str(number % 20), {"n": number % 20, "text": "x" * 200})
        document = cache.find("screen", str((number + 7) % 20))
        found += document is not None
        assert document is None or document["n"] == (number + 7) % 20
        if number % 10 == 0:
            cache.trim()
    return cache.damaged + cache.unwritten


def test_processes_share_a_folder_without_harm(tmp_path: Path) -> None:
    with multiprocessing.get_context("forkserver").Pool(3) as pool:
        assert pool.map(_keep_and_find, [tmp_path / "cache"] * 3) == [0, 0, 0]


def test_a_folder_that_cannot_be_written_costs_no_more_than_the_shortcut(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    toy = Toy(tmp_path / "run", cache=EvaluationCache(tmp_path / "file" / "cache", "toy"))
    assert summary(toy.run()) == summary(Toy(tmp_path / "plain").run())
    assert toy.cache is not None
    assert toy.cache.unwritten > 0


def test_a_second_run_is_the_same_and_evaluates_nothing(tmp_path: Path, cache: EvaluationCache) -> None:
    log = tmp_path / "evaluated"
    first = Toy(tmp_path / "first", cache=cache, log=log).run()
    evaluated = log.read_text()
    second = Toy(tmp_path / "second", cache=cache, log=log).run()
    assert summary(first) == summary(second) == summary(Toy(tmp_path / "without").run())
    assert log.read_text() == evaluated
    proofs = [e for e in read_events(tmp_path / "second" / "events.jsonl")[0] if e["kind"] == "prove"]
    assert RunView.of(tmp_path / "second" / "events.jsonl").cached == second.evaluations + len(proofs)
    assert RunView.of(tmp_path / "first" / "events.jsonl").cached == 0


def test_damaged_entries_are_told_in_the_log(tmp_path: Path, cache: EvaluationCache) -> None:
    first = Toy(tmp_path / "first", cache=cache).run()
    for entry in entries(cache)[:2]:
        entry.write_bytes(b"garbage")
    assert summary(Toy(tmp_path / "second", cache=cache).run()) == summary(first)
    assert RunView.of(tmp_path / "second" / "events.jsonl").damaged == 2


def test_faults_of_the_evaluator_are_not_kept(tmp_path: Path, cache: EvaluationCache) -> None:
    toy = Toy(tmp_path / "run", words=("raise",), cache=cache).with_options(max_steps=1, dropout=0.0)
    toy.run()
    assert len(entries(cache)) == 1, "the naive kernel's"


def test_the_scope_is_machine_judge_and_what_is_computed_not_where_its_file_lies() -> None:
    gemm = workloads.load("gemm")
    machine = load_target(gemm.target)
    scope = scope_of(machine, gemm, "1")
    assert scope_of(machine, replace(gemm, name="other", path="/elsewhere/other.yaml"), "1") == scope
    others = [
        scope_of(machine, workloads.load("gemm_100x70x30"), "1"),
        scope_of(load_target(gemm.target, {"DIM": 8}), gemm, "1"),
        scope_of(machine, gemm, "2"),
    ]
    assert len({scope, *others}) == 4


def test_the_folder_is_the_users_or_the_one_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AUTOCOMP_CACHE", str(tmp_path))
    assert cache_folder("evaluations") == tmp_path / "evaluations"
    monkeypatch.delenv("AUTOCOMP_CACHE")
    assert cache_folder("evaluations").parent.name == "autocomp"

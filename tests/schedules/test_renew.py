"""Records that a short search beats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from autocomp import workload as workloads
from autocomp.cli.entry import autocomp
from autocomp.schedules.fresh import fresh_record
from autocomp.schedules.index import user_root
from autocomp.schedules.record import from_yaml
from autocomp.schedules.renew import AT_BOUND, FRESH, Freshness, freshness
from autocomp.schedules.store import Store
from autocomp.search.session import starting_kernel
from autocomp.targets.registry import load_target

SMALL = "accelerator: gemmini\noperation: gemm\ndims: {I: 32, J: 32, K: 32}\n"


def ignore(message: str) -> None:
    pass


@pytest.fixture
def naive(own_folders: None) -> Path:
    """A store with one record: that of the kernel that searches start from."""
    workload = workloads.parse(SMALL, Path("small.yaml"))
    target = load_target(workload.target, workload.overrides)
    found = fresh_record(workload, target, 1, ignore)
    slow = found.result.model_copy(update={"value": found.result.naive, "ratio": None})
    start = starting_kernel(workload, target)
    record = found.model_copy(update={"kernel": start, "result": slow, "plans": ()})
    return Store(user_root()).put(record)[0]


def renew(*arguments: str) -> tuple[int, list[dict[str, object]]]:
    result = CliRunner().invoke(autocomp, ["schedules", "renew", "--evaluations", "3", "--json", *arguments])
    return result.exit_code, json.loads(result.stdout)


def test_a_beaten_record_is_found_and_replaced(naive: Path) -> None:
    before = naive.read_text()
    code, (told,) = renew("--check")
    assert (code, told["outcome"], naive.read_text()) == (6, "stale", before)
    code, (told,) = renew()
    assert (code, told["outcome"]) == (0, "stale")
    assert naive.read_text() != before
    code, (told,) = renew("--check", "--sample", "3")
    assert (code, told["outcome"], told["gain"]) == (0, "fresh", 1.0)


def test_a_record_at_its_bound_is_fresh_without_a_search(naive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = from_yaml(naive.read_text(), str(naive))
    bound = record.result.bound
    assert bound is not None
    at_bound = record.result.model_copy(update={"value": int(1.01 * bound)})
    path, _ = Store(user_root()).put(record.model_copy(update={"result": at_bound}))
    monkeypatch.delattr("autocomp.schedules.renew.fresh_record")
    assert freshness(path, 6, ignore) == Freshness(path, FRESH, message=AT_BOUND)


def test_a_record_of_an_unknown_machine_is_named(naive: Path) -> None:
    naive.write_text(naive.read_text().replace("gemmini", "nowhere"))
    code, told = renew()
    assert (code, told) == (0, []) or told[0]["outcome"] == "unknown"

"""The store of schedules."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.data import data_dir
from autocomp.errors import ConfigError
from autocomp.schedules.index import default_roots, read_index
from autocomp.schedules.record import ScheduleRecord, from_yaml, to_yaml
from autocomp.schedules.store import Store, all_schedules, as_fast, find, user_root
from autocomp.targets.simulator import isa

KERNEL = "void solution(int8_t A[4][4]) {\n    fence();\n}\n"


def make(cycles: int = 100, size: int = 4, digest: str = "d", kernel: str = KERNEL, **dims: int) -> ScheduleRecord:
    return ScheduleRecord.model_validate(
        {
            "target": {"kind": "simulator", "name": "toy", "parameters": {"DIM": 4}, "digest": digest},
            "operation": {
                "name": "gemm",
                "dims": dims or {"I": size, "J": size, "K": size},
                "tensors": [{"name": "A", "dtype": "int8", "shape": [size, size], "role": "input"}],
            },
            "result": {
                "objective": {"unit": "cycles", "direction": "lower"},
                "value": cycles,
                "naive": 900,
                "bound": 50,
                "ratio": 50 / cycles,
                "utilisation": 0.5,
                "stages": {"check": "passed"},
            },
            "plans": [
                {"option": "tile", "text": "Tile.", "parameters": {"loop": "i"}, "author": "rules", "value": cycles}
            ],
            "provenance": {
                "strategy": "beam",
                "seed": 0,
                "planner": "rules",
                "coder": "rules",
                "evaluations": 10,
                "versions": {"autocomp": "0"},
                "created": "2026-01-01T00:00:00",
            },
            "kernel": kernel,
        }
    )


def scaled(record: ScheduleRecord, *arguments: str) -> ScheduleRecord:
    """The record of a kernel with a scale, which `arguments` may say it takes at run time."""
    changed = {"options": {"scale": 1.0}, "arguments": arguments}
    return record.model_copy(update={"operation": record.operation.model_copy(update=changed)})


def no_warning(message: str) -> None:
    raise AssertionError(message)


def test_a_record_is_one_reviewable_file(tmp_path: Path, golden: Any) -> None:
    path, written = Store(tmp_path).put(make())
    assert written
    assert path.relative_to(tmp_path).parts[:2] == ("toy", "gemm")
    golden(path.read_text())


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=80))
def test_any_kernel_text_survives_the_file(kernel: str) -> None:
    record = make(kernel=kernel)
    assert from_yaml(to_yaml(record), "x") == record


def test_the_faster_record_stays(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(make(cycles=100))
    assert store.put(make(cycles=120))[1] is False
    assert store.put(make(cycles=90))[1] is True
    assert [entry.value for entry in store.entries(no_warning)] == [90]


def test_a_changed_machine_description_replaces_the_record(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(make(cycles=100))
    later = make().provenance.model_copy(update={"created": "2026-01-02T00:00:00"})
    assert store.put(make(cycles=120, digest="another").model_copy(update={"provenance": later}))[1] is True


def test_corrupt_records_are_named_and_left_out(tmp_path: Path) -> None:
    store = Store(tmp_path)
    good, _ = store.put(make(size=4))
    for name, text in (
        ("a.yaml", "{"),
        ("b.yaml", "[]"),
        ("c.yaml", "version: 99"),
        ("d.yaml", "version: 1\nkernel: 3"),
    ):
        (good.parent / name).write_text(text)
    (good.parent / "e.yaml").write_bytes(b"\xff\xfe\x00")
    warnings: list[str] = []
    assert [entry.path for entry in store.entries(warnings.append)] == [good.relative_to(tmp_path).as_posix()]
    assert len(warnings) == 5
    assert any("c.yaml" in w and "version 99" in w for w in warnings)


def test_a_tampered_record_is_named_and_left_out(tmp_path: Path) -> None:
    store = Store(tmp_path)
    path, _ = store.put(make(cycles=100))
    path.write_text(path.read_text().replace("value: 100", "value: 60"))
    warnings: list[str] = []
    assert store.entries(warnings.append) == []
    assert len(warnings) == 1
    assert path.name in warnings[0]
    assert "digest" in warnings[0]


def test_records_of_earlier_versions_are_read_as_one_of_this() -> None:
    second = (Path(__file__).parent / "golden" / "record_of_version_2.yaml").read_text()
    lines = second.replace("version: 2", "version: 1").splitlines(keepends=True)
    first = "".join(line for line in lines if not line.startswith("digest:"))
    assert from_yaml(second, "x") == from_yaml(first, "x") == make()
    with pytest.raises(ConfigError, match="digest"):
        from_yaml(second.replace("cycles: 100", "cycles: 60"), "x")
    with pytest.raises(ConfigError, match="not a schedule of version 2"):
        from_yaml(second.replace("naive_cycles", "cycles_of_naive"), "x")


def test_the_shipped_index_is_that_of_the_shipped_files() -> None:
    shipped = data_dir("schedules")
    before = read_index(shipped)
    assert before
    assert Store(shipped).entries(no_warning) == before


def test_the_shipped_schedules_are_of_machines_as_they_are_described_now() -> None:
    """Read as text up to the operation, as the rest of a record takes longer than all descriptions."""
    machines = set()
    for file in data_dir("schedules").glob("*/*/*.yaml"):
        target = yaml.safe_load(file.read_text().partition("operation:")[0])["target"]
        machines.add((target["name"], tuple(target["parameters"].items()), target["digest"]))
    for name, parameters, digest in machines:
        assert isa.load(name, dict(parameters)).machine_digest == digest, f"`schedules verify --renew` those of {name}"


@pytest.mark.parametrize("damage", ["", "not json", "[1]", '[{"path": "gone"}]'])
def test_the_index_is_rebuilt_from_the_files(tmp_path: Path, damage: str) -> None:
    store = Store(tmp_path)
    store.put(make(size=4))
    store.put(make(size=8))
    before = store.entries(no_warning)
    (tmp_path / "index.json").write_text(damage)
    assert store.entries(no_warning) == before
    (tmp_path / before[0].path).unlink()
    assert store.entries(no_warning) == before[1:]


def test_concurrent_writers_leave_the_fastest_and_nothing_else(tmp_path: Path) -> None:
    records = [make(cycles=cycles) for start in (100, 99) for cycles in range(start, 80, -4)]
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(Store(tmp_path).put, records))
    assert [entry.value for entry in read_index(tmp_path) or ()] == [83]
    assert [entry.value for entry in Store(tmp_path).entries(no_warning)] == [83]
    assert len(list((tmp_path / "toy" / "gemm").iterdir())) == 1


def test_the_users_store_and_the_shipped_one_are_one(tmp_path: Path) -> None:
    mine, shipped = tmp_path / "mine", tmp_path / "shipped"
    Store(mine).put(make(size=4, cycles=80))
    Store(shipped).put(make(size=4, cycles=100))
    Store(shipped).put(make(size=8, cycles=500))
    found = all_schedules(no_warning, (mine, shipped))
    assert [(s.root, s.entry.value) for s in found] == [(mine.resolve(), 80), (shipped.resolve(), 500)]


def test_records_are_found_by_path_name_and_start(tmp_path: Path) -> None:
    path, _ = Store(tmp_path).put(make(size=4))
    other, _ = Store(tmp_path).put(make(size=48))
    for name in (str(path), path.name, path.stem, "I4_", "toy/gemm/I4_", make(size=4).identity[:6]):
        assert find(name, no_warning, (tmp_path,)).path == path.resolve()
    with pytest.raises(ConfigError, match=r"several(.|\n)*give more of its path, such as 'toy/gemm/I4"):
        find("I4", no_warning, (tmp_path,))
    with pytest.raises(ConfigError, match=r"no schedule named 'zzz'(.|\n)*" + other.name):
        find("zzz", no_warning, (tmp_path,))


def test_where_new_records_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AUTOCOMP_SCHEDULES", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert tmp_path / "schedules" != user_root()
    (tmp_path / "schedules").mkdir()
    assert user_root() == tmp_path / "schedules"
    monkeypatch.setenv("AUTOCOMP_SCHEDULES", f"{tmp_path / 'elsewhere'}:{tmp_path / 'shared'}")
    assert user_root() == tmp_path / "elsewhere"
    assert default_roots() == (tmp_path / "elsewhere", tmp_path / "shared")
    monkeypatch.delenv("AUTOCOMP_SHIPPED_SCHEDULES")
    assert default_roots() == (tmp_path / "elsewhere", tmp_path / "shared", data_dir("schedules").resolve())


@pytest.mark.parametrize(("cycles", "takes", "served"), [(100, True, True), (101, True, False), (100, False, False)])
def test_a_schedule_that_takes_a_constant_at_run_time_serves_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cycles: int, takes: bool, served: bool
) -> None:
    monkeypatch.setenv("AUTOCOMP_SCHEDULES", str(tmp_path))
    general, constant = scaled(make(cycles), "scale"), scaled(make(100))
    path, _ = Store(tmp_path).put(general if takes else constant)
    assert as_fast(constant if takes else general, no_warning) == (path if served else None)

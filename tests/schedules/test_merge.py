"""Merging libraries, and collecting what is of no use in one."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.errors import ConfigError
from autocomp.schedules.garbage import ABANDONED, collect, garbage
from autocomp.schedules.index import read_index
from autocomp.schedules.merge import merge
from autocomp.schedules.record import ScheduleRecord, better
from autocomp.schedules.store import Store

from .test_store import make, no_warning

RECORDS = st.builds(
    lambda cycles, size, digest, day: dated(make(cycles, size, digest), day),
    st.integers(80, 83),
    st.sampled_from([4, 8]),
    st.sampled_from(["old", "new"]),
    st.integers(1, 3),
)


def dated(record: ScheduleRecord, day: int) -> ScheduleRecord:
    provenance = record.provenance.model_copy(update={"created": f"2026-01-0{day}T00:00:00"})
    return record.model_copy(update={"provenance": provenance})


def library(root: Path, *records: ScheduleRecord) -> Path:
    root.mkdir()
    for record in records:
        Store(root).put(record)
    return root


def content(root: Path) -> dict[str, bytes]:
    return {str(file.relative_to(root)): file.read_bytes() for file in Store(root).files()}


@pytest.fixture
def now(tmp_path: Path) -> float:
    return tmp_path.stat().st_mtime


@settings(max_examples=25, deadline=None)
@given(st.lists(RECORDS, max_size=5), st.lists(RECORDS, max_size=5))
def test_merging_has_the_same_result_in_any_order_and_when_repeated(
    tmp_path_factory: pytest.TempPathFactory, one: list[ScheduleRecord], other: list[ScheduleRecord]
) -> None:
    folder = tmp_path_factory.mktemp("merge")
    a, b = library(folder / "a", *one), library(folder / "b", *other)
    merge([a, b], folder / "ab", no_warning)
    merge([b, a], folder / "ba", no_warning)
    merged = content(folder / "ab")
    assert merged == content(folder / "ba")
    merge([a, b], folder / "ab", no_warning)
    assert content(folder / "ab") == merged
    assert set(merged.values()) <= {*content(a).values(), *content(b).values()}


@given(RECORDS, RECORDS)
def test_of_two_records_exactly_one_is_better_unless_they_are_equal(one: ScheduleRecord, other: ScheduleRecord) -> None:
    assert better(one, other) + better(other, one) == (one != other)


def test_corrupt_records_stay_behind_by_name(tmp_path: Path) -> None:
    source = library(tmp_path / "a", make(size=4), make(size=8))
    forged = Store(source).files()[0]
    forged.write_text(forged.read_text().replace("value: 100", "value: 60"))
    warnings: list[str] = []
    assert merge([source], tmp_path / "b", warnings.append).copied == 1
    assert forged.name in warnings[0]


def test_a_source_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a schedule folder"):
        merge([tmp_path / "none"], tmp_path / "b", no_warning)


def merged_into(arguments: tuple[Path, Path]) -> int:
    source, target = arguments
    return merge([source], target, no_warning).copied


def test_merges_at_the_same_time_leave_every_record_and_a_whole_index(tmp_path: Path) -> None:
    sources = [library(tmp_path / str(n), *(make(90 - n, size) for size in range(4, 20, 4))) for n in range(3)]
    target = tmp_path / "target"
    with ProcessPoolExecutor(3, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(merged_into, [(source, target) for source in sources]))
    assert content(target) == content(sources[-1])
    assert read_index(target) == Store(target).entries(no_warning)


def test_what_another_store_has_as_good_and_copies_under_other_names_are_garbage(tmp_path: Path, now: float) -> None:
    mine = library(tmp_path / "mine", make(100, 4), make(90, 8), make(80, 12))
    shipped = library(tmp_path / "shipped", make(100, 4), make(95, 8))
    own = {file.name.split("_")[0]: file for file in Store(mine).files()}
    copy = own["I12"].with_name("copy.yaml")
    copy.write_bytes(own["I12"].read_bytes())
    found = list(garbage(mine, [shipped], now, no_warning))
    assert {item.path for item in found} == {own["I4"], copy}
    collect(mine, found, no_warning)
    assert set(Store(mine).files()) == {own["I8"], own["I12"]}
    assert len(read_index(mine) or ()) == 2


def test_the_only_record_is_no_garbage_whatever_its_name(tmp_path: Path, now: float) -> None:
    mine = library(tmp_path / "mine", make())
    (file,) = Store(mine).files()
    file.rename(file.with_name("renamed.yaml"))
    assert list(garbage(mine, [], now, no_warning)) == []


def test_files_that_a_crash_left_behind_go_and_those_being_written_stay(tmp_path: Path, now: float) -> None:
    mine = library(tmp_path / "mine", make())
    folder = Store(mine).files()[0].parent
    left, written = folder / ".x.yaml.1", folder / ".x.yaml.2"
    for file, age in ((left, ABANDONED + 60), (written, 0)):
        file.write_text("half a rec")
        os.utime(file, (now - age, now - age))
    assert [item.path for item in garbage(mine, [], now, no_warning)] == [left]


def test_corrupt_records_are_named_and_kept(tmp_path: Path, now: float) -> None:
    mine = library(tmp_path / "mine", make())
    (file,) = Store(mine).files()
    file.write_text("{")
    warnings: list[str] = []
    assert list(garbage(mine, [], now, warnings.append)) == []
    assert file.name in warnings[0]


def test_an_emptied_folder_goes_with_its_last_record(tmp_path: Path, now: float) -> None:
    mine, other = library(tmp_path / "mine", make()), library(tmp_path / "other", make())
    collect(mine, list(garbage(mine, [other], now, no_warning)), no_warning)
    assert not any(path.is_dir() for path in mine.iterdir())

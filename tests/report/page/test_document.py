"""The content of the page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from autocomp.cli.entry import autocomp
from autocomp.errors import RunFolderError
from autocomp.report import RunView
from autocomp.report.page import document as documents
from autocomp.report.page import write_page
from autocomp.report.page.document import Profiles, run_document
from autocomp.search import RunFolder
from autocomp.search.log.snapshot import restore
from autocomp.targets.simulator.profile import record
from autocomp.targets.simulator.profile import spans as timelines


def test_the_document_agrees_with_the_run(searched: RunFolder) -> None:
    view, document = RunView.of(searched.events), run_document(searched)
    assert [c["id"] for c in document["candidates"]] == list(view.candidates)
    assert len(document["evaluations"]) == view.evaluations
    for candidate in document["candidates"]:
        assert candidate["kernel"] is None or document["kernels"][candidate["kernel"]]
        if candidate["value"]:
            assert document["evaluations"][candidate["evaluation"]]["value"] == candidate["value"]


def test_spending_never_falls(searched: RunFolder) -> None:
    seconds = [evaluation["seconds"] for evaluation in run_document(searched)["evaluations"]]
    assert seconds == sorted(seconds)


def test_a_run_before_its_first_evaluation_has_a_page(run_copy: RunFolder, tmp_path: Path) -> None:
    run_copy.events.unlink()
    write_page(run_copy, tmp_path / "report.html")
    assert "tiny_gemm" in (tmp_path / "report.html").read_text()


def test_of_equal_commands_some_of_all_times_are_drawn(searched: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    request = restore(searched)
    timing = record(searched.best_kernel.read_text(), request.workload, request.target.accelerator).timing
    assert timing.commands is not None
    starts = np.arange(len(timing.commands.line))
    equal = replace(timing.commands, started=starts, completed=starts + 1, wait_cycles=0 * starts)
    most = len(starts) // 5
    monkeypatch.setattr(timelines, "MOST", most)
    drawn = np.cumsum(timelines.spans(replace(timing, commands=equal), request.target.accelerator)["start"])
    assert len(drawn) == most
    assert max(np.diff(drawn, prepend=0, append=len(starts))) < 5 * len(starts) / most


@pytest.mark.parametrize("most", [7, 10**6])
def test_spans_of_a_lane_do_not_overlap(searched: RunFolder, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(timelines, "MOST", most)
    request = restore(searched)
    timing = record(searched.best_kernel.read_text(), request.workload, request.target.accelerator).timing
    timeline = timelines.spans(timing, request.target.accelerator)
    assert len(timeline["start"]) <= most
    assert (timeline["left_out"] == 0) == (most > 7)
    ends: dict[tuple[int, int], int] = {}
    start = 0
    for step, length, track, lane in zip(
        timeline["start"], timeline["length"], timeline["track"], timeline["lane"], strict=True
    ):
        start += step
        assert start >= ends.get((track, lane), 0)
        assert lane < timeline["tracks"][track]["lanes"]
        ends[track, lane] = start + length
    assert max(ends.values()) <= timeline["cycles"]


@pytest.mark.parametrize("most", [1, 40])
def test_a_profile_accounts_for_every_cycle_in_bounded_size(
    searched: RunFolder, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(documents, "SEGMENTS", most)
    naive = RunView.of(searched.events).candidates[0]
    found = Profiles(searched, restore(searched)).of(naive)["profile"]
    assert found["cycles"] == naive["value"]
    assert len(found["path"]) <= most
    assert sum(segment["cycles"] for segment in found["path"]) + found["rest"][1] == found["cycles"]
    assert (found["rest"][0] > 0) == (most == 1)
    json.dumps(found)


def test_a_comment_that_is_no_region_costs_the_profile_but_not_the_timeline(run_copy: RunFolder) -> None:
    naive = RunView.of(run_copy.events).candidates[0]
    text = run_copy.kernel(naive["kernel"])
    digest = run_copy.store_kernel(text + "// end region\n")
    found = Profiles(run_copy, restore(run_copy)).of({**naive, "kernel": digest})
    assert "// region: NAME" in found["profile"]["problem"]
    assert found["timeline"]["cycles"] == naive["value"]


def test_a_candidate_that_does_not_exist_has_no_timeline(searched: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="no candidate 999"):
        write_page(searched, tmp_path / "report.html", 0, [999])


def test_the_command_says_where_the_page_is(searched: RunFolder, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = CliRunner().invoke(autocomp, ["report", str(searched.path), "--output", str(page), "--timelines", "0"])
    assert (done.exit_code, done.output.startswith(str(page))) == (0, True)


def test_live_takes_no_output(searched: RunFolder) -> None:
    done = CliRunner().invoke(autocomp, ["report", str(searched.path), "--live", "--output", "x.html"])
    assert done.exit_code == 2
    assert "--live serves the page" in done.output

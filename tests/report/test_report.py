"""The output for people, from a run folder or an evaluation alone."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from toy_search import Toy, ToyEvaluator

from autocomp.report import RunView, SearchProgress, make_console, print_evaluation, print_over_time, print_search
from autocomp.report.terminal import SPARKS, PlainConsole
from autocomp.search.log.journal import read_events
from autocomp.search.options import Options
from autocomp.targets.evaluation import Evidence, LineCost
from autocomp.targets.profile import OverTime, UnitProfile

Golden = Callable[..., None]


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    return Toy(tmp_path / "run").with_options(max_steps=3)


def text_of(show: Callable[[Console], None]) -> str:
    stream = io.StringIO()
    show(make_console(stream))
    return re.sub(r"\d+\.\d s", "N s", stream.getvalue())


def test_end_of_a_search(toy: Toy, golden: Golden) -> None:
    toy.run()
    view = RunView.of(toy.folder / "events.jsonl")
    golden(text_of(lambda console: print_search(console, view, 0.25)))


def test_progress_without_a_terminal_is_a_line_for_each_better_kernel(toy: Toy, golden: Golden) -> None:
    def show(console: Console) -> None:
        with SearchProgress(console, "toy", Options(evaluations=60, seconds=100)) as progress:
            toy.run(progress)

    golden(text_of(show))


def test_progress_on_a_terminal_shows_best_bound_budget_and_outcomes(toy: Toy) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120)
    with SearchProgress(console, "toy", Options(evaluations=60, seconds=100)) as progress:
        toy.run(progress)
        console.print(progress._panel())
    for words in (
        "validated; naive 1,001",
        "reached",
        "of 60 evaluations",
        "of 100 s",
        "s left",
        "correct",
        "failed check",
    ):
        assert words in stream.getvalue()


def test_the_best_of_a_view_passed_every_stage(toy: Toy) -> None:
    toy.run()
    events, _ = read_events(toy.folder / "events.jsonl")
    for end in range(2, len(events)):
        view = RunView.folded(events[:end])
        assert view.candidates[view.best_id]["outcome"] == "correct"
        assert view.candidates[view.best_id]["value"] == view.best


def test_the_view_agrees_with_the_search(toy: Toy) -> None:
    result = toy.run()
    view = RunView.of(toy.folder / "events.jsonl")
    assert view.outcomes == result.history.outcomes()
    assert (view.naive, view.best) == (result.naive.value, result.best.value)
    assert [c["id"] for c in view.lineage()] == [c.id for c in result.history.ancestry(result.best)]
    assert view.evaluations == result.evaluations


def test_every_prefix_of_a_log_can_be_viewed(toy: Toy) -> None:
    toy.run()
    events, _ = read_events(toy.folder / "events.jsonl")
    for end in range(len(events)):
        view = RunView.folded(events[:end])
        text_of(lambda console, view=view: print_search(console, view, 0.0))  # type: ignore[misc]


def test_a_correct_evaluation(golden: Golden) -> None:
    evidence = Evidence(
        figures={"commands": 64, "host_steps": 3, "dram_bytes_read": 4096, "utilisation": 0.5},
        parts={"load": {"Busy": 600, "Bus": 100, "Idle": 2}, "execute": {"Busy": 512, "ReadAfterWrite": 190}},
        resources={"spad": (4096, 16384), "acc": (0, 1024)},
        lines=(LineCost(12, "    mvin(A[i], [sp], 4, 4);", 64, 300, {"Bus": 200, "ReadAfterWrite": 100}),),
    )
    evaluation = replace(ToyEvaluator().evaluate("naive tile"), evidence=evidence)
    golden(text_of(lambda console: print_evaluation(console, evaluation)))


@pytest.mark.parametrize("drawn", [False, True], ids=["log", "terminal"])
def test_units_and_memories_over_time(drawn: bool, golden: Golden) -> None:
    units = (
        UnitProfile("load", {"Busy": 500, "Bus": 500}, (0.0, 1.0, 1.0, 0.0)),
        UnitProfile("execute", {"Busy": 250, "ReadAfterWrite": 750}, (0.0, 0.0, 0.5, 0.5)),
        UnitProfile("unused", {"Fence": 1000}, (0.0, 0.0, 0.0, 0.0)),
    )
    shape = OverTime(1000, 250, units, {"spad": (4096, 8192, 8192, 16), "acc": (0, 0, 0, 0)})
    stream = io.StringIO()
    print_over_time(PlainConsole(file=stream, force_terminal=drawn, color_system=None, width=100), shape)
    golden(stream.getvalue())


def test_a_plain_log_of_a_search_has_no_drawings(toy: Toy) -> None:
    toy.run()
    view = RunView.of(toy.folder / "events.jsonl")
    stream = io.StringIO()
    print_search(PlainConsole(file=stream, force_terminal=True, width=120), view)
    assert "speed of the best" in stream.getvalue()
    assert not set(SPARKS[1:]) & set(text_of(lambda console: print_search(console, view)))


def test_an_incorrect_evaluation_shows_the_message_whole(golden: Golden) -> None:
    golden(text_of(lambda console: print_evaluation(console, ToyEvaluator().evaluate("naive broken"))))

"""Another package's target does all that simulated accelerators do. Its kernels are not in C, its objective is a rate
instead of cycles, its measurements have noise, and its device fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from autocomp.cli.entry import autocomp
from autocomp.search.log.journal import read_events

FASTEST = {"rows": 16, "columns": 16, "beads": 4}
SMALL = ("--beam", "2", "--plans", "3", "--steps", "8", "--dropout", "0", "--reuse", "0")
Run = Callable[..., Result]


@pytest.fixture
def run(abacus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command that must end well, in a folder with a workload for the second target."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "product.yaml").write_text(f"operation: gemm\ntarget: {abacus}\ndims: {{I: 32, J: 32, K: 8}}\n")

    def invoke(*arguments: str) -> Result:
        done = CliRunner().invoke(autocomp, list(arguments))
        assert done.exit_code == 0, done.output
        return done

    return invoke


def search(run: Run, *arguments: str) -> dict[str, Any]:
    done = run("search", "product.yaml", *SMALL, "--workers", "1", "--json", *arguments)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def figures(path: str) -> dict[str, int]:
    return {words[0]: int(words[1]) for line in Path(path).read_text().splitlines()[1:] for words in [line.split()]}


def test_a_search_finds_the_fastest_kernel_and_keeps_it_as_a_schedule(run: Run) -> None:
    found = search(run, "--run-dir", "first")
    assert found["objective"] == {"unit": "products/s", "direction": "higher"}
    assert found["naive_products_s"] < 1e7 < 5e8 < found["best_products_s"] < found["bound_products_s"]
    assert found["kernel"] == "first/best.words"
    best = figures(found["kernel"])
    assert {name: min(value, FASTEST[name]) for name, value in best.items()} == FASTEST
    record = yaml.safe_load(Path(found["schedule"]).read_text())
    assert (record["target"]["kind"], record["target"]["name"]) == ("abacus", "wooden")
    assert record["result"]["objective"]["unit"] == "products/s"
    assert record["result"]["spread"] > 0
    assert "cycles" not in Path(found["schedule"]).read_text()


def test_what_it_shows_of_a_run_speaks_of_its_objective(run: Run) -> None:
    search(run, "--run-dir", "runs/first")
    search(run, "--run-dir", "runs/second")
    for command in (["runs", "list"], ["runs", "show", "runs/first"], ["runs", "compare", "runs/first", "runs/second"]):
        shown = run(*command, "--plain").stdout
        assert "products/s" in shown
        assert "cycles" not in shown
    assert "products/s" in run("schedules", "list", "--plain").stdout
    run("report", "runs/first", "--output", "page.html")
    assert Path("page.html").is_file()


def test_its_kernels_are_judged_one_by_one_and_profiled_where_the_target_can(run: Run) -> None:
    search(run, "--run-dir", "first")
    done = CliRunner().invoke(autocomp, ["profile", "first/best.words", "--workload", "product.yaml"])
    assert done.exit_code == 3
    assert "the target abacus does not record what kernels do" in done.output
    judged = run("run", "first/best.words", "--workload", "product.yaml", "--plain").stdout
    assert "products/s" in judged


def test_its_schedules_are_verified_and_begin_other_searches(run: Run, tmp_path: Path) -> None:
    name = Path(search(run, "--run-dir", "first")["schedule"]).name
    assert "holds" in run("schedules", "verify", name).stdout
    (tmp_path / "product.yaml").write_text("operation: gemm\ntarget: abacus:wooden\ndims: {I: 64, J: 64, K: 8}\n")
    seeded = search(run, "--run-dir", "second", "--reuse", "1", "--evaluations", "9")
    assert [reused["record"] for reused in seeded["reuse"]] == [f"abacus-wooden/gemm/{name}"]


@pytest.mark.parametrize("strategy", ["evolve", "greedy", "random"])
def test_every_strategy_improves_its_kernels(run: Run, strategy: str) -> None:
    found = search(run, "--run-dir", "run", "--strategy", strategy, "--evaluations", "12")
    assert max(figures(found["kernel"]).values()) > 1


def test_a_search_that_was_cut_off_is_resumed(run: Run, tmp_path: Path) -> None:
    search(run, "--run-dir", "run")
    log = tmp_path / "run" / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[: len(lines) // 2]))
    resumed = json.loads(run("resume", "run", "--workers", "1", "--json").stdout)
    assert max(figures(resumed["kernel"]).values()) > 1


def test_a_device_that_fails_now_and_then_costs_no_kernel(run: Run) -> None:
    found = search(run, "--run-dir", "run", "--set", "FAILS=3")
    assert max(figures(found["kernel"]).values()) > 1
    assert "device failed" not in found["candidates"]


def test_the_leaders_are_measured_again_beside_each_other(run: Run, tmp_path: Path) -> None:
    search(run, "--run-dir", "run")
    events, _ = read_events(tmp_path / "run" / "events.jsonl")
    assert any(event["kind"] == "measure" for event in events)


def test_a_second_search_takes_its_verdicts_from_the_cache(run: Run) -> None:
    search(run, "--run-dir", "first")
    assert search(run, "--run-dir", "second")["cached"] > 0


@pytest.mark.filterwarnings("ignore")  # the cluster's own
@pytest.mark.parametrize("executor", ["processes:2", pytest.param("local-cluster:1", marks=pytest.mark.long)])
def test_other_processes_evaluate_it(run: Run, executor: str) -> None:
    found = search(run, "--run-dir", "run", "--executor", executor, "--evaluations", "6")
    assert max(figures(found["kernel"]).values()) > 1


def test_what_only_simulated_machines_have_is_refused_with_the_reason(run: Run) -> None:
    search(run, "--run-dir", "run")
    for command, reason in {
        "compare run/best.words run/best.words --workload product.yaml": "abacus does not record what kernels do",
        "explore product.yaml --sweep FAILS=0,3 --folder points": "wooden states no area",
        "search product.yaml --confirm rtl": "--confirm rtl needs a simulated accelerator",
    }.items():
        done = CliRunner().invoke(autocomp, command.split())
        assert done.exit_code == 3
        assert reason in done.output

"""`autocomp search`, `resume` and `schedules`, as a user meets them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Command = Callable[..., Result]
KEYS = {"naive_cycles", "best_cycles", "bound_cycles", "utilisation", "evaluations", "seconds", "kernel", "run"}


@pytest.fixture
def found(autocomp: Command, toy: None) -> dict[str, Any]:
    result = autocomp("search", "gemm", "--workers", 1, "--json", "--dropout", 0)
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_json_is_one_document_with_the_figures(found: dict[str, Any]) -> None:
    assert found.keys() >= KEYS
    assert found["best_cycles"] < found["naive_cycles"]
    assert Path(found["kernel"]).read_text().startswith("naive")
    assert [step["cycles"] for step in found["lineage"]][-1] == found["best_cycles"]


def test_people_read_lineage_paths_and_how_to_look_further(autocomp: Command, toy: None) -> None:
    output = autocomp("search", "gemm.yaml", "--workers", 1, "--dropout", 0).stdout
    for words in ("Lineage of the best kernel", "do tile", "kernel:", "run:", "schedule:", "autocomp run runs/"):
        assert words in output


def test_a_shipped_workload_is_named_as_the_user_does(autocomp: Command, toy: None) -> None:
    output = autocomp("search", "gemm", "--workers", 1, "--steps", 0, "--run-dir", "here").stdout
    assert "autocomp run here/best.c --workload gemm\n" in output


def test_the_winner_is_a_schedule(autocomp: Command, found: dict[str, Any]) -> None:
    records = json.loads(autocomp("schedules", "list", "--json").stdout)  # the shipped ones among them
    (listed,) = [record for record in records if record["path"] == found["schedule"]]
    assert listed["cycles"] == found["best_cycles"]
    shown = json.loads(autocomp("schedules", "show", Path(found["schedule"]).name, "--json").stdout)
    assert [plan["option"] for plan in shown["plans"]] == [step["option"] for step in found["lineage"]]
    assert autocomp("schedules", "show", listed["identity"][:8], "--kernel").stdout == shown["kernel"]
    assert "I=512 J=512 K=512" in autocomp("schedules", "list").stdout
    assert autocomp("schedules", "list", "nothing/").stdout == "no schedules whose path begins with nothing/\n"


def test_a_schedule_from_before_that_is_better_is_said_to_be_so(autocomp: Command, found: dict[str, Any]) -> None:
    worse = autocomp("search", "gemm", "--workers", 1, "--dropout", 0, "--evaluations", 2).stdout
    assert f"{found['schedule']}; its kernel is from before: {found['best_cycles']:,} cycles\n" in worse
    assert "from before" not in autocomp("resume", found["run"], "--workers", 1).stdout


def test_a_finished_run_resumes_to_the_same_result(autocomp: Command, found: dict[str, Any]) -> None:
    result = autocomp("resume", found["run"], "--json", "--workers", 1)
    assert json.loads(result.stdout) == found


def test_a_truncated_run_resumes_to_the_same_result(autocomp: Command, found: dict[str, Any]) -> None:
    log = Path(found["run"]) / "events.jsonl"
    log.write_bytes(log.read_bytes()[:3000])
    again = json.loads(autocomp("resume", found["run"], "--json", "--workers", 1).stdout)
    assert again.pop("cached") > 0, "its verdicts were not lost with the log"
    assert again | {"seconds": 0, "cached": 0} == found | {"seconds": 0}


def test_interruption_leaves_a_run_that_resumes(
    autocomp: Command, toy: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toy_search import ToyEvaluator

    evaluate = ToyEvaluator.evaluate

    def interrupted(self: ToyEvaluator, kernel: str, *rest: Any) -> Any:
        if "tile" in kernel:
            raise KeyboardInterrupt
        return evaluate(self, kernel, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(ToyEvaluator, "evaluate", interrupted)
        result = autocomp("search", "gemm", "--workers", 1, "--run-dir", "here", "--json")
    assert result.exit_code == 130
    assert "continue with: autocomp resume here" in result.stderr
    document = json.loads(result.stdout)
    assert (document["run"], document["kernel"]) == ("here", "here/best.c")
    assert "best kernel so far, 882 cycles: here/best.c" in result.stderr
    assert Path("here/best.c").read_text() == "naive hoist"
    assert autocomp("resume", "here", "--workers", 1).exit_code == 0


def test_key_and_address_do_not_reach_the_run_folder_unasked(
    autocomp: Command, toy: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No request is sent: the toy's agents stand in for the model's, and nothing listens at the address."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/very-secret/v1")
    arguments = ("--planner", "openai:m", "--run-dir", "here", "--workers", 1, "--evaluations", 2)
    assert autocomp("search", "tiny_gemm", *arguments).exit_code == 0
    assert not any("very-secret" in file.read_text() for file in Path("here").rglob("*") if file.is_file())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["search", "gemn"], 3, "did you mean 'gemm'"),
        (["search", "gemm", "--planner", "oracle"], 3, "rules, or openai:MODEL"),
        (["search", "gemm", "--menu", "nonsense"], 3, "no menu named 'nonsense'"),
        (["search", "gemm", "--dropout", "2"], 2, "2.0 is not in the range 0<=x<1"),
        (["search", "gemm", "--set", "DIM"], 2, "'DIM' is not NAME=NUMBER"),
        (["search", "gemm", "--set", "DIN=4"], 4, "DIN"),
        (["search", "gemm", "--workers", "0"], 2, "--workers"),
        (["search", "gemm", "--planner", "openai:m"], 8, "set OPENAI_API_KEY"),
        (["search"], 2, "Missing argument"),
        (["resume", "."], 7, "is not a run folder"),
        (["resume", "nowhere"], 7, "is not a run folder"),
        (["schedules", "show", "nothing"], 3, "no schedule named 'nothing'"),
        (["isa", "check", "nowhere.isa"], 3, "no accelerator named"),
        (["run", "nowhere.c", "--workload", "gemm"], 5, "cannot read the kernel nowhere.c"),
        (["frobnicate"], 2, "No such command"),
    ],
)
def test_errors_say_what_and_have_their_code(
    autocomp: Command, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, message: str
) -> None:
    for variable in ("OPENAI_API_KEY", "AUTOCOMP_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    result = autocomp(*arguments)
    assert result.exit_code == code, result.output
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert not Path("runs").exists(), "a refused search leaves nothing behind"


def test_an_error_is_one_json_document_too(autocomp: Command) -> None:
    result = autocomp("search", "gemn", "--json")
    assert json.loads(result.stdout)["exit_code"] == result.exit_code == 3


def test_an_existing_run_folder_is_not_overwritten(autocomp: Command, found: dict[str, Any]) -> None:
    result = autocomp("search", "gemm", "--run-dir", found["run"])
    assert result.exit_code == 7
    assert f"autocomp resume {found['run']}" in result.stderr


def test_several_workloads_share_one_budget_and_what_is_left_over_goes_on(autocomp: Command, toy: None) -> None:
    result = autocomp(
        "search", "gemm", "gemm_100x70x30", "--evaluations", 41, "--run-dir", "both", "--workers", 1, "--json"
    )
    first, second = json.loads(result.stdout)
    log = [json.loads(line) for line in (Path(second["run"]) / "events.jsonl").read_text().splitlines()]
    assert first["run"] == "both/gemm"
    assert log[0]["kind"] == "grant"
    assert log[0]["evaluations"] == 21 - first["evaluations"] > 0
    assert first["evaluations"] + second["evaluations"] <= 41


def test_runs_that_share_a_budget_resume_together_to_the_same_results(autocomp: Command, toy: None) -> None:
    arguments = ["search", "gemm", "gemm_100x70x30", "--evaluations", 12, "--run-dir", "both", "--workers", 1, "--json"]
    found = json.loads(autocomp(*arguments).stdout)
    for run in found:
        log = Path(run["run"]) / "events.jsonl"
        log.write_bytes(log.read_bytes()[:2500] if run is found[0] else b"")
    again = json.loads(
        autocomp("resume", *[run["run"] for run in found], "--workers", 1, "--no-cache", "--json").stdout
    )
    for before, after in zip(found, again, strict=True):
        assert after | {"seconds": 0, "cached": 0} == before | {"seconds": 0, "cached": 0}


def test_too_few_evaluations_for_the_workloads_are_refused(autocomp: Command, toy: None) -> None:
    result = autocomp("search", "gemm", "gemm_100x70x30", "--evaluations", 1)
    assert (result.exit_code, Path("runs").exists()) == (3, False)
    assert "--evaluations 1 is too few for 2 workloads" in result.stderr


def test_runs_are_listed_shown_and_compared(autocomp: Command, found: dict[str, Any]) -> None:
    autocomp("search", "gemm", "--strategy", "greedy", "--workers", 1, "--run-dir", "runs/other")
    listed = json.loads(autocomp("runs", "list", "--json").stdout)
    assert {(run["strategy"], run["state"]) for run in listed} == {("beam", "finished"), ("greedy", "finished")}
    shown = autocomp("runs", "show", found["run"]).stdout
    for words in ("Lineage of the best kernel", "do tile", "ended:"):
        assert words in shown
    compared = json.loads(autocomp("runs", "compare", "runs/other", found["run"], "--json").stdout)
    assert compared[1]["best_cycles"] == found["best_cycles"]
    assert compared[1]["options"] == [step["option"] for step in found["lineage"]]
    assert "Runs compared" in autocomp("runs", "compare", "runs/other", found["run"]).stdout


def test_an_interrupted_run_and_a_damaged_one_are_told_apart(autocomp: Command, found: dict[str, Any]) -> None:
    log = Path(found["run"]) / "events.jsonl"
    log.write_bytes(log.read_bytes()[:3000])
    Path("runs/broken").mkdir()
    Path("runs/broken/config.json").write_text("{")
    result = autocomp("runs", "list")
    assert "interrupted" in result.stdout
    assert "left out runs/broken" in result.stderr
    assert f"autocomp resume {found['run']}" in autocomp("runs", "show", found["run"]).stdout

"""A whole search whose plans and kernels come from a model over HTTP: good ones, wrong ones, a mended one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from autocomp.cli.entry import autocomp

from .conftest import KEY, MENU, WORKLOAD, Reply, Request, Run, ScriptedServer, completion, failure, serving

STAGED = """\
void solution(int8_t A[32][32], int8_t B[32][32], int8_t C[32][32]) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(32, 1.0f, DIM, 0);
  config_ld(32, 1.0f, DIM, 1);
  config_st(32);
  for (int k = 0; k < 2; k++) {
    mvin2(&B[16 * k][0], 64 + 32 * k, 32, 16);
    mvin(&A[16 * k][0], 32 * k, 32, 16);
  }
  for (int j = 0; j < 2; j++) {
    for (int k = 0; k < 2; k++) {
      for (int i = 0; i < 2; i++) {
        const uint32_t c = 0x80000000 + 32 * j + 16 * i;
        const uint32_t b = i == 0 ? 64 + 32 * k + 16 * j : 0xffffffff;
        preload(b, k == 0 ? c : c | 0x40000000, 16, 16, 16, 16);
        if (i == 0) compute_preloaded(32 * i + 16 * k, 0xffffffff, 16, 16, 16, 16);
        else compute_accumulated(32 * i + 16 * k, 0xffffffff, 16, 16, 16, 16);
      }
    }
    for (int i = 0; i < 2; i++) mvout(&C[16 * i][16 * j], 0x80000000 + 32 * j + 16 * i, 16, 16);
  }
  fence();
}
"""
WRONG_RESULT = STAGED.replace("k == 0 ? c : c | 0x40000000", "c")
UNKNOWN_CALL = STAGED.replace("mvin2(", "move_in_2(")
KERNELS = {"staged": STAGED, "wrong result": WRONG_RESULT, "unknown call": UNKNOWN_CALL, "prose": "It is fast enough."}


def fenced(kernel: str) -> Reply:
    return completion(f"Here it is.\n```c\n{kernel}```\n")


def model(request: Request) -> Reply:
    """One plan for each of `KERNELS`; the kernel a plan names; the right kernel when it is told of a fault."""
    task = request.body["messages"][-1]["content"]
    if "Write no kernel." in task:
        plans = [
            {"option": "stage_operand", "plan": f"Write the kernel that is {name}.", "gain": [1.2, 9]}
            for name in KERNELS
        ]
        return completion(json.dumps({"plans": plans}))
    if task.startswith("That kernel is not right"):
        return fenced(STAGED.replace("int k = 0; k < 2; k++", "int k = 0; k <= 1; k++"))
    return next(fenced(kernel) for name, kernel in KERNELS.items() if f"kernel that is {name}." in task)


def search(server: ScriptedServer, folder: str) -> list[str]:
    fixed = ["--plans", "4", "--steps", "1", "--workers", "1", "--dropout", "0", "--menu", "few.yaml", "--json"]
    return ["search", "small.yaml", "--planner", server.spec, "--run-dir", folder, *fixed]


@dataclass(frozen=True)
class Searched:
    """A finished search in the folder `run` of a place, what it printed, and all that it asked."""

    place: Path
    found: dict[str, Any]
    server: ScriptedServer


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searched]:
    """Not to be changed."""
    place = tmp_path_factory.mktemp("searched")
    (place / "small.yaml").write_text(WORKLOAD)
    (place / "few.yaml").write_text(MENU)
    folders = {"SCHEDULES": "schedules", "CACHE": "cache", "CONFIG": "configuration"}
    with pytest.MonkeyPatch.context() as patch, serving(patch) as server:
        for name, folder in folders.items():
            patch.setenv(f"AUTOCOMP_{name}", str(place / folder))
        patch.setenv("AUTOCOMP_SHIPPED_SCHEDULES", "0")
        patch.chdir(place)
        server.respond = model
        done = CliRunner().invoke(autocomp, search(server, "run"))
        patch.chdir(tmp_path_factory.getbasetemp())
        yield Searched(place, document((done.exit_code, done.stdout, done.stderr)), server)


def document(outcome: tuple[int, str, str]) -> dict[str, Any]:
    code, out, err = outcome
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def test_a_search_with_a_model_finds_its_good_kernel(searched: Searched) -> None:
    found, spec = searched.found, searched.server.spec
    events = [json.loads(line) for line in (searched.place / "run" / "events.jsonl").read_text().splitlines()]
    candidates = [event for event in events if str(event.get("key", "")).startswith("candidate/")]
    by_model = [event for event in candidates if event["plan"] and event["plan"]["author"] == spec]
    values = [event["value"] for event in by_model if event["value"] is not None]
    assert min(values) < 0.8 * found["naive_cycles"]
    assert {event["plan"]["option"] for event in by_model} == {"stage_operand"}
    authors = {event["plan"]["author"] for event in candidates if event["plan"]}
    assert authors == {spec, "search"}  # the search itself adds the vendor's routine where that is faster
    assert sum(event["repaired"] for event in candidates) == 1
    assert found["candidates"]["not implemented"] == 1
    kept = "".join(path.read_text(errors="replace") for path in searched.place.rglob("*") if path.is_file())
    assert KEY not in kept


def test_the_prompts_of_a_search_hold_what_a_model_needs(searched: Searched) -> None:
    asked = searched.server.requests
    plan = next(request.prompt for request in asked if "Write no kernel." in request.prompt)
    for expected in (
        "mvin2",
        "compute_preloaded",
        "I = 32, J = 32, K = 32",
        "Where the cycles of each unit go",
        "## tile",
    ):
        assert expected in plan
    repairs = [request.prompt for request in asked if "That kernel is not right" in request.prompt]
    assert any("move_in_2" in prompt and "failed check" in prompt for prompt in repairs)


def test_a_second_search_asks_nothing_and_ends_the_same(
    searched: Searched, command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, asked = searched.found, len(searched.server.requests)
    monkeypatch.setenv("AUTOCOMP_CACHE", str(searched.place / "cache"))
    second = document(command(*search(searched.server, "second")))
    assert len(searched.server.requests) == asked
    same = ("naive_cycles", "best_cycles", "evaluations", "candidates", "lineage")
    assert {key: first[key] for key in same} == {key: second[key] for key in same}


def test_a_wrong_key_ends_a_search_that_can_be_resumed(server: ScriptedServer, command: Run) -> None:
    server.respond = lambda request: failure(401, "wrong key")
    code, _, err = command(*search(server, "run"))
    assert code == 8
    assert "wrong key" in err
    server.respond = model
    found = document(command("resume", "run", "--workers", "1", "--json"))
    assert found["best_cycles"] < found["naive_cycles"]


def test_a_model_selects_and_designs_in_an_evolution(server: ScriptedServer, command: Run, tmp_path: Path) -> None:
    asked: list[str] = []

    def scientist(request: Request) -> Reply:
        task = request.body["messages"][-1]["content"]
        if "(the base)" in task:
            asked.append("select")
            return completion('{"base": "0", "reference": "none", "reason": "to start again"}')
        if "different avenues" in task:
            asked.append("design")
        return model(request)

    server.respond = scientist
    found = document(command(*search(server, "run"), "--strategy", "evolve", "--steps", "2"))
    assert asked == ["design", "select", "design"]
    assert found["best_cycles"] < 0.8 * found["naive_cycles"]
    events = [json.loads(line) for line in (tmp_path / "run" / "events.jsonl").read_text().splitlines()]
    (selection,) = (event for event in events if event["kind"] == "select")
    assert (selection["base"], selection["reason"]) == (0, "to start again")
    assert selection["usage"]["requests"] == 1


def test_models_and_rules_share_a_search(server: ScriptedServer, command: Run, tmp_path: Path) -> None:
    server.respond = model
    found = document(
        command(*search(server, "run"), "--agent", "llm+rules", "--no-rules-first", "--plans", "8", "--menu", "general")
    )
    assert found["best_cycles"] < found["naive_cycles"]
    events = [json.loads(line) for line in (tmp_path / "run" / "events.jsonl").read_text().splitlines()]
    authors = [event["plan"]["author"] for event in events if event["kind"] == "candidate" and event["plan"]]
    assert authors.count("rules") >= 2
    assert authors.count(server.spec) >= 2


def test_the_report_says_how_predictions_held(server: ScriptedServer, command: Run) -> None:
    server.respond = model
    arguments = [word for word in search(server, "run") if word != "--json"]
    code, out, err = command(*arguments)
    assert code == 0, err
    assert "Predicted speed-ups against those that came out" in out
    header, row = out.partition("Predicted speed-ups")[2].splitlines()[1:3]
    assert header.split()[:2] == ["planner", "plans"]
    assert row.split()[1] == "2"  # the staged kernel and the mended one
    assert "tokens" in out


@pytest.mark.parametrize("budget", [["--tokens", "100000"], ["--tokens", "0"]])
def test_a_search_keeps_its_budget_of_tokens(
    server: ScriptedServer, command: Run, tmp_path: Path, budget: list[str]
) -> None:
    server.respond = model
    found = document(command(*search(server, "run"), *budget))
    spent = found["usage"].get("prompt_tokens", 0) + found["usage"].get("completion_tokens", 0)
    assert spent <= int(budget[1])
    if budget == ["--tokens", "0"]:
        assert server.requests == []
        assert found["reason"] == "budget of tokens spent"


def test_money_without_a_price_is_refused_before_anything_happens(
    server: ScriptedServer, command: Run, tmp_path: Path
) -> None:
    code, _, err = command(*search(server, "run"), "--money", "1")
    assert code == 3
    assert "needs the price" in err
    assert not (tmp_path / "run").exists()


def test_the_price_of_a_search_is_shown(server: ScriptedServer, command: Run, tmp_path: Path) -> None:
    server.respond = model
    entry = {"model": server.spec, "price": {"prompt": 1.0, "completion": 2.0}, "max_tokens": 1000}
    (tmp_path / "agents.yaml").write_text(json.dumps({"planner": [entry]}))
    fixed = search(server, "run")[4:]
    found = document(command("search", "small.yaml", "--agents", "agents.yaml", *fixed, "--money", "5"))
    usage = found["usage"]
    assert usage["money"] == pytest.approx((usage["prompt_tokens"] + 2 * usage["completion_tokens"]) / 1e6)


def test_a_key_that_an_endpoint_repeats_is_written_nowhere(
    server: ScriptedServer, command: Run, tmp_path: Path
) -> None:
    def indiscreet(request: Request) -> Reply:
        if len(server.requests) == 3:
            return failure(400, f"what is {request.headers['authorization']} to me?")
        reply = model(request)
        return replace(reply, body=reply.body.replace("Write the kernel", f"{KEY} Write the kernel"))

    server.respond = indiscreet
    outputs = [command(*search(server, "run")), command("resume", "run", "--plain")]
    assert [code for code, *_ in outputs] == [0, 0]
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 8
    assert not any(KEY.encode() in content for content in written)
    assert not any(KEY in text for _, *texts in outputs for text in texts)
    assert any(b"*** Write the kernel" in content for content in written)


# --- beside a search ----------------------------------------------------------------------------------------------

PROPOSED = """{"options": [
  {"id": "skew", "title": "Skew the loops", "guidance": "Do it.", "applies": {"causes": ["Bus"]}},
  {"id": "tile", "title": "Again", "guidance": "There already."},
  {"id": "Bad Id", "title": "No", "guidance": "No."}
]}"""


def test_a_model_proposes_options_for_a_person_to_accept(
    searched: Searched, server: ScriptedServer, command: Run
) -> None:
    server.respond = lambda request: completion(f"```json\n{PROPOSED}\n```")
    ask = ["menu", "suggest", str(searched.place / "run"), "--planner-model", server.spec, "--out", "new.yaml"]
    code, out, err = command(*ask)
    assert code == 0, err
    assert "skew: Skew the loops" in out
    assert "there is an option 'tile' already" in err
    assert "Bad Id" in err
    prompt = server.requests[-1].prompt
    assert "stage_operand: Write the kernel that is staged." in prompt
    assert "failed smoke" in prompt or "failed check" in prompt or "not implemented" in prompt
    shown = json.loads(command("menu", "show", "few.yaml", "new.yaml", "--json")[1])
    assert [option["id"] for option in shown["options"]] == ["tile", "stage_operand", "skew"]
    assert command(*ask)[0] == 3  # the file is there already


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        ("plan", "Write no kernel."),
        ("structured", "JSON schema of the answer"),
        ("choice", "Changes to choose from"),
        ("code", "give the whole new kernel"),
        ("edit", "<<<<<<< SEARCH"),
        ("single", "two fenced blocks"),
        ("translate", "The program to translate"),
        ("repair", "That kernel is not right"),
        ("repair_edit", "of your last answer"),
        ("mend", "could not be applied"),
    ],
)
def test_the_prompt_of_every_phase_can_be_looked_at(command: Run, tmp_path: Path, phase: str, expected: str) -> None:
    (tmp_path / "staged.c").write_text(STAGED)
    (tmp_path / "wrong.c").write_text(WRONG_RESULT)
    given = [
        "prompt",
        "staged.c",
        "--workload",
        "small.yaml",
        "--phase",
        phase,
        "--failed",
        "wrong.c",
        "--menu",
        "few.yaml",
    ]
    code, out, err = command(*given)
    assert code == 0, err
    assert expected in out
    assert "tokens" in err


def test_the_prompt_that_is_shown_is_the_one_that_is_sent(searched: Searched, command: Run) -> None:
    run, server = searched.place / "run", searched.server
    naive = next(
        e["kernel"] for e in map(json.loads, (run / "events.jsonl").read_text().splitlines()) if e.get("kernel")
    )
    given = ["prompt", str(run / "kernels" / f"{naive}.c"), "--workload", "small.yaml", "--menu", "few.yaml", "--json"]
    shown = json.loads(command(*given, "--planner-model", server.spec)[1])["request"]
    sent = server.requests[0].body
    assert shown["model"] == sent["model"]
    assert shown["messages"][0] == sent["messages"][0]
    different = [a for a, b in zip(*(_lines(body) for body in (shown, sent)), strict=True) if a != b]
    assert different == []


def _lines(body: dict[str, Any]) -> list[str]:
    """The question's lines, in one order: a search shuffles its menu."""
    return sorted(body["messages"][1]["content"].splitlines())

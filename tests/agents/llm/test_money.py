"""The cost of models: foretold, broken down, kept word for word; and what happens where none can answer."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from autocomp.agents.config import Agents, Member, Price
from autocomp.agents.llm.forecast import Shape, forecast
from autocomp.report import RunView
from autocomp.report.page.document import run_document
from autocomp.report.runs.costs import costs_document
from autocomp.report.runs.run import phase_of
from autocomp.search import RunFolder
from autocomp.targets.planning import Context

from .conftest import KEY, Run, ScriptedServer, completion, failure
from .test_search import WRONG_RESULT, document, model, search

SHAPE = Shape(parents=6, plans=4, codes=1, steps=40, evaluations=29, repair=True)


def paid(**more: object) -> Agents:
    return Agents(planner=(Member("openai:m@http://localhost/v1", price=Price(1.0, 10.0), **more),))  # type: ignore[arg-type]


def test_a_forecast_counts_the_requests_of_all_steps(context: Context) -> None:
    """28 evaluations are a step of one parent with 4 plans, and one of 6 parents with 24."""
    found = forecast(paid(), context, SHAPE)
    assert found.requests == (1 + 6) + 28
    assert found.most_requests == found.requests + 28
    assert found.prompt_tokens == 7 * found.plan_prompt + 28 * found.code_prompt
    assert found.money == pytest.approx((found.prompt_tokens + 10 * found.completion_tokens) / 1e6)


def test_a_forecast_says_which_budget_ends_the_search_before(context: Context) -> None:
    found = forecast(paid(), context, Shape(6, 4, 1, 40, 29, True, tokens=100, money=1e-6))
    assert found.budget == "the budget of 100 tokens or the budget of 1e-06 money"
    assert forecast(Agents(planner=(Member("openai:m@http://localhost/v1"),)), context, SHAPE).money is None


def test_a_forecast_alone_sends_nothing(server: ScriptedServer, command: Run, tmp_path: Path) -> None:
    code, out, _ = command("search", "small.yaml", "--planner", server.spec, "--forecast", "--evaluations", "8")
    assert code == 0
    assert "requests" in out
    assert "tokens of prompts" in out
    assert not server.requests
    assert not (tmp_path / "runs").exists()


def test_costs_are_broken_down_and_exchanges_kept_without_the_key(
    server: ScriptedServer, command: Run, tmp_path: Path
) -> None:
    server.respond = model
    outcome = command(*search(server, "run"))
    found = document(outcome)
    assert "forecast: " in outcome[2]
    requests = len(server.requests)
    assert sum(entry["requests"] for entry in found["costs"]["models"]) == requests
    assert {entry["phase"] for entry in found["costs"]["phases"]} == {"plan", "code", "repair"}
    assert [entry["step"] for entry in found["costs"]["steps"]] == [1]
    folder = RunFolder.open(tmp_path / "run")
    kept = list(folder.exchanges)
    assert len(kept) == requests
    sent = {json.dumps(request.body["messages"]) for request in server.requests}
    assert {json.dumps(exchange["request"]["messages"]) for exchange in kept} == sent
    for file in (tmp_path / "run" / "exchanges").iterdir():
        assert KEY not in gzip.decompress(file.read_bytes()).decode()
    page = run_document(folder)
    assert {phase_of(call)[0] for call in page["exchanges"]} == {"plan", "code", "repair"}
    assert costs_document(RunView.of(folder.events)) == found["costs"]


def test_a_context_that_is_too_small_has_an_exit_code_of_its_own(server: ScriptedServer, command: Run) -> None:
    server.respond = lambda request: failure(
        400, "the request exceeds the available context size", code="exceed_context_size_error"
    )
    code, _, error = command(*search(server, "run"))
    assert code == 13
    assert "give it a larger context" in error


def test_the_rules_stand_in_only_if_told(server: ScriptedServer, command: Run) -> None:
    server.respond = lambda request: failure(401, "no")
    assert command(*search(server, "run"))[0] == 8
    found = document(command(*search(server, "again"), "--fallback", "rules"))
    assert found["best_cycles"] < found["naive_cycles"]


PLANS = '{"plans": [{"option": "tile", "plan": "Go.", "transformation": "tile", "parameters": {"loops": {"k": -1}}}]}'
GARBAGE = (
    completion("I cannot say."),
    completion(PLANS),
    completion(PLANS[:40]),
    completion('{"plans": [{"option": "tile", "plan": "Write another kernel."}]}'),
    completion(f"```c\n{WRONG_RESULT}```\n"),
    completion("```c\nvoid solution(\n```\n"),
    failure(400, "no"),
)


@pytest.mark.parametrize("how", [("--rules-first",), ("--agent", "llm+rules")])
def test_a_model_that_answers_garbage_leaves_at_least_what_the_rules_find(
    server: ScriptedServer, command: Run, tmp_path: Path, how: tuple[str, ...]
) -> None:
    """Both searches have 5 evaluations. The models' begins with the plans of the rules' best kernel."""
    server.respond = lambda request: GARBAGE[len(server.requests) % len(GARBAGE)]
    found = document(command(*search(server, "run"), *how, "--evaluations", "5", "--steps", "4"))
    alone = RunView.of(tmp_path / "run-rules" / "events.jsonl")
    assert alone.best is not None
    assert alone.naive is not None
    assert alone.best < alone.naive
    assert found["best_cycles"] <= alone.best
    assert len(server.requests) > 1

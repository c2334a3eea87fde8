"""The agents file, and the words of the command line that take its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp.agents.config import AGENTS, Agents, Member, Price, from_words, load
from autocomp.agents.factory import make_agents
from autocomp.agents.mixed import MixedPlanner
from autocomp.errors import ConfigError, ModelError
from autocomp.targets.registry import load_target

TARGET = load_target("simulator:tiny")

FILE = """\
planner:
  - {model: openai:big, weight: 2, temperature: 1.0, price: {prompt: 1.5, completion: 6}}
  - {model: rules}
coder:
  - {model: "openai:small@http://localhost:8080/v1", samples: 3, stream: true}
plans: structured
codes: edits
combine: 0.25
"""


def test_a_file_says_it_all(tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text(FILE)
    agents = load(tmp_path / "agents.yaml")
    assert agents.planner[0] == Member("openai:big", weight=2, temperature=1.0, price=Price(1.5, 6))
    assert agents.coders[0].samples == 3
    assert (agents.plans, agents.codes, agents.combine) == ("structured", "edits", 0.25)
    assert AGENTS.validate_python(AGENTS.dump_python(agents, mode="json")) == agents


def test_templates_lie_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "agents.yaml").write_text("templates: prompts\n")
    assert load(tmp_path / "agents.yaml").templates == str(tmp_path / "prompts")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("planer: []", "planer: unknown key; did you mean 'planner'"),
        ("planner: [{model: 'openai:m', wait: 1}]", r"planner\[0\] \(openai:m\).wait: unknown key"),
        ("planner: [{model: 'openai:m', weight: 0}]", "greater than 0, found 0"),
        ("planner: [{model: 'openai:m', price: {prompt: 1}}]", "completion: is missing"),
        ("planner: [{weight: 1}]", "model: is missing"),
        ("planner: []", "names no agent"),
        ("plans: poems", "plans: .*found 'poems'"),
        ("templates: nowhere", "the template folder"),
        ("- a", "an agents file holds keys and values; found \\['a'\\]"),
        ("planner: [", "not valid YAML"),
    ],
)
def test_a_wrong_file_is_refused_with_the_key(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "agents.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        load(tmp_path / "agents.yaml")


def test_models_named_in_words_replace_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text(FILE)
    agents = from_words(None, ["openai:other"], [], load(tmp_path / "agents.yaml"))
    assert [member.model for member in agents.planner] == [member.model for member in agents.coders] == ["openai:other"]
    assert agents.plans == "structured"


@pytest.mark.parametrize(
    ("kind", "planner", "coder"),
    [
        ("llm", ["openai:a"], ["openai:a"]),
        ("llm+rules", ["openai:a", "rules"], ["openai:a"]),
        ("rules", ["rules"], ["rules"]),
        (None, ["openai:a"], ["openai:a"]),
    ],
)
def test_the_kind_of_agent_adds_or_takes_away_the_rules(kind: str | None, planner: list[str], coder: list[str]) -> None:
    agents = from_words(kind, ["openai:a"], [])
    assert [member.model for member in agents.planner] == planner
    assert [member.model for member in agents.coders] == coder


def test_without_a_model_the_rules_plan_and_code() -> None:
    pair = make_agents(from_words(None, [], []), TARGET)
    assert (pair.planner.name, pair.coder.name, pair.waits_on) == ("rules", "rules", "processor")


def test_models_and_rules_plan_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    pair = make_agents(from_words("llm+rules", ["openai:a", "openai:b"], []), TARGET)
    assert isinstance(pair.planner, MixedPlanner)
    assert pair.planner.weights == (2.0, 1.0)
    assert pair.coder.name == "openai:a, openai:b"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("oracle", ["openai:a"], []), "unknown kind of agent"), (("llm", [], []), "needs a model")],
)
def test_words_that_name_no_agent_are_refused(arguments: tuple[str, list[str], list[str]], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        from_words(*arguments)


def test_a_budget_of_money_needs_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    priced, unpriced = Member("openai:a", price=Price(1, 1)), Member("openai:b")
    make_agents(Agents((priced,)), TARGET, money=1.0)
    with pytest.raises(ConfigError, match=r"needs the price of openai:b"):
        make_agents(Agents((priced,), (unpriced,)), TARGET, money=1.0)


def test_a_named_key_that_is_not_there_is_an_error_even_for_a_local_endpoint() -> None:
    with pytest.raises(ModelError, match="MY_KEY has none"):
        make_agents(Agents((Member("openai:a@http://localhost/v1", key="MY_KEY"),)), TARGET)

"""The selector and the designer of the strategy `evolve` when a model is asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from autocomp.agents import scientist
from autocomp.agents.config import Agents, Member
from autocomp.agents.llm import Asked, Client, Ensemble, LlmPlanner, render_prompt
from autocomp.agents.llm.prompts import MOST_TO_SELECT_FROM
from autocomp.agents.mixed import MixedPlanner
from autocomp.targets.evaluation import Measurement
from autocomp.targets.planning import Context, LineageStep, Peer, Plan, Planning

from .conftest import A_MOVE, KERNEL, ScriptedServer, an_evaluation, completion
from .test_prompts import document

Ask = Callable[..., LlmPlanner]
FINDINGS = "| option | tried |\n|---|---|\n| tile | 2 |"


@pytest.fixture
def planner(server: ScriptedServer, tmp_path: Path, naps: list[float]) -> Ask:
    def make(**options: object) -> LlmPlanner:
        client = Client(Member(server.spec, attempts=1), cache_dir=tmp_path / "answers", sleep=naps.append)
        return LlmPlanner(Ensemble([client]), Agents(**options))  # type: ignore[arg-type]

    return make


def peer(number: int, cycles: int, *options: str) -> Peer:
    lineage = [LineageStep(Plan(option, option), cycles, 2.0) for option in options]
    return Peer(number, KERNEL, replace(an_evaluation(), measurement=Measurement(cycles)), lineage)


@pytest.fixture
def grown(context: Context) -> Context:
    """A context whose population has three kernels."""
    return replace(
        context, peers=(peer(0, 1200), peer(4, 700, "tile"), peer(7, 650, "tile", "hoist")), findings=FINDINGS
    )


class OneTrick:
    """A planner that knows nothing of experiments."""

    name = "trick"

    def plan(self, context: Context, count: int) -> Planning:
        return Planning((Plan("tile", "the trick"),) * count)


def test_select_prompt(grown: Context, golden) -> None:  # type: ignore[no-untyped-def]
    golden(document(render_prompt("select", grown)))


def test_design_prompt(grown: Context, golden) -> None:  # type: ignore[no-untyped-def]
    asked = Asked(count=5, avenues=10, moves=(A_MOVE,), peer=grown.peers[1])
    golden(document(render_prompt("design", grown, asked)))


def test_a_selector_sees_the_fastest_of_a_large_population(context: Context) -> None:
    many = tuple(peer(number, 10_000 - number) for number in range(100))
    text = render_prompt("select", replace(context, peers=many))[1].content
    assert text.count("\n- kernel ") == MOST_TO_SELECT_FROM
    assert "- kernel 99: 9,901 cycles" in text
    assert "76 slower ones are left out" in text


@pytest.mark.parametrize(("base", "reference"), [("4", 7), ("kernel 4", "#7")])
def test_a_model_selects(server: ScriptedServer, planner: Ask, grown: Context, base: object, reference: object) -> None:
    server.script(completion(json.dumps({"base": base, "reference": reference, "reason": "room left"})))
    selected = scientist.select(planner(), grown)
    assert (selected.base, selected.reference, selected.reason) == (4, 7, "room left")
    assert selected.usage.requests == 1
    schema = server.requests[0].body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["base"]["enum"] == ["7", "4", "0"]


@pytest.mark.parametrize("answer", ["the fast one", '{"base": 5}', '{"base": null}', '{"base": "4 or 7"}', "[]"])
def test_a_selection_that_is_none_is_made_mechanically_and_says_so(
    server: ScriptedServer, planner: Ask, grown: Context, answer: str
) -> None:
    server.script(completion(answer))
    selected = scientist.select(planner(), grown)
    assert (selected.base, selected.reference) == (7, 0)
    assert "selected no kernel of the population" in selected.reason
    assert selected.usage.requests == 1


def design(*experiments: object, avenues: Sequence[str] = ("North.", "South.")) -> str:
    return json.dumps({"avenues": avenues, "plans": experiments})


def test_a_model_designs_experiments(server: ScriptedServer, planner: Ask, grown: Context) -> None:
    bold = {"option": "hoist", "plan": "Turn it around.", "innovation": 95, "gain": [0.8, 3]}
    sure = {"option": "tile", "plan": "Cut.", "transformation": "tile", "parameters": {"k": 4}, "innovation": "10 %"}
    server.script(completion(design(bold, sure, bold)))
    planning = scientist.design(planner(), grown, avenues=10, experiments=2)
    assert planning.avenues == ("North.", "South.")
    assert [(plan.option, plan.innovation, plan.gain) for plan in planning.plans] == [
        ("hoist", 95.0, (0.8, 3.0)),
        ("tile", 10.0, None),
    ]
    assert [plan.partner for plan in planning.plans] == [0, None]  # only who writes by hand needs the reference
    assert "# Another kernel for the same computation" in server.requests[0].prompt


def test_what_a_designer_does_not_say_comes_from_experience(
    server: ScriptedServer, planner: Ask, grown: Context
) -> None:
    server.script(completion(design({"option": "tile", "plan": "Cut.", "innovation": "NaN"})))
    (plan,) = scientist.design(planner(), grown, 10, 5).plans
    assert plan.innovation == 100.0


def test_one_of_mixed_planners_designs_and_the_last_fills_up(
    server: ScriptedServer, planner: Ask, grown: Context
) -> None:
    server.respond = lambda request: completion(design({"option": "hoist", "plan": "Once.", "innovation": 50}))
    mixed = MixedPlanner((planner(), OneTrick()), (1.0, 1e-9))
    plans = scientist.design(mixed, grown, 10, 3).plans
    assert [plan.option for plan in plans] == ["hoist", "tile", "tile"]


def test_a_model_that_chooses_among_moves_chooses_its_avenues(
    server: ScriptedServer, planner: Ask, grown: Context
) -> None:
    server.respond = lambda request: completion('{"move": "1", "gain_low": "1.1", "gain_high": "2"}')
    planning = scientist.design(planner(plans="choice"), grown, avenues=3, experiments=2)
    assert [plan.transformation for plan in planning.plans] == ["tile"]

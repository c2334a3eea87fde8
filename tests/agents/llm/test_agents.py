"""The planner and the coder, on a server that answers as scripted."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from autocomp.agents.config import Agents, Member
from autocomp.agents.llm import Client, Ensemble, LlmCoder, LlmPlanner, Message
from autocomp.agents.llm.endpoints.transport import EndpointRefusalError
from autocomp.targets.planning import Context, Plan, Usage

from .conftest import KERNEL, Reply, ScriptedServer, completion, failure

PLAN = Plan("tile", "Cut the loop at line 2.")


def planned(*options: str) -> Reply:
    return completion(json.dumps({"plans": [{"option": option, "plan": f"do {option}"} for option in options]}))


@pytest.fixture
def ensemble(server: ScriptedServer, tmp_path: Path, naps: list[float]) -> Ensemble:
    return Ensemble([Client(Member(server.spec, attempts=2), cache_dir=tmp_path, sleep=naps.append)])


@pytest.fixture
def planner(ensemble: Ensemble) -> LlmPlanner:
    return LlmPlanner(ensemble, Agents(plans_per_request=2))


@pytest.fixture
def coder(ensemble: Ensemble) -> LlmCoder:
    return LlmCoder(ensemble, Agents())


def test_plans_are_asked_for_until_there_are_enough(
    server: ScriptedServer, planner: LlmPlanner, context: Context
) -> None:
    server.script(planned("tile", "hoist"), planned("hoist", "tile"))
    planning = planner.plan(context, 3)
    assert [plan.option for plan in planning.plans] == ["tile", "hoist", "hoist"]
    assert {plan.author for plan in planning.plans} == {server.spec}
    assert planning.usage == Usage(22, 14, requests=2)
    assert "Propose 2 different plans" in server.requests[0].prompt
    assert "Propose 1 different plan " in server.requests[1].prompt


def test_one_bad_answer_costs_only_its_own_plans(server: ScriptedServer, planner: LlmPlanner, context: Context) -> None:
    server.script(completion("what?"), planned("tile", "hoist"), completion(None, refusal="no"))
    planning = planner.plan(context, 6)
    assert [plan.option for plan in planning.plans] == ["tile", "hoist"]
    assert "no plan that can be read" in planning.messages[0]
    assert "refused: no" in planning.messages[1]
    assert planning.usage.requests == 3


def test_a_server_that_fails_all_the_time_is_a_message(
    server: ScriptedServer, planner: LlmPlanner, context: Context
) -> None:
    server.script(completion("hi"), failure(500), failure(500))
    planner.ensemble.clients[0].complete([Message("user", "hello")])
    planning = planner.plan(context, 2)
    assert planning.plans == ()
    assert "HTTP 500" in planning.messages[0]


def test_a_wrong_key_ends_planning_and_coding(
    server: ScriptedServer, planner: LlmPlanner, coder: LlmCoder, context: Context
) -> None:
    server.script(failure(401), failure(401))
    with pytest.raises(EndpointRefusalError):
        planner.plan(context, 2)
    with pytest.raises(EndpointRefusalError):
        coder.implement(context, PLAN)


def test_a_second_run_with_the_same_seed_is_free_and_the_same(
    server: ScriptedServer, planner: LlmPlanner, coder: LlmCoder, again: Callable[[], Context]
) -> None:
    server.script(planned("tile", "hoist"), completion(f"```c\n{KERNEL}```"))
    first = planner.plan(again(), 2), coder.implement(again(), PLAN)
    second = planner.plan(again(), 2), coder.implement(again(), PLAN)
    assert len(server.requests) == 2
    assert second[0].plans == first[0].plans
    assert second[1].kernel == first[1].kernel
    assert second[0].usage == second[1].usage == Usage(cached=1)


def test_the_same_plan_is_written_anew_at_the_next_chance(
    server: ScriptedServer, coder: LlmCoder, context: Context
) -> None:
    other = KERNEL.replace("k += 4", "k += 8")
    server.script(completion(f"```c\n{KERNEL}```"), completion(f"```c\n{other}```"))
    assert [coder.implement(context, PLAN).kernel for _ in range(2)] == [KERNEL, other]


def test_a_repair_shows_the_kernel_and_its_failure(server: ScriptedServer, coder: LlmCoder, context: Context) -> None:
    server.script(completion(f"```c\n{KERNEL}```"))
    assert coder.repair(context, PLAN, "void solution() { broken }", "line 1: unknown name 'broken'").kernel == KERNEL
    roles = [message["role"] for message in server.requests[0].body["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert "void solution() { broken }" in server.requests[0].body["messages"][2]["content"]
    assert "unknown name 'broken'" in server.requests[0].body["messages"][3]["content"]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (completion("I think it is fast enough."), "holds no function"),
        (completion("```c\nvoid solution(", finish="length"), "cut off"),
        (completion(""), "empty"),
        (completion(None, refusal="no code today"), "no code today"),
        (failure(400, "context too long"), "context too long"),
    ],
)
def test_an_answer_without_a_kernel_says_why(
    server: ScriptedServer, coder: LlmCoder, context: Context, reply: Reply, message: str
) -> None:
    server.script(reply)
    implementation = coder.implement(context, PLAN)
    assert implementation.kernel is None
    assert message in implementation.message


def test_agents_survive_pickling(planner: LlmPlanner, coder: LlmCoder) -> None:
    assert pickle.loads(pickle.dumps(planner)).name == planner.name
    assert pickle.loads(pickle.dumps(coder)).name == coder.name

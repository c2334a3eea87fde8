"""The forms of plans and kernels: structured, chosen, edited, both at once, combined, translated."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from autocomp import workload
from autocomp.agents.config import Agents, Member
from autocomp.agents.llm import Client, Ensemble, LlmCoder, LlmPlanner, Message, OpenPlanner
from autocomp.agents.llm.edits import DIVIDER, REPLACE, SEARCH
from autocomp.agents.llm.endpoints.tokens import estimate_tokens
from autocomp.agents.llm.moves import moves
from autocomp.agents.llm.planner import MOST_CHOICES
from autocomp.agents.mixed import MixedPlanner
from autocomp.targets.menu_file import load
from autocomp.targets.planning import Context, Peer, Plan, Planning
from autocomp.targets.rewriting import RewritingCoder
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.rules import RulesPlanner
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.target import SimulatorTarget

from .conftest import KERNEL, Request, ScriptedServer, an_evaluation, completion, failure

PLAN = Plan("tile", "Cut the loop at line 2.")
OTHER = KERNEL.replace("k += 4", "k += 8")
Make = Callable[..., Ensemble]


@pytest.fixture
def ensemble(server: ScriptedServer, tmp_path: Path, naps: list[float]) -> Make:
    def make(**options: object) -> Ensemble:
        member = Member(server.spec, **{"attempts": 1, **options})  # type: ignore[arg-type]
        return Ensemble([Client(member, cache_dir=tmp_path / "answers", sleep=naps.append)])

    return make


@pytest.fixture(scope="module")
def naive() -> Context:
    """The naive kernel of a small GEMM whose sizes do not divide the array, with the shipped menu."""
    small = workload.parse("operation: gemm\naccelerator: gemmini\ndims: {I: 50, J: 40, K: 90}\n", Path("small.yaml"))
    accelerator = isa.load(small.accelerator)
    text = starting_kernel(small, accelerator)
    return Context(SimulatorTarget(accelerator), small, text, an_evaluation(), (), load(["general"]), Random(1))


def block(search: str, replacement: str) -> str:
    return f"{SEARCH}\n{search}\n{DIVIDER}\n{replacement}\n{REPLACE}\n"


def last(server: ScriptedServer) -> Request:
    return server.requests[-1]


# --- structured plans ---------------------------------------------------------------------------------------------


def test_a_structured_plan_is_asked_for_under_a_schema_of_what_there_is(
    server: ScriptedServer, ensemble: Make, context: Context
) -> None:
    entry = {
        "option": "tile",
        "loop": "k@2",
        "move": "1",
        "parameters": "",
        "change": "c",
        "gain_low": 1,
        "gain_high": 2,
    }
    server.script(completion(json.dumps({"plans": [entry]})))
    (plan,) = LlmPlanner(ensemble(), Agents(plans="structured")).plan(context, 1).plans
    assert (plan.option, plan.transformation, plan.parameters) == ("tile", "tile", {"loops": {"k": 4}})
    assert plan.gain == (1.0, 2.0)
    assert plan.text == "Loop k@2:\nc"
    schema = last(server).body["response_format"]["json_schema"]["schema"]
    properties = schema["properties"]["plans"]["items"]["properties"]
    assert properties["option"]["enum"] == ["tile", "hoist"]
    assert properties["loop"]["enum"] == ["none", "k@2"]
    assert properties["move"]["enum"] == ["own", "1"]


def test_parameters_of_a_structured_plan_replace_those_of_its_move(
    server: ScriptedServer, ensemble: Make, context: Context
) -> None:
    entry = {"option": "tile", "move": "1", "parameters": '{"loops": {"k": 2}}', "change": "c"}
    server.script(completion(json.dumps({"plans": [entry]})))
    (plan,) = LlmPlanner(ensemble(), Agents(plans="structured")).plan(context, 1).plans
    assert plan.parameters == {"loops": {"k": 2}}
    assert plan.gain is None


@pytest.mark.parametrize(("answers", "kind"), [("schema", "json_schema"), ("json", "json_object"), ("text", None)])
def test_a_schema_is_sent_as_the_endpoint_takes_it(
    server: ScriptedServer, ensemble: Make, context: Context, answers: str, kind: str | None
) -> None:
    server.script(completion('{"plans": []}'))
    LlmPlanner(ensemble(answers=answers), Agents(plans="structured")).plan(context, 1)
    assert last(server).body.get("response_format", {}).get("type") == kind


# --- choices ------------------------------------------------------------------------------------------------------


def test_choices_are_carried_out_exactly_and_differ(server: ScriptedServer, ensemble: Make, naive: Context) -> None:
    server.respond = lambda request: completion('{"move": "1", "gain_low": "1.1", "gain_high": "2"}')
    planning = LlmPlanner(ensemble(), Agents(plans="choice")).plan(replace(naive, random=Random(3)), 5)
    assert len(planning.plans) == 5
    assert len({json.dumps(plan.parameters) + plan.option for plan in planning.plans}) == 5
    assert {plan.gain for plan in planning.plans} == {(1.1, 2.0)}
    assert {plan.author for plan in planning.plans} == {server.spec}
    kernels = [RewritingCoder().implement(naive, plan).kernel for plan in planning.plans]
    assert None not in kernels
    assert len(set(kernels)) == 5


def test_a_choice_fits_a_context_of_2048_tokens(server: ScriptedServer, ensemble: Make, naive: Context) -> None:
    server.respond = lambda request: completion('{"move": "1"}')
    LlmPlanner(ensemble(), Agents(plans="choice")).plan(replace(naive, random=Random(3)), 1)
    assert (
        len(last(server).body["response_format"]["json_schema"]["schema"]["properties"]["move"]["enum"]) <= MOST_CHOICES
    )
    assert estimate_tokens(last(server).prompt) < 1200
    assert len(last(server).prompt) < 4 * 1200


@pytest.mark.parametrize("answer", ['{"move": "99"}', '{"move": "0"}', "the first", '{"move": null}'])
def test_a_choice_that_is_none_is_a_message(
    server: ScriptedServer, ensemble: Make, context: Context, answer: str
) -> None:
    server.script(completion(answer))
    planning = LlmPlanner(ensemble(), Agents(plans="choice")).plan(context, 1)
    assert planning.plans == ()
    assert "no plan that can be read" in planning.messages[0]


def test_moves_to_kernels_that_were_tried_are_not_offered(naive: Context) -> None:
    from autocomp.targets.simulator import kernel

    first = moves(naive)[0]
    made = RewritingCoder().implement(naive, Plan(first.option, "", first.transformation, first.parameters)).kernel
    assert made is not None
    tried = frozenset({kernel.canonical_hash(kernel.parse(made))})
    left = moves(replace(naive, tried=tried))
    assert (first.transformation, first.parameters) not in [(move.transformation, move.parameters) for move in left]


# --- edits --------------------------------------------------------------------------------------------------------


@pytest.fixture
def editor(ensemble: Make) -> LlmCoder:
    return LlmCoder(ensemble(), Agents(codes="edits"))


def test_edits_change_the_parent(server: ScriptedServer, editor: LlmCoder, context: Context) -> None:
    line = "  for (int k = 0; k < 8; k += 4) {"
    server.script(completion(block(line, line.replace("4", "8"))))
    assert editor.implement(context, PLAN).kernel == OTHER


def test_edits_that_do_not_match_are_asked_for_once_more(
    server: ScriptedServer, editor: LlmCoder, context: Context
) -> None:
    line = "  for (int k = 0; k < 8; k += 4) {"
    server.script(completion(block("for k", "")), completion(block(line, line.replace("4", "8"))))
    made = editor.implement(context, PLAN)
    assert made.kernel == OTHER
    assert made.usage.requests == 2
    assert [message["role"] for message in last(server).body["messages"]] == ["system", "user", "assistant", "user"]
    assert "matches nowhere: the kernel has no line 'for k'" in last(server).prompt


def test_edits_that_never_match_are_no_kernel(server: ScriptedServer, editor: LlmCoder, context: Context) -> None:
    server.respond = lambda request: completion(block("nothing", "x"))
    made = editor.implement(context, PLAN)
    assert made.kernel is None
    assert "do not fit" in made.message
    assert len(server.requests) == 2


def test_a_repair_edits_the_kernel_that_failed(server: ScriptedServer, editor: LlmCoder, context: Context) -> None:
    server.script(completion(block("  broken", "  for (int k = 0; k < 8; k += 4) {")))
    broken = KERNEL.replace("  for (int k = 0; k < 8; k += 4) {", "  broken")
    assert editor.repair(context, PLAN, broken, "line 2: unknown name 'broken'").kernel == KERNEL


def test_a_whole_kernel_will_do_instead_of_edits(server: ScriptedServer, editor: LlmCoder, context: Context) -> None:
    server.script(completion(f"```c\n{OTHER}```"))
    assert editor.implement(context, PLAN).kernel == OTHER


# --- samples, both phases at once, combination, translation -------------------------------------------------------


def test_of_several_samples_the_first_that_checks_is_taken(
    server: ScriptedServer, ensemble: Make, naive: Context
) -> None:
    good = naive.kernel
    server.script(completion("```c\nvoid solution() { nonsense; }\n```"), completion(f"```c\n{good}```"))
    made = LlmCoder(ensemble(samples=3), Agents()).implement(replace(naive, random=Random(2)), PLAN)
    assert made.kernel == good
    assert made.usage.requests == len(server.requests) == 2


def test_plan_and_kernel_come_in_one_answer(server: ScriptedServer, ensemble: Make, context: Context) -> None:
    planner, coder = OpenPlanner("m"), LlmCoder(ensemble(), Agents(phases=1))
    plan_json = json.dumps({"option": "hoist", "plan": "Move it out.", "gain": [1.2, 1.5]})
    server.script(completion(f"```json\n{plan_json}\n```\n```c\n{OTHER}```"))
    blank, _ = planner.plan(context, 2).plans
    made = coder.implement(context, blank)
    assert made.kernel == OTHER
    assert made.plan == Plan("hoist", "Move it out.", author=server.spec, gain=(1.2, 1.5))
    assert "## hoist" in last(server).prompt


def test_both_phases_at_once_see_the_menu_after_dropout(
    server: ScriptedServer, ensemble: Make, context: Context
) -> None:
    dropped = replace(context, menu=replace(context.menu, options=context.menu.options[:1]))
    (blank,) = OpenPlanner("m").plan(dropped, 1).plans
    server.script(completion(f"```c\n{OTHER}```"))
    made = LlmCoder(ensemble(), Agents(phases=1)).implement(context, blank)
    assert "## hoist" not in last(server).prompt
    assert made.plan is not None
    assert made.plan.text == "(no plan given)"


def test_a_combination_shows_both_kernels_to_planner_and_coder(
    server: ScriptedServer, ensemble: Make, context: Context
) -> None:
    both = replace(context, peers=(Peer(7, OTHER, an_evaluation()),))
    server.script(completion(json.dumps({"plans": [{"option": "tile", "plan": "Take its loop."}]})))
    (plan,) = LlmPlanner(ensemble(), Agents(combine=1.0)).plan(both, 1).plans
    assert plan.partner == 7
    assert OTHER.strip() in last(server).prompt
    server.script(completion(f"```c\n{OTHER}```"))
    LlmCoder(ensemble(), Agents()).implement(both, plan)
    assert OTHER.strip() in last(server).prompt


def test_a_program_for_the_host_is_translated(server: ScriptedServer, ensemble: Make, context: Context) -> None:
    plain = "void solution(int8_t A[4][8], int8_t B[8][4], int8_t C[4][4]) { C[0][0] = A[0][0] * B[0][0]; }\n"
    start = replace(context, kernel=plain)
    plans = LlmPlanner(ensemble(), Agents()).plan(start, 2).plans
    assert [plan.option for plan in plans] == ["translate", "translate"]
    server.script(completion(f"```c\n{KERNEL}```"))
    assert LlmCoder(ensemble(), Agents(codes="edits")).implement(start, plans[0]).kernel == KERNEL
    assert "# The program to translate" in last(server).prompt


def test_rules_fill_in_for_a_model_that_is_down(server: ScriptedServer, ensemble: Make, naive: Context) -> None:
    models = ensemble()
    server.respond = lambda request: completion("hi")
    models.clients[0].complete([Message("user", "hello")])
    server.respond = lambda request: failure(500)
    mixed = MixedPlanner([LlmPlanner(models, Agents()), RulesPlanner()], [1, 1])
    planning: Planning = mixed.plan(replace(naive, random=Random(1)), 3)
    assert len(planning.plans) == 3
    assert {plan.author for plan in planning.plans} == {"rules"}
    assert any("HTTP 500" in message for message in planning.messages)

"""A model that calls tools over several turns: a scripted endpoint on loopback plays it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from autocomp.agents.llm import Client, Message
from autocomp.agents.llm.endpoints.forms.chat import parse_completion, parse_stream
from autocomp.agents.llm.endpoints.forms.message import ToolCall
from autocomp.search.log.folder import RunFolder
from autocomp.search.log.journal import read_events
from autocomp.workbench.conversation import MOST_IDLE

from .conftest import Reply, Request, Run, ScriptedServer, completion, failure

SEARCH = ("search", "tiny_gemm", "--strategy", "tools", "--run-dir", "run", "--json")


def calling(*calls: tuple[str, Any], text: str | None = None, prompt: int = 100) -> Reply:
    """An answer that calls tools; arguments other than text are sent as JSON."""
    made = [
        {"id": f"id{n}", "type": "function", "function": {"name": name, "arguments": _written(arguments)}}
        for n, (name, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text, "tool_calls": made}
    usage = {"prompt_tokens": prompt, "completion_tokens": 10}
    return Reply(body=json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage}))


def _written(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def answers(request: Request) -> list[str]:
    """The tools' answers in a request, in their order."""
    return [message["content"] for message in request.body["messages"] if message["role"] == "tool"]


def play(command: Run, server: ScriptedServer, *arguments: str) -> dict[str, Any]:
    code, out, err = command(*SEARCH, "--planner-model", server.spec, *arguments)
    assert code == 0, err
    return dict(json.loads(out))


def first_move(request: Request) -> dict[str, Any]:
    """The first move of the last answer of `transformations`, as the arguments of `transform`."""
    move = json.loads(answers(request)[-1])["transformations"][0]
    return {"kernel": 0, "name": move["name"], "parameters": move["parameters"]}


def optimiser(request: Request) -> Reply:
    """Lists the rewrites, applies the first, judges the result, submits."""
    said = answers(request)
    if not said:
        return calling(("transformations", {"kernel": 0}))
    if len(said) == 1:
        return calling(("transform", first_move(request)))
    if len(said) == 2:
        return calling(("check", {"kernel": said[1]}), ("evaluate", {"kernel": said[1], "idea": "the first rewrite"}))
    return calling(("submit", {}), text="Done.")


def test_a_model_works_by_tools_and_submits(command: Run, server: ScriptedServer) -> None:
    server.respond = optimiser
    result = play(command, server, "--evaluations", "6")
    assert result["reason"] == "submitted by the agent"
    assert result["best_cycles"] < result["naive_cycles"]
    assert result["evaluations"] == 2
    assert result["usage"]["requests"] == len(server.requests) == 4
    assert (result["usage"]["prompt_tokens"], result["usage"]["completion_tokens"]) == (400, 40)
    assert Path(result["schedule"]).is_file()


def test_every_tool_is_offered_with_its_arguments(command: Run, server: ScriptedServer) -> None:
    server.script(calling(("submit", {})))
    play(command, server)
    offered = {tool["function"]["name"]: tool["function"] for tool in server.requests[0].body["tools"]}
    assert {"check", "evaluate", "profile", "explain", "diff", "transform", "schedules", "submit"} <= offered.keys()
    assert offered["explain"]["parameters"]["required"] == ["kernel", "line"]
    assert "Free." in offered["explain"]["description"]


def test_the_prompt_holds_the_language_the_machine_the_task_and_the_kernel(
    command: Run, server: ScriptedServer
) -> None:
    server.script(calling(("submit", {})))
    play(command, server)
    for part in ("How long things take", "# bound:", "# Kernel 0", "void solution("):
        assert part in server.requests[0].prompt


IMPOSSIBLE: tuple[tuple[str, Any, str], ...] = (
    ("chekc", {}, "unknown tool 'chekc'; did you mean 'check'?"),
    ("check", "{", "not JSON"),
    ("check", "[" * 100_000, "not JSON"),
    ("check", "[1]", "not an object"),
    ("check", {}, "kernel is missing; give kernel (string or integer)"),
    ("explain", {"kernel": 0, "line": "the third"}, 'line: expected integer, found "the third"'),
    ("explain", {"kernel": 0, "lines": 3, "line": 3}, "unknown argument 'lines', did you mean 'line'?; give kernel"),
    ("explain", {"kernel": 0, "line": 1}, "line 1 issues no commands"),
    ("evaluate", {"kernel": 99, "idea": ""}, "no kernel has the number 99"),
    ("check", {"kernel": "void solution("}, "error: "),
    ("transform", {"kernel": 0, "name": "magic", "parameters": {}}, "magic"),
)


def test_a_call_that_cannot_be_made_is_told_why(command: Run, server: ScriptedServer) -> None:
    calls = [(name, arguments) for name, arguments, _ in IMPOSSIBLE]
    server.script(*map(calling, calls), calling(("submit", {})))
    result = play(command, server)
    said = answers(server.requests[-1])
    assert len(said) == len(IMPOSSIBLE)
    for answer, (_, _, expected) in zip(said, IMPOSSIBLE, strict=True):
        assert answer.startswith("error: ")
        assert expected in answer
    assert result["evaluations"] == 1


def test_a_wrong_kernel_costs_an_evaluation_and_is_explained(command: Run, server: ScriptedServer) -> None:
    def respond(request: Request) -> Reply:
        said = answers(request)
        if not said:
            return calling(("read_kernel", {"kernel": 0}))
        if len(said) == 1:
            wrong = said[0].replace("store_tile(", "0; // store_tile(")
            return calling(("evaluate", {"kernel": wrong, "idea": "store nothing"}))
        return calling(("submit", {}))

    server.respond = respond
    result = play(command, server)
    verdict = json.loads(answers(server.requests[-1])[1])
    assert verdict["outcome"].startswith("failed")
    assert verdict["charged"] == 1
    assert result["evaluations"] == 2


def test_endless_calling_ends_with_the_turns(command: Run, server: ScriptedServer) -> None:
    server.respond = lambda request: calling(("history", {}))
    result = play(command, server, "--steps", "5")
    assert result["reason"] == "5 turns made"
    assert len(server.requests) == 5


def test_a_turn_makes_a_bounded_number_of_calls(command: Run, server: ScriptedServer) -> None:
    server.script(calling(*[("read_kernel", {"kernel": 0})] * 40), calling(("submit", {})))
    play(command, server)
    said = answers(server.requests[1])
    assert len(said) == 40
    assert sum(text.startswith("error: a turn makes at most 16 calls") for text in said) == 24


def test_who_calls_nothing_is_reminded_and_then_ends(command: Run, server: ScriptedServer) -> None:
    server.respond = lambda request: completion("I think it is fast enough.")
    result = play(command, server)
    assert result["reason"] == f"no tool called in {MOST_IDLE} turns"
    assert "`submit`" in server.requests[1].prompt
    assert result["best_cycles"] == result["naive_cycles"]


def test_calls_after_a_submission_are_not_made(command: Run, server: ScriptedServer) -> None:
    server.script(calling(("submit", {}), ("submit", {})))
    result = play(command, server)
    (called,) = (e for e in read_events(RunFolder.open(Path("run")).events)[0] if e["kind"] == "tools")
    assert called["answers"][1] == "error: the session has ended; this call was not made"
    assert result["reason"] == "submitted by the agent"


def test_spent_evaluations_end_the_conversation(command: Run, server: ScriptedServer) -> None:
    server.respond = optimiser
    result = play(command, server, "--evaluations", "2")
    assert result["reason"] == "budget of evaluations spent"
    assert len(server.requests) == 3
    assert result["best_cycles"] < result["naive_cycles"]


def test_a_budget_of_tokens_is_kept_to_the_turn(command: Run, server: ScriptedServer) -> None:
    server.respond = lambda request: calling(("history", {}), prompt=5000)
    result = play(command, server, "--tokens", "20000")
    assert result["reason"] == "budget of tokens spent"
    assert result["usage"]["prompt_tokens"] == 5000 * len(server.requests) == 5000


def test_a_conversation_that_was_cut_off_goes_on_for_nothing(command: Run, server: ScriptedServer) -> None:
    server.respond = optimiser
    whole = play(command, server)
    asked = len(server.requests)
    log = Path("run/events.jsonl")
    lines = log.read_bytes().splitlines(keepends=True)
    kinds = [json.loads(line)["kind"] for line in lines]
    for kind in ("turn", "tools", "evaluate", "charge"):
        cut = len(kinds) - 1 - kinds[::-1].index(kind)
        log.write_bytes(b"".join(lines[: cut + 1]))
        code, out, err = command("resume", "run", "--planner-model", server.spec, "--json")
        assert code == 0, err
        again = json.loads(out)
        fields = ("best_cycles", "evaluations", "reason")
        assert [again[field] for field in fields] == [whole[field] for field in fields], kind
        assert len(server.requests) == asked, kind


def test_a_finished_run_is_shown_again(command: Run, server: ScriptedServer) -> None:
    server.respond = optimiser
    whole = play(command, server)
    code, out, err = command("resume", "run", "--planner-model", server.spec, "--json")
    assert code == 0, err
    assert json.loads(out)["best_cycles"] == whole["best_cycles"]
    assert len(server.requests) == 4


def test_turns_are_paid_for_by_the_turn(command: Run, server: ScriptedServer) -> None:
    server.respond = optimiser
    phases = [entry["phase"] for entry in play(command, server)["costs"]["phases"]]
    assert phases == ["turn"]


def test_an_endpoint_that_is_gone_ends_the_run_with_its_own_exit_code(command: Run) -> None:
    code, _, err = command(*SEARCH, "--planner-model", "openai:m@http://127.0.0.1:9/v1")
    assert code == 11, err


def test_turns_that_fail_are_not_repeated_for_ever(command: Run, server: ScriptedServer) -> None:
    server.respond = lambda request: failure(400, "no such field: tools")
    result = play(command, server)
    assert len(server.requests) == MOST_IDLE
    assert result["reason"].startswith("no tool called")


def test_a_model_is_needed(command: Run) -> None:
    code, _, err = command(*SEARCH)
    assert code != 0
    assert "needs a language model" in err


def test_the_forecast_names_the_bounds(command: Run, server: ScriptedServer) -> None:
    code, out, _ = command(*SEARCH[:-1], "--planner-model", server.spec, "--forecast")
    assert code == 0
    assert "at most 40 turns" in out
    assert not server.requests


# --- the form of calls ----------------------------------------------------------------------------------------------


def test_calls_in_a_stream_are_put_together() -> None:
    def event(*pieces: dict[str, Any]) -> str:
        return "data: " + json.dumps({"choices": [{"delta": {"tool_calls": list(pieces)}}]}) + "\n\n"

    body = (
        event({"index": 0, "id": "a", "function": {"name": "check", "arguments": '{"ker'}})
        + event({"index": 0, "function": {"arguments": 'nel": 0}'}}, {"index": 1, "function": {"name": "history"}})
        + "data: [DONE]\n\n"
    )
    assert parse_stream(body).calls == (ToolCall("a", "check", '{"kernel": 0}'), ToolCall("call_1", "history", "{}"))


def test_arguments_may_be_an_object_already() -> None:
    message = {"content": None, "tool_calls": [{"function": {"name": "check", "arguments": {"kernel": 0}}}]}
    answer = parse_completion(json.dumps({"choices": [{"message": message}]}))
    assert answer.calls == (ToolCall("call_0", "check", '{"kernel": 0}'),)
    assert answer.outcome == "answered"


def test_a_kept_answer_has_its_calls(server: ScriptedServer, tmp_path: Path) -> None:
    from autocomp.agents.config import Member

    server.script(calling(("history", {})))
    client = Client(Member(server.spec), cache_dir=tmp_path)
    first = client.complete([Message("user", "go")], tools=[{"name": "history", "parameters": {}}])
    again = client.complete([Message("user", "go")], tools=[{"name": "history", "parameters": {}}])
    assert first.calls == again.calls == (ToolCall("id0", "history", "{}"),)
    assert len(server.requests) == 1

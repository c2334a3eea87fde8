"""Models that are asked by the Responses API: a server on loopback answers as that API says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autocomp.agents.config import Member, Price
from autocomp.agents.llm import Client, Message
from autocomp.agents.llm.endpoints.forms import chat
from autocomp.agents.llm.endpoints.forms.answer import MalformedAnswerError
from autocomp.agents.llm.endpoints.forms.message import ToolCall
from autocomp.agents.llm.endpoints.forms.responses import parse
from autocomp.errors import ModelError
from autocomp.search.log.folder import RunFolder
from autocomp.search.log.journal import read_events

from .conftest import KEY, Reply, Request, Run, ScriptedServer, failure

THOUGHT: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": "gAAA",
    "status": None,
}


def text(said: str) -> dict[str, Any]:
    return {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": said}]}


def call(name: str, arguments: Any, number: int = 0) -> dict[str, Any]:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"type": "function_call", "id": f"f{number}", "call_id": f"c{number}", "name": name, "arguments": written}


def response(*output: dict[str, Any], status: str = "completed", **fields: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 800},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 30},
        "total_tokens": 1050,
    }
    return {"id": "r", "object": "response", "status": status, "output": list(output), "usage": usage, **fields}


def answer(*output: dict[str, Any], **fields: Any) -> Reply:
    return Reply(body=json.dumps(response(*output, **fields)))


def asked(server: ScriptedServer, tmp_path: Path, **fields: Any) -> Client:
    return Client(Member(server.spec, api="responses", **fields), cache_dir=tmp_path)


def test_a_question_has_the_form_of_the_api(server: ScriptedServer, tmp_path: Path) -> None:
    server.script(answer(text("yes")))
    client = asked(server, tmp_path, max_tokens=64, temperature=0.5, extra={"reasoning": {"effort": "high"}})
    schema = {"type": "object", "properties": {}}
    tool = {"name": "check", "description": "Checks.", "parameters": schema}
    assert (
        client.complete((Message("system", "Be brief."), Message("user", "?")), schema=schema, tools=[tool]).text
        == "yes"
    )
    (request,) = server.requests
    assert request.path == "/v1/responses"
    assert request.body == {
        "model": "test-model",
        "input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "?"}],
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "tools": [{"type": "function", "strict": False, **tool}],
        "temperature": 0.5,
        "max_output_tokens": 64,
        "text": {"format": {"type": "json_schema", "name": "answer", "strict": True, "schema": schema}},
        "reasoning": {"effort": "high"},
    }


def test_thoughts_and_cached_tokens_are_counted_and_priced(server: ScriptedServer, tmp_path: Path) -> None:
    server.script(answer(THOUGHT, text("yes")))
    usage = asked(server, tmp_path, price=Price(10, 20, 1)).complete((Message("user", "?"),)).usage
    assert (usage.prompt_tokens, usage.prompt_cached, usage.completion_tokens, usage.reasoning) == (1000, 800, 50, 30)
    assert usage.money == pytest.approx((200 * 10 + 800 * 1 + 50 * 20) / 1e6)


def test_a_kept_answer_has_its_calls_and_thoughts(server: ScriptedServer, tmp_path: Path) -> None:
    server.script(answer(THOUGHT, call("check", {"kernel": 0})))
    client = asked(server, tmp_path)
    first, again = (client.complete((Message("user", "?"),)) for _ in range(2))
    assert first.calls == again.calls == (ToolCall("c0", "check", '{"kernel": 0}'),)
    assert first.items == again.items
    assert [item["type"] for item in first.items] == ["reasoning", "function_call"]
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("document", "outcome", "said"),
    [
        (response(text("yes")), "answered", "yes"),
        (
            response(text("ye"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            "truncated",
            "ye",
        ),
        (response(status="incomplete", incomplete_details={"reason": "content_filter"}), "refused", ""),
        (response({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}), "refused", "No."),
        (response(THOUGHT), "empty", ""),
        (response({"type": "web_search_call", "id": "w"}), "empty", ""),
    ],
)
def test_the_end_of_an_answer_is_told(document: dict[str, Any], outcome: str, said: str) -> None:
    found = parse(json.dumps(document), streamed=False)
    assert (found.outcome, found.text) == (outcome, said)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{}",
        '{"output": null}',
        '{"output": [{"type": "message", "content": [{"text": 5}]}]}',
        '{"output": [{"type": "reasoning", "score": NaN}]}',
        '{"output": [], "status": "failed", "error": {"message": "overloaded"}}',
    ],
)
def test_anything_else_is_malformed(body: str) -> None:
    with pytest.raises(MalformedAnswerError):
        parse(body, streamed=False)


def test_a_stream_ends_with_the_whole_answer() -> None:
    events = (
        {"type": "response.output_text.delta", "delta": "y"},
        {"type": "response.completed", "response": response(text("yes"))},
    )
    stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    assert parse(stream, streamed=True).text == "yes"
    with pytest.raises(MalformedAnswerError, match="within the answer"):
        parse(stream.partition("event: response.completed")[0], streamed=True)
    with pytest.raises(MalformedAnswerError, match="no credit"):
        parse('data: {"type": "error", "message": "no credit"}\n\n', streamed=True)


@pytest.mark.parametrize("mark", ["\u2028", "\x85", "\x1c"])
def test_marks_that_only_python_breaks_lines_at_are_a_part_of_a_stream(mark: str) -> None:
    event = {"type": "response.completed", "response": response(text(f"a{mark}b"))}
    chunk = {"choices": [{"delta": {"content": f"a{mark}b"}, "finish_reason": "stop"}]}
    for read, sent in ((parse, event), (chat.parse, chunk)):
        stream = f"data: {json.dumps(sent, ensure_ascii=False)}\r\n\r\n"
        assert read(stream, True).text == f"a{mark}b"


def test_half_a_surrogate_pair_is_no_trouble() -> None:
    body = json.dumps(response({"type": "reasoning", "summary": ["\ud800"]}, text("\ud800")))
    assert parse(body, streamed=False).items[0]["summary"] == ["?"]


def test_a_key_that_comes_back_in_thoughts_is_cut_out(server: ScriptedServer, tmp_path: Path) -> None:
    server.script(answer({**THOUGHT, "encrypted_content": KEY}, text("yes")))
    assert KEY not in json.dumps(asked(server, tmp_path).complete((Message("user", "?"),)).items)


def test_an_endpoint_without_the_api_is_named(server: ScriptedServer, tmp_path: Path) -> None:
    server.script(failure(404, "not found"))
    with pytest.raises(ModelError) as caught:
        asked(server, tmp_path).complete((Message("user", "?"),))
    assert "`api: chat`" in str(caught.value.hint)


# --- a conversation with tools --------------------------------------------------------------------------------------

SEARCH = ("search", "tiny_gemm", "--strategy", "tools", "--agents", "agents.yaml", "--run-dir", "run", "--json")


def outputs(request: Request) -> list[str]:
    """The tools' answers in a request, in their order."""
    return [item["output"] for item in request.body["input"] if item.get("type") == "function_call_output"]


def optimiser(request: Request) -> Reply:
    """Lists the rewrites, applies the first, judges the result, submits; with a thought in each turn."""
    said = outputs(request)
    thought = {**THOUGHT, "id": f"rs_{len(said)}"}
    if not said:
        return answer(thought, call("transformations", {"kernel": 0}))
    if len(said) == 1:
        move = json.loads(said[0])["transformations"][0]
        arguments = {"kernel": 0, "name": move["name"], "parameters": move["parameters"]}
        return answer(thought, call("transform", arguments, 1))
    if len(said) == 2:
        return answer(thought, call("evaluate", {"kernel": said[1], "idea": "the first rewrite"}, 2))
    return answer(text("Done."), call("submit", {}, 3))


def play(command: Run, server: ScriptedServer, *arguments: str) -> dict[str, Any]:
    price = "{prompt: 10, completion: 20, cached: 1}"
    Path("agents.yaml").write_text(f"planner: [{{model: '{server.spec}', api: responses, price: {price}}}]\n")
    code, out, err = command(*SEARCH, *arguments)
    assert code == 0, err
    return dict(json.loads(out))


def test_a_model_works_by_tools_and_gets_its_thoughts_back(command: Run, server: ScriptedServer) -> None:
    server.respond = optimiser
    result = play(command, server)
    assert result["reason"] == "submitted by the agent"
    assert result["best_cycles"] < result["naive_cycles"]
    types = [item.get("type", item.get("role")) for item in server.requests[-1].body["input"]]
    turn = ["reasoning", "function_call", "function_call_output"]
    assert types == ["system", "user", *turn, *turn, *turn]
    assert [i["id"] for i in server.requests[-1].body["input"] if i.get("type") == "reasoning"] == [
        "rs_0",
        "rs_1",
        "rs_2",
    ]
    assert result["usage"]["reasoning"] == 30 * len(server.requests)
    assert result["usage"]["money"] == pytest.approx(len(server.requests) * 3.8e-3)


def test_a_budget_ends_the_conversation(command: Run, server: ScriptedServer) -> None:
    usage = {"input_tokens": 30_000, "output_tokens": 10}
    server.respond = lambda request: answer(call("history", {}), usage=usage)
    result = play(command, server, "--money", "0.5")
    assert result["reason"] == "budget of money spent"
    assert 0 < result["usage"]["money"] <= 0.5


def test_a_conversation_that_was_cut_off_goes_on_for_nothing(command: Run, server: ScriptedServer) -> None:
    server.respond = optimiser
    whole = play(command, server)
    asked_for = len(server.requests)
    log = RunFolder.open(Path("run")).events
    lines = log.read_bytes().splitlines(keepends=True)
    second = [n for n, event in enumerate(read_events(log)[0]) if event["kind"] == "turn"][1]
    log.write_bytes(b"".join(lines[: second + 1]))
    code, out, err = command("resume", "run", "--agents", "agents.yaml", "--json")
    assert code == 0, err
    assert json.loads(out)["best_cycles"] == whole["best_cycles"]
    assert len(server.requests) == asked_for

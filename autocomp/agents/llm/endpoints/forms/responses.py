"""The Responses API: the form of its requests and its answers.

Nothing is stored at the endpoint. A model that thinks gets its thoughts of earlier turns back, encrypted as it gave
them, so that it does not think them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from autocomp.agents.llm.endpoints.asking import Asking
from autocomp.agents.llm.endpoints.forms.answer import (
    Answer,
    Lenient,
    MalformedAnswerError,
    lines_of,
    shortened,
    usage_of,
    writable,
)
from autocomp.agents.llm.endpoints.forms.message import Message, ToolCall

RETURNED = ("reasoning", "message", "function_call")  # items of an answer that go back with the next turn
ENDS = ("response.completed", "response.incomplete", "response.failed")


def body(asking: Asking) -> dict[str, Any]:
    """The request's body."""
    made: dict[str, Any] = {
        "model": asking.endpoint.model,
        "input": [item for message in asking.messages for item in _items(message, asking.member.model)],
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if asking.tools:
        made["tools"] = [{"type": "function", "strict": False, **tool} for tool in asking.tools]
    if asking.member.temperature is not None:
        made["temperature"] = asking.member.temperature
    if asking.limit is not None:
        made["max_output_tokens"] = asking.limit
    if asking.form is not None:
        made["text"] = {"format": asking.form}
    if asking.member.stream:
        made["stream"] = True
    return {**made, **asking.member.extra}


def _items(message: Message, model: str) -> Iterator[Mapping[str, Any]]:
    """A message as items of the input; an answer of the same model as it came."""
    if message.role == "tool":
        yield {"type": "function_call_output", "call_id": message.call, "output": message.content}
    elif message.items and message.origin == model:
        yield from (item for item in message.items if item.get("type") in RETURNED)
    else:
        if message.content or not message.calls:
            yield {"role": message.role, "content": message.content}
        for call in message.calls:
            yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def parse(text: str, streamed: bool) -> Answer:
    """Read the body of an answer, or its stream of events. Raises MalformedAnswerError for anything else."""
    document = _last_of(text) if streamed else _json(text)
    try:
        response = _Response.model_validate(document)
    except ValidationError as error:
        raise MalformedAnswerError(f"the endpoint's answer is not a response: {shortened(text)!r}") from error
    if response.status in ("failed", "cancelled"):
        raise MalformedAnswerError(f"the endpoint says that its answer is {response.status}: {_said(response.error)}")
    return _answer(response)


def _last_of(stream: str) -> Any:
    """The response of the event that ends a stream."""
    for line in lines_of(stream):
        if line.startswith("data:"):
            event = _json(line.removeprefix("data:").strip())
            if isinstance(event, dict) and event.get("type") == "error":
                raise MalformedAnswerError(f"the stream ended with an error: {_said(event)}")
            if isinstance(event, dict) and event.get("type") in ENDS:
                return event.get("response")
    raise MalformedAnswerError(f"the stream ended within the answer, after {len(stream)} characters")


def _json(text: str) -> Any:
    try:
        return {} if text == "[DONE]" else json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise MalformedAnswerError(f"the endpoint's answer is not JSON: {shortened(text)!r}") from error


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _said(error: Any) -> str:
    said = error.get("message") if isinstance(error, dict) else error
    return shortened(writable(str(said or "no reason given")))


def _answer(response: _Response) -> Answer:
    usage, doubt = usage_of(response.usage, "input", "output")
    parts = [part for item in response.output if item.type == "message" for part in item.content or ()]
    text = writable("".join(part.text or "" for part in parts))
    refusal = writable("".join(part.refusal or "" for part in parts))
    reason = (response.incomplete_details or {}).get("reason")
    if refusal or reason == "content_filter":
        return Answer("refused", refusal or text, usage, doubt=doubt)
    if response.status == "incomplete":
        return Answer("truncated", text, usage, doubt=doubt)
    called = [item for item in response.output if item.type == "function_call"]
    calls = tuple(item.plain(position) for position, item in enumerate(called))
    given = tuple(item.given() for item in response.output if item.type in RETURNED)
    items = given if any(item["type"] == "reasoning" for item in given) else ()
    return Answer("answered" if text.strip() or calls else "empty", text, usage, doubt=doubt, calls=calls, items=items)


class _Part(Lenient, extra="allow"):
    text: str | None = None
    refusal: str | None = None


class _Item(Lenient, extra="allow"):
    type: str = ""
    content: list[_Part] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None

    def given(self) -> dict[str, Any]:
        """The item as the endpoint wrote it, without fields that are null."""
        document: dict[str, Any] = json.loads(
            writable(json.dumps(self.model_dump(exclude_none=True), ensure_ascii=False))
        )
        return document

    def plain(self, position: int) -> ToolCall:
        """The call; one without an id gets its position as such."""
        return ToolCall(
            writable(self.call_id or f"call_{position}"), writable(self.name or ""), writable(self.arguments or "{}")
        )


class _Response(Lenient):
    output: list[_Item]
    status: str | None = None
    incomplete_details: dict[str, Any] | None = None
    error: Any = None
    usage: Any = None

"""Chat completions, the API that every endpoint has: the form of its requests and its answers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from pydantic import Field, ValidationError

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
from autocomp.targets.planning import Usage


def body(asking: Asking) -> dict[str, Any]:
    """The request's body."""
    made: dict[str, Any] = {
        "model": asking.endpoint.model,
        "messages": [_sent(message) for message in asking.messages],
    }
    if asking.tools:
        made["tools"] = [{"type": "function", "function": tool} for tool in asking.tools]
    if asking.member.temperature is not None:
        made["temperature"] = asking.member.temperature
    if asking.limit is not None:
        # The public endpoint has renamed the field; other servers know the old name.
        made["max_completion_tokens" if asking.endpoint.public else "max_tokens"] = asking.limit
    if asking.form is not None:
        named = {name: value for name, value in asking.form.items() if name != "type"}
        made["response_format"] = {"type": asking.form["type"], **({"json_schema": named} if named else {})}
    if asking.member.stream:
        made |= {"stream": True, "stream_options": {"include_usage": True}}
    return {**made, **asking.member.extra}


def _sent(message: Message) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        sent["tool_calls"] = [_sent_call(call) for call in message.calls]
    if message.role == "tool":
        sent["tool_call_id"] = message.call
    return sent


def _sent_call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def parse(text: str, streamed: bool) -> Answer:
    """Read the body of an answer, or its stream of events. Raises MalformedAnswerError for anything else."""
    return parse_stream(text) if streamed else parse_completion(text)


def parse_completion(body: str) -> Answer:
    """Read the body of a chat completion. Raises MalformedAnswerError for anything else."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedAnswerError(f"the endpoint's answer is not JSON: {shortened(body)!r}") from error
    if isinstance(document, dict) and "choices" not in document:
        raise MalformedAnswerError(f"the endpoint's answer has no choices: {shortened(body)!r}")
    try:
        completion = _Completion.model_validate(document)
    except ValidationError as error:
        raise MalformedAnswerError(f"the endpoint's answer is not a chat completion: {shortened(body)!r}") from error
    return _answer(completion)


def parse_stream(body: str) -> Answer:
    """Read a completion that came as server-sent events, one delta each. Raises MalformedAnswerError, also for a stream
    that ends before the answer does."""
    texts: list[str] = []
    refusals: list[str] = []
    calls: dict[int, _Call] = {}
    finish, tokens, closed = None, None, False
    for line in lines_of(body):
        if not line.startswith("data:"):
            continue  # other fields of an event, comments, and the blank lines between events
        data = line.removeprefix("data:").strip()
        if data == "[DONE]":
            closed = True
            break
        chunk = _chunk(data)
        tokens = chunk.usage or tokens
        for choice in chunk.choices[:1]:
            texts.append(choice.delta.plain_text)
            refusals.append(choice.delta.refusal or "")
            for piece in choice.delta.tool_calls or ():
                calls[piece.index] = calls[piece.index].with_piece(piece) if piece.index in calls else piece
            finish = choice.finish_reason or finish
    if not closed and finish is None:
        raise MalformedAnswerError(f"the stream ended within the answer, after {len(''.join(texts))} characters")
    message = _Message(content="".join(texts), refusal="".join(refusals) or None, tool_calls=list(calls.values()))
    return _answer(_Completion(choices=[_Choice(message=message, finish_reason=finish)], usage=tokens))


def _chunk(data: str) -> _Chunk:
    try:
        document = json.loads(data)
        if isinstance(document, dict) and "choices" not in document:
            raise MalformedAnswerError(f"an event of the stream has no choices: {shortened(data)!r}")
        return _Chunk.model_validate(document)
    except (ValueError, RecursionError) as error:  # of JSON, or of the form
        raise MalformedAnswerError(f"an event of the stream is malformed: {shortened(data)!r}") from error


def _answer(completion: _Completion) -> Answer:
    usage, doubt = usage_of(completion.usage)
    return replace(_outcome(completion, usage), doubt=doubt)


def _outcome(completion: _Completion, usage: Usage) -> Answer:
    if not completion.choices:
        return Answer("empty", "", usage)
    choice = completion.choices[0]
    message = choice.message
    text = message.plain_text
    if message.refusal or choice.finish_reason == "content_filter":
        return Answer("refused", writable(message.refusal or text), usage)
    if choice.finish_reason == "length":
        return Answer("truncated", text, usage)
    calls = tuple(call.plain(position) for position, call in enumerate(message.tool_calls or ()))
    return Answer("answered" if text.strip() or calls else "empty", text, usage, calls=calls)


class _Function(Lenient):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None  # an object from servers that parse it themselves


class _Call(Lenient):
    index: int = 0
    id: str | None = None
    function: _Function = Field(default_factory=_Function)

    def with_piece(self, piece: _Call) -> _Call:
        """The call with what a later event of the stream adds."""
        own, new = self.function, piece.function
        if isinstance(own.arguments, dict) or isinstance(new.arguments, dict):
            return self
        arguments = (own.arguments or "") + (new.arguments or "")
        function = _Function(name=own.name or new.name, arguments=arguments)
        return _Call(index=self.index, id=self.id or piece.id, function=function)

    def plain(self, position: int) -> ToolCall:
        """The call; one without an id gets its position as such."""
        given = self.function.arguments
        arguments = json.dumps(given) if isinstance(given, dict) else given or "{}"
        name = writable(self.function.name or "")
        return ToolCall(writable(self.id or f"call_{position}"), name, writable(arguments))


class _Message(Lenient):
    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None

    @property
    def plain_text(self) -> str:
        """The text, joined where the endpoint gives it in parts."""
        parts = self.content if isinstance(self.content, list) else [{"text": self.content or ""}]
        return writable("".join(str(part.get("text", "")) for part in parts))


class _Choice(Lenient):
    message: _Message
    finish_reason: str | None = None


class _Delta(Lenient):
    delta: _Message
    finish_reason: str | None = None


class _Completion(Lenient):
    choices: list[_Choice]
    usage: Any = None


class _Chunk(Lenient):
    choices: list[_Delta]
    usage: Any = None

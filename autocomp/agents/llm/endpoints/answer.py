"""An endpoint's answer: the one place that knows the form of a chat completion."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from autocomp.agents.llm.endpoints.message import ToolCall
from autocomp.errors import ModelError
from autocomp.targets.planning import Usage

MOST_TOKENS = 1 << 31  # of a prompt or an answer
Outcome = Literal["answered", "truncated", "refused", "empty"]


@dataclass(frozen=True)
class Answer:
    """A well-formed completion. `text` may be there for a truncated one, and is the reason for a refused one; `calls`
    are the tools that the model wants called. `unkept` is why the cache does not have it, if it should; `doubt` what is
    wrong with the usage that the endpoint stated."""

    outcome: Outcome
    text: str
    usage: Usage
    unkept: str = ""
    doubt: str = ""
    calls: tuple[ToolCall, ...] = ()

    @property
    def shown(self) -> str:
        """The text, then each call in a line of its own."""
        return "\n".join((*([self.text] if self.text else []), *(f"{c.name}({c.arguments})" for c in self.calls)))

    def require(self, model: str) -> str:
        """The text of a whole answer; ModelError says what came instead."""
        match self.outcome:
            case "answered":
                return self.text
            case "truncated":
                raise ModelError(
                    f"{model} was cut off after {self.usage.completion_tokens or 'too many'} tokens",
                    hint="raise the limit of tokens per answer, or the context size of a local server",
                )
            case "refused":
                raise ModelError(f"{model} refused: {_shortened(self.text) or 'no reason given'}")
            case "empty":
                raise ModelError(f"{model} gave an empty answer")


class MalformedAnswerError(Exception):
    """The endpoint answered with something that is no chat completion."""


def parse_completion(body: str) -> Answer:
    """Read the body of a chat completion. Raises MalformedAnswerError for anything else."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedAnswerError(f"the endpoint's answer is not JSON: {_shortened(body)!r}") from error
    if isinstance(document, dict) and "choices" not in document:
        raise MalformedAnswerError(f"the endpoint's answer has no choices: {_shortened(body)!r}")
    try:
        completion = _Completion.model_validate(document)
    except ValidationError as error:
        raise MalformedAnswerError(f"the endpoint's answer is not a chat completion: {_shortened(body)!r}") from error
    return _answer(completion)


def parse_stream(body: str) -> Answer:
    """Read a completion that came as server-sent events, one delta each. Raises MalformedAnswerError, also for a stream
    that ends before the answer does."""
    texts: list[str] = []
    refusals: list[str] = []
    calls: dict[int, _Call] = {}
    finish, tokens, closed = None, None, False
    for line in body.splitlines():
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
            raise MalformedAnswerError(f"an event of the stream has no choices: {_shortened(data)!r}")
        return _Chunk.model_validate(document)
    except (ValueError, RecursionError) as error:  # of JSON, or of the form
        raise MalformedAnswerError(f"an event of the stream is malformed: {_shortened(data)!r}") from error


def _answer(completion: _Completion) -> Answer:
    usage, doubt = _usage(completion.usage)
    return replace(_outcome(completion, usage), doubt=doubt)


def _usage(stated: Any) -> tuple[Usage, str]:
    """The tokens that an endpoint states, none where it states nothing; and why its statement is refused."""
    if stated is None:
        return Usage(), ""
    counts: dict[str, Any] = {}
    for name in ("prompt_tokens", "completion_tokens"):
        count = stated.get(name) if isinstance(stated, dict) else stated
        counts[name] = 0 if count is None else count
    wrong = {name: n for name, n in counts.items() if type(n) is not int or not 0 <= n <= MOST_TOKENS}
    if wrong:
        found = ", ".join(f"{name} = {n!r:.40}" for name, n in wrong.items())
        return Usage(), f"the endpoint states a usage that cannot be, {found}; the most that it can be is charged"
    details = {
        "prompt_cached": _detail(stated, "prompt_tokens_details", "cached_tokens", counts["prompt_tokens"]),
        "reasoning": _detail(stated, "completion_tokens_details", "reasoning_tokens", counts["completion_tokens"]),
    }
    return Usage(**counts, **details), ""


def _detail(stated: Any, part: str, name: str, most: int) -> int:
    """The number of tokens of a kind, from 0 to `most`; 0 where the endpoint states none, or an impossible number."""
    details = stated.get(part) if isinstance(stated, dict) else None
    count = details.get(name) if isinstance(details, dict) else None
    return count if type(count) is int and 0 <= count <= most else 0


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


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Function(_Lenient):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None  # an object from servers that parse it themselves


class _Call(_Lenient):
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


class _Message(_Lenient):
    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None

    @property
    def plain_text(self) -> str:
        """The text, joined where the endpoint gives it in parts."""
        parts = self.content if isinstance(self.content, list) else [{"text": self.content or ""}]
        return writable("".join(str(part.get("text", "")) for part in parts))


class _Choice(_Lenient):
    message: _Message
    finish_reason: str | None = None


class _Delta(_Lenient):
    delta: _Message
    finish_reason: str | None = None


class _Completion(_Lenient):
    choices: list[_Choice]
    usage: Any = None


class _Chunk(_Lenient):
    choices: list[_Delta]
    usage: Any = None


def writable(text: str) -> str:
    """The text with a question mark for each half of a surrogate pair, which JSON may hold and no file can."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _shortened(text: str, limit: int = 200) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[:limit] + " …"

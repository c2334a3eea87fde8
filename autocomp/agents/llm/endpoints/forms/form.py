"""The APIs by which models are asked: each with the form of its requests and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autocomp.agents.config import Member
from autocomp.agents.llm.endpoints.asking import Asking
from autocomp.agents.llm.endpoints.forms import chat, responses
from autocomp.agents.llm.endpoints.forms.answer import Answer

if TYPE_CHECKING:
    import openai


@dataclass(frozen=True)
class Form:
    """`body` makes a request's body, `parse` reads the answer's text (True: a stream of events), `send` has the HTTP
    client send a body and gives the response as it comes."""

    body: Callable[[Asking], dict[str, Any]]
    parse: Callable[[str, bool], Answer]
    send: Callable[[openai.OpenAI, Mapping[str, Any]], Any]


def _chat(client: openai.OpenAI, body: Mapping[str, Any]) -> Any:
    # The body as it comes: the package builds its objects without checking the form.
    create = client.chat.completions.with_streaming_response.create
    return create(model=body["model"], messages=body["messages"], extra_body=_without(body, "messages"))


def _responses(client: openai.OpenAI, body: Mapping[str, Any]) -> Any:
    create = client.responses.with_streaming_response.create
    return create(model=body["model"], input=body["input"], extra_body=_without(body, "input"))


def _without(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key not in ("model", name)}


FORMS = {
    "chat": Form(chat.body, chat.parse, _chat),
    "responses": Form(responses.body, responses.parse, _responses),
}


def form_of(member: Member) -> Form:
    return FORMS[member.api]

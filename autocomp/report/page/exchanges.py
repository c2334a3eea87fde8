"""The questions to models and their answers, as the page shows them: questions by call, and a conversation once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from autocomp.search.log.exchanges import Exchange
from autocomp.search.log.folder import RunFolder
from autocomp.search.log.keys import is_key

MOST_SAID = 32_000_000  # characters of prompts and answers in a page, where they compress well
SHOWN = ("model", "outcome", "text", "messages", "usage")
Said = list[str]  # a role and a text


def exchanges_document(folder: RunFolder) -> dict[str, Any]:
    """The exchanges of a run by call, up to MOST_SAID characters, and the number left out. Each turn of a conversation
    repeats what was said before: the `conversation` is the longest request with its answer. Raises RunFolderError for a
    damaged file."""
    told: dict[str, list[dict[str, Any]]] = {}
    conversation: list[Said] = []
    said = left = 0
    for exchange in folder.exchanges:
        messages = list(_messages(exchange["request"]))
        if is_key("turn", exchange["call"]):
            whole = [*messages, ["assistant", exchange["text"]]]
            conversation = max(conversation, whole, key=len)
            continue
        said += len(exchange["text"]) + sum(len(text) for _, text in messages)
        if said > MOST_SAID:
            left += 1
        else:
            told.setdefault(exchange["call"], []).append(_entry(exchange, messages))
    return {"exchanges": told, "exchanges_left": left, "conversation": conversation}


def _entry(exchange: Exchange, messages: list[Said]) -> dict[str, Any]:
    return {key: value for key, value in {**exchange, "messages": messages}.items() if key in SHOWN}


def _messages(request: Mapping[str, Any]) -> Iterator[Said]:
    """The messages of a request, in the form of either API; a folder may come from anyone."""
    sent = request.get("messages", request.get("input"))
    for item in sent if isinstance(sent, list) else ():
        if isinstance(item, dict):
            yield [_role(item), "\n".join(_texts(item))]


def _role(item: Mapping[str, Any]) -> str:
    kinds = {"function_call": "assistant", "function_call_output": "tool", "reasoning": "thoughts"}
    return str(item.get("role") or kinds.get(str(item.get("type")), item.get("type")))


def _texts(item: Mapping[str, Any]) -> Iterator[str]:
    """The text of a message, then the calls in it, each in a line of its own."""
    for name in ("content", "output", "summary"):
        if item.get(name):
            yield _plain(item[name])
    if item.get("type") == "function_call":
        yield f"{item.get('name')}({item.get('arguments')})"
    calls = item.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield f"{function.get('name')}({function.get('arguments')})"


def _plain(content: Any) -> str:
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return "\n".join(str(part.get("text", part.get("refusal", ""))) for part in content)
    return content if isinstance(content, str) else json.dumps(content)

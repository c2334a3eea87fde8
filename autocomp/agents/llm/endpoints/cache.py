"""Answers kept on disk under the hash of the whole request, so that a run replays without asking again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from autocomp.agents.llm.endpoints.forms.answer import Answer, Outcome
from autocomp.agents.llm.endpoints.forms.message import ToolCall
from autocomp.data import write_atomically
from autocomp.targets.planning import Usage


def request_key(request: Mapping[str, Any]) -> str:
    """sha256, in hex, of the request as canonical JSON."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class AnswerCache:
    """One JSON file an answer, in a folder by the first two digits of its key. Every well-formed answer is kept,
    a refusal too: a replay must see what the first run saw. One that cannot be written is one to ask for again."""

    folder: Path

    def get(self, key: str) -> Answer | None:
        """The answer as it costs now: no tokens, no request. A damaged file counts as absent."""
        try:
            kept = json.loads(self._path(key).read_text(encoding="utf-8"))
            outcome, text = kept["answer"]["outcome"], kept["answer"]["text"]
            calls = tuple(ToolCall(*map(str, call)) for call in kept["answer"].get("calls", ()))
            items = tuple(dict(item) for item in kept["answer"].get("items", ()))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if outcome not in get_args(Outcome) or not isinstance(text, str):
            return None
        return Answer(outcome, text, Usage(cached=1), calls=calls, items=items)

    def put(self, key: str, request: Mapping[str, Any], answer: Answer) -> str:
        """Keep an answer. The result says why that could not be, and is empty where it could."""
        tokens = {"prompt": answer.usage.prompt_tokens, "completion": answer.usage.completion_tokens}
        kept: dict[str, Any] = {"outcome": answer.outcome, "text": answer.text, "tokens": tokens}
        if answer.calls:
            kept["calls"] = [[call.id, call.name, call.arguments] for call in answer.calls]
        if answer.items:
            kept["items"] = list(answer.items)
        document = {"request": request, "answer": kept}
        try:
            write_atomically(self._path(key), json.dumps(document, ensure_ascii=False, indent=1))
        except OSError as error:
            return f"cannot write below {self.folder}: {error.strerror}"
        return ""

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"

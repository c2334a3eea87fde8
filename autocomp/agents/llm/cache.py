"""Answers kept on disk under the hash of the whole request, so that a run replays without asking again."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from platformdirs import user_cache_path

from autocomp.agents.llm.answer import Answer, Outcome
from autocomp.agents.protocol import Usage


def default_folder() -> Path:
    """The folder AUTOCOMP_CACHE, else the user's cache folder; answers lie below it."""
    chosen = os.environ.get("AUTOCOMP_CACHE")
    return (Path(chosen) if chosen else user_cache_path("autocomp")) / "answers"


def request_key(request: Mapping[str, Any]) -> str:
    """sha256, in hex, of the request as canonical JSON."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class AnswerCache:
    """One JSON file an answer, in a folder by the first two digits of its key. Every well-formed answer is kept,
    a refusal too: a replay must see what the first run saw."""

    folder: Path

    def get(self, key: str) -> Answer | None:
        """The answer as it costs now: no tokens, no request. A damaged file counts as absent."""
        try:
            kept = json.loads(self._path(key).read_text(encoding="utf-8"))
            outcome, text = kept["answer"]["outcome"], kept["answer"]["text"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if outcome not in get_args(Outcome) or not isinstance(text, str):
            return None
        return Answer(outcome, text, Usage(cached=1))

    def put(self, key: str, request: Mapping[str, Any], answer: Answer) -> None:
        """Write whole or not at all, whoever else writes at the same time."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        tokens = {"prompt": answer.usage.prompt_tokens, "completion": answer.usage.completion_tokens}
        document = {"request": request, "answer": {"outcome": answer.outcome, "text": answer.text, "tokens": tokens}}
        handle, partial = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(document, file, ensure_ascii=False, indent=1)
            os.replace(partial, path)
        except BaseException:
            Path(partial).unlink(missing_ok=True)
            raise

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"

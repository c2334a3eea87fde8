"""An endpoint's answer, in whichever form it came."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from autocomp.agents.llm.endpoints.forms.message import ToolCall
from autocomp.errors import ModelError
from autocomp.targets.planning import Usage

MOST_TOKENS = 1 << 31  # of a prompt or an answer
Outcome = Literal["answered", "truncated", "refused", "empty"]


@dataclass(frozen=True)
class Answer:
    """A well-formed completion. `text` may be there for a truncated one, and is the reason for a refused one; `calls`
    are the tools that the model wants called. `unkept` is why the cache does not have it, if it should; `doubt` what is
    wrong with the usage that the endpoint stated. `items` is the answer as the endpoint wrote it, where the next turn
    gives it back as it was."""

    outcome: Outcome
    text: str
    usage: Usage
    unkept: str = ""
    doubt: str = ""
    calls: tuple[ToolCall, ...] = ()
    items: tuple[Mapping[str, Any], ...] = ()

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
                raise ModelError(f"{model} refused: {shortened(self.text) or 'no reason given'}")
            case "empty":
                raise ModelError(f"{model} gave an empty answer")


class MalformedAnswerError(Exception):
    """The endpoint answered with something else than the API says."""


def usage_of(stated: Any, prompt: str = "prompt", completion: str = "completion") -> tuple[Usage, str]:
    """The tokens that an endpoint states, none where it states nothing; and why its statement is refused. `prompt` and
    `completion` are what its API calls them."""
    if stated is None:
        return Usage(), ""
    counts: dict[str, Any] = {}
    for name in (f"{prompt}_tokens", f"{completion}_tokens"):
        count = stated.get(name) if isinstance(stated, dict) else stated
        counts[name] = 0 if count is None else count
    wrong = {name: n for name, n in counts.items() if type(n) is not int or not 0 <= n <= MOST_TOKENS}
    if wrong:
        figures = ", ".join(f"{name} = {n!r:.40}" for name, n in wrong.items())
        return Usage(), f"the endpoint states a usage that cannot be, {figures}; the most that it can be is charged"
    asked, said = counts.values()
    reasoning = _detail(stated, f"{completion}_tokens_details", "reasoning_tokens")
    if reasoning and stated.get("total_tokens") == asked + said + reasoning:
        said += reasoning  # some endpoints count thoughts apart from the answer
    cached = _detail(stated, f"{prompt}_tokens_details", "cached_tokens")
    return Usage(
        asked,
        said,
        prompt_cached=cached if cached <= asked else 0,
        reasoning=reasoning if reasoning <= said else 0,
    ), ""


def _detail(stated: Any, part: str, name: str) -> int:
    """The number of tokens of a kind; 0 where the endpoint states none, or an impossible number."""
    details = stated.get(part) if isinstance(stated, dict) else None
    count = details.get(name) if isinstance(details, dict) else None
    return count if type(count) is int and 0 <= count <= MOST_TOKENS else 0


class Lenient(BaseModel):
    """A part of an answer, of which fields that nobody reads are left out."""

    model_config = ConfigDict(extra="ignore")


def lines_of(stream: str) -> list[str]:
    """The lines of server-sent events. They end at LF, CR LF or CR only; an answer may contain the other line breaks of
    `str.splitlines`."""
    return re.split(r"\r\n|\r|\n", stream)


def writable(text: str) -> str:
    """The text with a question mark for each half of a surrogate pair, which JSON may hold and no file can."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def shortened(text: str, limit: int = 200) -> str:
    """The text in one line, cut off after `limit` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[:limit] + " …"

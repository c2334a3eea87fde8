"""Counts of a prompt's tokens: by the model's tokenizer where that is known, else an estimate that answers correct."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from autocomp.agents.llm.endpoints.forms.message import Message

_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|\n\s*|[^\sA-Za-z0-9]+|[^\S\n]{2,}")
_LETTERS, _DIGITS, _MARKS = 7, 2, 2  # characters of one token: of words, numbers, punctuation
PER_MESSAGE = 4  # a chat template's marks around each message, as estimated
MOST_PER_MESSAGE = 16  # at most
TEMPLATE = 16  # what a chat template may put in front of all messages, at most
# Tokens at most for each one estimated, before a model's first answer. On the prompts of four workloads the
# vocabularies of cl100k, Qwen, DeepSeek, Claude 2, Mistral 7B and Tekken make 0.93 to 1.28, and each its most
# at most 1.2 times its fewest.
UNKNOWN = 1.75
MARGIN = 1.4
SEEN = 1e-9  # a model that counts next to nothing has been seen
TELLING = 200  # tokens of a prompt that says something of others
LONGEST_LOAD = 10.0  # seconds


def estimate_tokens(text: str) -> int:
    """An estimate for byte-pair encodings: a word is a token for each seven letters begun, a number for each two
    digits, punctuation for each two marks, a line break with its indentation one. `autocomp prompt` says how far this
    is off."""
    return sum(_tokens(piece) for piece in _PIECE.findall(text))


def estimate_prompt(messages: Sequence[Message]) -> int:
    """The estimate for a chat."""
    return sum(estimate_tokens(message.text) + PER_MESSAGE for message in messages)


def tokens_by_section(messages: Sequence[Message]) -> list[tuple[str, int]]:
    """The estimate for each section of a chat, a top-level heading each, in their order; what stands before the first
    one is named after its role."""
    sections: list[tuple[str, int]] = []
    for message in messages:
        name: str = message.role
        text, fenced = "", False
        for line in message.content.splitlines(keepends=True):
            fenced ^= line.startswith("```")
            if line.startswith("# ") and not fenced:
                sections.append((name, estimate_tokens(text)))
                text, name = "", line[2:].strip()
            text += line
        sections.append((name, estimate_tokens(text)))
    return [(name, count) for name, count in sections if count]


class Meter:
    """A counter of the tokens that one model makes of prompts, for budgets to set aside for a request. Safe to use from
    several threads; picklable.

    With the model's own tokenizer the number is exact but for the marks of its chat template. Without it, the estimate
    counts UNKNOWN times until an answer says how many tokens its prompt was; from then on as many times as at most so
    far, and MARGIN more. No encoding makes more tokens than bytes.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._most_seen = 0.0  # tokens for each one estimated
        self._longest_answer = 0
        self._lock = threading.Lock()

    def most(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> int:
        """Tokens of a request that should not be exceeded."""
        texts = _texts(messages, schema)
        marks = TEMPLATE + MOST_PER_MESSAGE * len(messages)
        count = tokenizer(self._model)
        if count is not None:
            return marks + sum(map(count, texts))
        with self._lock:
            factor = max(1.0, self._most_seen * MARGIN) if self._most_seen else UNKNOWN
        # Of other scripts than the Latin one, a vocabulary may have nothing but their bytes.
        others = sum(len(text.encode()) - len(text.encode("ascii", "ignore")) for text in texts)
        estimated = math.ceil(factor * sum(map(_latin_tokens, texts)))
        return marks + min(estimated + others, sum(len(text.encode()) for text in texts))

    def longest(self, limit: int) -> int:
        """Tokens of an answer that is asked to keep within a limit: more, if answers of this model did not."""
        return max(limit, self._longest_answer)

    def learn(self, messages: Sequence[Message], schema: Mapping[str, Any] | None, prompt: int, answer: int) -> None:
        """Take in what an endpoint says that a request and its answer were."""
        estimated = sum(map(_latin_tokens, _texts(messages, schema)))
        stated = prompt - TEMPLATE - MOST_PER_MESSAGE * len(messages)
        with self._lock:
            self._longest_answer = max(self._longest_answer, answer)
            if estimated >= TELLING:
                self._most_seen = max(self._most_seen, stated / estimated, SEEN)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()


@lru_cache(maxsize=16)
def tokenizer(model: str) -> Callable[[str], int] | None:
    """The model's own tokenizer, if the package tiktoken is installed, knows the model and has its vocabulary within
    LONGEST_LOAD seconds; it fetches one that is not on this computer yet."""
    try:
        import tiktoken
    except ImportError:
        return None
    loaded: list[Any] = []

    def load() -> None:
        try:
            loaded.append(tiktoken.encoding_for_model(model))
        except Exception:  # an unknown model, or no network: there is the estimate
            return

    thread = threading.Thread(target=load, daemon=True)
    thread.start()
    thread.join(LONGEST_LOAD)
    if not loaded:
        return None
    encoding = loaded[0]
    return lambda text: len(encoding.encode_ordinary(text))


def _texts(messages: Sequence[Message], schema: Mapping[str, Any] | None) -> list[str]:
    """The parts of a request that endpoints count: its messages, and the schemas of the answer and of tools."""
    texts = [message.text for message in messages]
    return texts if schema is None else [*texts, json.dumps(schema)]


def _latin_tokens(text: str) -> int:
    return estimate_tokens(text.encode("ascii", "ignore").decode())


def _tokens(piece: str) -> int:
    if piece.isspace():
        return 1
    length = _LETTERS if piece[0].isalpha() else _DIGITS if piece[0].isdigit() else _MARKS
    return math.ceil(len(piece) / length)

"""How many tokens a text is, without a tokenizer: each model has its own, and most load theirs over the network."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from autocomp.agents.llm.prompts import Message

_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|\n\s*|[^\sA-Za-z0-9]+|[^\S\n]{2,}")
_LETTERS, _DIGITS, _MARKS = 7, 2, 2  # characters of one token: of words, numbers, punctuation
PER_MESSAGE = 4  # a chat template's marks around each message


def estimate_tokens(text: str) -> int:
    """An estimate for byte-pair encodings: a word is a token for each seven letters begun, a number for each two
    digits, punctuation for each two marks, a line break with its indentation one; `autocomp prompt` says how far this
    is off."""
    return sum(_tokens(piece) for piece in _PIECE.findall(text))


def estimate_prompt(messages: Sequence[Message]) -> int:
    """The estimate for a chat."""
    return sum(estimate_tokens(message.content) + PER_MESSAGE for message in messages)


def most_tokens(messages: Sequence[Message]) -> int:
    """What a chat cannot exceed under any encoding whose tokens are at least a byte long: what budgets reserve."""
    return sum(len(message.content.encode()) + 4 * PER_MESSAGE for message in messages)


def _tokens(piece: str) -> int:
    if piece.isspace():
        return 1
    length = _LETTERS if piece[0].isalpha() else _DIGITS if piece[0].isdigit() else _MARKS
    return math.ceil(len(piece) / length)

"""Messages of a chat, and the tool calls in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class ToolCall:
    """A model's wish to have a tool called. `arguments` is JSON as the model wrote it, which may be anything."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Message:
    """One message. An assistant's may hold `calls`, and `items`: what the model `origin` answered, in the form of its
    endpoint. A tool's answers the call whose id is `call`."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    calls: tuple[ToolCall, ...] = ()
    call: str = ""
    items: tuple[Mapping[str, Any], ...] = ()
    origin: str = ""

    @property
    def text(self) -> str:
        """All of the message that an endpoint counts."""
        thoughts = (json.dumps(item) for item in self.items if item.get("type") == "reasoning")
        return "\n".join((self.content, *(f"{call.name} {call.arguments}" for call in self.calls), *thoughts))

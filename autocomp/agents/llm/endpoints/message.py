"""Messages of a chat, and the tool calls in them, in the form that endpoints read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class ToolCall:
    """A model's wish to have a tool called. `arguments` is JSON as the model wrote it, which may be anything."""

    id: str
    name: str
    arguments: str

    def document(self) -> dict[str, Any]:
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


@dataclass(frozen=True)
class Message:
    """One message. An assistant's may hold `calls`; a tool's answers the call whose id is `call`."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    calls: tuple[ToolCall, ...] = ()
    call: str = ""

    def document(self) -> dict[str, Any]:
        """The message as it is sent."""
        sent: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.calls:
            sent["tool_calls"] = [call.document() for call in self.calls]
        if self.role == "tool":
            sent["tool_call_id"] = self.call
        return sent

    @property
    def text(self) -> str:
        """All of the message that an endpoint counts."""
        return "\n".join((self.content, *(f"{call.name} {call.arguments}" for call in self.calls)))

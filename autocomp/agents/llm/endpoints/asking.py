"""One question to a model, before it has the form of an API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autocomp.agents.config import Member
from autocomp.agents.llm.endpoints.endpoint import Endpoint
from autocomp.agents.llm.endpoints.forms.message import Message

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Asking:
    """The question of one request. `limit` bounds the tokens of its answer; None leaves that to the endpoint."""

    endpoint: Endpoint
    member: Member
    messages: Sequence[Message]
    schema: Schema | None = None
    tools: Sequence[Schema] = ()
    limit: int | None = None

    @property
    def form(self) -> dict[str, Any] | None:
        """The form of the answer as far as the endpoint can promise one."""
        if self.schema is None or self.member.answers == "text":
            return None
        if self.member.answers == "json":
            return {"type": "json_object"}
        return {"type": "json_schema", "name": "answer", "strict": True, "schema": self.schema}

    @property
    def sent_schema(self) -> Schema | None:
        """The schemas of the answer and of the tools, where the request holds them."""
        form = (self.form or {}).get("schema")
        if not self.tools:
            return form
        return {"answer": form, "tools": self.tools} if form else {"tools": self.tools}

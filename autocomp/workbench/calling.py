"""Tools as a model calls them: their schemas, made from signatures, and calls whose arguments may be anything."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from autocomp.data import closest
from autocomp.documents import problems
from autocomp.errors import AutocompError, describe
from autocomp.workbench.tools import NAMES, Tools

MOST_SAID = 12_000  # characters of one answer of a tool


class Callables:
    """The tools of a session by name. No call raises: what goes wrong is an answer that begins with "error:"."""

    def __init__(self, tools: Tools) -> None:
        self._methods: dict[str, Callable[..., Any]] = {name: getattr(tools, name) for name in NAMES}
        self._arguments = {name: _arguments_of(name, method) for name, method in self._methods.items()}
        self.schemas = tuple(
            {
                "name": name,
                "description": inspect.getdoc(method) or "",
                "parameters": self._arguments[name].model_json_schema(),
            }
            for name, method in self._methods.items()
        )

    def call(self, name: str, arguments: str) -> str:
        """The answer to a call, in full or cut off with a note; `arguments` is JSON as the model wrote it."""
        try:
            answer = self._answer(name, arguments)
        except Exception as error:  # a call that fails does not end the session
            said = str(error) if isinstance(error, AutocompError) else describe(error)
            return _bounded(f"error: {said}")
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)
        return _bounded(text)

    def _answer(self, name: str, written: str) -> Any:
        if name not in self._methods:
            near = closest(name, NAMES)
            return f"error: unknown tool {name[:80]!r}" + (f"; did you mean {near!r}?" if near else "") + _KNOWN
        try:
            given = json.loads(written or "{}")
        except (ValueError, RecursionError) as error:
            return f"error: the arguments of {name!r} are not JSON: {error}"
        if not isinstance(given, dict):
            return f"error: the arguments of {name!r} are not an object, found {written[:80]!r}"
        try:
            arguments = self._arguments[name].model_validate(given)
        except ValidationError as error:
            expected = list(self._arguments[name].model_fields)
            return f"error: the call of {name!r}: " + "; ".join(problems(error, given, lambda _: expected))
        return self._methods[name](**dict(arguments))


_KNOWN = f"; known: {', '.join(NAMES)}"


def _arguments_of(name: str, method: Callable[..., Any]) -> type[BaseModel]:
    """The arguments of a method as a model, from its signature."""
    types = get_type_hints(method)
    fields: dict[str, Any] = {
        item.name: (types[item.name], ... if item.default is item.empty else item.default)
        for item in inspect.signature(method).parameters.values()
    }
    model: type[BaseModel] = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
    return model


def _bounded(text: str) -> str:
    if len(text) <= MOST_SAID:
        return text
    return f"{text[:MOST_SAID]}\n(cut off: {len(text) - MOST_SAID:,} more characters)"

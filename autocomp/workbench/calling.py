"""Tools as a model calls them: their schemas, made from signatures, and calls whose arguments may be anything."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from autocomp.data import closest
from autocomp.errors import AutocompError, describe
from autocomp.workbench.tools import NAMES, Tools

MOST_SAID = 12_000  # characters of one answer of a tool
MOST_SHOWN = 80  # characters of a wrong argument


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
            return f"error: {wrong_arguments(name, self._arguments[name], given, error)}"
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


def wrong_arguments(name: str, model: type[BaseModel], given: Mapping[str, Any], error: ValidationError) -> str:
    """The faults of a call in one sentence: argument by argument what was given and what was expected, and which
    arguments there are."""
    expected = {argument: _kinds(schema) for argument, schema in model.model_json_schema()["properties"].items()}
    wrong = dict.fromkeys(str(fault["loc"][0]) for fault in error.errors())
    faults = "; ".join(_fault(argument, given, expected) for argument in wrong)
    known = ", ".join(f"{argument} ({kinds})" for argument, kinds in expected.items())
    return f"the call of {name!r}: {faults}; give {known}"


def _fault(argument: str, given: Mapping[str, Any], expected: Mapping[str, str]) -> str:
    if argument not in expected:
        near = closest(argument, list(expected))
        return f"unknown argument {argument[:MOST_SHOWN]!r}" + (f", did you mean {near!r}?" if near else "")
    if argument not in given:
        return f"{argument} is missing"
    found = json.dumps(given[argument], default=str)
    shown = found if len(found) <= MOST_SHOWN else f"{found[:MOST_SHOWN]}…"
    return f"{argument}: expected {expected[argument]}, found {shown}"


def _kinds(schema: Mapping[str, Any]) -> str:
    """The kinds of values of an argument in JSON's words, as "string or integer"."""
    return " or ".join(kind["type"] for kind in schema.get("anyOf", (schema,)))


def _bounded(text: str) -> str:
    if len(text) <= MOST_SAID:
        return text
    return f"{text[:MOST_SAID]}\n(cut off: {len(text) - MOST_SAID:,} more characters)"

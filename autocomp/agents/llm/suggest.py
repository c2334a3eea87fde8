"""New menu options proposed by a model from what happened in a run, for a person to accept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import yaml

from autocomp.agents.llm.endpoints.ensemble import Ensemble
from autocomp.agents.llm.endpoints.forms.message import Message
from autocomp.agents.llm.parsing import json_documents
from autocomp.agents.llm.prompts import render_template
from autocomp.errors import ConfigError, ModelError
from autocomp.targets.fences import without_thoughts
from autocomp.targets.menu import USUAL, Menu, MenuOption
from autocomp.targets.menu_file import parse_option
from autocomp.targets.planning import Usage
from autocomp.targets.registry import kind_of


@dataclass(frozen=True)
class Tried:
    """One candidate of a run, as a prompt shows it. `gain` is its speed-up over its parent, None where it failed."""

    option: str
    plan: str
    outcome: str
    gain: float | None = None


@dataclass(frozen=True)
class Suggestion:
    """Options that are valid and new, and why others were left out."""

    options: tuple[MenuOption, ...]
    usage: Usage
    messages: tuple[str, ...] = ()


def suggest_options(
    ensemble: Ensemble,
    menu: Menu,
    facts: Mapping[str, Any],
    tried: Sequence[Tried],
    count: int,
    seed: int = 0,
    templates: Path | None = None,
) -> Suggestion:
    """`count` options at most that the menu does not have. Raises ModelError where no model answers."""
    values = {**facts, "menu": menu.options, "tried": tried, "count": count, "causes": kind_of(menu.kind).causes}
    messages = (
        Message("system", render_template("suggest_system", values, templates)),
        Message("user", render_template("suggest", values, templates)),
    )
    reply = ensemble.ask(messages, Random(f"suggest/{seed}"))
    if reply.text is None:
        raise ModelError("no model gave an answer: " + "; ".join(reply.messages))
    options: dict[str, MenuOption] = {}
    faults = list(reply.messages)
    for entry in _entries(reply.text):
        try:
            option = parse_option(entry, menu.kind)
        except ConfigError as error:
            faults.append(f"left out: {error}")
            continue
        if option.id in options or any(option.id == known.id for known in menu.options):
            faults.append(f"left out: there is an option {option.id!r} already")
        else:
            options[option.id] = option
    if not options and not faults:
        faults.append(f"{reply.author}'s answer holds no option that can be read")
    return Suggestion(tuple(options.values())[:count], reply.usage, tuple(faults))


def to_yaml(options: Sequence[MenuOption], kind: str, source: str) -> str:
    """A menu file of the options for a kind of target; `source` says in its first line where they are from."""
    stated = {} if kind == USUAL else {"target": kind}
    document = {**stated, "options": [_document(option) for option in options]}
    text = yaml.safe_dump(document, sort_keys=False, width=110, allow_unicode=True)
    return f"# {source}. Look them over before you search with them.\n{text}"


def _document(option: MenuOption) -> dict[str, Any]:
    applies = {"causes": list(option.applies.causes), "operations": list(option.applies.operations)}
    document: dict[str, Any] = {
        "id": option.id,
        "title": option.title,
        "applies": {key: values for key, values in applies.items() if values},
        "guidance": option.guidance,
        "example": option.example,
    }
    return {key: value for key, value in document.items() if value}


def _entries(text: str) -> list[dict[str, Any]]:
    for document in json_documents(without_thoughts(text)):
        listed = document.get("options", [document]) if isinstance(document, dict) else document
        entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        if entries:
            return entries
    return []

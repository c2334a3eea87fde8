"""Reads a model's answer with patience: plans as JSON or as a numbered list, a kernel as fenced or bare code."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from autocomp.agents.llm.moves import Move, move_id
from autocomp.targets.fences import fenced_blocks, without_thoughts
from autocomp.targets.menu import Menu, MenuOption
from autocomp.targets.planning import Plan, Selected

MAX_ITEM_CHARACTERS = 8000
MOST_GAIN = 1e9  # of a speed-up; no kernel is so slow
MOST_NESTING = 8  # of the parameters of a transformation
_DOCUMENT = re.compile(r'\{\s*"|\[\s*[{"]')  # an object, or a list of objects or texts; no index as in A[i]
_MOST_FALSE_STARTS = 1000
_HEADED = re.compile(r"^[ \t]{0,3}(?:#+[ \t]*)?(?:\*\*)?[ \t]*plan[ \t]+#?(\d+)\b[ \t*.:)–-]*", re.IGNORECASE)
_NUMBERED = re.compile(r"^[ \t]{0,3}(?:#+[ \t]*)?(?:\*\*)?(\d+)[.)](?:\*\*)?[ \t]+")
_TEXT_KEYS = ("plan", "text", "description", "change", "summary", "rationale")


def parse_plans(text: str, menu: Menu, author: str, moves: Sequence[Move] = ()) -> tuple[Plan, ...]:
    """The plans in an answer, in its order; none where it proposes nothing. `moves` are those the prompt numbered.
    Never raises."""
    answer = without_thoughts(text)
    for document in json_documents(answer):
        plans = tuple(_plan_of_entry(entry, menu, author, moves) for entry in _entries(document))
        parsed = tuple(plan for plan in plans if plan is not None)
        if parsed:
            return parsed
    items = _items(answer, _HEADED) or _items(answer, _NUMBERED)
    if not items and _mentioned(answer, menu) is not None:
        items = [answer.strip()]
    return tuple(_plan_of_item(item, menu, author) for item in items)


def parse_avenues(text: str) -> tuple[str, ...]:
    """The directions that a designer names in front of its experiments."""
    for document in json_documents(without_thoughts(text)):
        named = document.get("avenues") if isinstance(document, dict) else None
        if isinstance(named, list):
            return tuple(avenue.strip()[:MAX_ITEM_CHARACTERS] for avenue in named if isinstance(avenue, str))
    return ()


def parse_selection(text: str, population: Collection[int]) -> Selected | None:
    """The selection in an answer; None where it names no base from the population."""
    for document in json_documents(without_thoughts(text)):
        if not isinstance(document, dict):
            continue
        base, reference = (_id(document.get(key), population) for key in ("base", "reference"))
        if base is not None:
            reason = str(document.get("reason") or "no reason given")[:MAX_ITEM_CHARACTERS]
            return Selected(base, reference if reference != base else None, reason)
    return None


def _id(stated: Any, population: Collection[int]) -> int | None:
    """The candidate that a number, or a text such as "#7", refers to."""
    digits = re.fullmatch(r"\D{0,12}(\d{1,9})\D{0,12}", str(stated))
    return int(digits[1]) if digits and int(digits[1]) in population else None


def json_documents(text: str) -> Iterator[Any]:
    """Every JSON object or list in the text: fenced ones, the whole, then any that starts at a bracket."""
    for candidate in (*fenced_blocks(text), text):
        document = _json(candidate)
        if document is not None:
            yield document
    decoder = json.JSONDecoder(strict=False)
    position, false_starts = 0, 0
    while false_starts < _MOST_FALSE_STARTS and (opening := _DOCUMENT.search(text, position)) is not None:
        try:
            document, position = decoder.raw_decode(text, opening.start())
            yield _plain(document)
        except (ValueError, RecursionError):
            position = opening.start() + 1
            false_starts += 1


def _json(text: str) -> Any | None:
    for attempt in (text, re.sub(r",(\s*[\]}])", r"\1", text)):
        try:
            document = _plain(json.loads(attempt, strict=False))
        except (ValueError, RecursionError):
            continue
        return document if isinstance(document, dict | list) else None
    return None


def _plain(document: Any) -> Any:
    """The document with a question mark for each half of a surrogate pair. Raises ValueError where it holds numbers
    that are not finite, which JSON does not have."""
    return json.loads(json.dumps(document, ensure_ascii=False, allow_nan=False).encode(errors="replace"))


def _entries(document: Any) -> Sequence[Any]:
    if isinstance(document, dict):
        plans = document.get("plans", document)
        return plans if isinstance(plans, list) else [plans]
    return document if isinstance(document, list) else []


def _plan_of_entry(entry: Any, menu: Menu, author: str, moves: Sequence[Move]) -> Plan | None:
    """A plan from a JSON entry. Returns None for an entry that does not describe a plan, such as a number or an object
    with other keys."""
    if isinstance(entry, str):
        return _plan_of_item(entry, menu, author) if _words(entry) else None
    if not isinstance(entry, dict):
        return None
    texts = [str(entry[key]).strip() for key in _TEXT_KEYS if isinstance(entry.get(key), str) and entry[key].strip()]
    move = _chosen(entry, moves)
    option = _named(str((move.option if move else "") or entry.get("option") or entry.get("id") or ""), menu)
    if not texts and option is None:
        return None
    text = "\n".join([*_target(entry), *texts]) or (move.reason if move else option.title if option else "")
    transformation, parameters = _mechanical(entry, option, menu)
    if move is not None:
        transformation, parameters = move.transformation, {**move.parameters, **parameters}
    name = option.id if option else ""
    text = text[:MAX_ITEM_CHARACTERS]
    return Plan(name, text, transformation, parameters, author, _gain(entry), innovation=_innovation(entry))


def _chosen(entry: Mapping[str, Any], moves: Sequence[Move]) -> Move | None:
    """The ready move that an entry names by its number."""
    named = str(entry.get("move", "")).strip()
    return next((move for position, move in enumerate(moves) if named == move_id(position)), None)


def _target(entry: Mapping[str, Any]) -> list[str]:
    """The loop that an entry is about, as the start of its text."""
    loop = entry.get("loop")
    return [f"Loop {loop}:"] if isinstance(loop, str) and loop not in ("", "none") else []


def _gain(entry: Mapping[str, Any]) -> tuple[float, float] | None:
    """The interval of the speed-up that an entry states, ends in order; None where it states none that makes sense."""
    stated = entry.get("gain", [entry.get("gain_low"), entry.get("gain_high")])
    ends = list(stated.values()) if isinstance(stated, dict) else stated if isinstance(stated, list) else [stated] * 2
    try:
        low, high = sorted(float(end.strip(" x×") if isinstance(end, str) else end) for end in ends)
    except (TypeError, ValueError, OverflowError):
        return None
    return (low, high) if low > 0 and high <= MOST_GAIN else None


def _innovation(entry: Mapping[str, Any]) -> float | None:
    """The novelty that an entry states, from 0 to 100; None where it states none."""
    try:
        stated = float(str(entry.get("innovation")).strip(" %"))
    except ValueError:
        return None
    return min(max(stated, 0.0), 100.0) if math.isfinite(stated) else None


def _mechanical(
    entry: Mapping[str, Any], option: MenuOption | None, menu: Menu
) -> tuple[str | None, Mapping[str, Any]]:
    """The transformation an entry asks for, if the menu has it, with its parameters: an object, or JSON as text."""
    given = entry.get("parameters")
    given = _json(given) if isinstance(given, str) else given
    parameters = dict(given) if isinstance(given, dict) and _depth(given) <= MOST_NESTING else {}
    wanted = entry.get("transformation")
    known = {o.transformation for o in menu.options} | ({option.transformation} if option else set())
    if isinstance(wanted, str) and wanted in known:
        return wanted, parameters
    return None, parameters


def _depth(value: Any) -> int:
    """The nesting depth of lists and objects, counted to just beyond MOST_NESTING."""
    level, depth = [value], 0
    while level and depth <= MOST_NESTING:
        depth += any(isinstance(item, dict | list) for item in level)
        level = [
            part
            for item in level
            if isinstance(item, dict | list)
            for part in (item.values() if isinstance(item, dict) else item)
        ]
    return depth


def _plan_of_item(item: str, menu: Menu, author: str) -> Plan:
    option = _mentioned(item, menu)
    return Plan(option.id if option else "", item.strip()[:MAX_ITEM_CHARACTERS], author=author)


def _items(answer: str, start: re.Pattern[str]) -> list[str]:
    """The items of a list whose numbers count up from 1; numbers out of turn belong to the text of an item."""
    items: list[list[str]] = []
    for line in answer.splitlines():
        match = start.match(line)
        if match and int(match.group(1)[:9]) == len(items) + 1:
            items.append([line[match.end() :]])
        elif items:
            items[-1].append(line)
    texts = ["\n".join(lines).strip() for lines in items]
    return [text for text in texts if text]


def _mentioned(text: str, menu: Menu) -> MenuOption | None:
    """The option that a text is about: the one it calls `option: …`, else the one that is named first."""
    explicit = re.search(r"\boption\W{0,4}:\W{0,4}([\w -]+)", text, re.IGNORECASE)
    if explicit:
        named = _named(explicit.group(1), menu)
        if named is not None:
            return named
    words = f" {_words(text)} "
    places = [
        (place, option)
        for option in menu.options
        for name in (option.id, option.title)
        if (place := words.find(f" {_words(name)} ")) >= 0
    ]
    return min(places, key=lambda options: options[0])[1] if places else None


def _named(name: str, menu: Menu) -> MenuOption | None:
    words = _words(name)
    return next((o for o in menu.options if words in (_words(o.id), _words(o.title))), None) if words else None


def _words(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))

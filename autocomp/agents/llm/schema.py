"""JSON schemas of the answers that are asked for: enumerated where the kernel and the menu say what there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autocomp.agents.llm.moves import Move, move_id
from autocomp.targets.menu import Menu

OWN = "own"  # a change that no ready move describes
GAINS = ("1.0", "1.05", "1.1", "1.25", "1.5", "2", "3", "5")  # speed-ups to choose the ends of an interval from

Schema = Mapping[str, Any]


def structured_schema(menu: Menu, loops: Sequence[str], moves: Sequence[Move], count: int) -> Schema:
    """Up to `count` plans, each with option, loop, move or parameters of its own, change in words, and gain."""
    number = {"type": "number"}
    plan = _object(
        {
            "option": _enum([option.id for option in menu.options]),
            "loop": _enum(["none", *loops]),
            "move": _enum([OWN, *(move_id(position) for position in range(len(moves)))]),
            "parameters": {"type": "string"},
            "change": {"type": "string"},
            "gain_low": number,
            "gain_high": number,
        }
    )
    return _object({"plans": {"type": "array", "items": plan, "minItems": 1, "maxItems": count}})


def choice_schema(moves: Sequence[Move]) -> Schema:
    """One of the moves by its number, and the gain expected of it."""
    numbers = [move_id(position) for position in range(len(moves))]
    return _object({"move": _enum(numbers), "gain_low": _enum(GAINS), "gain_high": _enum(GAINS)})


def selection_schema(population: Sequence[int]) -> Schema:
    """Two of the candidates by their numbers, and why."""
    numbers = [str(number) for number in population]
    return _object({"base": _enum(numbers), "reference": _enum(["none", *numbers]), "reason": {"type": "string"}})


def _object(properties: Mapping[str, Any]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _enum(values: Sequence[str]) -> Schema:
    return {"type": "string", "enum": list(values)}

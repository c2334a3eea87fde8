"""Reading a transformation's parameters, which may come from a file or a language model."""

from __future__ import annotations

from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.protocol import Parameters


def names_of(parameters: Parameters, name: str) -> tuple[str, ...]:
    """A list of names; one name alone counts as a list."""
    value = parameters.get(name, ())
    if isinstance(value, str):
        return (value,) if value else ()
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise NotApplicable(f"parameter {name!r} must be a list of names, and is {value!r}")
    return tuple(value)


def name_of(parameters: Parameters, name: str, default: str = "") -> str:
    """A single name."""
    value = parameters.get(name, default)
    if not isinstance(value, str):
        raise NotApplicable(f"parameter {name!r} must be a name, and is {value!r}")
    return value


def number_of(parameters: Parameters, name: str, default: int) -> int:
    """A whole number."""
    value = parameters.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise NotApplicable(f"parameter {name!r} must be a whole number, and is {value!r}")
    return value


def flag_of(parameters: Parameters, name: str) -> bool:
    """A switch, off unless given."""
    value = parameters.get(name, False)
    if not isinstance(value, bool):
        raise NotApplicable(f"parameter {name!r} must be true or false, and is {value!r}")
    return value

"""Several options of a command as one parameter of its function: made from a model's fields, or of options given."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
from pydantic import BaseModel

from autocomp.flags import Flag

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]


def folded(parameter: str, make: Function, *options: Decorator, names: Sequence[str] = ()) -> Decorator:
    """Gives a command these options, and its function what `make` makes of their values, as `parameter`.

    The options' parameters are those of `make`, or `names`.
    """
    parts = tuple(names) or tuple(inspect.signature(make).parameters)

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def command(**values: Any) -> Any:
            made = make(**{name: values.pop(name) for name in parts})
            return function(**values, **{parameter: made})

        decorated: Function = command
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def model_options(
    model: type[BaseModel], parameter: str, only: Sequence[str] = (), defaults: Mapping[str, Any] | None = None
) -> Decorator:
    """Gives a command an option for each field of a model, or for `only` some, and its function the model made of them.

    `defaults` take the place of the model's.
    """
    names = tuple(only) or tuple(model.model_fields)
    properties = model.model_json_schema(by_alias=False)["properties"]
    options = [
        _option(name, flag_of(model, name), properties[name] | {"default": default})
        for name in names
        for default in [(defaults or {}).get(name, model.model_fields[name].default)]
    ]
    return folded(parameter, model, *options, names=names)


def flag_of(model: type[BaseModel], name: str) -> Flag:
    """The spelling of a field as an option, as in `--black-box`."""
    said = next((item for item in model.model_fields[name].metadata if isinstance(item, Flag)), Flag())
    return Flag(f"--{(said.name or name).replace('_', '-')}", said.metavar)


def _option(name: str, flag: Flag, field: Mapping[str, Any]) -> Decorator:
    """The option for a field, of which the JSON schema says the rest."""
    default = field["default"]
    kind = next((one for one in field.get("anyOf", ()) if one["type"] != "null"), field)
    shown = default is not None and default is not False and default != ()
    common: dict[str, Any] = {"help": field["description"], "show_default": shown}
    if kind["type"] == "boolean":
        both = f"{flag.name}/--no-{flag.name[2:]}" if default else flag.name
        return click.option(both, name, is_flag=True, default=default, **common)
    if kind["type"] == "array":
        return click.option(flag.name, name, multiple=True, metavar=flag.metavar, **common)
    return click.option(flag.name, name, type=_type(kind), default=default, metavar=flag.metavar, **common)


def _type(kind: Mapping[str, Any]) -> Any:
    """Text, or numbers within the bounds that the schema states."""
    plain = {"string": click.STRING, "integer": click.INT, "number": click.FLOAT}[kind["type"]]
    low, high = kind.get("exclusiveMinimum"), kind.get("exclusiveMaximum")
    least, most = kind.get("minimum", low), kind.get("maximum", high)
    if least is None and most is None:
        return plain
    return (click.IntRange if kind["type"] == "integer" else click.FloatRange)(
        least, most, min_open=low is not None, max_open=high is not None
    )

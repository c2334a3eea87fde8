"""From a workload file's text to its model, or to a message with the key, its place, what was found and expected."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import yaml
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from autocomp.data import closest, decode, read_bytes, reason
from autocomp.errors import ConfigError, Place
from autocomp.workload.schema import OPERATIONS, File
from autocomp.yaml_text import read_yaml

_FILES: TypeAdapter[File] = TypeAdapter(Annotated[File, Field(discriminator="operation")])
_EXPECTED = {
    "missing": "a value",
    "int_type": "an integer",
    "int_parsing": "an integer",
    "int_from_float": "an integer",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "float_parsing": "a number",
    "float_type": "a number",
    "string_type": "text",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def parse(text: str, source: str) -> File:
    """Check a workload file's text. Raises ConfigError with the key's path and place, what was found and expected."""
    document, tree = read_yaml(text, source)
    _refuse_duplicates(tree, text, source)
    if tree is None or not isinstance(document, dict):
        raise ConfigError(
            f"{source}: expected keys and values, found {'an empty file' if document is None else _shown(document)}",
            hint="start with `operation: gemm`",
        )
    try:
        return _FILES.validate_python(document)
    except ValidationError as error:
        details = sorted(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")
        raise _explain(details[0], document, tree, text, source) from None


def _refuse_duplicates(node: yaml.Node | None, text: str, source: str) -> None:
    """YAML keeps the last of two equal keys without a word; a workload file must not lose one."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_duplicates(item, text, source)
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                mark = key.start_mark
                raise ConfigError(f"key {key.value!r} occurs twice", place=_place(text, source, mark.line, mark.column))
            seen.add(key.value)
            _refuse_duplicates(value, text, source)


def _explain(detail: ErrorDetails, document: dict[str, Any], tree: yaml.Node, text: str, source: str) -> ConfigError:
    if detail["type"] in ("union_tag_invalid", "union_tag_not_found"):
        return _unknown_operation(document, tree, text, source)
    operation = document["operation"]
    path = _key_path(detail["loc"][1:], document)
    mark = _node_at(tree, path).start_mark
    place = _place(text, source, mark.line, mark.column)
    key = _dotted(path)
    if detail["type"] == "extra_forbidden":
        known = _known_keys(operation, path[:-1])
        hint = _whereabouts(operation, path, known, _shown(detail["input"])) + f"keys here: {', '.join(known)}"
        return ConfigError(f"unknown key {key!r} of operation {operation!r}", place=place, hint=hint)
    if detail["type"] == "missing":
        known = _known_keys(operation, path[:-1])
        return ConfigError(f"key {key!r} is missing", place=place, hint=f"keys here: {', '.join(known)}")
    shown = _shown(detail["input"])
    advice: str | None = None
    if detail["type"] == "literal_error" and isinstance(detail["input"], str):
        choices = [word.strip(" '") for word in detail["ctx"]["expected"].replace(" or ", ",").split(",")]
        near = closest(detail["input"], choices)
        advice = f"did you mean {near!r}?" if near else None
    return ConfigError(f"key {key!r}: found {shown}, expected {_expectation(detail)}", place=place, hint=advice)


def _whereabouts(operation: str, path: Sequence[int | str], known: Sequence[str], value: str) -> str:
    """Where a key that is unknown at its place belongs, or the known key that it resembles."""
    *above, key = path
    for name in known:
        if key in _keys_below(operation, [*above, name]):
            return f"write it under {name!r}, as in `{name}: {{{key}: {value}}}`; "
    if above and key in _known_keys(operation, above[:-1]):
        return f"write it beside {above[-1]!r}; "
    near = closest(str(key), known)
    return f"did you mean {near!r}? " if near else ""


def _unknown_operation(document: dict[str, Any], tree: yaml.Node, text: str, source: str) -> ConfigError:
    known = ", ".join(OPERATIONS)
    mark = _node_at(tree, ("operation",)).start_mark
    place = _place(text, source, mark.line, mark.column)
    if "operation" not in document:
        return ConfigError("key 'operation' is missing", place=place, hint=f"operations: {known}")
    near = closest(str(document["operation"]), list(OPERATIONS))
    message = f"key 'operation': found {_shown(document['operation'])}, expected one of: {known}"
    return ConfigError(message, place=place, hint=f"did you mean {near!r}?" if near else None)


def _expectation(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    if detail["type"] == "literal_error":
        return f"one of: {context['expected']}"
    if detail["type"] in ("too_short", "too_long"):
        return f"{context.get('min_length', 0)} to {context.get('max_length') or 'any number of'} items"
    if detail["type"] == "string_pattern_mismatch":
        return "`file.py:function`" if ".py" in context["pattern"] else "a name of letters, digits and _"
    if detail["type"] in _EXPECTED:
        return _EXPECTED[detail["type"]]
    message = detail["msg"]
    for lead in ("Input should be ", "String should ", "List should ", "Value error, "):
        message = message.removeprefix(lead)
    return message


def _key_path(location: Sequence[int | str], document: Any) -> tuple[int | str, ...]:
    """The part of pydantic's location that names keys of the file (union members are left out)."""
    path: list[int | str] = []
    node = document
    for part in location:
        known = isinstance(node, list) and isinstance(part, int) and part < len(node)
        if known or (isinstance(node, dict) and part in node):
            node = node[part]
        elif not isinstance(node, dict):
            break
        else:
            node = None
        path.append(part)
    return tuple(path)


def _known_keys(operation: str, path: Sequence[int | str]) -> list[str]:
    """Keys of the mapping at `path`: indices and keys of free mappings are passed over."""
    model: type[BaseModel] = OPERATIONS[operation]
    for part in path:
        field = model.model_fields.get(str(part))
        model = model if field is None else _mapping_below(field.annotation) or model
    return list(model.model_fields)


def _keys_below(operation: str, path: Sequence[int | str]) -> list[str]:
    """Keys of the mapping that the last key of `path` holds; none where it holds something else."""
    keys = _known_keys(operation, path)
    return keys if keys != _known_keys(operation, path[:-1]) else []


def _mapping_below(annotation: Any) -> type[BaseModel] | None:
    """The model in a field's type, such as that of `Pool | None` or `list[TensorEntry]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    mappings = (_mapping_below(part) for part in get_args(annotation))
    return next((model for model in mappings if model is not None), None)


def _node_at(tree: yaml.Node, path: Sequence[int | str]) -> yaml.Node:
    """The node of the last key on `path` that the file has, else its nearest ancestor."""
    node, shown = tree, tree
    for part in path:
        if isinstance(node, yaml.MappingNode):
            pair = next(((k, v) for k, v in node.value if k.value == str(part)), None)
            if pair is None:
                break
            shown, node = pair
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            shown = node = node.value[part]
        else:
            break
    return shown


def _place(text: str, source: str, line: int, column: int) -> Place:
    lines = text.splitlines()
    return Place(source, line + 1, column + 1, lines[line] if line < len(lines) else "")


def _dotted(path: Sequence[int | str]) -> str:
    words = ""
    for part in path:
        words += f"[{part}]" if isinstance(part, int) else f".{part}" if words else str(part)
    return words


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def read(path: Path) -> str:
    """The text of a file that a workload names. Raises ConfigError when it cannot be read."""
    try:
        data = read_bytes(path)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {reason(error)}") from None
    return decode(data, str(path), ConfigError)

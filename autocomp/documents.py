"""Reading users' YAML documents, and naming what is wrong with them in the words of the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from autocomp.data import closest, decode, read_bytes, reason
from autocomp.errors import ConfigError
from autocomp.yaml_text import read_yaml

KnownKeys = Callable[[Sequence[int | str]], list[str]]


def read_mapping(path: Path, kind: str) -> dict[str, Any]:
    """The mapping in a YAML file; `kind` is what messages call it, as in "a menu". Raises ConfigError."""
    try:
        data = read_bytes(path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot read {kind}: {reason(error)}") from error
    content, _ = read_yaml(decode(data, str(path), ConfigError), str(path))
    if not isinstance(content, dict):
        shown = "an empty file" if content is None else repr(content)[:60]
        raise ConfigError(f"{path}: {kind} holds keys and values; found {shown}")
    return content


def problems(error: ValidationError, content: Mapping[str, Any], known_keys: KnownKeys) -> list[str]:
    """Each fault as `options[2] (tile).titel: unknown key; did you mean 'title'?`. `known_keys` gives the allowed keys
    at a location."""
    faults = []
    for fault in error.errors():
        *parents, last = fault["loc"] or ("document",)
        message = fault["msg"].removeprefix("Value error, ")
        if fault["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            near = closest(str(last), known_keys(parents))
            message = "unknown key" + (f"; did you mean {near!r}?" if near else "")
        elif fault["type"] == "missing":
            message = "is missing"
        elif isinstance(fault["input"], str | int | float | bool):
            message = f"{message.replace('Input should be', 'expected', 1)}, found {fault['input']!r}"
        faults.append(f"{_where(fault['loc'], content)}: {message}")
    return faults


def _where(location: tuple[int | str, ...], content: Mapping[str, Any]) -> str:
    """The location in the document; an item of a list also by its `id` or `model`."""
    text = ""
    node: Any = content
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
        node = _below(node, part)
        name = (node.get("id") or node.get("model")) if isinstance(part, int) and isinstance(node, dict) else None
        text += f" ({name})" if isinstance(name, str) else ""
    return text or "document"


def _below(node: Any, part: int | str) -> Any:
    if isinstance(node, dict):
        return node.get(part)
    return node[part] if isinstance(node, list) and isinstance(part, int) and part < len(node) else None

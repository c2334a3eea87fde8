"""Plain data of the seam as JSON documents, and back: pydantic's reading of a frozen dataclass is the only one there
is."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

from pydantic import TypeAdapter

T = TypeVar("T")


def to_document(value: object) -> dict[str, Any]:
    """A dataclass as dictionaries, lists, numbers and texts only. Raises pydantic's PydanticSerializationError for what
    JSON cannot hold."""
    kind: Any = type(value)
    document: dict[str, Any] = _adapter(kind).dump_python(value, mode="json")
    return document


def from_document(kind: type[T], document: Any) -> T:
    """The `kind` that `to_document` wrote. Raises pydantic's ValidationError for any other document."""
    asked: Any = kind
    value: T = _adapter(asked).validate_python(document)
    return value


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)

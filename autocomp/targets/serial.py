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
    document: dict[str, Any] = _adapter(type(value)).dump_python(value, mode="json")
    return document


def from_document(kind: type[T], document: Any) -> T:
    """What `to_document` wrote of a `kind`. Raises pydantic's ValidationError for any other document."""
    return _adapter(kind).validate_python(document)


@functools.cache
def _adapter(kind: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(kind)

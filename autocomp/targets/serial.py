"""Evaluations as JSON documents, and back."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from autocomp.targets.evaluation import Evaluation

_EVALUATION: TypeAdapter[Evaluation] = TypeAdapter(Evaluation)


def evaluation_to_json(evaluation: Evaluation) -> dict[str, Any]:
    """A document of dictionaries, lists, numbers and texts only."""
    document: dict[str, Any] = _EVALUATION.dump_python(evaluation, mode="json")
    return document


def evaluation_from_json(document: Any) -> Evaluation:
    """The evaluation that `evaluation_to_json` wrote. Raises pydantic's ValidationError for any other document."""
    return _EVALUATION.validate_python(document)

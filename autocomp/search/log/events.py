"""The fields of each event of a run's log. A log may come from anyone: every field is checked before anything reads it.

A model is the shape of one kind of event. Numbers are finite and bounded, and digests are digests.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError, with_config
from pydantic_core import from_json
from typing_extensions import NotRequired, TypeAliasType, TypedDict

from autocomp.search.candidate import FAILED, OUTCOMES
from autocomp.search.log.keys import PARTS, form_of, is_key
from autocomp.targets.evaluation import Evaluation, Measurement

MOST = 2**53  # of any count: what every reader of JSON holds exactly
_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

Count = Annotated[int, Field(ge=0, le=MOST)]
Amount = Annotated[float, Field(ge=0, le=1e15)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, Field(max_length=1000)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


def _known_outcome(outcome: str) -> str:
    if outcome not in OUTCOMES and not outcome.startswith(FAILED):
        raise ValueError("not an outcome of a candidate")
    return outcome


Outcome = Annotated[str, Field(max_length=200), AfterValidator(_known_outcome)]
Value = TypeAliasType("Value", "bool | int | Finite | str | list[Value] | dict[str, Value] | None")


@with_config(_STRICT)
class Cost(TypedDict, total=False):
    """The fields of `Usage`."""

    prompt_tokens: Count
    completion_tokens: Count
    requests: Count
    cached: Count
    money: Amount
    unsent: Count
    prompt_cached: Count
    reasoning: Count


@with_config(_STRICT)
class PlanDocument(TypedDict):
    option: str
    text: str
    transformation: str | None
    parameters: dict[str, Value]
    author: str
    gain: NotRequired[Annotated[list[Amount], Field(min_length=2, max_length=2)]]
    partner: NotRequired[Count]
    innovation: NotRequired[float]


@with_config(_STRICT)
class RecordDocument(TypedDict):
    record: str
    digest: str
    problem: str
    distance: Amount


@with_config(_STRICT)
class ReplayedDocument(TypedDict):
    record: str
    plan: PlanDocument
    kernel: Digest
    hash: Digest
    parent: Count


@with_config(_STRICT)
class _Event(TypedDict):
    kind: Name
    t: Amount


@with_config(_STRICT)
class _Keyed(_Event):
    key: Name


class Grant(_Keyed):
    evaluations: Count | None
    seconds: Amount | None
    tokens: Count | None
    money: Amount | None


class Entropy(_Keyed):
    """The seed of the judge's draws."""

    seed: Count


class Replay(_Keyed):
    records: list[RecordDocument]
    steps: list[ReplayedDocument]
    left_out: list[Annotated[list[str], Field(min_length=2, max_length=2)]]


class Select(_Keyed):
    base: Count
    reference: Count | None
    reason: str
    usage: Cost


class Planned(_Keyed):
    plans: list[PlanDocument]
    messages: list[str]
    usage: Cost
    avenues: NotRequired[list[str]]
    error: NotRequired[bool]


class Coded(_Keyed):
    kernel: Digest | None
    message: str
    usage: Cost
    hash: NotRequired[Digest]
    plan: NotRequired[PlanDocument]
    error: NotRequired[bool]


@with_config(_STRICT)
class CallDocument(TypedDict):
    id: str
    name: str
    arguments: str


class Turn(_Keyed):
    """A model's answer in a conversation, with the tools that it wants called; `items` is the answer in the form of its
    endpoint, which gets it back."""

    text: str | None
    calls: list[CallDocument]
    author: str
    messages: list[str]
    usage: Cost
    items: NotRequired[list[dict[str, Value]]]


class Called(_Keyed):
    """The tools' answers to the calls of a turn."""

    answers: list[str]


class Charge(_Event):
    call: Name
    cost: Cost
    model: NotRequired[Name]


class Evaluated(_Keyed):
    kernel: Digest
    evaluation: Evaluation | None
    message: NotRequired[str]
    fault: NotRequired[Outcome]
    cached: NotRequired[bool]


class Measured(_Keyed):
    candidates: list[Count]
    measurements: list[Measurement | None]


class CandidateEvent(_Keyed):
    id: Count
    step: Count
    parent: Count | None
    plan: PlanDocument | None
    kernel: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
    hash: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
    outcome: Outcome
    message: str
    repaired: bool
    value: Amount | None
    ratio: Amount | None


class StepEvent(_Keyed):
    step: Count
    parents: list[Count]
    best: Count
    value: Amount
    evaluations: Count


class CacheEvent(_Event):
    damaged: Count


class Expired(_Keyed):
    step: Count


class Routine(_Keyed):
    """The measurement of the vendor's routine; None where it does not hold. Its judgement counts against no budget."""

    value: Amount | None
    kernel: NotRequired[Digest]


class Condition(_Keyed):
    """The values of the best kernel and of the vendor's routine in a condition; None for a kernel that fails there."""

    name: Name
    value: Amount | None
    routine: Amount | None


class Fault(_Event):
    """The end of a session by an error; a later session may continue the run."""

    message: str


class Stopped(_Keyed):
    reason: str
    best: Count
    value: Amount
    outcomes: dict[Name, Count]


@with_config(ConfigDict(extra="allow", strict=True, allow_inf_nan=False))
class Other(TypedDict):
    """An event of another version: nothing but its kind and time is ever read."""

    kind: Name
    t: Amount


_MODELS: Mapping[str, type] = {
    "grant": Grant,
    "entropy": Entropy,
    "replay": Replay,
    "select": Select,
    "plan": Planned,
    "code": Coded,
    "repair": Coded,
    "charge": Charge,
    "turn": Turn,
    "tools": Called,
    "evaluate": Evaluated,
    "prove": Evaluated,
    "measure": Measured,
    "candidate": CandidateEvent,
    "verdict": CandidateEvent,
    "step": StepEvent,
    "cache": CacheEvent,
    "expired": Expired,
    "routine": Routine,
    "condition": Condition,
    "fault": Fault,
    "stop": Stopped,
}


@cache
def _adapter(model: type) -> TypeAdapter[Any]:
    """Made when the first event of a model is read: most commands read none."""
    return TypeAdapter(model)


class EventError(Exception):
    """An event differs from the form that a search writes. The message names the field."""

    def __init__(self, event: Mapping[str, Any], fault: str) -> None:
        name = event.get("key", event["kind"])
        super().__init__(f"the run's event {name!r:.80} is not as this version writes it: {fault}")


def parse_event(line: bytes) -> dict[str, Any]:
    """The event of one line. Raises ValueError unless the line is a JSON object with a kind, EventError for a field
    that is missing, unknown, of another type, or out of bounds."""
    event = from_json(line, allow_inf_nan=False)
    if not isinstance(event, dict) or not isinstance(event.get("kind"), str):
        raise ValueError("not an object with a kind")
    kind, key = event["kind"], event.get("key")
    try:
        _adapter(_MODELS.get(kind, Other)).validate_python(event)
    except ValidationError as error:
        raise EventError(event, _fault(error)) from None
    if key is not None and not is_key(kind, str(key)):
        expected = form_of(kind) if kind in PARTS else f"{kind}/..."
        raise EventError(event, f"field 'key': expected {expected!r}, found {key!r:.80}")
    return event


def _fault(error: ValidationError) -> str:
    """The first fault as `field 'evaluation.measurement': what was expected, what was found`."""
    fault = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "missing":
        return f"field {field!r} is missing"
    if fault["type"] == "extra_forbidden":
        return f"field {field!r} is unknown"
    return f"field {field!r}: {fault['msg']}, found {fault['input']!r:.80}"

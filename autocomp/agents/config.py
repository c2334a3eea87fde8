"""The choice of agents for a search and its form, from a YAML file or from the words of the command line.

The dataclasses are both the schema of the file and what the agents are made from. They hold no key, so that a run
folder may keep them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from autocomp.data import closest
from autocomp.documents import problems, read_mapping
from autocomp.errors import ConfigError, TrustError

RULES = "rules"
FORMS = "rules, or openai:MODEL[@BASE_URL]"
KINDS = ("rules", "llm", "llm+rules")
_STRICT = ConfigDict(extra="forbid")

Positive = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=1000)]
OWN_FIELDS = (
    *("model", "messages", "stream", "stream_options", "response_format", "tools", "tool_choice"),
    *("input", "instructions", "text", "store", "previous_response_id", "conversation", "background"),
)
MULTIPLIERS = ("n", "best_of", "max_tokens", "max_completion_tokens", "max_output_tokens", "n_predict", "num_predict")


def _further(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """Further fields of a request may not change what is asked, nor make an answer longer than budgets reckon with."""
    for name in extra:
        if name in OWN_FIELDS:
            raise ValueError(f"{name!r} cannot be set: the program sets it itself")
        if name in MULTIPLIERS:
            raise ValueError(f"{name!r} changes the length of answers: set `max_tokens` of the model, or `samples`")
    return extra


@dataclass(frozen=True)
class Price:
    """For a million tokens, in any one currency; `--money` is in the same. `cached` is that of prompt tokens which the
    endpoint has in its own cache; None where they cost as much as others."""

    __pydantic_config__ = _STRICT
    prompt: Annotated[float, Field(ge=0, le=1e9)]
    completion: Annotated[float, Field(ge=0, le=1e9)]
    cached: Annotated[float, Field(ge=0, le=1e9)] | None = None


@dataclass(frozen=True)
class Member:
    """One model of an ensemble, or the rules. The endpoint decides every field that is None. Times are in seconds.

    `weight` is its share of the plans or kernels. `samples` are independent answers: a planner's share is asked for in
    that many requests, and a coder answers up to that many times until a kernel parses and checks. `answers` is what
    the endpoint can promise of an answer's form; `api` is how it is asked: by chat completions, or by the Responses
    API, where a model gets its thoughts of earlier turns back. `key` names the environment variable that holds the key.
    """

    __pydantic_config__ = _STRICT
    model: str
    weight: Positive = 1.0
    samples: Count = 1
    temperature: Annotated[float, Field(ge=0, le=100)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=1 << 24)] | None = None
    price: Price | None = None
    answers: Literal["schema", "json", "text"] = "schema"
    api: Literal["chat", "responses"] = "chat"
    stream: bool = False
    connect_timeout: Seconds = 5.0
    read_timeout: Seconds = 300.0
    total_timeout: Seconds = 900.0
    attempts: Count = 6
    longest_wait: Seconds = 60.0
    concurrency: Count = 8
    requests_per_minute: Annotated[float, Field(ge=0.01, le=1e6)] | None = None
    key: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    extra: Annotated[Mapping[str, Any], AfterValidator(_further)] = field(default_factory=dict)

    @property
    def is_rules(self) -> bool:
        return self.model == RULES


@dataclass(frozen=True)
class Agents:
    """The planner's and the coder's ensembles, and how they are asked.

    `plans` is the form of a plan: in words; structured, under a JSON schema; or the choice of one ready transformation,
    with a prompt that fits a small context. `codes` is the form of a kernel: whole, or edits of the parent.
    `phases` 1 asks for plan and kernel in one answer. `combine` is the chance that a plan is asked to combine the
    parent with a peer. `templates` is a folder of the user's own prompt templates. `fallback` says who answers where no
    model can: nobody, and the search ends, or the rules. `shares` says what the models' shares follow: their weights
    alone, or also what their plans gained for their price (`bandit.py`).
    """

    __pydantic_config__ = _STRICT
    planner: tuple[Member, ...] = (Member(RULES),)
    coder: tuple[Member, ...] = ()  # none: the planner's
    plans: Literal["words", "structured", "choice"] = "words"
    codes: Literal["whole", "edits"] = "whole"
    phases: Literal[1, 2] = 2
    combine: Annotated[float, Field(ge=0, le=1)] = 0.0
    plans_per_request: Count = 4
    templates: str | None = None
    fallback: Literal["none", "rules"] = "none"
    shares: Literal["weights", "gain"] = "weights"

    @property
    def coders(self) -> tuple[Member, ...]:
        return self.coder or self.planner

    @property
    def models(self) -> tuple[Member, ...]:
        """All members that ask an endpoint."""
        return tuple(member for member in (*self.planner, *self.coders) if not member.is_rules)

    @property
    def is_mixed(self) -> bool:
        """True if models and the rules agent plan in one search."""
        return len({member.is_rules for member in self.planner}) == 2


AGENTS: TypeAdapter[Agents] = TypeAdapter(Agents)


def load(path: Path) -> Agents:
    """The agents of a YAML file; `templates` is looked up beside it. Raises ConfigError naming the key at fault."""
    document = read_mapping(path, "an agents file")
    try:
        agents = AGENTS.validate_python(document)
    except ValidationError as error:
        raise ConfigError(f"{path}: " + "; ".join(problems(error, document, _known_keys))) from error
    if not agents.planner:
        raise ConfigError(f"{path}: 'planner' names no agent", hint=f"give at least one model: {FORMS}")
    if agents.templates is None:
        return agents
    folder = (path.parent / agents.templates).resolve()
    if not folder.is_dir():
        raise ConfigError(f"{path}: the template folder {folder} does not exist")
    return replace(agents, templates=str(folder))


def from_words(
    kind: str | None, planners: Sequence[str], coders: Sequence[str], agents: Agents | None = None
) -> Agents:
    """The agents that the command line asks for; `agents`, from a file, is what the words add to or replace.

    `kind` is rules, llm or llm+rules: by default llm where a model is named. Raises ConfigError.
    """
    agents = agents or Agents()
    if planners:
        agents = replace(agents, planner=tuple(Member(spec) for spec in planners), coder=agents.coder if coders else ())
    if coders:
        agents = replace(agents, coder=tuple(Member(spec) for spec in coders))
    if kind is None:
        return agents
    if kind not in KINDS:
        raise ConfigError(f"unknown kind of agent {kind!r}", hint=f"known: {', '.join(KINDS)}")
    if kind == RULES:
        return Agents()
    if not agents.models:
        raise ConfigError(
            f"--agent {kind} needs a model", hint="name one with --planner-model openai:MODEL[@BASE_URL], or --agents"
        )
    models = tuple(member for member in agents.planner if not member.is_rules) or agents.models
    return replace(agents, planner=(*models, Member(RULES)) if kind == "llm+rules" else models, coder=agents.coders)


def granted(asked: Agents, given: Agents) -> Agents:
    """The agents that a run folder asks for, with the addresses, keys, prices and templates that this user gives.

    A folder may come from anyone: it names models, and nobody but the user says where these are, and which key goes
    there. A model without address and key is asked where the user's own environment says. Raises TrustError for a model
    that is not given, and for templates.
    """
    if asked.templates is not None and given.templates is None:
        raise TrustError(
            f"the run used prompt templates from {asked.templates}, chosen by whoever began it",
            hint="name an agents file of your own with `templates`: --agents FILE",
        )

    from autocomp.agents.llm.endpoints.endpoint import parse_spec

    def grant(member: Member) -> Member:
        if member.is_rules:
            return member
        named = parse_spec(member.model, {})
        same = [own for own in given.models if parse_spec(own.model, {}).model == named.model]
        own = next((own for own in same if own.model == member.model), None) or next(iter(same), None)
        if own is not None:
            return replace(member, model=own.model, key=own.key, price=own.price or member.price)
        if named.public and member.key is None:
            return member
        key = "" if member.key is None else f", with the key in {member.key}"
        raise TrustError(
            f"the run asks {named.model!r} at {named.base_url}{key}, which you have not allowed",
            hint=f"if you know and trust it: --planner-model {member.model}, or --agents FILE",
        )

    return replace(
        asked,
        planner=tuple(map(grant, asked.planner)),
        coder=tuple(map(grant, asked.coder)),
        templates=given.templates,
    )


def _known_keys(parents: Sequence[int | str]) -> list[str]:
    kind = Price if "price" in parents else Member if parents else Agents
    return [item.name for item in fields(kind)]


def describe(members: Sequence[Member]) -> str:
    """The members' names, as records and tables show them."""
    return ", ".join(dict.fromkeys(member.model for member in members))


def unknown_model(spec: str) -> ConfigError:
    near = closest(spec, [RULES])
    return ConfigError(f"unknown agent {spec!r}", hint=(f"did you mean {near!r}? " if near else "") + f"give {FORMS}")

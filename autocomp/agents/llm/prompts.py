"""Prompts from templates: a pure function of the context. A user's folder may override any template by its name."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from autocomp.agents.llm.edits import DIVIDER, REPLACE, SEARCH
from autocomp.agents.llm.endpoints.forms.message import Message
from autocomp.agents.llm.feedback import annotated, feedback, numbered
from autocomp.agents.llm.moves import Move, move_id
from autocomp.agents.llm.offers import offers
from autocomp.agents.llm.schema import GAINS
from autocomp.agents.llm.statement import accuracy, statement
from autocomp.agents.scientist import fastest_first
from autocomp.data import decode, read_regular
from autocomp.errors import ConfigError
from autocomp.targets.evaluation import Number
from autocomp.targets.planning import Attempt, Context, Peer, Plan
from autocomp.targets.protocol import Focus

Phase = Literal[
    "plan",
    "structured",
    "choice",
    "code",
    "edit",
    "single",
    "translate",
    "repair",
    "repair_edit",
    "mend",
    "select",
    "design",
]
PLANNING: tuple[Phase, ...] = ("plan", "structured", "choice", "single", "design")
REPAIRS: tuple[Phase, ...] = ("repair", "repair_edit")
MOST_TO_SELECT_FROM = 24  # kernels that a selector is shown, the fastest
LATEST_ATTEMPTS = 12  # that a prompt tells of
LATEST_LESSONS = 8  # of other kernels
SHIPPED = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Asked:
    """The subject of a question, besides the context. Planning asks for `count` plans, from `moves` among others, and
    may combine the parent with `peer`. A design names `avenues` first and has `peer` to compare with. Coding needs
    `plan`; a repair also the `kernel` that failed and its `failure`. Mending edits the `answer` that did not fit and
    its `failure`."""

    count: int = 1
    avenues: int = 10
    moves: Sequence[Move] = ()
    peer: Peer | None = None
    plan: Plan | None = None
    kernel: str = ""
    failure: str = ""
    answer: str = ""


def render_prompt(
    phase: Phase, context: Context, asked: Asked | None = None, templates: Path | None = None
) -> tuple[Message, ...]:
    """The messages that a phase sends. Raises ConfigError for a template that does not render."""
    asked = asked or Asked()
    values = _facts(phase, context, asked)

    def render(name: str) -> str:
        return render_template(name, values, templates)

    short = {"choice": "choice_system", "select": "select_system"}
    system = Message("system", render(short.get(phase, "system")))
    if phase in REPAIRS:
        fence = context.target.language.fence
        failed = Message("assistant", f"```{fence}\n{asked.kernel.strip()}\n```\n")
        return system, Message("user", render("code")), failed, Message("user", render(phase))
    if phase == "mend":
        return (
            system,
            Message("user", render("edit")),
            Message("assistant", asked.answer),
            Message("user", render(phase)),
        )
    return system, Message("user", render(phase))


def render_template(name: str, values: Mapping[str, Any], templates: Path | None = None) -> str:
    """One template with its values. Raises ConfigError where it does not render."""
    try:
        environment = _shipped() if templates is None else _environment((templates, SHIPPED))
        return environment.get_template(f"{name}.j2").render(values).strip() + "\n"
    except jinja2.TemplateError as error:
        raise _template_error(error, name, templates) from error
    except Exception as error:  # of a template's own expressions
        raise ConfigError(f"prompt template {name}.j2: {type(error).__name__}: {error}") from error


def shown_population(context: Context) -> Sequence[Peer]:
    """The kernels that a selector chooses from, the fastest first."""
    return fastest_first(context.peers)[:MOST_TO_SELECT_FROM]


def counted(attempts: Sequence[Attempt]) -> list[tuple[Attempt, int]]:
    """Attempts that read the same as one, with their number, in the order of the last of each."""
    latest: dict[tuple[object, ...], Attempt] = {}
    times = Counter[tuple[object, ...]]()
    for attempt in attempts:
        read = (attempt.plan.option, attempt.plan.text, attempt.outcome, attempt.gain, attempt.message)
        latest.pop(read, None)
        latest[read] = attempt
        times[read] += 1
    return [(attempt, times[read]) for read, attempt in latest.items()]


def _facts(phase: Phase, context: Context, asked: Asked) -> Mapping[str, Any]:
    plan, target = asked.plan, context.target
    options = [option.id for option in context.menu.options] if phase in PLANNING else [plan.option] if plan else []
    kernels = (context.kernel, *(peer.kernel for peer in context.peers))
    uses = frozenset(kind for option in context.menu.options if option.id in options for kind in option.uses)
    # What a translation starts from does not use the machine, and so says nothing about what is needed.
    focus = Focus(kernels, uses, everything=phase == "translate")
    known = feedback(context)
    return {
        "phase": phase,
        "planning": phase in PLANNING,
        "target": target,
        "language": target.language,
        "objective": target.objective,
        "knowledge": target.knowledge(context.workload, focus),
        "workload": context.workload,
        "signature": _named(target.language.signature(context.workload), context),
        "skeleton": _named(target.language.skeleton(context.workload), context),
        "statement": statement(context.workload),
        "accuracy": accuracy(context.workload),
        "kernel": context.kernel.strip(),
        "annotated_kernel": annotated(context.kernel, known),
        "numbered_kernel": numbered(context.kernel),
        "loops": target.language.loops(context.kernel) if phase == "structured" else (),
        "feedback": known,
        "evaluation": context.evaluation,
        "lineage": context.lineage,
        "attempts": () if context.findings else context.attempts[-LATEST_ATTEMPTS:],  # findings sum them up
        "lessons": () if context.findings else context.lessons[-LATEST_LESSONS:],
        "findings": context.findings,
        "precedents": context.precedents,
        "menu": context.menu.options,
        "offers": offers(context, asked.moves) if phase in PLANNING else None,
        "moves": [(move_id(position), move) for position, move in enumerate(asked.moves)],
        "gains": GAINS,
        "count": asked.count,
        "avenues": asked.avenues,
        "population": shown_population(context) if phase == "select" else (),
        "others": max(0, len(context.peers) - MOST_TO_SELECT_FROM),
        "peer": asked.peer,
        "plan": plan,
        "failed_kernel": asked.kernel,
        "failure": asked.failure,
        "search_mark": SEARCH,
        "divider": DIVIDER,
        "replace_mark": REPLACE,
    }


def _named(head: str, context: Context) -> str:
    """A head with the name of the kernel's own entry function, whatever its file calls it."""
    language = context.target.language
    own = language.entry_of(context.kernel)
    return re.sub(rf"\b{re.escape(language.entry)}\b", lambda _: own, head, count=1)


@lru_cache(maxsize=1)
def _shipped() -> jinja2.Environment:
    """The templates that ship, which never change while a process runs: each is compiled once."""
    return _environment((SHIPPED,))


def _environment(folders: Sequence[Path]) -> jinja2.Environment:
    """Jinja's sandbox: templates may come from other people, and must not run code."""
    environment = ImmutableSandboxedEnvironment(
        loader=jinja2.FunctionLoader(lambda name: _template(name, folders)),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["thousands"] = _amount
    environment.filters["json"] = lambda value: json.dumps(value, default=str)
    environment.filters["counted"] = counted
    environment.filters["percent"] = lambda share: f"{100 * share:.1f} %"
    return environment


def _template(name: str, folders: Sequence[Path]) -> tuple[str, str, None] | None:
    """A template's text and file, from the first folder that has it; a link is not followed to what lies elsewhere."""
    if not re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", name):
        return None
    for folder in folders:
        try:
            text = decode(read_regular(folder / name), str(folder / name), ConfigError)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ConfigError(f"prompt template {folder / name}: {error.strerror}") from error
        return text, str(folder / name), None
    return None


def _amount(value: Number) -> str:
    """Integers in full, others with four digits."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _template_error(error: jinja2.TemplateError, name: str, templates: Path | None) -> ConfigError:
    if isinstance(error, jinja2.TemplateNotFound):
        return ConfigError(f"no prompt template {error.name!r}", hint=f"looked in {templates or SHIPPED}")
    where = f"{error.filename}:{error.lineno}" if isinstance(error, jinja2.TemplateSyntaxError) else f"{name}.j2"
    return ConfigError(f"prompt template {where}: {error.message}", hint=f"the shipped templates are in {SHIPPED}")

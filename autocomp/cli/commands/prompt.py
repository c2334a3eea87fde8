"""`autocomp prompt`: what a language model would be sent for a kernel, and how long that is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import click

from autocomp.cli.agents import agent_options
from autocomp.cli.commands.run import read_kernel
from autocomp.cli.options import (
    define_option,
    json_option,
    path_option,
    print_json,
    say,
    set_option,
    show_content,
    target_option,
    trust_option,
)
from autocomp.cli.problem import load_problem
from autocomp.errors import KernelError

if TYPE_CHECKING:
    from autocomp.agents.config import Agents
    from autocomp.agents.llm.endpoints.forms.message import Message
    from autocomp.agents.llm.prompts import Asked, Phase
    from autocomp.targets.evaluation import Evaluation
    from autocomp.targets.planning import Context
    from autocomp.targets.protocol import Target

PHASES = (
    *("plan", "structured", "choice", "code", "edit", "single", "translate", "repair", "repair_edit", "mend"),
    *("select", "design"),
)


@dataclass(frozen=True)
class Question:
    """The question about the kernel, as the options of the command give it."""

    phase: Phase
    count: int
    option: str
    plan_text: str
    peer: Path | None
    failed: Path | None
    answer: Path | None


@click.command()
@click.argument("kernel", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--workload", required=True, help="Workload of the kernel: a file, or the name of a shipped one.")
@click.option(
    "--phase",
    type=click.Choice(PHASES),
    default="plan",
    show_default=True,
    metavar="PHASE",
    help=f"Question to print: {', '.join(PHASES)}.",
)
@click.option("--count", type=click.IntRange(min=1), default=4, show_default=True, help="Number of plans to ask for.")
@click.option("--option", default="", help="Menu option of the plan to implement.")
@click.option("--plan", "plan_text", default="", help="The plan in words (default: the option's title).")
@click.option("--peer", type=click.Path(path_type=Path), default=None, help="File with another kernel to combine with.")
@click.option(
    "--failed", type=click.Path(path_type=Path), default=None, help="File with the failed kernel, for a repair."
)
@click.option(
    "--answer",
    type=click.Path(path_type=Path),
    default=None,
    help="File with edits that do not fit, for the phase mend.",
)
@click.option("--menu", "menus", multiple=True, help="Optimisation menu, by name or path; repeatable.")
@click.option(
    "--dropout",
    type=float,
    default=0.0,
    show_default=True,
    help="Probability that the prompt leaves out a menu option.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of dropout and of the options' order.")
@click.option("--sections", is_flag=True, help="Print the tokens of each section in place of the prompt.")
@agent_options
@trust_option
@target_option
@set_option
@define_option
@path_option
@json_option
def prompt(
    kernel: Path,
    workload: str,
    menus: tuple[str, ...],
    dropout: float,
    seed: int,
    sections: bool,
    agents: Agents,
    trust: bool,
    target_spec: str | None,
    overrides: dict[str, int | float],
    definitions: dict[str, int | float],
    paths: tuple[Path, ...],
    as_json: bool,
    **question: Any,
) -> None:
    """Print the prompt that a model would get for the kernel in the file KERNEL ("-" for standard input).

    With --json, the body of the request to the first model. Nothing is sent.
    """
    from autocomp.agents.llm.endpoints.tokens import estimate_prompt
    from autocomp.agents.llm.planner import templates_of
    from autocomp.agents.llm.prompts import PLANNING, render_prompt
    from autocomp.targets.menu_file import for_target

    loaded, target = load_problem(workload, paths, overrides, target_spec, trust=trust, definitions=definitions)
    menu = for_target(menus, loaded, target, paths).dropout(Random(f"menu/{seed}"), dropout)
    asking = Question(**question)
    context = _context(read_kernel(kernel), str(kernel), loaded, target, menu, seed, diagnosed=asking.phase in PLANNING)
    with _named(kernel):
        asked = _asked(context, asking)
        if asked.peer is not None:
            context = replace(context, peers=(*context.peers, asked.peer))
        messages = render_prompt(asking.phase, context, asked, templates_of(agents))
        schema = _schema(asking.phase, context, asked)
    if as_json:
        print_json(_body(agents.models[:1], messages, schema))
        return
    if sections:
        _print_sections(messages)
        return
    for message in messages:
        show_content(f"=== {message.role} ===\n{message.content}\n")
    if schema is not None:
        import json

        show_content(f"=== JSON schema of the answer ===\n{json.dumps(schema, indent=1)}\n")
    say(f"about {estimate_prompt(messages):,} tokens (estimated from words and marks)", err=True)


@contextmanager
def _named(file: Path) -> Iterator[None]:
    """Faults in the kernel's text name its file."""
    try:
        yield
    except KernelError as error:
        for fault in error.all:
            if fault.place is not None:
                fault.place = replace(fault.place, source=str(file))
        raise


def _print_sections(messages: tuple[Message, ...]) -> None:
    from autocomp.agents.llm.endpoints.tokens import estimate_prompt, tokens_by_section

    for name, count in tokens_by_section(messages):
        say(f"{count:>7,}  {name}")
    say(f"{estimate_prompt(messages):>7,}  in all (estimated from words and marks)")


def _context(
    text: str, source: str, workload: Any, target: Target, menu: Any, seed: int, *, diagnosed: bool
) -> Context:
    """The kernel as a search without a past would show it: `diagnosed` for a planner."""
    from autocomp.targets.planning import Context, Peer

    evaluation = target.evaluator(workload, source).evaluate(text)
    known = target.diagnose(text, workload) if diagnosed and evaluation.value else None
    peers = (Peer(0, text, evaluation),)
    chance = Random(f"agent/{seed}")
    return Context(target, workload, text, evaluation, (), menu, chance, peers=peers, diagnosis=known)


def _asked(context: Context, question: Question) -> Asked:
    from autocomp.agents.llm.moves import moves
    from autocomp.agents.llm.planner import MOST_CHOICES
    from autocomp.agents.llm.prompts import PLANNING, Asked
    from autocomp.targets.planning import Peer, Plan

    def evaluated(file: Path) -> tuple[str, Any]:
        text = read_kernel(file)
        return text, context.target.evaluator(context.workload, str(file)).evaluate(text)

    ready = moves(context) if question.phase in PLANNING else ()
    titled = context.menu.get(question.option).title if question.option else "Make the kernel faster."
    broken, failure = "", "the edits do not fit"
    if question.failed is not None:
        broken, verdict = evaluated(question.failed)
        failure = _failure(context, broken, verdict)
    return Asked(
        count=question.count,
        moves=ready[:MOST_CHOICES] if question.phase == "choice" else ready,
        peer=Peer(1, *evaluated(question.peer)) if question.peer is not None else None,
        plan=Plan(question.option, question.plan_text or titled),
        kernel=broken or context.kernel,
        failure=failure,
        answer=read_kernel(question.answer) if question.answer is not None else "",
    )


def _failure(context: Context, broken: str, verdict: Evaluation) -> str:
    """A failed kernel in the words in which a search tells it to a coder."""
    from autocomp.targets.planning import cause_first

    stage = verdict.failure
    if stage is None:
        return "it is right: nothing failed"
    where = f" at line {stage.line}" if stage.line else ""
    cause = context.target.cause(broken, context.workload, verdict)
    return cause_first(cause, f"failed {stage.stage}{where}: {stage.message}")


def _schema(phase: Phase, context: Context, asked: Asked) -> Any:
    from autocomp.agents.llm.prompts import shown_population
    from autocomp.agents.llm.schema import choice_schema, selection_schema, structured_schema

    if phase == "select":
        return selection_schema([peer.id for peer in shown_population(context)])
    if phase == "structured":
        return structured_schema(context.menu, context.target.language.loops(context.kernel), asked.moves, asked.count)
    return choice_schema(asked.moves) if phase == "choice" else None


def _body(members: tuple[Any, ...], messages: tuple[Message, ...], schema: Any) -> dict[str, Any]:
    """The request as the first model gets it; of a model that is not named, only what does not depend on it."""
    from autocomp.agents.llm.endpoints.client import Client
    from autocomp.agents.llm.endpoints.tokens import estimate_prompt

    if members:
        body = Client(members[0]).body(messages, schema)
    else:
        body = {"messages": [{"role": message.role, "content": message.content} for message in messages]}
    return {"request": body, "schema": schema, "estimated_tokens": estimate_prompt(messages)}

"""`autocomp isa`: read and check descriptions of accelerators."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autocomp.cli.agents import agent_options
from autocomp.cli.options import (
    CommandGroup,
    output_options,
    path_option,
    print_json,
    say,
    set_option,
    show_content,
    warn,
)
from autocomp.errors import AutocompError, ConfigError, IsaError

if TYPE_CHECKING:
    from autocomp.agents.config import Agents
    from autocomp.targets.simulator.isa.model import Accelerator


@click.group(cls=CommandGroup)
def isa() -> None:
    """Read and check descriptions of accelerators."""


@isa.command()
@click.argument("name")
@click.option("--markdown", is_flag=True, help="Print the page as Markdown source.")
@set_option
@path_option
@output_options
def show(
    name: str,
    markdown: bool,
    overrides: dict[str, int | float],
    paths: tuple[Path, ...],
    as_json: bool,
    plain: bool,
) -> None:
    """Print the reference page of the accelerator NAME (a file, or the name of a shipped one): what a kernel's author
    needs to know, and how long things take."""
    from autocomp.targets.simulator import isa as language
    from autocomp.targets.simulator.guide import timing_page
    from autocomp.targets.simulator.isa.reference import plain as without_marks

    accelerator = language.load(name, overrides, paths)
    timing = timing_page(accelerator)
    page = language.reference(accelerator, markdown) + "\n" + (timing if markdown else without_marks(timing))
    if as_json:
        print_json(
            {
                "name": accelerator.name,
                "doc": accelerator.doc,
                "configuration": accelerator.configuration,
                "configurations": {
                    c.name: {"doc": c.doc, "parameters": dict(c.values)} for c in accelerator.configurations
                },
                "parameters": dict(accelerator.parameters),
                "constants": dict(accelerator.constants),
                "instructions": [i.name for i in accelerator.instructions],
                "aliases": [a.name for a in accelerator.aliases],
                "memories": {
                    m.name: {"rows": m.rows, "cols": m.cols, "element": m.element} for m in accelerator.memories
                },
                "digest": accelerator.digest,
                "path": accelerator.path,
                "reference": page,
                "timing": timing,
            }
        )
        return
    show_content(page + "\n")


@isa.command("list")
@path_option
@output_options
def list_(paths: tuple[Path, ...], as_json: bool, plain: bool) -> None:
    """List the accelerators found by name, and their configurations; `isa show` and --json say more."""
    from autocomp.cli.listing import named_files
    from autocomp.report import make_console
    from autocomp.report.grid import Grid, name, words
    from autocomp.targets.simulator import isa as language

    grid = Grid("", name("accelerator"), words("description"))
    document: list[dict[str, str]] = []
    for machine, file in sorted(named_files("isa", ".isa", paths).items()):
        try:
            accelerator = language.load(file)
        except AutocompError as error:
            warn(f"left out {file}: {error}")
            continue
        entries = {machine: accelerator.doc, **{f"{machine}:{c.name}": c.doc for c in accelerator.configurations}}
        for entry, doc in entries.items():
            grid.add(entry, doc.partition(". ")[0].rstrip(".") + "." if doc else "")
            document.append({"name": entry, "doc": doc, "path": str(file)})
    if as_json:
        print_json(document)
        return
    make_console(sys.stdout, plain).print(grid)


@isa.command()
def server() -> None:
    """Serve editors of descriptions on standard input and output, by the Language Server Protocol: errors while
    typing, hover and completion."""
    from autocomp.editors.server import make_server

    make_server().start_io()


@isa.command()
@click.argument("file")
@click.option(
    "--explain", "explained", is_flag=True, help="Also print derived facts: roles, tiles, the peak, and missing parts."
)
@set_option
@path_option
@output_options
def check(
    file: str,
    explained: bool,
    overrides: dict[str, int | float],
    paths: tuple[Path, ...],
    as_json: bool,
    plain: bool,
) -> None:
    """Check that FILE parses and can be simulated in all its configurations, and that its procedures and idioms
    compile. Warn of statements that are legal but probably mistakes."""
    from autocomp.cli.explanation import explanation_document, print_explanation
    from autocomp.targets.simulator import isa as language
    from autocomp.targets.simulator.isa.derived.advice import advice
    from autocomp.targets.simulator.isa.derived.explain import explain
    from autocomp.targets.simulator.schedulable import unschedulable
    from autocomp.targets.simulator.start.misplaced import misplaced_tiles

    accelerator = language.load(file, overrides, paths)
    machines = [accelerator]
    if not accelerator.configuration:
        machines += [language.load(f"{file}:{c.name}", overrides, paths) for c in accelerator.configurations]
    for machine in machines:
        _check_machine(machine)
    remarks = ((*advice(machine), *misplaced_tiles(machine)) for machine in machines)
    warnings = list(dict.fromkeys(remark for some in remarks for remark in some))
    if as_json:
        document = {"name": accelerator.name, "ok": True, "digest": accelerator.digest, "path": accelerator.path}
        document["warnings"] = [warning.document() for warning in warnings]
        if explained:
            reasons = dict(unschedulable(accelerator))
            document["explanation"] = {**explanation_document(explain(accelerator)), "unschedulable": reasons}
        print_json(document)
        return
    for warning in warnings:
        warn(str(warning))
    if explained:
        print_explanation(explain(accelerator), plain)
        for kind, reason in unschedulable(accelerator).items():
            say(f"no schedule: of a small {kind}, {reason}; searches change its kernel step by step")
    say(
        f"{accelerator.name}: {len(accelerator.instructions)} instructions, {len(accelerator.aliases)} aliases, "
        f"{len(accelerator.memories)} memories, {len(accelerator.units)} units: "
        + ("fine" if not warnings else f"fine, with {len(warnings)} warning{'s' if len(warnings) > 1 else ''}")
    )


def _check_machine(accelerator: Accelerator) -> None:
    from autocomp.targets.simulator import isa as language
    from autocomp.targets.simulator import kernel
    from autocomp.targets.simulator.start.check import check_idioms

    language.lower(accelerator)
    kernel.check_procedures(accelerator)
    check_idioms(accelerator)


@isa.command()
@click.argument("manuals", metavar="MANUAL...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="File of the description, NAME.isa.")
@click.option(
    "--rounds",
    type=click.IntRange(min=1, max=20),
    default=4,
    show_default=True,
    help="Ask the model for at most this many answers.",
)
@click.option(
    "--evaluations",
    type=click.IntRange(min=0),
    default=60,
    show_default=True,
    help="Search on a draft that holds, with at most this many evaluations; 0: no search.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the question; the same seed repeats it.")
@click.option("--tokens", type=click.IntRange(min=0), default=None, help="Stop after this many tokens of the models.")
@click.option("--money", type=click.FloatRange(min=0), default=None, help="Stop when their tokens have cost this much.")
@agent_options
@output_options
def draft(
    manuals: tuple[Path, ...],
    out: Path,
    rounds: int,
    evaluations: int,
    seed: int,
    tokens: int | None,
    money: float | None,
    agents: Agents,
    as_json: bool,
    plain: bool,
) -> None:
    """Have a model draft the description of a machine from its MANUALs: PDF, Markdown, HTML, headers or text.

    Every fact must cite words of a manual, and each citation is looked up. The draft is checked, and a matrix
    multiplication is built and judged; faults go back to the model. A search by rules then looks for a fast one. The
    command ends with a list of questions for a person.
    """
    from autocomp.agents.factory import make_ensemble
    from autocomp.agents.llm import Ledger
    from autocomp.agents.llm.planner import templates_of
    from autocomp.cli.drafting import draft_document, print_draft, search_draft
    from autocomp.data import write_output
    from autocomp.drafting.draft import draft as drafted
    from autocomp.drafting.manual import read_manual

    if not agents.models:
        raise ConfigError("a draft needs a language model", hint="name one: --planner-model openai:MODEL[@BASE_URL]")
    if out.exists():
        raise ConfigError(f"{out} already exists", hint="give --out a new file")
    pages = [page for path in manuals for page in read_manual(path)]

    def note(message: str) -> None:
        say(message, err=True)

    ensemble = make_ensemble(agents, Ledger(tokens, money))
    outcome = drafted(ensemble, pages, out.stem, rounds, note, seed, templates_of(agents))
    write_output(out, outcome.text)
    searched = search_draft(outcome, out, evaluations)
    if as_json:
        print_json(draft_document(outcome, out, searched))
    else:
        print_draft(outcome, out, searched, plain)
    if outcome.checked.faults:
        raise IsaError(
            f"the draft in {out} has faults after {outcome.rounds} rounds",
            hint="mend them by hand, or give more --rounds",
        )

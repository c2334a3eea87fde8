"""`autocomp menu`: the optimisations that planners choose from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autocomp.cli.agents import agent_options
from autocomp.cli.options import CommandGroup, output_options, path_option, print_json, say, warn
from autocomp.data import write_output
from autocomp.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from autocomp.agents.config import Agents


@click.group(cls=CommandGroup)
def menu() -> None:
    """List and show optimisation menus."""


@menu.command("list")
@path_option
@output_options
def list_(paths: tuple[Path, ...], as_json: bool, plain: bool) -> None:
    """List the menus that --menu finds by name."""
    from autocomp.cli.listing import named_files
    from autocomp.report import make_console
    from autocomp.report.grid import Grid, figure, name
    from autocomp.targets import menu_file as menus

    files = named_files("menus", ".yaml", paths)
    counts = {name: len(menus.load([str(file)], paths).options) for name, file in files.items()}
    if as_json:
        print_json([{"name": name, "options": counts[name], "path": str(file)} for name, file in files.items()])
        return
    grid = Grid("", name("menu"), figure("options"), name("file"))
    for menu_name, file in files.items():
        grid.add(menu_name, str(counts[menu_name]), str(file))
    make_console(sys.stdout, plain).print(grid)


@menu.command()
@click.argument("names", nargs=-1, required=True)
@path_option
@output_options
def show(names: tuple[str, ...], paths: tuple[Path, ...], as_json: bool, plain: bool) -> None:
    """Show the options of the menus NAMES, merged in this order."""
    import dataclasses

    from autocomp.report import make_console
    from autocomp.report.grid import Grid, name, words
    from autocomp.targets import menu_file as menus

    merged = menus.load(names, paths)
    if as_json:
        print_json({"name": merged.name, "options": [dataclasses.asdict(option) for option in merged.options]})
        return
    grid = Grid("", name("option"), name("transformation"), words("title"), words("against"))
    for option in merged.options:
        against = ", ".join(option.applies.causes) or "-"
        grid.add(option.id, option.transformation or "-", option.title, against)
    make_console(sys.stdout, plain).print(grid)


@menu.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--count", type=click.IntRange(min=1), default=3, show_default=True, help="Number of options to ask for.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="Menu file to write.")
@agent_options
def suggest(
    run: Path,
    count: int,
    out: Path,
    agents: Agents,
) -> None:
    """Have a model propose new options from the log of the folder RUN, for you to look over."""
    from autocomp.agents.factory import make_ensemble
    from autocomp.agents.llm.planner import templates_of
    from autocomp.agents.llm.suggest import suggest_options, to_yaml
    from autocomp.report import RunView
    from autocomp.report.runs.attempts import attempts, run_facts
    from autocomp.search import RunFolder
    from autocomp.search.log.snapshot import restore

    if not agents.models:
        raise ConfigError("the rules propose no options", hint="name a model: --planner-model openai:MODEL[@BASE_URL]")
    if out.exists():
        raise ConfigError(f"{out} already exists", hint="give --out a new file")
    folder = RunFolder.open(run)
    request, view = restore(folder), RunView.of(folder.events)
    suggestions = suggest_options(
        make_ensemble(agents),
        request.menu,
        run_facts(request, folder, view),
        attempts(view),
        count,
        request.options.seed,
        templates_of(agents),
    )
    for message in suggestions.messages:
        warn(message)
    if not suggestions.options:
        raise ModelError("the model proposed no new option")
    write_output(
        out,
        to_yaml(suggestions.options, request.menu.kind, f"Proposed by {agents.planner[0].model} from the run {run}"),
    )
    for option in suggestions.options:
        say(f"{option.id}: {option.title}")
    say(
        f"written to {out}; when you agree with them: autocomp search ... --menu {request.menu.name} --menu {out}",
        whole=True,
    )

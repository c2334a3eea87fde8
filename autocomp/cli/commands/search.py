"""`autocomp search`: from a workload to the fastest kernel that can be found for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from autocomp.cli.agents import agent_options
from autocomp.cli.confirm import checked_model, confirm_option
from autocomp.cli.folding import model_options
from autocomp.cli.options import means_options, output_options, say, warn
from autocomp.cli.problem import ProblemOptions, problem_options, require_different
from autocomp.search.options import Options

if TYPE_CHECKING:
    from autocomp.agents.config import Agents
    from autocomp.search.session import Means

RUNS = Path("runs")


@click.command()
@click.argument("workloads", metavar="WORKLOAD...", nargs=-1, required=True)
@agent_options
@click.option("--menu", "menus", multiple=True, help="Optimisation menu, by name or path; repeatable.")
@click.option(
    "--strategy",
    default="beam",
    show_default=True,
    help="beam, evolve, islands, archive, greedy, random, exhaustive, or tools.",
)
@model_options(Options, "options")
@click.option(
    "--reuse",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    metavar="N",
    help="Begin with the plans of the N nearest schedules; 0 ignores schedules and the experience of earlier searches.",
)
@click.option("--forecast", is_flag=True, help="Print the expected cost of the language models, and stop.")
@click.option(
    "--rules-first/--no-rules-first",
    default=None,
    help="Let the rules agent search first, with as many evaluations; models begin with its best kernel "
    "(default: with --agent llm+rules).",
)
@click.option(
    "--fallback", type=click.Choice(("none", "rules")), default=None, help="Agent that answers if no model can."
)
@click.option("--run-dir", type=click.Path(path_type=Path), default=None, help="Folder of the run (default: runs/...).")
@means_options
@confirm_option
@problem_options
@output_options
def search(
    workloads: tuple[str, ...],
    agents: Agents,
    menus: tuple[str, ...],
    strategy: str,
    options: Options,
    reuse: int,
    forecast: bool,
    rules_first: bool | None,
    fallback: Literal["none", "rules"] | None,
    run_dir: Path | None,
    means: Means,
    confirm: str | None,
    problem: ProblemOptions,
    as_json: bool,
    plain: bool,
) -> None:
    """Search for the fastest correct kernel of WORKLOAD (a file, or the name of a shipped one).

    Several workloads share the budgets: each gets an equal share, the unused rest of the earlier ones, and a run folder
    of its own (in --run-dir, if given).
    """
    from autocomp.agents.factory import make_agents
    from autocomp.cli.forecast import forecast_text
    from autocomp.cli.session import search_and_report, search_by_rules
    from autocomp.schedules.experience import experience_for
    from autocomp.schedules.reuse import precedents_for
    from autocomp.schedules.store import Store, user_root
    from autocomp.search.budget import Budget
    from autocomp.search.log.folder import new_run_path
    from autocomp.search.log.snapshot import Request, create
    from autocomp.targets.conditions import conditions_of
    from autocomp.targets.menu_file import for_target
    from autocomp.workbench.run import check_strategy
    from autocomp.workload import require_trusted

    agents = agents if fallback is None else replace(agents, fallback=fallback)
    requests = []
    for name, share in zip(workloads, Budget.of(options).shared(len(workloads)), strict=True):
        workload, target = problem.load(name)
        require_trusted(workload)
        if confirm is not None:
            checked_model(target)  # refused before there is a folder
        menu = for_target(menus, workload, target, problem.paths)
        precedents = precedents_for(workload, target, reuse, warn) if reuse else ()
        experience = experience_for(workload, target, warn) if reuse else ()
        granted = share.within(options)
        requests.append(Request(workload, target, menu, agents, granted, strategy, precedents, experience))
    require_different([request.workload for request in requests])
    make_agents(agents, requests[0].target, options.tokens, options.money)  # refused before there is a folder
    check_strategy(requests[0])
    for request in requests:
        conditions_of(request.target, options.conditions)
    told = [text for text in map(forecast_text, requests) if text is not None]
    for text in told or ["forecast: no language model is asked"] * forecast:
        say(text, err=not forecast)
    if forecast:
        return
    Store(user_root()).require_writable()
    now = datetime.now().astimezone()
    runs = []
    for request in requests:
        name = request.workload.name
        own = run_dir / name if run_dir and len(requests) > 1 else run_dir
        path = own or new_run_path(RUNS, name, now)
        if agents.models and (agents.is_mixed if rules_first is None else rules_first):
            request = search_by_rules(request, path.with_name(f"{path.name}-rules"), means, plain=plain or as_json)
        runs.append((create(path, request, now), request))
    search_and_report(runs, means, confirm=confirm, as_json=as_json, plain=plain)

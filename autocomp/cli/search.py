"""`autocomp search`: from a workload to the fastest kernel that can be found for it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from autocomp.cli.agents import agent_options, chosen_agents
from autocomp.cli.confirm import checked_model, confirm_option
from autocomp.cli.options import (
    cache_option,
    executor_option,
    judge_seed_option,
    objective_option,
    output_options,
    path_option,
    set_option,
    target_option,
    trust_option,
    warn,
    workers_option,
)
from autocomp.cli.problem import load_problem

RUNS = Path("runs")


@click.command()
@click.argument("workloads", metavar="WORKLOAD...", nargs=-1, required=True)
@agent_options
@click.option("--menu", "menus", multiple=True, help="Optimisation menu, by name or path; repeatable.")
@click.option("--strategy", default="beam", show_default=True, help="beam, evolve, greedy, random or exhaustive.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same run.")
@judge_seed_option
@click.option("--beam", type=click.IntRange(min=1), default=6, show_default=True, help="Kernels expanded in each step.")
@click.option("--plans", type=click.IntRange(min=1), default=6, show_default=True, help="Plans for each parent.")
@click.option("--codes", type=click.IntRange(min=1), default=1, show_default=True, help="Kernels for each plan.")
@click.option("--dropout", type=float, default=0.25, show_default=True, help="Chance that a menu option is withheld.")
@click.option(
    "--patience", type=click.IntRange(min=1), default=None, help="Steps without gain to end (default: the strategy's)."
)
@click.option("--steps", type=click.IntRange(min=0), default=40, show_default=True, help="Steps at most.")
@click.option("--evaluations", type=click.IntRange(min=1), default=None, help="Evaluations at most.")
@click.option("--seconds", type=click.FloatRange(min=0), default=None, help="Wall-clock time at most.")
@click.option("--tokens", type=click.IntRange(min=0), default=None, help="Tokens of language models at most.")
@click.option("--money", type=click.FloatRange(min=0), default=None, help="Price of their tokens at most.")
@click.option("--ratio", type=click.FloatRange(min=0), default=0.995, show_default=True, help="Ratio good enough.")
@click.option("--keep-parents/--no-keep-parents", default=True, show_default=True, help="Parents stay in the beam.")
@click.option(
    "--gate",
    type=click.FloatRange(min=0, min_open=True),
    default=None,
    help="Expand a kernel only if it is at most N times worse than its parent.",
)
@click.option(
    "--alike",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Kernels made by the same options that a beam takes first.",
)
@click.option("--black-box", is_flag=True, help="Agents see measurements and failures only, not how kernels behave.")
@click.option("--repair/--no-repair", default=True, show_default=True, help="Let the coder mend a failed kernel once.")
@click.option("--robust", is_flag=True, help="Find the kernel whose worst measurement in all conditions is best.")
@click.option(
    "--condition",
    "conditions",
    multiple=True,
    metavar="NAME=NUMBER,...",
    help="Parameters of a machine on which the result has to hold too; repeatable (default: the target's conditions).",
)
@click.option(
    "--reuse",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    metavar="N",
    help="Begin with the plans of the N nearest schedules; 0 for none.",
)
@click.option("--run-dir", type=click.Path(path_type=Path), default=None, help="Folder of the run (default: runs/...).")
@workers_option
@executor_option
@cache_option
@confirm_option
@trust_option
@target_option
@objective_option
@set_option
@path_option
@output_options
def search(
    workloads: tuple[str, ...],
    agent: str | None,
    planner_models: tuple[str, ...],
    coder_models: tuple[str, ...],
    agents_file: Path | None,
    menus: tuple[str, ...],
    strategy: str,
    seed: int,
    judge_seed: int | None,
    beam: int,
    plans: int,
    codes: int,
    dropout: float,
    patience: int | None,
    steps: int,
    evaluations: int | None,
    seconds: float | None,
    tokens: int | None,
    money: float | None,
    ratio: float,
    keep_parents: bool,
    gate: float | None,
    alike: int,
    black_box: bool,
    repair: bool,
    robust: bool,
    conditions: tuple[str, ...],
    reuse: int,
    run_dir: Path | None,
    workers: int | None,
    executor: str | None,
    cache: bool,
    confirm: str | None,
    trust: bool,
    target_spec: str | None,
    objective: str | None,
    overrides: dict[str, int | float],
    paths: tuple[Path, ...],
    as_json: bool,
    plain: bool,
) -> None:
    """Search for the fastest correct kernel of WORKLOAD (a file, or the name of a shipped one).

    Several workloads share the budgets: each gets an equal share, a run folder of its own (in --run-dir, if given), and
    what the ones before it left over.
    """
    from autocomp.agents.factory import make_agents
    from autocomp.cli.session import search_and_report
    from autocomp.schedules.reuse import precedents_for
    from autocomp.schedules.store import Store, user_root
    from autocomp.search import Options
    from autocomp.search.budget import Budget
    from autocomp.search.executors import available_cores
    from autocomp.search.folder import new_run_path
    from autocomp.search.session import Means, strategy_of
    from autocomp.search.snapshot import Request, create
    from autocomp.targets.conditions import conditions_of
    from autocomp.targets.menu_file import for_target
    from autocomp.workload import require_trusted

    options = Options(
        seed=seed,
        judge_seed=judge_seed,
        beam=beam,
        plans_per_parent=plans,
        codes_per_plan=codes,
        dropout=dropout,
        keep_parents=keep_parents,
        gate=gate,
        alike=alike,
        black_box=black_box,
        patience=patience,
        max_steps=steps,
        evaluations=evaluations,
        seconds=seconds,
        tokens=tokens,
        money=money,
        ratio=ratio,
        repair=repair,
        robust=robust,
        conditions=conditions,
    )
    means = Means(workers or available_cores(), executor, cache)
    agents = chosen_agents(agent, planner_models, coder_models, agents_file)
    requests = []
    for name, share in zip(workloads, Budget.of(options).shared(len(workloads)), strict=True):
        workload, target = load_problem(name, paths, overrides, target_spec, trust=trust, objective=objective)
        require_trusted(workload)
        if confirm is not None:
            checked_model(target)  # refused before there is a folder
        menu = for_target(menus, workload, target, paths)
        precedents = precedents_for(workload, target, reuse, warn) if reuse else ()
        requests.append(Request(workload, target, menu, agents, share.within(options), strategy, precedents))
    make_agents(agents, requests[0].target, tokens, money)  # refuses what cannot work before there is a folder
    strategy_of(requests[0])
    for request in requests:
        conditions_of(request.target, conditions)
    Store(user_root()).require_writable()
    now = datetime.now().astimezone()
    runs = []
    for request in requests:
        name = request.workload.name
        own = run_dir / name if run_dir and len(requests) > 1 else run_dir
        runs.append((create(own or new_run_path(RUNS, name, now), request, now), request))
    search_and_report(runs, means, confirm=confirm, as_json=as_json, plain=plain)

"""`autocomp explore`: which sizes of a machine are worth their area, for a set of workloads."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autocomp.cli.agents import agent_options
from autocomp.cli.folding import model_options
from autocomp.cli.options import (
    means_options,
    number_of,
    output_options,
    path_option,
    print_json,
    say,
    set_option,
    trust_option,
)
from autocomp.cli.problem import load_problem, require_different
from autocomp.search.options import Options

if TYPE_CHECKING:
    from autocomp.agents.config import Agents
    from autocomp.search.explore import Point
    from autocomp.search.log.snapshot import Request
    from autocomp.search.session import Means
    from autocomp.targets.planning import Precedent
    from autocomp.targets.protocol import Target

INTERRUPTED = 130
Sweep = dict[str, tuple[int | float, ...]]


def _sweeps(ctx: click.Context, option: click.Parameter, values: tuple[str, ...]) -> Sweep:
    sweep: Sweep = {}
    for value in values:
        match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=\s*(\S+)\s*", value)
        numbers = [number_of(text) for text in match.group(2).split(",")] if match else []
        if match is None or None in numbers:
            raise click.BadParameter(f"{value!r} is not NAME=NUMBER,NUMBER…, as in DIM=8,16,32", ctx, option)
        if match.group(1) in sweep:
            raise click.BadParameter(f"{match.group(1)} is swept twice", ctx, option)
        sweep[match.group(1)] = tuple(dict.fromkeys(n for n in numbers if n is not None))
    return sweep


@click.command()
@click.argument("workloads", metavar="WORKLOAD...", nargs=-1, required=True)
@click.option(
    "--sweep",
    required=True,
    multiple=True,
    callback=_sweeps,
    metavar="NAME=NUMBER,...",
    help="Values of a parameter of the accelerator, as in --sweep DIM=8,16,32; repeatable: all combinations.",
)
@agent_options
@click.option(
    "--reuse",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="Begin with the plans of the N nearest points that were searched before; 0 for none.",
)
@click.option(
    "--objective",
    "objectives",
    multiple=True,
    metavar="NAME",
    help="Search for kernels of the least cycles, energy or edp (energy x cycles); repeatable, a point for each.",
)
@model_options(Options, "options", only=("evaluations", "seed"), defaults={"evaluations": 30})
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("exploration"),
    show_default=True,
    help="Folder of the runs; the same command continues there.",
)
@click.option(
    "--plot", "plot_file", type=click.Path(path_type=Path, dir_okay=False), help="Write the Pareto front as SVG."
)
@means_options
@trust_option
@set_option
@path_option
@output_options
def explore(
    workloads: tuple[str, ...],
    sweep: Sweep,
    agents: Agents,
    reuse: int,
    objectives: tuple[str, ...],
    options: Options,
    folder: Path,
    plot_file: Path | None,
    means: Means,
    trust: bool,
    overrides: dict[str, int | float],
    paths: tuple[Path, ...],
    as_json: bool,
    plain: bool,
) -> None:
    """Sweep parameters of the accelerator of the WORKLOADs, and weigh the cycles and the energy of their kernels
    against its area.

    At each point the best kernel of every workload is searched for, beginning with the plans of the nearest points;
    --evaluations bounds each of these searches. The area is what the description of the accelerator states with
    `area = …;`. Kernels stay in the run folders; none becomes a schedule.
    """
    from autocomp.agents.factory import make_agents
    from autocomp.data import write_output
    from autocomp.errors import ConfigError
    from autocomp.report import make_console
    from autocomp.report.explore import document, plot, points_table
    from autocomp.search.explore import explore_point, grid, nearest_first, point_name

    for name in sweep:
        if name in overrides:
            raise click.UsageError(f"{name} is both set and swept; leave out --set {name}={overrides[name]}")
    base, names = _base(workloads, sweep, overrides, paths, trust)
    note = base.area_note or "in units that the description does not name"
    make_agents(agents, base)  # refuses what cannot work before there is a folder
    points: list[Point] = []
    for objective in objectives:
        base.pursuing(objective)
    for parameters, objective in itertools.product(grid(sweep), dict.fromkeys(objectives or ("",))):
        near = nearest_first([point for point in points if point.objective == objective], parameters)
        before = {
            name: tuple(point.schedules[name] for point in near if name in point.schedules)[:reuse] for name in names
        }
        requests = _requests(workloads, {**overrides, **parameters}, paths, agents, options, before, objective)
        try:
            at = folder / point_name(parameters, objective)
            point = explore_point(parameters, requests, at, means, objective)
        except KeyboardInterrupt:
            say(f"interrupted; the same command continues in {folder}", err=True)
            if as_json:
                print_json({"interrupted": True, "folder": str(folder), "exit_code": INTERRUPTED})
            raise click.exceptions.Exit(INTERRUPTED) from None
        points.append(point)
        say(f"{point.name}: {point.reason or f'{point.total:,} cycles'}", err=True)
    if all(point.reason for point in points):
        raise ConfigError("no point of the sweep can run", hint=f"{points[0].name}: {points[0].reason}")
    if plot_file is not None:
        write_output(plot_file, plot(points, note))
    if as_json:
        print_json(document(points, note))
        return
    console = make_console(sys.stdout, plain)
    console.print(points_table(points))
    console.print(f"area: {note}", markup=False)
    console.print(f"runs: {folder}", markup=False)


def _base(
    workloads: tuple[str, ...],
    sweep: Sweep,
    overrides: Mapping[str, int | float],
    paths: tuple[Path, ...],
    trust: bool,
) -> tuple[Target, list[str]]:
    """The one machine that is swept, and the workloads' names. Raises ConfigError where the workloads have several
    machines, or the machine has no area or not the parameters; TrustError where a reference may not run."""
    from autocomp import workload as loading
    from autocomp.data import closest
    from autocomp.errors import ConfigError

    loaded = [load_problem(name, paths, overrides, trust=trust) for name in workloads]
    for workload, _ in loaded:
        loading.require_trusted(workload)
    names = require_different([workload for workload, _ in loaded])
    base = loaded[0][1]
    for workload, target in loaded:
        if target.digest != base.digest:
            raise ConfigError(
                f"{names[0]} and {workload.name} are for different machines, or set its parameters differently",
                hint=f"explore one machine at a time: {base.name} or {target.name}",
            )
    if base.area is None:
        raise ConfigError(
            f"{base.name} states no area to weigh {base.objective.unit} against",
            hint='state it in the description, as in `area = DIM * DIM : "multiply-accumulate units";`, '
            "or as the attribute `area` of a target of your own",
        )
    for name in sweep:
        if name not in base.parameters:
            guess = closest(name, list(base.parameters))
            hint = f"did you mean {guess!r}?" if guess else f"parameters: {', '.join(base.parameters) or 'none'}"
            raise ConfigError(f"--sweep {name}: {base.name} has no parameter of that name", hint=hint)
    return base, names


def _requests(
    workloads: tuple[str, ...],
    overrides: Mapping[str, int | float],
    paths: tuple[Path, ...],
    agents: Agents,
    options: Options,
    before: Mapping[str, tuple[Precedent, ...]],
    objective: str,
) -> Iterator[Request]:
    """The searches at a point, each made as it is asked for."""
    from autocomp.search.log.snapshot import Request
    from autocomp.targets.menu_file import for_target

    for name in workloads:
        workload, target = load_problem(name, paths, overrides, objective=objective or None)
        menu = for_target((), workload, target, paths)
        yield Request(workload, target, menu, agents, options, precedents=before[workload.name])

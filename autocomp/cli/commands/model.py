"""`autocomp model`: what a whole model costs, and which of its operations are worth a search."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autocomp.cli.options import output_options, path_option, print_json, say, set_option, warn, workers_option
from autocomp.data import write_output

if TYPE_CHECKING:
    from autocomp.models import Prediction
    from autocomp.models.search import Found
    from autocomp.targets.protocol import Target

PRECEDENTS = 2  # nearest schedules that a search begins with


@click.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--accelerator", required=True, help="Accelerator to run on.")
@click.option(
    "--host-cycles",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Host cycles for each element read or written, or multiply-accumulate, of operations without a kernel.",
)
@click.option(
    "--negligible",
    type=click.FloatRange(0, 1),
    default=0.01,
    show_default=True,
    help="Leave out operations that together can save no more than this share of all cycles.",
)
@click.option(
    "--write",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the operations worth a search to this folder as workload files, numbered in their order.",
)
@click.option(
    "--search",
    "evaluations",
    type=click.IntRange(min=1),
    help="Search for the kernels that are worth it, with N evaluations in total; the results become schedules.",
)
@click.option(
    "--quantise",
    "quantised",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Quantise a float model to this file first, to int8 after training, with ONNX Runtime.",
)
@click.option(
    "--samples",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="NumPy archive of inputs to quantise with, samples along the first axis (default: random numbers).",
)
@workers_option
@path_option
@set_option
@output_options
def model(
    model: Path,
    accelerator: str,
    host_cycles: float,
    negligible: float,
    folder: Path | None,
    evaluations: int | None,
    quantised: Path | None,
    samples: Path | None,
    workers: int | None,
    paths: tuple[Path, ...],
    overrides: dict[str, int | float],
    as_json: bool,
    plain: bool,
) -> None:
    """Predict the cycles of MODEL, an ONNX model or a StableHLO module (.mlir), and rank its operations by what a
    faster kernel would gain.

    Matrix multiplications and convolutions run on the accelerator as int8: with the best kernel that the schedules
    have, else with the naive one, simulated. All else stays on the host.
    """
    from autocomp.models import forecast, import_model, ranked
    from autocomp.models.search import improve
    from autocomp.report import make_console
    from autocomp.report.model import document, improvement_document, improvement_line, operations_table, summary
    from autocomp.schedules.store import Store, all_schedules, user_root
    from autocomp.targets.registry import load_target

    if samples is not None and quantised is None:
        raise click.UsageError("--samples needs --quantise")
    if evaluations is not None:
        Store(user_root()).require_writable()
    machine = load_target(f"simulator:{accelerator}", overrides, paths)
    if quantised is not None:
        _quantise(model, quantised, samples)
    imported = import_model(quantised or model)
    costs = forecast(
        imported, machine, all_schedules(warn), host_cycles, lambda name: say(f"simulating {name}", err=True)
    )
    done = None
    if evaluations is not None:
        done = improve(costs, evaluations, negligible, _searcher(machine, overrides, paths, workers, plain or as_json))
        costs = done.after
    worth, rest = ranked(costs, negligible)
    files = [] if folder is None else _write(folder, worth, machine.name, overrides)
    if as_json:
        extra = {} if done is None else {"search": improvement_document(done)}
        print_json({**document(imported, costs, worth, rest, host_cycles, files), **extra})
        return
    console = make_console(sys.stdout, plain)
    console.print(operations_table(imported, costs, worth, rest, host_cycles))
    for line in summary(imported, costs, len(worth), len(rest), host_cycles):
        console.print(line)
    if done is not None:
        console.print(improvement_line(done))
    if folder is not None and files:
        alone = len(files) == len(list(folder.glob("*.yaml")))
        named = f"{folder}/*.yaml" if alone else " ".join(files)
        console.print(f"search them under one budget: autocomp search {named}", soft_wrap=True)


def _quantise(model: Path, target: Path, samples: Path | None) -> None:
    from autocomp.models import SUFFIXES
    from autocomp.models.quantise import SAMPLES, quantise, random_samples, read_samples

    if model.suffix in SUFFIXES:
        raise click.UsageError(f"--quantise needs an ONNX model, and {model} is a StableHLO module")
    if samples is None:
        warn(f"scales come from {SAMPLES} inputs drawn at random; give --samples for a model that is to be used")
    quantise(model, target, read_samples(samples) if samples is not None else random_samples(model, seed=0))


def _searcher(
    machine: Target,
    overrides: dict[str, int | float],
    paths: tuple[Path, ...],
    workers: int | None,
    plain: bool,
) -> Callable[[Prediction, int], Found]:
    """Searches by the rules agent, each in a run folder of its own; what they find becomes a schedule."""
    from autocomp import workload as workloads
    from autocomp.agents.config import Agents
    from autocomp.cli.session import keep
    from autocomp.models.search import Found
    from autocomp.report import SearchProgress, make_console
    from autocomp.schedules.reuse import precedents_for
    from autocomp.search import Options
    from autocomp.search.executors import available_cores
    from autocomp.search.log.folder import new_run_path
    from autocomp.search.log.snapshot import Request, create
    from autocomp.search.session import Means, run_session
    from autocomp.targets.menu_file import for_target

    console = make_console(sys.stderr, plain)
    means = Means(workers or available_cores())

    def search(prediction: Prediction, evaluations: int) -> Found:
        name = prediction.operation.name
        workload = workloads.parse(prediction.operation.text(machine.name), Path(f"{name}.yaml"), overrides)
        near = precedents_for(workload, machine, PRECEDENTS, warn)
        request = Request(
            workload,
            machine,
            for_target((), workload, machine, paths),
            Agents(),
            Options(evaluations=evaluations),
            precedents=near,
        )
        now = datetime.now().astimezone()
        run = create(new_run_path(Path("runs"), name, now), request, now)
        with SearchProgress(console, name, request.options) as progress:
            result = run_session(request, run, means, progress)
        schedule = keep(request, run, result, result.best)
        return Found(int(result.best.value), schedule.name if schedule else "naive", result.evaluations)

    return search


def _write(folder: Path, worth: list[Prediction], accelerator: str, overrides: dict[str, int | float]) -> list[str]:
    files = []
    for number, prediction in enumerate(worth, 1):
        file = folder / f"{number:02d}_{prediction.operation.name}.yaml"
        write_output(file, prediction.operation.text(accelerator))
        files.append(str(file))
    if overrides:
        given = " ".join(f"--set {name}={value}" for name, value in overrides.items())
        warn(f"the workload files do not hold {given}: give it to the search as well")
    return files

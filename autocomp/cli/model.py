"""`autocomp model`: what a whole model costs, and which of its operations are worth a search."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autocomp.cli.options import output_options, path_option, print_json, set_option, warn

if TYPE_CHECKING:
    from autocomp.models import Forecast, Model, Prediction


@click.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--accelerator", required=True, help="Accelerator to run on.")
@click.option(
    "--host-cycles",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Cycles of the host for each element read or written, or multiply-accumulate, of what no kernel does.",
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
@path_option
@set_option
@output_options
def model(
    model: Path,
    accelerator: str,
    host_cycles: float,
    negligible: float,
    folder: Path | None,
    paths: tuple[Path, ...],
    overrides: dict[str, int | float],
    as_json: bool,
    plain: bool,
) -> None:
    """Predict the cycles of the ONNX model MODEL, and rank its operations by what a faster kernel would gain.

    Matrix multiplications and convolutions run on the accelerator as int8: with the best kernel that the schedules
    have, else with the naive one, simulated. All else stays on the host.
    """
    from autocomp import isa
    from autocomp.models import forecast, import_model, ranked
    from autocomp.schedules.store import all_schedules

    imported = import_model(model)
    machine = isa.load(accelerator, overrides, paths)
    costs = forecast(
        imported, machine, all_schedules(warn), host_cycles, lambda name: click.echo(f"simulating {name}", err=True)
    )
    worth, rest = ranked(costs, negligible)
    files = [] if folder is None else _write(folder, worth, machine.full_name, overrides)
    if as_json:
        print_json(_document(imported, costs, worth, rest, host_cycles, files))
    else:
        _print(imported, costs, worth, rest, host_cycles, files, plain)


def _write(folder: Path, worth: list[Prediction], accelerator: str, overrides: dict[str, int | float]) -> list[str]:
    from autocomp.errors import ConfigError

    files = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, prediction in enumerate(worth, 1):
            file = folder / f"{number:02d}_{prediction.operation.name}.yaml"
            file.write_text(prediction.operation.text(accelerator), encoding="utf-8")
            files.append(str(file))
    except OSError as error:
        raise ConfigError(f"cannot write workloads to {folder}: {error.strerror}") from error
    if overrides:
        given = " ".join(f"--set {name}={value}" for name, value in overrides.items())
        warn(f"the workload files do not hold {given}: give it to the search as well")
    return files


def _document(
    model: Model, costs: Forecast, worth: list[Prediction], rest: list[Prediction], host_cycles: float, files: list[str]
) -> dict[str, Any]:
    """What --json prints; cycles of operations are of one run of each."""

    def entry(prediction: Prediction, searched: bool) -> dict[str, Any]:
        operation = prediction.operation
        return {
            "operation": operation.kind,
            "dims": dict(operation.dims),
            "options": dict(operation.options),
            "count": prediction.count,
            "naive_cycles": prediction.naive,
            "cycles": prediction.best,
            "bound_cycles": prediction.bound,
            "source": prediction.source,
            "model_speed_up": costs.speed_up(prediction),
            "worth_a_search": searched,
        }

    return {
        "model": model.name,
        "naive_cycles": costs.before,
        "cycles": costs.after,
        "host": [{"operation": h.name, "nodes": h.nodes, "cycles": h.work * host_cycles} for h in model.host],
        "folded_nodes": model.folded,
        "operations": [entry(p, True) for p in worth] + [entry(p, False) for p in rest],
        "workloads": files,
    }


def _print(
    model: Model,
    costs: Forecast,
    worth: list[Prediction],
    rest: list[Prediction],
    host_cycles: float,
    files: list[str],
    plain: bool,
) -> None:
    from rich.table import Table

    from autocomp.report import make_console
    from autocomp.report.terminal import cycles_text, percent

    table = Table()
    for heading in ("operation", "times", "naive", "best", "bound", "share", "speed-up", "from"):
        table.add_column(heading, justify="left" if heading in ("operation", "from") else "right", overflow="fold")
    for p in [*worth, *rest]:
        share = percent(p.count * p.best / costs.after)
        gain = f"{costs.speed_up(p):.2f} x" if p in worth else "-"
        cycles = [cycles_text(value) for value in (p.naive, p.best, p.bound)]
        table.add_row(p.operation.name, str(p.count), *cycles, share, gain, p.source)
    for h in model.host:
        cost = round(h.work * host_cycles)
        table.add_row(f"host: {h.name}", str(h.nodes), "", cycles_text(cost), "", percent(cost / costs.after), "-", "")
    console = make_console(sys.stdout, plain)
    console.print(table)
    console.print(f"{model.name}: {costs.before:,.0f} cycles with naive kernels, {costs.after:,.0f} with the best")
    console.print(f"of these {costs.host:,.0f} on the host, at {host_cycles:g} for an element or multiply-accumulate")
    console.print(f"{len(worth)} operations are worth a search; {len(rest)} cannot matter; {model.folded} nodes folded")
    if files:
        console.print(f"search them under one budget: autocomp search {' '.join(files)}", soft_wrap=True)

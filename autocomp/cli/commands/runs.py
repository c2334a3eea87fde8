"""`autocomp runs`: what searches have done so far."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autocomp.cli.options import CommandGroup, output_options, print_json, say, warn
from autocomp.errors import RunFolderError

if TYPE_CHECKING:
    from autocomp.report.runs.listing import RunSummary


@click.group(cls=CommandGroup)
def runs() -> None:
    """List, show and compare the runs of searches."""


@runs.command("list")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Folder with the runs.",
)
@output_options
def list_(folder: Path, as_json: bool, plain: bool) -> None:
    """List the runs in a folder, and in the folders directly below it, oldest first."""
    from autocomp.report import make_console
    from autocomp.report.runs.listing import listing, summary_document

    files = [*folder.glob("config.json"), *folder.glob("*/config.json"), *folder.glob("*/*/config.json")]
    summaries = sorted(
        filter(None, map(_summary, sorted(file.parent for file in files))), key=lambda s: (s.created, s.run)
    )
    if as_json:
        print_json([summary_document(summary) for summary in summaries])
        return
    make_console(sys.stdout, plain).print(
        listing(summaries) if summaries else f"no runs in the folder {folder}; `autocomp search` makes one"
    )


@runs.command()
@click.argument("run", type=click.Path(path_type=Path))
@output_options
def show(run: Path, as_json: bool, plain: bool) -> None:
    """Show the run in the folder RUN: its lineage, what did not work, how it ended."""
    from autocomp.report import RunView, make_console, print_search
    from autocomp.report.runs.listing import listing, summary_document, summary_of
    from autocomp.search import RunFolder

    folder = RunFolder.open(run)
    summary = summary_of(folder)
    if as_json:
        print_json(summary_document(summary))
        return
    console = make_console(sys.stdout, plain)
    console.print(listing([summary]))
    if summary.evaluations:
        print_search(console, RunView.of(folder.events))
    if summary.state != "finished":
        console.print(f"continue with: autocomp resume {shlex.quote(str(run))}", soft_wrap=True, markup=False)


@runs.command()
@click.argument("folders", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@output_options
def compare(folders: tuple[Path, ...], as_json: bool, plain: bool) -> None:
    """Compare runs: results, evaluations, time, and the options that led to the best kernel of each."""
    from autocomp.report import make_console
    from autocomp.report.runs.listing import comparison, summary_document, summary_of
    from autocomp.search import RunFolder

    summaries = [summary_of(RunFolder.open(folder)) for folder in folders]
    if as_json:
        print_json([summary_document(summary) for summary in summaries])
        return
    make_console(sys.stdout, plain).print(comparison(summaries))


@runs.command()
@click.argument("folders", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--to", "tracker", required=True, type=click.Choice(("mlflow", "wandb", "tensorboard")), help="Tracker.")
@click.option(
    "--dir",
    "output",
    type=click.Path(path_type=Path),
    default=Path("tracked"),
    show_default=True,
    help="Folder of the tracker.",
)
@output_options
def track(folders: tuple[Path, ...], tracker: str, output: Path, as_json: bool, plain: bool) -> None:
    """Copy runs into an experiment tracker: options, figures after each evaluation, the best kernel.

    Nothing leaves this computer unless MLFLOW_TRACKING_URI or WANDB_MODE says so.
    """
    from autocomp.report.runs.trackers import track as copied
    from autocomp.search import RunFolder

    shown = {str(folder): copied(RunFolder.open(folder), tracker, output) for folder in folders}
    if as_json:
        print_json([{"run": run, "show": command} for run, command in shown.items()])
        return
    for run, command in shown.items():
        say(f"{run} is in {tracker}; see it with: {command}", whole=True)
    say(f"pip install {tracker} brings that command, if it is missing")


def _summary(path: Path) -> RunSummary | None:
    """The summary of a run, or None with a warning where the folder is damaged."""
    from autocomp.report.runs.listing import summary_of
    from autocomp.search import RunFolder

    try:
        return summary_of(RunFolder.open(path))
    except RunFolderError as error:
        warn(f"left out {path}: {error}")
        return None

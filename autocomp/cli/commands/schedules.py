"""`autocomp schedules`: the fastest kernels known."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autocomp.cli.options import (
    CommandGroup,
    json_option,
    output_options,
    path_option,
    print_json,
    say,
    show_content,
    trust_option,
    warn,
)

if TYPE_CHECKING:
    from autocomp.schedules.index import Stored

DOES_NOT_HOLD = 6
FOLDER = click.Path(path_type=Path, file_okay=False)


@click.group(cls=CommandGroup)
def schedules() -> None:
    """List, show, verify and merge schedules: the fastest kernels known, with how they came about."""


@schedules.command("list")
@click.argument("start", default="")
@output_options
def list_(start: str, as_json: bool, plain: bool) -> None:
    """List the schedules of the user's store and the shipped one: all, or those whose path begins with START, such as
    MACHINE/gemm/I512."""
    from autocomp.report import make_console
    from autocomp.report.grid import Grid, figure, name
    from autocomp.report.terminal import amount_text, percent
    from autocomp.schedules.store import all_schedules

    stored = [s for s in all_schedules(warn) if s.entry.path.startswith(start)]
    if as_json:
        print_json([_document(s) for s in stored])
        return
    about = [name(heading) for heading in ("target", "operation", "dims")]
    grid = Grid("", *about, figure("value"), figure("of bound"), name("file"))
    for s in stored:
        entry = s.entry
        dims = " ".join(f"{dimension}={size}" for dimension, size in entry.dims.items())
        machine, value = entry.target.removeprefix("simulator:"), f"{amount_text(entry.value)} {entry.unit}"
        grid.add(machine, entry.operation, dims, value, percent(entry.ratio), s.path.name)
    console = make_console(sys.stdout, plain)
    begun = f"whose path begins with {start}" if start else "yet; autocomp search writes one"
    console.print(grid if stored else f"no schedules {begun}", markup=False)


@schedules.command()
@click.argument("name")
@click.option("--kernel", "kernel_only", is_flag=True, help="Print the kernel alone.")
@output_options
def show(name: str, kernel_only: bool, as_json: bool, plain: bool) -> None:
    """Show one schedule: NAME is its file's name or path, or the start of either."""
    from autocomp.schedules.store import find, record_at

    stored = find(name, warn)
    record = record_at(stored)
    if as_json:
        print_json({"path": str(stored.path), **record.model_dump(mode="json")})
    elif kernel_only:
        show_content(record.kernel)
    else:
        show_content(stored.text())


@schedules.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--renew", is_flag=True, help="Update the records that changed with the new measurements.")
@trust_option
@path_option
@json_option
def verify(names: tuple[str, ...], renew: bool, trust: bool, paths: tuple[Path, ...], as_json: bool) -> None:
    """Check the schedules NAME, or all: their content against its digest, their kernels on their targets.

    A record "holds" if its kernel is correct, with the same figures on the same machine; "changed" if it is correct,
    but its figures or the description differ now. Exits with 6 if a record does not hold, unless it was "changed" and
    --renew has updated it.
    """
    from autocomp.schedules.index import default_roots
    from autocomp.schedules.store import Store, find
    from autocomp.schedules.verify import CHANGED, HOLDS, verify

    now = datetime.now().astimezone()
    chosen = [find(name, warn).path for name in names]
    files = chosen or [file for root in default_roots() for file in Store(root).files()]
    documents = []
    for file in files:
        verdict = verify(file, now, paths, trust)
        renewed = None
        if renew and verdict.renewed is not None:
            renewed = Store(file.parents[2]).renew(file, verdict.renewed)
        outcome = "renewed" if renewed else verdict.outcome
        documents.append({"path": str(renewed or file), "outcome": outcome, "message": verdict.message})
        if not as_json:
            say(f"{outcome:<8} {file}" + (f": {verdict.message}" if verdict.message else ""))
    failed = sum(1 for d in documents if d["outcome"] not in (HOLDS, "renewed"))
    if as_json:
        print_json(documents)
    else:
        say(f"{len(files) - failed} of {len(files)} schedules hold")
        if any(d["outcome"] == CHANGED for d in documents):
            say("--renew writes the figures of now into those that changed")
    if failed:
        raise click.exceptions.Exit(DOES_NOT_HOLD)


@schedules.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--evaluations", type=click.IntRange(1), default=8, show_default=True, help="Evaluations of each search.")
@click.option("--sample", type=click.IntRange(1), help="Number of schedules to search anew, drawn by the day.")
@click.option(
    "--check", is_flag=True, help="List the beaten schedules, write nothing, and exit with 6 if there are any."
)
@trust_option
@path_option
@json_option
def renew(
    names: tuple[str, ...],
    evaluations: int,
    sample: int | None,
    check: bool,
    trust: bool,
    paths: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Find the schedules NAME, or all, that a short search beats by more than 2 %, and replace them.

    The search begins with the nearest other schedules; the record itself takes no part in it.
    """
    from random import Random

    from autocomp.schedules.renew import STALE, freshness
    from autocomp.schedules.store import Store, all_schedules, find

    stored = [find(name, warn) for name in names] or all_schedules(warn)
    if sample is not None:
        day = datetime.now().date().toordinal()
        stored = Random(day).sample(stored, min(sample, len(stored)))
    documents = []
    for item in stored:
        outcome = freshness(item.path, evaluations, warn, paths, trust)
        if outcome.found is not None and not check:
            Store(item.root).put(outcome.found)
        gain = round(outcome.gain, 3)
        documents.append({"path": str(item.path), "outcome": outcome.outcome, "gain": gain, "message": outcome.message})
        if not as_json:
            detail = outcome.message or f"a search of {evaluations} is {outcome.gain:.3f} times as good"
            say(f"{outcome.outcome:<8} {item.path.name}: {detail}")
    stale = sum(1 for d in documents if d["outcome"] == STALE)
    if as_json:
        print_json(documents)
    else:
        say(f"{stale} of {len(documents)} schedules {'are beaten' if check else 'were beaten, and are renewed'}")
    if check and stale:
        raise click.exceptions.Exit(DOES_NOT_HOLD)


@schedules.command()
@click.argument("sources", nargs=-1, required=True, type=FOLDER, metavar="SOURCE...")
@click.argument("target", type=FOLDER)
@trust_option
@path_option
@json_option
def merge(sources: tuple[Path, ...], target: Path, trust: bool, paths: tuple[Path, ...], as_json: bool) -> None:
    """Copy the schedules of the folders SOURCE into the folder TARGET, where the better one stays.

    A record that would be copied is verified first: its kernel has to be correct here, with the figures that it states.
    Records are copied as they are: where each comes from is a part of it.
    """
    from autocomp.schedules.merge import merge
    from autocomp.schedules.verify import HOLDS, verify

    now = datetime.now().astimezone()

    def doubt(file: Path) -> str | None:
        verdict = verify(file, now, paths, trust)
        return None if verdict.outcome == HOLDS else f"{verdict.outcome}: {verdict.message}"

    done = merge(sources, target, warn, doubt)
    if as_json:
        counts = {"copied": done.copied, "left": done.left, "doubted": done.doubted}
        print_json({**counts, "target": str(target)})
        return
    say(f"{done.copied} schedules copied to {target}; {done.left} are no better than what is there")
    if done.doubted:
        say(f"{done.doubted} do not hold here; autocomp schedules verify --renew mends those that have changed")


@schedules.command()
@output_options
def experience(as_json: bool, plain: bool) -> None:
    """List what searches found of the menus' options: how often each was tried, faster or wrong, and its speed-ups.

    It is kept in your store by machine and operation, as numbers alone, and later searches show it to language models.
    """
    from autocomp.report import make_console
    from autocomp.report.grid import Grid, figure, name
    from autocomp.schedules.experience import all_experience
    from autocomp.schedules.index import user_root

    known = all_experience(user_root(), warn)
    if as_json:
        print_json([{**asdict(one), "path": str(one.path)} for one in known])
        return
    about = [name(heading) for heading in ("target", "operation", "option")]
    grid = Grid("", *about, *map(figure, ("tried", "faster", "wrong", "mean", "best")))
    for one in known:
        for entry in one.options:
            gains = ("-" if gain is None else f"{gain:.2f}x" for gain in (entry.mean, entry.best))
            counts = (f"{count:,}" for count in (entry.tried, entry.faster, entry.failed))
            grid.add(one.target.removeprefix("simulator:"), one.operation, entry.option, *counts, *gains)
    make_console(sys.stdout, plain).print(grid if known else "no experience yet; autocomp search keeps it")


@schedules.command()
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
def forget(targets: tuple[str, ...]) -> None:
    """Remove from your store the experience with the targets TARGET, or all of it; schedules stay."""
    from autocomp.report.terminal import counted
    from autocomp.schedules.experience import forget
    from autocomp.schedules.index import user_root

    gone = forget(user_root(), targets)
    say(f"removed the experience of {counted(len(gone), 'operation')} from {user_root()}")


@schedules.command()
@click.option("--dry-run", is_flag=True, help="List the files, and remove nothing.")
@json_option
def gc(dry_run: bool, as_json: bool) -> None:
    """Remove useless files from your store: leftovers of crashes, and schedules that are no better than others.

    The others are the schedules under their proper names in your store, and those of other stores, such as the shipped
    one.
    """
    from autocomp.report.terminal import counted
    from autocomp.schedules.garbage import collect, garbage
    from autocomp.schedules.index import default_roots

    root, *others = default_roots()
    removable = list(garbage(root, others, time.time(), warn))
    if not dry_run:
        collect(root, removable, warn)
    if as_json:
        print_json({"removed": not dry_run, "files": [{"path": str(g.path), "reason": g.reason} for g in removable]})
        return
    for item in removable:
        say(f"{item.path}: {item.reason}")
    say(f"{counted(len(removable), 'file')} {'would go' if dry_run else 'removed'} from {root}")


def _document(stored: Stored) -> dict[str, Any]:
    """A schedule as --json lists it; the value's name is its unit."""
    from autocomp.report.runs.listing import with_units
    from autocomp.targets.evaluation import Objective

    entry = dict(vars(stored.entry))
    value, unit, direction = (entry.pop(name) for name in ("value", "unit", "direction"))
    objective = Objective(unit, direction)
    return {**entry, **with_units({"": value}, objective), "objective": vars(objective), "path": str(stored.path)}

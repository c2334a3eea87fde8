"""`autocomp export`: kernels as C for compilers, or as Python for GPUs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autocomp.cli.options import define_option, output_options, path_option, print_json, set_option, trust_option, warn

if TYPE_CHECKING:
    from autocomp.export import Schedule
    from autocomp.schedules import Stored
    from autocomp.targets.simulator.isa import Accelerator


@click.command()
@click.argument("names", metavar="[SCHEDULE]...", nargs=-1)
@click.option("--workload", help="Workload of the kernel; SCHEDULE is then the kernel's file.")
@click.option("--accelerator", help="Export all schedules of this accelerator.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("export"),
    show_default=True,
    help="Folder for the files.",
)
@click.option("--header", metavar="FILE", help="The vendor's header, as the kernels include it (default: MACHINE.h).")
@click.option("--check", is_flag=True, help="Compile the files for this computer, and compare with the simulator.")
@trust_option
@set_option
@define_option
@path_option
@output_options
def export(
    names: tuple[str, ...],
    workload: str | None,
    accelerator: str | None,
    output: Path,
    header: str | None,
    check: bool,
    trust: bool,
    overrides: dict[str, int | float],
    definitions: dict[str, int | float],
    paths: tuple[Path, ...],
    as_json: bool,
    plain: bool,
) -> None:
    """Write kernels as C: each SCHEDULE, or a kernel's file with --workload, or all of --accelerator.

    The output has one function for each kernel, with the calls of the vendor's header, and a function that dispatches
    by size. It also has a description as JSON, and the files to compile and run the kernels without the hardware.

    Schedules of GPU kernels become a Python package instead. It has one function for each operation, which chooses a
    kernel by device and sizes.
    """
    from autocomp.data import write_output
    from autocomp.export import check_export, export_files
    from autocomp.report import make_console

    given = [bool(names and not workload), bool(workload), bool(accelerator)]
    if sum(given) != 1 or (workload and len(names) != 1):
        raise click.UsageError("give schedules, or one kernel's file with --workload, or --accelerator alone")
    if names and workload is None and (files := _package(names)):
        for name, text in files.items():
            write_output(output / name, text)
        if as_json:
            print_json({"folder": str(output), "files": sorted(files)})
        else:
            click.echo(f"{len(files)} files in {output}")
        return
    if workload is not None:
        schedules, machine = _kernel(names[0], workload, overrides, definitions, paths, trust)
    else:
        schedules, machine = _records(names, accelerator, overrides, paths)
    files = export_files(schedules, machine, header)
    lacking = check_export(schedules, files, machine) if check else ()
    for name, text in files.items():
        write_output(output / name, text)
    if as_json:
        functions = [schedule.function for schedule in schedules]
        print_json({"folder": str(output), "files": sorted(files), "functions": functions, "checked": check})
        return
    console = make_console(sys.stdout, plain)
    for schedule in schedules:
        console.print(f"{schedule.function}  {schedule.cycles:,} cycles", markup=False, soft_wrap=True)
    console.print(f"{len(files)} files in {output}", markup=False)
    if check:
        console.print("compiled, run on random tensors: equal to the simulator's results")
        for flags in lacking:
            console.print(f"not checked with {flags}, which this C compiler lacks", markup=False)


def _package(names: tuple[str, ...]) -> dict[str, str]:
    """The files of a Python package with these schedules, if the first is of a GPU kernel; else none."""
    from autocomp.export.python_package import GPU, package_files
    from autocomp.schedules.store import find, record_at

    for name in names:
        if Path(name).is_file() and Path(name).suffix != ".yaml":
            raise click.UsageError(f"{name} is not a schedule; a kernel needs --workload, to say what it computes")
    stored = [find(name, warn) for name in dict.fromkeys(names)]
    if not stored[0].entry.target.startswith(f"{GPU}:"):
        return {}
    return package_files([record_at(item) for item in stored])


def _kernel(
    file: str,
    workload: str,
    overrides: dict[str, int | float],
    definitions: dict[str, int | float],
    paths: tuple[Path, ...],
    trust: bool,
) -> tuple[list[Schedule], Accelerator]:
    from autocomp.cli.commands.run import read_kernel
    from autocomp.cli.problem import load_problem
    from autocomp.export import of_kernel
    from autocomp.targets.simulator.target import accelerator_of

    loaded, target = load_problem(workload, paths, overrides, trust=trust, definitions=definitions)
    return [of_kernel(read_kernel(Path(file)), file, loaded, target)], accelerator_of(target, "an export to C")


def _records(
    names: tuple[str, ...], accelerator: str | None, overrides: dict[str, int | float], paths: tuple[Path, ...]
) -> tuple[list[Schedule], Accelerator]:
    """The schedules of these names, or all of the accelerator with these parameters."""
    from autocomp.errors import ConfigError
    from autocomp.export import of_record
    from autocomp.schedules.store import all_schedules, find, record_at
    from autocomp.targets.registry import load_target
    from autocomp.targets.simulator import isa
    from autocomp.targets.simulator.target import accelerator_of

    if accelerator is not None:
        machine = isa.load(accelerator, overrides, paths)
        stored = [s for s in all_schedules(warn) if _is_for(s, machine)]
        if not stored:
            raise ConfigError(
                f"no schedule is for {machine.full_name} with these parameters",
                hint="autocomp search writes schedules, autocomp schedules list shows them",
            )
    else:
        if overrides:
            raise click.UsageError("a schedule has its parameters; --set goes with --workload or --accelerator")
        stored = [find(name, warn) for name in dict.fromkeys(names)]
        first = stored[0].entry
        machine = accelerator_of(load_target(first.target, first.parameters, paths), "an export to C")
    candidates = []
    for item in stored:
        record = record_at(item)
        schedule = of_record(record, item.path.name, machine)
        candidates.append((record.target.digest != machine.digest, schedule))
    if accelerator is not None:
        candidates = _one_each(candidates)
    for stale, schedule in candidates:
        if stale:
            warn(f"{schedule.source}: the description of {machine.name} has changed since its cycles were measured")
    return [schedule for _, schedule in candidates], machine


def _one_each(candidates: list[tuple[bool, Schedule]]) -> list[tuple[bool, Schedule]]:
    """Of several schedules of one operation the fastest; those measured on an earlier description come last."""
    chosen: dict[str, tuple[bool, Schedule]] = {}
    for candidate in sorted(candidates, key=lambda schedules: (schedules[0], schedules[1].cycles)):
        best = chosen.setdefault(candidate[1].function, candidate)
        if best is not candidate:
            warn(f"{candidate[1].source} is left out: {best[1].source} is for the same operation")
    return [candidate for candidate in candidates if candidate in chosen.values()]


def _is_for(stored: Stored, machine: Accelerator) -> bool:
    """True if a schedule is for this machine. A parameter added later counts as having its earlier, implicit value."""
    entry = stored.entry
    same = all(machine.parameters.get(name) == value for name, value in entry.parameters.items())
    return same and entry.target == f"simulator:{machine.full_name}"

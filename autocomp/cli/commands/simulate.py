"""`autocomp simulate`: the time that a trace of commands takes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from autocomp.cli.options import output_options, path_option, print_json, set_option
from autocomp.errors import ConfigError, KernelError, Place


@click.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--accelerator", default=None, help="Accelerator of the trace (default: the only one that has its commands)."
)
@set_option
@path_option
@output_options
def simulate(
    trace: Path,
    accelerator: str | None,
    overrides: dict[str, int | float],
    paths: tuple[Path, ...],
    as_json: bool,
    plain: bool,
) -> None:
    """Time the commands in the file TRACE (text, or gzipped text), as measured or written by hand."""
    from autocomp.cli.machine import accelerator_of
    from autocomp.report import make_console
    from autocomp.report.evaluation import causes_by_part
    from autocomp.simulator import SimulationOptions, replay_trace
    from autocomp.targets.evaluation import Evidence
    from autocomp.targets.simulator import isa
    from autocomp.targets.simulator.trace import read_trace

    if not os.path.isfile(trace):
        why = "that is a folder" if os.path.isdir(trace) else "there is no such file"
        raise ConfigError(f"cannot read the trace {trace}: {why}")
    machine = isa.load(accelerator or accelerator_of(trace, paths), overrides, paths)
    tables = isa.lower(machine)
    text = read_trace(trace, machine, tables)
    if text.unsupported:
        raise ConfigError(f"{trace}: {machine.name} has no command {text.unknown()}")
    result = replay_trace(tables.machine, text.trace, SimulationOptions())
    if result.error is not None:
        raise KernelError(result.error.message, place=Place(str(trace), result.error.line or 1, 1))
    timing = result.timing
    assert timing is not None  # it was asked for
    units = {unit.unit: dict(unit.causes) for unit in timing.units}
    if as_json:
        print_json(
            {
                "accelerator": machine.full_name,
                "commands": text.command_count,
                "cycles": timing.cycles,
                "segment_cycles": [int(cycles) for cycles in timing.segment_cycles],
                "unit_cycles": units,
                "notes": list(timing.notes),
                "seconds": result.seconds,
            }
        )
        return
    console = make_console(sys.stdout, plain)
    console.print(f"{text.command_count:,} commands on {machine.full_name}: {timing.cycles:,} cycles")
    if len(timing.segment_cycles) > 1:
        console.print("between fences: " + ", ".join(f"{cycles:,}" for cycles in timing.segment_cycles))
    console.print(causes_by_part(Evidence(parts=units), "cycles"))
    for note in timing.notes:
        console.print(f"note: {note}", markup=False)

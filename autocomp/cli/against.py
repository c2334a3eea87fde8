"""`autocomp fidelity --against rtl`: the simulator beside the hardware description."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autocomp.cli.options import print_json
from autocomp.errors import ConfigError, FidelityError

if TYPE_CHECKING:
    from autocomp.targets.simulator.fidelity import Case
    from autocomp.targets.simulator.rtl.differential import Comparison, Deadline, Differential
    from autocomp.targets.simulator.rtl.model.build import RtlModel

SHOWN = 10  # programs that differ


@dataclass(frozen=True)
class Programs:
    """The random programs to run, the tolerated relative error of cycles, and a limit for the time of all of them."""

    count: int = 20
    seed: int = 0
    length: int = 40
    bound: float = 0.05
    seconds: float | None = None


def compare_with_rtl(
    folder: Path,
    accelerator: str | None,
    overrides: Mapping[str, int | float],
    names: Sequence[str],
    programs: Programs,
    paths: tuple[Path, ...],
    *,
    as_json: bool,
    plain: bool,
) -> None:
    """Print each program as it was compared, then what agrees and what does not; or write all of it as JSON.

    Raises FidelityError if anything differs.
    """
    from autocomp.report import make_console
    from autocomp.report.fidelity import AgainstProgress, errors_table, program_line, programs_table, summary
    from autocomp.targets.simulator import isa
    from autocomp.targets.simulator.fidelity import by_group, not_replayed
    from autocomp.targets.simulator.rtl.differential import Deadline, Differential
    from autocomp.targets.simulator.rtl.model.build import model_of

    if accelerator is None:
        raise ConfigError("--against rtl needs --accelerator", hint="the name that autocomp rtl build was given")
    machine = isa.load(accelerator, overrides, paths)
    model = model_of(machine.full_name)
    deadline = Deadline(programs.seconds)
    differential = Differential(machine, model, programs.bound)
    console = make_console(sys.stderr if as_json else sys.stdout, plain or as_json)
    cases: list[Case] = []
    compared: list[Comparison] = []
    with AgainstProgress(console, programs.count) as progress:
        for case in _cases(folder, accelerator, names, model, paths, deadline):
            cases.append(case)
            progress.show(f"{len(cases)} measured cases run again")
        if cases and not as_json:
            console.print(errors_table(by_group(cases)))
        for comparison in _programs(differential, folder, programs, deadline):
            compared.append(comparison)
            console.print(program_line(comparison), markup=False, soft_wrap=True)
            progress.show(summary(compared), len(compared))
    different = [comparison for comparison in compared if comparison.difference]
    if as_json:
        print_json(
            {
                "accelerator": machine.full_name,
                "groups": [{**dataclasses.asdict(group), "name": group.name} for group in by_group(cases)],
                "cases": [{**dataclasses.asdict(case), "error": case.error} for case in cases],
                "programs": [{**dataclasses.asdict(comparison), "error": comparison.error} for comparison in compared],
            }
        )
    else:
        for reason, count in not_replayed(cases).items():
            console.print(f"not replayed: {count}: {reason}", markup=False)
        console.print(summary(compared), markup=False)
        if deadline.over:
            console.print(f"stopped after {programs.seconds:g} seconds", markup=False)
        if different:
            console.print(programs_table(different[:SHOWN]))
    if different and as_json:
        raise click.exceptions.Exit(FidelityError.exit_code)
    if different:
        raise FidelityError(
            f"{len(different)} of {len(compared)} programs differ between the simulator and the hardware description",
            hint=f"the shrunk programs are in {folder}; --random 0 runs them again",
        )


def _cases(
    folder: Path,
    accelerator: str,
    names: Sequence[str],
    model: RtlModel,
    paths: tuple[Path, ...],
    deadline: Deadline,
) -> Iterator[Case]:
    """The folder's measured cases on the model, none if it has none; as many as begin before the deadline."""
    from autocomp.targets.simulator.fidelity import measure
    from autocomp.targets.simulator.rtl.replay import replay

    if not (folder / "cycles.csv").is_file():
        return
    for case in replay(measure(folder, accelerator, names, paths), folder, accelerator, model, paths):
        yield case
        if deadline.over:
            return


def _programs(differential: Differential, folder: Path, programs: Programs, deadline: Deadline) -> Iterator[Comparison]:
    """Those found before, then random ones."""
    for path in sorted(folder.glob("*.c")):
        if deadline.over:
            return
        yield differential.case(path)
    yield from differential.random_programs(programs.count, programs.seed, programs.length, folder, deadline)

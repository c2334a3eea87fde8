"""`autocomp fidelity --against rtl`: the simulator beside the hardware description."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autocomp.cli.options import print_json
from autocomp.errors import ConfigError, FidelityError

if TYPE_CHECKING:
    from autocomp.targets.simulator.rtl.differential import Comparison, Differential

SHOWN = 10  # programs that differ


@dataclass(frozen=True)
class Programs:
    """Which random programs to run, and what error of cycles is no difference."""

    count: int = 20
    seed: int = 0
    length: int = 40
    bound: float = 0.05


def compare_with_rtl(
    folder: Path,
    accelerator: str | None,
    names: Sequence[str],
    programs: Programs,
    paths: tuple[Path, ...],
    *,
    as_json: bool,
    plain: bool,
) -> None:
    """Print, or write as JSON, what agrees and what does not. Raises FidelityError if anything differs."""
    from autocomp.report import make_console
    from autocomp.report.fidelity import errors_table, programs_table
    from autocomp.targets.simulator import isa
    from autocomp.targets.simulator.fidelity import by_group, measure, not_replayed
    from autocomp.targets.simulator.rtl.build import model_of
    from autocomp.targets.simulator.rtl.differential import Differential
    from autocomp.targets.simulator.rtl.replay import replay

    if accelerator is None:
        raise ConfigError("--against rtl needs --accelerator", hint="the name that autocomp rtl build was given")
    machine = isa.load(accelerator, {}, paths)
    model = model_of(machine.full_name)
    measured = (folder / "cycles.csv").is_file()
    cases = (
        list(replay(measure(folder, accelerator, names, paths), folder, accelerator, model, paths)) if measured else []
    )
    differential = Differential(machine, model, programs.bound)
    compared = list(_programs(differential, folder, programs))
    different = [found for found in compared if found.difference]
    if as_json:
        print_json(
            {
                "accelerator": machine.full_name,
                "groups": [{**dataclasses.asdict(group), "name": group.name} for group in by_group(cases)],
                "cases": [{**dataclasses.asdict(case), "error": case.error} for case in cases],
                "programs": [{**dataclasses.asdict(found), "error": found.error} for found in compared],
            }
        )
    else:
        console = make_console(sys.stdout, plain)
        if cases:
            console.print(errors_table(by_group(cases)))
        for reason, count in not_replayed(cases).items():
            console.print(f"not replayed: {count}: {reason}", markup=False, soft_wrap=True)
        console.print(_summary(compared), markup=False, soft_wrap=True)
        if different:
            console.print(programs_table(different[:SHOWN]))
    if different and as_json:
        raise click.exceptions.Exit(FidelityError.exit_code)
    if different:
        raise FidelityError(
            f"{len(different)} of {len(compared)} programs differ between the simulator and the hardware description",
            hint=f"the shrunk ones lie in {folder}; --random 0 runs them again",
        )


def _programs(differential: Differential, folder: Path, programs: Programs) -> Iterator[Comparison]:
    """Those found before, then random ones."""
    for path in sorted(folder.glob("*.c")):
        yield differential.case(path)
    yield from differential.random_programs(programs.count, programs.seed, programs.length, folder)


def _summary(compared: Sequence[Comparison]) -> str:
    agreed = [found for found in compared if not found.difference]
    if not agreed:
        return f"0 of {len(compared)} programs agree"
    errors = [abs(found.error) for found in agreed]
    commands = sum(found.commands for found in agreed)
    return (
        f"{len(agreed)} of {len(compared)} programs agree ({commands:,} commands): results bit for bit, cycles within "
        f"{max(errors):.2%}, {sum(errors) / len(errors):.2%} on average"
    )

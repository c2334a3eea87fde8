"""`autocomp run`: is this kernel right, how fast is it, and where does its time go?"""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autocomp.cli.options import (
    define_option,
    judge_seed_option,
    objective_option,
    output_options,
    path_option,
    print_json,
    set_option,
    target_option,
    trust_option,
)
from autocomp.cli.over_time import print_shape, shape_of
from autocomp.cli.problem import load_problem
from autocomp.cli.program import run_program
from autocomp.data import MAX_TEXT, decode, read_bytes, reason
from autocomp.errors import CandidateFailure, KernelError

if TYPE_CHECKING:
    from autocomp.targets.evaluation import Evaluation
    from autocomp.targets.protocol import Evaluator, Target
    from autocomp.workload import Workload


@click.command()
@click.argument("kernel", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--workload", default=None, help="Workload of the kernel: a file, or the name of a shipped one.")
@click.option(
    "--accelerator", default=None, help="Accelerator of a program without a workload (default: the one of its headers)."
)
@click.option(
    "--evaluator",
    type=click.Choice(("simulator", "rtl")),
    default=None,
    callback=lambda ctx, option, value: None if value == "simulator" else value,
    help="Judge of the kernel (default: the target); rtl: the hardware description, built with `autocomp rtl build`.",
)
@judge_seed_option
@trust_option
@target_option
@objective_option
@set_option
@define_option
@path_option
@output_options
def run(
    kernel: Path,
    workload: str | None,
    accelerator: str | None,
    evaluator: str | None,
    judge_seed: int | None,
    trust: bool,
    target_spec: str | None,
    objective: str | None,
    overrides: dict[str, int | float],
    definitions: dict[str, int | float],
    paths: tuple[Path, ...],
    as_json: bool,
    plain: bool,
) -> None:
    """Evaluate the kernel in the file KERNEL ("-" for standard input).

    Without a workload, the file is a program with `int main()`: what it prints is shown, and its exit code is that of
    this command.

    Exits with 5 if the kernel does not parse or check. Exits with 6 if it fails another correctness stage, or if the
    hardware does not confirm it.
    """
    from autocomp.report import make_console, print_evaluation

    text = read_kernel(kernel)
    if workload is None:
        raise click.exceptions.Exit(
            run_program(text, str(kernel), accelerator, overrides, definitions, paths, as_json=as_json, plain=plain)
        )
    loaded, target = load_problem(
        workload, paths, overrides, target_spec, trust=trust, objective=objective, definitions=definitions
    )
    evaluation = _judge(evaluator, target, loaded, str(kernel)).evaluate(text, seed=judge_seed)
    shape = shape_of(text, loaded, target, evaluation) if evaluator is None else None
    cause = target.cause(text, loaded, evaluation) if evaluator is None else ""
    kinds = target.bounds_by_kind(loaded) if evaluation.correct else {}
    if as_json:
        over_time = asdict(shape) if shape is not None else None
        by_kind = {kind: asdict(bound) for kind, bound in kinds.items()}
        print_json(document(evaluation) | {"bounds_by_kind": by_kind, "cause": cause, "over_time": over_time})
    else:
        console = make_console(sys.stdout, plain)
        if cause:
            console.print(f"cause: {cause}")
        print_evaluation(console, evaluation, kinds)
        if evaluator is None:
            print_shape(console, shape, evaluation)
    if not evaluation.correct:
        failed = evaluation.failure is not None and evaluation.failure.stage == "check"
        error = KernelError if failed else CandidateFailure
        raise click.exceptions.Exit(error.exit_code)


def _judge(evaluator: str | None, target: Target, workload: Workload, source_name: str) -> Evaluator:
    if evaluator is None:
        return target.evaluator(workload, source_name)
    from autocomp.targets.simulator.rtl.evaluator import RtlEvaluator
    from autocomp.targets.simulator.rtl.model.build import model_of
    from autocomp.targets.simulator.target import accelerator_of

    accelerator = accelerator_of(target, "--evaluator rtl")
    return RtlEvaluator(accelerator, workload, model_of(accelerator.full_name), source_name)


def document(evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation as --json prints it; times in seconds; names of figures end in their unit."""
    from autocomp.report.runs.listing import with_units

    evidence, bound = evaluation.evidence, evaluation.bound
    figures = evidence.figures
    costs = replace(evaluation.objective, unit=evidence.unit or evaluation.objective.unit)
    return {
        "correct": evaluation.correct,
        "stages": [asdict(stage) for stage in evaluation.stages],
        **with_units({"": evaluation.value, "bound": None if bound is None else bound.value}, evaluation.objective),
        "ratio": evaluation.ratio or 0.0,
        "utilisation": figures.get("utilisation", 0.0),
        "instructions": figures.get("commands", 0),
        "seconds": evaluation.seconds,
        "bound": bound and asdict(bound),
        "steps": figures.get("host_steps", 0),
        **with_units({"unit": evidence.parts}, costs),
        "memory_rows": evidence.resources,
        "energy_nJ": {n.removeprefix("nJ_"): value for n, value in figures.items() if n.startswith("nJ_")},
        "dram_bytes": [figures.get("dram_bytes_read", 0), figures.get("dram_bytes_written", 0)],
        "lines": [
            {
                "line": line.line,
                "text": line.text,
                "commands": line.count,
                **with_units({"wait": line.cost}, costs),
                "causes": line.causes,
            }
            for line in evidence.lines
        ],
    }


def read_kernel(kernel: Path) -> str:
    """The text of a kernel's file, "-" for standard input. Raises KernelError."""
    try:
        data = sys.stdin.buffer.read(MAX_TEXT) if str(kernel) == "-" else read_bytes(kernel)
    except OSError as error:
        raise KernelError(f"cannot read the kernel {kernel}: {reason(error)}") from None
    return decode(data, str(kernel), KernelError)

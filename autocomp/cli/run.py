"""`autocomp run`: is this kernel right, how fast is it, and where do its cycles go?"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autocomp.cli.options import output_options, path_option, print_json, set_option, trust_option
from autocomp.cli.over_time import print_shape, shape_of
from autocomp.cli.problem import load_problem
from autocomp.data import MAX_TEXT, decode, read_bytes
from autocomp.errors import CandidateFailure, KernelError

if TYPE_CHECKING:
    from autocomp.targets.simulator.evaluate.model import Evaluation, Evaluator
    from autocomp.targets.simulator.isa.model import Accelerator
    from autocomp.workload import Workload


@click.command()
@click.argument("kernel", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--workload", required=True, help="What the kernel is to compute: a file or the name of a shipped one.")
@click.option(
    "--evaluator",
    type=click.Choice(("simulator", "rtl")),
    default="simulator",
    show_default=True,
    help="Who gives the cycles; rtl: the hardware description, built with `autocomp rtl build`.",
)
@trust_option
@set_option
@path_option
@output_options
def run(
    kernel: Path,
    workload: str,
    evaluator: str,
    trust: bool,
    overrides: dict[str, int | float],
    paths: tuple[Path, ...],
    as_json: bool,
    plain: bool,
) -> None:
    """Evaluate the kernel in the file KERNEL ("-" for standard input).

    Exits with 5 if it does not parse or check, with 6 if it fails another correctness stage or the hardware does not
    confirm it.
    """
    from autocomp.report import make_console, print_evaluation

    text = read_kernel(kernel)
    loaded, accelerator = load_problem(workload, paths, overrides, trust=trust)
    evaluation = _judge(evaluator, accelerator, loaded, str(kernel)).evaluate(text)
    shape = shape_of(text, loaded, accelerator, evaluation) if evaluator == "simulator" else None
    if as_json:
        print_json(document(evaluation) | {"over_time": asdict(shape) if shape is not None else None})
    else:
        console = make_console(sys.stdout, plain)
        print_evaluation(console, evaluation)
        if evaluator == "simulator":
            print_shape(console, shape, evaluation)
    if not evaluation.correct:
        failed = evaluation.failure is not None and evaluation.failure.stage == "check"
        error = KernelError if failed else CandidateFailure
        raise click.exceptions.Exit(error.exit_code)


def _judge(evaluator: str, accelerator: Accelerator, workload: Workload, source_name: str) -> Evaluator:
    if evaluator == "rtl":
        from autocomp.targets.simulator.rtl.build import model_of
        from autocomp.targets.simulator.rtl.evaluator import RtlEvaluator

        return RtlEvaluator(accelerator, workload, model_of(accelerator.full_name), source_name)
    from autocomp.targets.simulator.evaluate import SimulatorEvaluator

    return SimulatorEvaluator(accelerator, workload, source_name)


def document(evaluation: Evaluation) -> dict[str, Any]:
    """What --json prints of an evaluation; times in seconds, the rest in cycles, rows and bytes."""
    from autocomp.targets.simulator.evaluate import evaluation_to_json

    full = evaluation_to_json(evaluation)
    bound = full.pop("bound")
    return {
        "correct": evaluation.correct,
        "stages": full.pop("stages"),
        "cycles": evaluation.cycles,
        "bound_cycles": bound["cycles"],
        "ratio": evaluation.ratio,
        "utilisation": evaluation.utilisation,
        "instructions": full.pop("commands"),
        "seconds": evaluation.seconds,
        "bound": bound,
        **{
            key: value
            for key, value in full.items()
            if key not in ("correct", "cycles", "ratio", "utilisation", "seconds")
        },
    }


def read_kernel(kernel: Path) -> str:
    """The text of a kernel's file, "-" for standard input. Raises KernelError."""
    try:
        data = sys.stdin.buffer.read(MAX_TEXT) if str(kernel) == "-" else read_bytes(kernel)
    except OSError as error:
        raise KernelError(f"cannot read the kernel {kernel}: {error}") from None
    return decode(data, str(kernel), KernelError)

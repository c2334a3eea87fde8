"""Kernels of the benchmarks on the hardware description: what the simulator predicted beside what is measured there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.rtl.evaluator import RtlEvaluator
from autocomp.targets.simulator.rtl.model.build import model_of
from autocomp.workload import Workload

LARGE = 300_000  # cycles: kernels that need more run on the first input set alone
CLOSE = 0.003  # the error that the table counts beside exact cycles


@dataclass(frozen=True)
class Measured:
    """A kernel on the hardware: `verdict` as of `Confirmation`; `cycles` is None unless that is passed."""

    predicted: int
    cycles: int | None
    verdict: str
    message: str

    @property
    def error(self) -> float | None:
        """Signed: predicted / measured - 1."""
        return self.predicted / self.cycles - 1.0 if self.cycles else None


def measure(kernel: str, predicted: int, workload: Workload, accelerator: Accelerator) -> Measured:
    """A kernel on the accelerator's RTL model. Raises ConfigError for an accelerator without a model."""
    evaluator = RtlEvaluator(accelerator, workload, model_of(accelerator.full_name))
    confirmation = evaluator.confirm(kernel, 1 if predicted > LARGE else None)
    return Measured(
        predicted,
        confirmation.cycles if confirmation.status == "passed" else None,
        confirmation.status,
        confirmation.message,
    )


def error_table(kinds: Iterable[tuple[str, Sequence[Measured]]]) -> Iterator[str]:
    """A line a kind of kernels, in Markdown."""
    yield f"| | kernels | confirmed | exact | within {CLOSE:.1%} | mean error | worst |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for kind, kernels in kinds:
        errors = [abs(kernel.error) for kernel in kernels if kernel.error is not None]
        if not errors:
            yield f"| {kind} | {len(kernels)} | 0 | – | – | – | – |"
            continue
        exact = sum(kernel.predicted == kernel.cycles for kernel in kernels)
        near = sum(error <= CLOSE for error in errors)
        yield (
            f"| {kind} | {len(kernels)} | {len(errors)} | {exact} | {near} | {sum(errors) / len(errors):.3%} "
            f"| {max(errors):.2%} |"
        )

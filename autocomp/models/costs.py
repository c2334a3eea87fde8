"""The cost of a model on a machine: known schedules where there are, the naive kernel on the simulator elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from autocomp.errors import ConfigError
from autocomp.models.graph import Model
from autocomp.models.operations import Operation
from autocomp.schedules import Stored
from autocomp.schedules.store import record_at
from autocomp.search.session import starting_kernel
from autocomp.targets.evaluation import SCREEN
from autocomp.targets.protocol import Target
from autocomp.workload import Workload, parse

Watch = Callable[[str], None]


@dataclass(frozen=True)
class Prediction:
    """Cycles of one operation done once: of the naive kernel, of the best one known, and the lower bound."""

    operation: Operation
    count: int
    naive: int
    best: int
    bound: int
    source: str  # the schedule's file name, or "naive"

    @property
    def speed_up(self) -> float:
        """Of this operation if it ran at its bound."""
        return self.best / self.bound if self.bound else 1.0

    @property
    def gain(self) -> int:
        """Cycles that the model would be faster by if this operation ran at its bound."""
        return self.count * max(0, self.best - self.bound)


@dataclass(frozen=True)
class Forecast:
    """Cycles end to end: operations run one after the other, and the host's in between."""

    predictions: tuple[Prediction, ...]
    host: float

    @property
    def before(self) -> float:
        return self.host + sum(p.count * p.naive for p in self.predictions)

    @property
    def after(self) -> float:
        return self.host + sum(p.count * p.best for p in self.predictions)

    def share(self, cycles: float) -> float:
        """Of all cycles; 0 of a model that takes none."""
        return cycles / self.after if self.after else 0.0

    def speed_up(self, prediction: Prediction) -> float:
        """Of the whole model if this operation ran at its bound, after Amdahl's law."""
        return self.after / (self.after - prediction.gain)


def forecast(model: Model, target: Target, stored: Sequence[Stored], host_cycles: float, watch: Watch) -> Forecast:
    """Predict every operation; `host_cycles` is what the host needs for a unit of work. `watch` hears what is being
    simulated. Raises ConfigError when the machine cannot do an operation."""
    predictions = []
    for operation, count in model.operations.items():
        workload = parse(operation.text(target.name), Path(operation.name))
        known = _schedule(workload, target, stored)
        low = target.bound(workload)
        if known is not None:
            naive, best, source = known
        else:
            watch(operation.name)
            naive = best = _simulated(workload, target)
            source = "naive"
        predictions.append(Prediction(operation, count, naive, best, 0 if low is None else int(low.value), source))
    return Forecast(tuple(predictions), host_cycles * sum(h.work for h in model.host))


def ranked(forecast: Forecast, negligible: float) -> tuple[list[Prediction], list[Prediction]]:
    """The operations worth a search, those with most to gain first, and the rest: all of these at their bounds
    together would save no more than the share `negligible` of the model's cycles."""
    order = sorted(forecast.predictions, key=lambda p: -p.gain)
    left = sum(p.gain for p in order)
    for position, prediction in enumerate(order):
        if left <= negligible * forecast.after:
            return order[:position], order[position:]
        left -= prediction.gain
    return order, []


def _schedule(workload: Workload, target: Target, stored: Sequence[Stored]) -> tuple[int, int, str] | None:
    """Naive and best cycles, and the file, of the record of exactly this operation on exactly this machine."""
    wanted = (f"{target.kind}:{target.name}", dict(target.parameters), workload.operation, dict(workload.dims))
    options = dict(workload.options)
    for item in stored:
        entry = item.entry
        if (entry.target, entry.parameters, entry.operation, entry.dims) != wanted:
            continue
        if entry.options_as(options) != options:
            continue
        record = record_at(item)
        if record.target.digest == target.digest:
            return int(record.result.naive), int(record.result.value), item.path.name
    return None


def _simulated(workload: Workload, target: Target) -> int:
    """Cycles of the naive kernel, checked on one random input."""
    evaluator = target.evaluator(workload)
    evaluation = evaluator.evaluate(starting_kernel(workload, target), SCREEN)
    if evaluation.failure is not None or evaluation.value is None:
        reason = evaluation.failure.message if evaluation.failure is not None else "it did not finish"
        raise ConfigError(f"the naive kernel of {workload.path} fails on {target.name!r}: {reason}")
    return int(evaluation.value)

"""The accuracy of predicted gains: the share of speed-ups inside the stated interval, and rank correlation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console

from autocomp.report.grid import Grid, figure, name
from autocomp.report.runs.run import RunView
from autocomp.report.terminal import percent

FEWEST_TO_RANK = 3


@dataclass(frozen=True)
class Prediction:
    """An interval of the speed-up over the parent, and what came out."""

    author: str
    low: float
    high: float
    actual: float

    @property
    def inside(self) -> bool:
        return self.low <= self.actual <= self.high


@dataclass(frozen=True)
class Calibration:
    """`correlation` is Spearman's, of the intervals' geometric middles with the actual speed-ups; None for fewer than
    three predictions, or where either side is all the same."""

    author: str
    predictions: int
    inside: float
    correlation: float | None


def predictions(view: RunView) -> list[Prediction]:
    """All predictions of a run that can be scored: those of kernels that run. A repaired kernel counts too, as what its
    plan led to."""
    pairs = []
    for candidate in view.candidates.values():
        stated, gain = (candidate["plan"] or {}).get("gain"), view.gain_of(candidate)
        if stated and gain is not None:
            pairs.append(Prediction(candidate["plan"]["author"], stated[0], stated[1], gain))
    return pairs


def calibrations(predictions: Iterable[Prediction]) -> list[Calibration]:
    """One an author, in alphabetical order."""
    by_author: dict[str, list[Prediction]] = {}
    for prediction in predictions:
        by_author.setdefault(prediction.author, []).append(prediction)
    return [_calibration(author, by_author[author]) for author in sorted(by_author)]


def print_calibrations(console: Console, view: RunView) -> None:
    """A table of how predictions held; nothing where no plan stated any."""
    rows = calibrations(predictions(view))
    if not rows:
        return
    figures = [figure(heading) for heading in ("plans", "inside their interval", "rank correlation")]
    grid = Grid("Predicted speed-ups against those that came out", name("planner"), *figures)
    for row in rows:
        correlation = "-" if row.correlation is None else f"{row.correlation:.2f}"
        grid.add(row.author, str(row.predictions), percent(row.inside), correlation)
    console.print(grid)


def _calibration(author: str, predictions: Sequence[Prediction]) -> Calibration:
    inside = sum(prediction.inside for prediction in predictions) / len(predictions)
    middles = [math.sqrt(prediction.low * prediction.high) for prediction in predictions]
    correlation = rank_correlation(middles, [prediction.actual for prediction in predictions])
    return Calibration(author, len(predictions), inside, correlation)


def rank_correlation(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Spearman's coefficient: Pearson's of the ranks, ties sharing their mean rank."""
    if len(left) < FEWEST_TO_RANK:
        return None
    a, b = _ranks(left), _ranks(right)
    mean = (len(a) + 1) / 2
    covariance = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    spread = math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))
    return covariance / spread if spread else None


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]

"""Sums that go on from those of an earlier result, where nothing set them to 0 or to their bias in between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.likeness.wrong import Wrong
from autocomp.workload.model import Arrays, Workload
from autocomp.workload.reference import bounds, compute, finished, products

Array = npt.NDArray[Any]
FEW = 3  # elements by which most distances fall
NAMES: Mapping[str, tuple[str, str]] = {"gemm": ("rows", "columns"), "conv2d": ("pixels", "channels")}


@dataclass(frozen=True)
class Line:
    """Wrong elements along one axis of a result: `sums` and `biases` of all elements with that axis first, and where
    the wrong ones are."""

    name: str
    workload: Workload
    wrong: Wrong
    sums: Array
    biases: Array | None
    at: npt.NDArray[np.int64]
    across: npt.NDArray[np.int64]

    def goes_on(self, distance: int) -> bool:
        """True if each wrong result is that of its own sum and all those at whole distances before it."""
        return all(self._explained(distance, count) for count in (1, FEW, len(self.at)))

    def _explained(self, distance: int, count: int) -> bool:
        wrong = self.wrong.first(count)
        chains = [slice(at % distance, at + 1, distance) for at in self.at[:count]]
        if wrong.bounds is not None:  # as many sums more, of terms that are as many times as large
            wrong = replace(wrong, bounds=wrong.bounds * (1 + self.at[:count] // distance) ** 2)
        ends = list(zip(chains, self.across[:count], strict=True))
        total = np.array([self.sums[chain, column].sum() for chain, column in ends])[:, None]
        if self.biases is None:
            return bool(wrong.explained(finished(self.workload, total, None)).all())
        biases = [self.biases[chain, column] for chain, column in ends]
        begun = (np.array([parts[0] for parts in biases]), np.array([parts.sum() for parts in biases]))
        return any(wrong.explained(finished(self.workload, total, bias[:, None])).all() for bias in begun)


def continued_sums(workload: Workload, arrays: Arrays, got: Mapping[str, Array]) -> Iterator[str]:
    """The distance from results to those whose sums they add to, in words."""
    if workload.operation not in NAMES or workload.options.get("pool") is not None:
        return
    (left, right, bias), *further = products(workload, arrays)
    if further:
        return
    results = compute(workload, arrays)
    name = workload.outputs[0].name
    sums = (left.astype(np.float64) @ right.astype(np.float64)).astype(np.int64 if workload.exact else np.float64)
    biases = None if bias is None else np.broadcast_to(bias.astype(sums.dtype), sums.shape)
    rows, columns = NAMES[workload.operation]
    for wrong in Wrong.of(name, got[name], results[name], bounds(workload, arrays, results).get(name)):
        row = np.ravel_multi_index(tuple(wrong.indices[:, :-1].T), workload.outputs[0].shape[:-1])
        column = wrong.indices[:, -1]
        turned = None if biases is None else biases.T
        for line in (
            Line(rows, workload, wrong, sums, biases, row, column),
            Line(columns, workload, wrong, sums.T, turned, column, row),
        ):
            for distance in range(1, int(line.at.min()) + 1):
                if line.goes_on(distance):
                    begun = f"{wrong.where}, results go on from the sums of {distance} {line.name} before"
                    yield f"{begun}: set sums to 0 or to their bias first"
                    break

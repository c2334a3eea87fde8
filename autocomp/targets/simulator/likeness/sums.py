"""Sums of products that a kernel forms in another way: parts left out or taken twice, biases that are added again,
saturation between parts, other roundings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.likeness.wrong import Wrong
from autocomp.workload.model import Arrays, Workload
from autocomp.workload.reference import bounds, compute, finished, products

Array = npt.NDArray[Any]
MOST_DEPTH = 2048  # of which all ranges are tried
LEAST, MOST = -128, 127  # of int8
FEW = 3  # elements by which most hypotheses fall
MOST_BIASES = 64

ROUNDINGS: Mapping[str, Callable[[Array], Array]] = {
    "wrapped instead of saturating": lambda x: np.rint(x).astype(np.int64).astype(np.int8),
    "were rounded down": lambda x: np.clip(np.floor(x), LEAST, MOST),
    "were rounded towards 0": lambda x: np.clip(np.trunc(x), LEAST, MOST),
    "were rounded with halves up": lambda x: np.clip(np.floor(x + 0.5), LEAST, MOST),
    "were rounded with halves to even": lambda x: np.clip(np.rint(x), LEAST, MOST),
    "were rounded with halves away from 0": lambda x: np.clip(np.copysign(np.floor(np.abs(x) + 0.5), x), LEAST, MOST),
}


@dataclass(frozen=True)
class Sums:
    """The sums of wrong elements: `begun[n][k]` is that of the first k products, `bias[n][1]` is added to it."""

    workload: Workload
    wrong: Wrong
    begun: Array
    bias: Array | None

    @classmethod
    def of(cls, workload: Workload, arrays: Arrays, wrong: Wrong) -> Sums:
        factors = products(workload, arrays)
        exact = np.int64 if workload.exact else np.float64
        columns = factors[0][1].shape[1]
        images = wrong.indices[:, :-1]
        rows = np.ravel_multi_index(tuple(images.T), workload.outputs[0].shape[:-1])
        group, column = np.divmod(wrong.indices[:, -1], columns)
        each = [(*factors[g], row, col) for g, row, col in zip(group, rows, column, strict=True)]
        terms = np.stack([a[row].astype(exact) * b[:, col].astype(exact) for a, b, _, row, col in each])
        begun = np.concatenate((np.zeros((len(terms), 1), exact), np.cumsum(terms, 1)), 1)
        biases = [bias[row % len(bias), col] for _, _, bias, row, col in each if bias is not None]
        return cls(workload, wrong, begun, np.array(biases, exact)[:, None] if biases else None)

    @property
    def depth(self) -> int:
        return int(self.begun.shape[1]) - 1

    @property
    def active(self) -> Array:
        """The sums that results are scaled from [n][1]."""
        total = self.begun[:, -1:] if self.bias is None else self.begun[:, -1:] + self.bias
        return np.maximum(total, 0) if self.workload.options["activation"] == "relu" else total

    def first(self, count: int) -> Sums:
        bias = None if self.bias is None else self.bias[:count]
        return Sums(self.workload, self.wrong.first(count), self.begun[:count], bias)

    def explained_by(self, totals: Array, bias: Array | None) -> npt.NDArray[np.bool_]:
        """For each column of `totals` [n][m]: True if all elements are what comes of it and the bias."""
        return self.wrong.explained(finished(self.workload, totals, bias))


def other_sums(workload: Workload, arrays: Arrays, got: Mapping[str, Array]) -> Iterator[str]:
    """The other ways in which sums give the wrong elements of a product's or convolution's result, in words."""
    if workload.operation == "custom" or workload.options.get("pool") is not None:
        return
    results = compute(workload, arrays)
    name = workload.outputs[0].name
    for wrong in Wrong.of(name, got[name], results[name], bounds(workload, arrays, results).get(name)):
        sums = Sums.of(workload, arrays, wrong)
        kinds = (_scales, _ranges, _biases, _roundings, _saturated)
        yield from (f"{wrong.where}, results {words}" for kind in kinds for words in kind(sums))


def _scales(sums: Sums) -> Iterator[str]:
    """Another scale: those that give one element are a range, and some of all elements' are the same."""
    got, half = sums.wrong.got.astype(np.float64), 0.5 if sums.wrong.bounds is None else sums.wrong.bounds
    if sums.workload.outputs[0].dtype == "int32":
        return
    active = sums.active[:, 0].astype(np.float64)
    ends = np.stack([np.where(got == LEAST, -np.inf, got - half), np.where(got == MOST, np.inf, got + half)])
    with np.errstate(divide="ignore", invalid="ignore"):
        scales = np.sort(ends / active, axis=0)[:, active != 0]
    low, high = scales[0].max(initial=0.0), scales[1].min(initial=np.inf)
    scale = (low + high) / 2
    if low > 0 and high < np.inf:  # they may meet where a result is a tie
        other = replace(sums.workload, options={**sums.workload.options, "scale": scale})
        if sums.wrong.explained(finished(other, sums.begun[:, -1:], sums.bias)).all():
            yield f"are right if they are scaled by {_told_apart(scale, sums.workload.options['scale'])}"


def _told_apart(scale: float, right: float) -> str:
    """A scale with as many digits as it takes to differ from the right one."""
    return next((text for digits in (3, 5, 7) if float(text := f"{scale:.{digits}g}") != right), f"{scale:.9g}")


def _ranges(sums: Sums) -> Iterator[str]:
    """Parts of the depth that are left out, or taken twice: the shortest one."""
    if sums.depth > MOST_DEPTH:
        return
    few = sums.first(FEW)
    for factor, words in ((-1, "lack the products"), (1, "have twice the products")):
        found: list[tuple[int, int]] = []
        for start in range(sums.depth):
            parts = few.begun[:, start + 1 :] - few.begun[:, start, None]
            ends = start + 1 + np.flatnonzero(few.explained_by(few.begun[:, -1:] + factor * parts, few.bias))
            if len(ends):
                parts = sums.begun[:, ends] - sums.begun[:, start, None]
                right = sums.explained_by(sums.begun[:, -1:] + factor * parts, sums.bias)
                found += [(start, int(end)) for end in ends[right]]
        if found:
            start, end = min(found, key=lambda part: part[1] - part[0])
            yield f"{words} {start} to {end - 1} of the {sums.depth} that they sum"


def _biases(sums: Sums) -> Iterator[str]:
    if sums.bias is not None:
        times = np.arange(2, MOST_BIASES)
        for count in times[sums.explained_by(np.repeat(sums.begun[:, -1:], len(times), 1), sums.bias * times)][:1]:
            yield f"have their bias {count} times"


def _roundings(sums: Sums) -> Iterator[str]:
    if sums.workload.outputs[0].dtype != "int8":
        return
    scaled = (sums.active.astype(np.float32) * np.float32(sums.workload.options["scale"])).astype(np.float64)
    for words, rounded in ROUNDINGS.items():
        if sums.wrong.explained(rounded(scaled)).all():
            yield f"are right if they {words}"


def _saturated(sums: Sums) -> Iterator[str]:
    """Parts of the depth after which sums saturate at int8, as they do where they wait in memory of that type."""
    if sums.workload.outputs[0].dtype != "int8":
        return
    few = sums.first(FEW)
    for size in range(1, sums.depth):
        for words, fold in FOLDS.items():
            if few.wrong.explained(fold(few, size)).all() and sums.wrong.explained(fold(sums, size)).all():
                yield f"are right if {words} after every {size} products"
                return


def _folded(sums: Sums, size: int, step: Callable[[Array, Array, Array | None], Array]) -> Array:
    """The result of `step` for the sum so far and each further part. The bias goes with the first part."""
    cuts = [*range(0, sums.depth, size), sums.depth]
    total, bias = np.zeros_like(sums.begun[:, :1]), sums.bias
    for start, end in pairwise(cuts):
        part = sums.begun[:, end : end + 1] - sums.begun[:, start : start + 1]
        total, bias = step(total, part, bias).astype(total.dtype), None
    return total


def _stored_sums(sums: Sums, size: int) -> Array:
    def step(total: Array, part: Array, bias: Array | None) -> Array:
        stored: Array = np.clip(total + part + (0 if bias is None else bias), LEAST, MOST)
        return stored

    return finished(sums.workload, _folded(sums, size, step), None)


def _stored_results(sums: Sums, size: int) -> Array:
    return _folded(sums, size, lambda total, part, bias: finished(sums.workload, total + part, bias))


def _added_results(sums: Sums, size: int) -> Array:
    def step(total: Array, part: Array, bias: Array | None) -> Array:
        added: Array = np.clip(total + finished(sums.workload, part, bias).astype(total.dtype), LEAST, MOST)
        return added

    return _folded(sums, size, step)


FOLDS: Mapping[str, Callable[[Sums, int], Array]] = {
    "sums saturate at int8": _stored_sums,
    "sums are scaled, rounded and saturated": _stored_results,
    "parts are scaled and rounded by themselves and added": _added_results,
}

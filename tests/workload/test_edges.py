"""The draws reach the places where careless rounding and saturation go wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autocomp.workload import InputSet, Workload, compute, make_inputs, parse
from autocomp.workload.convolution import convolution
from autocomp.workload.convolution import sums as convolved
from autocomp.workload.inputs import KINDS
from autocomp.workload.reference import multiply

TIES = [0.5, 0.25, 0.125, 0.0078125, 0.001, 0.05, 0.3]


def gemm(scale: float, size: tuple[int, int, int] = (40, 40, 64), **options: object) -> Workload:
    i, j, k = size
    text = f"operation: gemm\naccelerator: some\ndims: {{I: {i}, J: {j}, K: {k}}}\nscale: {scale}\n"
    return parse(text + "".join(f"{key}: {value}\n" for key, value in options.items()), Path("w.yaml"))


def draw(workload: Workload, kind: str, seed: int = 1) -> dict[str, np.ndarray]:
    return make_inputs(workload, InputSet(kind, kind, seed))


def products(workload: Workload, kind: str) -> np.ndarray:
    arrays = draw(workload, kind)
    total = multiply(arrays["A"], arrays["B"])
    return total.astype(np.float32) * np.float32(workload.options["scale"])


@pytest.mark.parametrize("scale", TIES)
@pytest.mark.parametrize("kind", ["edges", "mixed"])
def test_ties_occur_and_round_both_ways(scale: float, kind: str) -> None:
    scaled = products(gemm(scale, (128, 128, 64)), kind)
    ties = scaled[(np.abs(scaled) < 128) & (np.abs(scaled - np.trunc(scaled)) == 0.5)]
    assert len(ties) > 20
    away = np.sign(ties) * np.floor(np.abs(ties) + 0.5)
    upward = np.floor(ties + 0.5)
    for careless in (away, upward, np.trunc(ties)):
        assert (careless != np.rint(ties)).any()


@pytest.mark.parametrize("scale", [1.0, *TIES])
def test_results_lie_on_both_sides_of_both_ends_of_the_range(scale: float) -> None:
    scaled = np.rint(products(gemm(scale, (128, 128, 64)), "edges"))
    for end in (127, -128):
        assert (scaled == end).any()
        assert (scaled == end + np.sign(end)).any()


def test_sums_leave_the_range_and_come_back() -> None:
    """A kernel that saturates after half of the sum gets them wrong, at either end."""
    workload = gemm(1.0)
    arrays = draw(workload, "mixed")
    half = multiply(arrays["A"][:, :32], arrays["B"][:32])
    right = compute(workload, arrays)["C"]
    back = np.abs(right.astype(int)) < 127
    assert (half[back] > 127).any()
    assert (half[back] < -128).any()


def test_convolutions_have_ties_too() -> None:
    text = """
operation: conv2d
accelerator: some
dims: {N: 1, H: 12, W: 12, C: 16, K: 24, R: 3, S: 3}
padding: 1
scale: 0.001
"""
    workload = parse(text, Path("w.yaml"))
    arrays = draw(workload, "edges")
    shape = convolution(workload.dims, workload.options)
    scaled = convolved(shape, arrays["inp"], arrays["weights"]).astype(np.float32) * np.float32(0.001)
    assert (np.abs(scaled - np.trunc(scaled)) == 0.5).sum() > 20


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [0.0, 1e30, 1e-30, -0.5])
@pytest.mark.parametrize("size", [(1, 1, 1), (3, 5, 2)])
def test_any_scale_and_size_has_draws(kind: str, scale: float, size: tuple[int, int, int]) -> None:
    arrays = draw(gemm(scale, size, bias="row"), kind)
    assert {name: array.shape for name, array in arrays.items()} == {
        "A": (size[0], size[2]),
        "B": (size[2], size[1]),
        "bias": (1, size[1]),
        "C": (size[0], size[1]),
    }

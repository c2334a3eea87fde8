"""By how much floats may differ: every order of a sum is right, and what drops or rounds a term is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.workload import InputSet, Workload, make_case, parse
from autocomp.workload.reference import Case
from autocomp.workload.tolerance import outside

FLOATS = ("random", "extremes", "mixed", "sparse", "one_hot")


def gemm(depth: int, scale: float = 1.0, bias: str = "row") -> Workload:
    text = f"operation: gemm\naccelerator: some\ndtype: float32\ndims: {{I: 9, J: 7, K: {depth}}}\nscale: {scale}\n"
    return parse(text + f"bias: {bias}\n", Path("w.yaml"))


def case_of(workload: Workload, kind: str, seed: int) -> Case:
    return make_case(workload, InputSet(kind, kind, seed))


def products(case: Case) -> np.ndarray:
    """binary32 [I][K + 1][J]: each product rounded once, and the bias."""
    a, b, bias = case.arrays["A"], case.arrays["B"], case.arrays["bias"]
    terms = a[:, :, None] * b[None, :, :]
    return np.concatenate([terms, np.broadcast_to(bias, (len(a), 1, b.shape[1]))], axis=1).astype(np.float32)


def is_right(case: Case, got: np.ndarray, scale: float = 1.0) -> bool:
    scaled = got if scale == 1.0 else (got * np.float32(scale)).astype(np.float32)
    return not outside(scaled, case.expected["C"], case.bounds["C"]).any()


@settings(max_examples=60, deadline=None)
@given(
    depth=st.sampled_from([1, 2, 17, 64, 700]),
    kind=st.sampled_from(FLOATS),
    seed=st.integers(0, 1 << 64),
    scale=st.sampled_from([1.0, 0.5, -0.3]),
)
def test_every_order_of_a_sum_is_right(depth: int, kind: str, seed: int, scale: float) -> None:
    workload = gemm(depth, scale)
    case = case_of(workload, kind, seed)
    terms = products(case)
    order = np.random.default_rng(seed).permutation(depth + 1)
    forward, backward = np.zeros((9, 7), np.float32), np.zeros((9, 7), np.float32)
    for k in order:
        forward = forward + terms[:, k]
    for k in order[::-1]:
        backward = backward + terms[:, k]
    pairs = terms
    while pairs.shape[1] > 1:
        even = pairs[:, ::2].copy()
        even[:, : pairs.shape[1] // 2] += pairs[:, 1::2]
        pairs = even
    for got in (forward, backward, pairs[:, 0]):
        assert is_right(case, got, scale)


@pytest.mark.parametrize("depth", [8, 256, 8192])
def test_one_product_dropped_is_wrong(depth: int) -> None:
    workload = gemm(depth)
    found = []
    for seed in range(4):
        case = case_of(workload, "mixed", seed)
        left_out = np.random.default_rng(seed).integers(depth)
        a = case.arrays["A"].copy()
        a[:, left_out] = 0
        got = (a.astype(np.float64) @ case.arrays["B"] + case.arrays["bias"]).astype(np.float32)
        found.append(not is_right(case, got))
    assert all(found)


def rounded(values: np.ndarray, bits: int) -> np.ndarray:
    """The values rounded to `bits` bits of significand."""
    significand, exponent = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(significand, bits)), exponent - bits).astype(np.float32)


@pytest.mark.parametrize("bits", [8, 11, 17])
def test_an_operand_in_a_lower_precision_is_wrong(bits: int) -> None:
    """bfloat16, binary16 and TF32 have 8, 11 and 11 bits."""
    for depth in (8, 64, 8192):
        for name in "AB":
            case = case_of(gemm(depth, bias="none"), "mixed", 3)
            arrays = {**case.arrays, name: rounded(case.arrays[name], bits)}
            got = (arrays["A"].astype(np.float64) @ arrays["B"]).astype(np.float32)
            assert not is_right(case, got), (depth, name)


@pytest.mark.parametrize("bits", [8, 11])
def test_sums_in_a_lower_precision_are_wrong(bits: int) -> None:
    for depth in (8, 256, 2048):
        case = case_of(gemm(depth), "extremes", depth)
        terms, total = products(case), np.zeros((9, 7), np.float32)
        for k in range(depth + 1):
            total = rounded(total + terms[:, k], bits)
        assert not is_right(case, total), depth


def test_infinities_and_nan_equal_only_themselves() -> None:
    values = np.array([np.inf, -np.inf, np.nan, 1.0], np.float32)
    same = np.zeros(4, bool)
    assert (outside(values, values, np.full(4, 9.0)) == same).all()
    for other in (np.nan, np.inf, -np.inf, 1.0):
        wrong = outside(np.full(4, other, np.float32), values, np.full(4, 9.0))
        assert (wrong == ~((values == other) | (np.isnan(values) & np.isnan(other)))).all()


CUSTOM = """
operation: custom
accelerator: some
reference: dot.py:dot
kernel: dot.c
tensors:
- {name: x, dtype: float32, shape: [64], role: input, range: [-1, 1]}
- {name: y, dtype: float32, shape: [1], role: output}
"""


def custom(folder: Path, tolerance: str) -> Workload:
    functions = "def dot(x):\n    return x.sum(keepdims=True)\ndef size(x):\n    return abs(x).sum(keepdims=True)\n"
    (folder / "dot.py").write_text(functions)
    (folder / "dot.c").write_text("void solution(float x[64], float y[1]) { }\n")
    return parse(CUSTOM + tolerance, folder / "dot.yaml")


def test_a_custom_operation_may_state_the_size_of_its_terms(tmp_path: Path) -> None:
    stated = case_of(custom(tmp_path, "tolerance: {roundings: 64, magnitude: size}\n"), "random", 1)
    unit, total = 2.0**-24, np.abs(stated.arrays["x"]).astype(float).sum()
    assert stated.bounds["y"] == pytest.approx(64 * unit / (1 - 64 * unit) * total)
    plain = case_of(custom(tmp_path, ""), "random", 1)
    assert plain.bounds["y"] == pytest.approx(1e-6 + 1e-5 * abs(float(plain.expected["y"][0])))

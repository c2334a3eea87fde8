"""The reference result is the operation's definition, computed exactly."""

from __future__ import annotations

import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.errors import ConfigError
from autocomp.workload import InputSet, Workload, compute, input_sets, load, make_case, make_inputs, parse
from autocomp.workload.inputs import DRAWS, FLOAT_LIMIT, KINDS
from autocomp.workload.reference import multiply


def gemm(i: int, j: int, k: int, **options: object) -> Workload:
    text = f"operation: gemm\naccelerator: some\ndims: {{I: {i}, J: {j}, K: {k}}}\n"
    return parse(text + "".join(f"{key}: {value}\n" for key, value in options.items()), Path("w.yaml"))


def by_hand(workload: Workload, arrays: dict[str, np.ndarray], i: int, j: int) -> int:
    """One element of C with Python's integers; only the scaling uses binary32, as the definition says."""
    options = workload.options
    total = 0
    for k in range(workload.dims["K"]):
        a = arrays["A"][k, i] if options["transpose_a"] else arrays["A"][i, k]
        b = arrays["B"][j, k] if options["transpose_b"] else arrays["B"][k, j]
        total += int(a) * int(b)
    if options["bias"] != "none":
        total += int(arrays["bias"][0 if options["bias"] == "row" else i, j])
    total = (total + 2**31) % 2**32 - 2**31
    if options["activation"] == "relu":
        total = max(total, 0)
    with np.errstate(over="ignore"):
        scaled = float(np.float32(total) * np.float32(options["scale"]))
    return round(max(-128.0, min(127.0, scaled)))


@settings(max_examples=40, deadline=None)
@given(
    dims=st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 40)),
    bias=st.sampled_from(["none", "row", "full"]),
    activation=st.sampled_from(["none", "relu"]),
    scale=st.sampled_from([1.0, 0.25, -0.5]),
    transposes=st.tuples(st.booleans(), st.booleans()),
    kind=st.sampled_from(KINDS),
)
def test_a_gemm_of_floats_equals_loops_over_fractions(
    dims: tuple[int, int, int], bias: str, activation: str, scale: float, transposes: tuple[bool, bool], kind: str
) -> None:
    keys = {"dtype": "float32", "bias": bias, "activation": activation, "scale": scale}
    workload = gemm(*dims, **keys, transpose_a=transposes[0], transpose_b=transposes[1])
    case = make_case(workload, InputSet(kind, kind, 3))
    arrays = dict(case.arrays)
    assert {array.dtype.name for array in arrays.values()} == {"float32"}
    largest = {name: float(np.nanmax(np.abs(arrays[name]))) for name in "AB"}
    assert largest["B"] <= FLOAT_LIMIT
    assert largest["A"] <= FLOAT_LIMIT or kind == "extremes"
    left = arrays["A"].T if transposes[0] else arrays["A"]
    right = arrays["B"].T if transposes[1] else arrays["B"]
    got, bounds = case.expected["C"], case.bounds["C"]
    for i, j in np.ndindex(got.shape):
        total = sum(
            (Fraction(float(x)) * Fraction(float(y)) for x, y in zip(left[i], right[:, j], strict=True)), Fraction()
        )
        total += Fraction(float(arrays["bias"][0 if bias == "row" else i, j])) if bias != "none" else 0
        total = max(total, Fraction()) if activation == "relu" else total
        exact = float(total * Fraction(scale))
        assert abs(float(got[i, j]) - exact) <= 2.0**-24 * abs(exact)
        assert abs(float(got[i, j]) - exact) <= bounds[i, j]


@settings(max_examples=40, deadline=None)
@given(
    dims=st.tuples(st.integers(1, 7), st.integers(1, 7), st.integers(1, 40)),
    bias=st.sampled_from(["none", "row", "full"]),
    activation=st.sampled_from(["none", "relu"]),
    scale=st.sampled_from([1.0, 0.5, 0.0078125, -0.3, 2.0, 1e30]),
    transposes=st.tuples(st.booleans(), st.booleans()),
    kind=st.sampled_from(KINDS),
)
def test_gemm_equals_loops_over_integers(
    dims: tuple[int, int, int], bias: str, activation: str, scale: float, transposes: tuple[bool, bool], kind: str
) -> None:
    transpose_a, transpose_b = transposes
    workload = gemm(
        *dims, bias=bias, activation=activation, scale=scale, transpose_a=transpose_a, transpose_b=transpose_b
    )
    arrays = make_inputs(workload, InputSet(kind, kind, 3))
    expected = compute(workload, arrays)["C"]
    assert expected.tolist() == [[by_hand(workload, arrays, i, j) for j in range(dims[1])] for i in range(dims[0])]


def test_the_product_is_exact_beyond_the_depth_of_one_float_sum() -> None:
    a = np.full((1, 5000), -128, np.int8)
    assert multiply(a, a.T).item() == 5000 * 128 * 128


def test_random_inputs_saturate_sometimes_and_have_both_signs() -> None:
    workload = load("gemm_256x256x256")
    case = make_case(workload, InputSet("random", "random", 3))
    result = case.expected["C"]
    inside = np.abs(result.astype(int)) < 127
    assert 0.05 < inside.mean() < 0.95
    assert (result[inside] < 0).any()
    assert (result[inside] > 0).any()
    assert case.arrays["A"].min() == -128


def test_input_sets_differ_and_repeat() -> None:
    workload = gemm(20, 30, 40)
    draws = [draw for stage in DRAWS for draw in input_sets(workload, stage, 5)]
    sets = [make_inputs(workload, draw)["A"].tobytes() for draw in draws]
    assert len(set(sets)) == len(sets)
    assert make_inputs(workload, draws[0])["A"].tobytes() == sets[0]
    others = [make_inputs(workload, draw)["A"].tobytes() for stage in DRAWS for draw in input_sets(workload, stage, 6)]
    assert not set(sets) & set(others)


def test_small_operations_get_more_draws_of_edges() -> None:
    few, many = (gemm(size, size, 8) for size in (8, 128))
    kinds = [[draw.kind for draw in input_sets(workload, "adversarial", 1)] for workload in (few, many)]
    assert [names.count("edges") for names in kinds] == [8, 1]


def test_mixed_inputs_pair_every_kind_of_row_with_every_kind_of_column() -> None:
    workload = load("gemm_256x256x256")
    arrays = make_inputs(workload, InputSet("mixed", "mixed", 3))
    left, right = arrays["A"], arrays["B"].T
    for operand in (left, right):
        rows = [frozenset(np.unique(row).tolist()) for row in operand]
        assert {0} in rows
        assert {-128} in rows
        assert {127} in rows
        assert any(len(values) > 100 for values in rows)
    assert any((row != 0).sum() == 1 and row.max() == 1 for row in left)


@pytest.fixture
def custom(tmp_path: Path) -> Path:
    (tmp_path / "double.py").write_text("def double(x):\n    return x.astype('int32') * 2\n")
    (tmp_path / "double.c").write_text("void solution(int8_t x[4], int32_t y[4]) { }\n")
    path = tmp_path / "double.yaml"
    path.write_text(
        "operation: custom\naccelerator: some\nreference: double.py:double\nkernel: double.c\nconstants: {N: 3}\n"
        "tensors:\n- {name: x, dtype: int8, shape: [N + 1], role: input}\n"
        "- {name: y, dtype: int32, shape: [4], role: output}\n"
    )
    return path


def test_a_custom_operation_calls_the_users_function(custom: Path) -> None:
    workload = pickle.loads(pickle.dumps(load(custom)))
    arrays = make_inputs(workload, InputSet("random", "random", 3))
    assert compute(workload, arrays)["y"].tolist() == [2 * int(x) for x in arrays["x"]]
    assert workload.starting_kernel.startswith("void solution")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return x[:2]", r"shape \(2,\), expected \(4,\)"),
        ("return x / 3", "values that int32 cannot"),
        ("return x, x", "returned 2 arrays, expected 1"),
        ("return {'z': x}", "lacks y"),
        ("return 1 // 0", "ZeroDivisionError"),
        ("return (", "failed to load: SyntaxError"),
    ],
)
def test_what_the_users_function_does_wrong_is_said(custom: Path, body: str, message: str) -> None:
    (custom.parent / "double.py").write_text(f"def double(x):\n    {body}\n")
    workload = load(custom)
    arrays = make_inputs(workload, InputSet("random", "random", 3))
    with pytest.raises(ConfigError, match=message):
        compute(workload, arrays)


def test_a_missing_function_is_said(custom: Path) -> None:
    (custom.parent / "double.py").write_text("def triple(x):\n    return x\n")
    workload = load(custom)
    with pytest.raises(ConfigError, match="no function 'double'"):
        compute(workload, make_inputs(workload, InputSet("random", "random", 3)))


def test_a_changed_reference_changes_the_digest(custom: Path) -> None:
    before = load(custom).digest
    (custom.parent / "double.py").write_text("def double(x):\n    return x.astype('int32') * 3\n")
    assert load(custom).digest != before

"""A workload file that is not as it should be gets a message that names the key, the place and the cure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autocomp.errors import ConfigError
from autocomp.workload import load, parse

GEMM = "operation: gemm\naccelerator: some\n"
DIMS = "dims: {I: 3, J: 5, K: 2}\n"
CUSTOM = "operation: custom\naccelerator: some\nreference: f.py:f\nkernel: k.c\n"

BROKEN = {
    "not_yaml": "dims: [1, 2",
    "not_a_mapping": "- 3\n",
    "empty": "",
    "no_operation": "accelerator: some\n",
    "unknown_operation": "operation: gem\n",
    "missing_dims": GEMM,
    "missing_dim": GEMM + "dims: {I: 3, J: 5}\n",
    "unknown_key": GEMM + DIMS + "activatoin: relu\n",
    "size_beside_dims": GEMM + "I: 3\nJ: 5\nK: 2\n",
    "option_under_dims": GEMM + "dims: {I: 3, J: 5, K: 2, scale: 0.5}\n",
    "unknown_dim": GEMM + "dims: {I: 3, J: 5, k: 2}\n",
    "dim_not_positive": GEMM + "dims:\n  I: 3\n  J: 0\n  K: 2\n",
    "dim_not_an_integer": GEMM + "dims: {I: 3, J: 2.5, K: 2}\n",
    "unknown_activation": GEMM + DIMS + "activation: rellu\n",
    "scale_not_a_number": GEMM + DIMS + "scale: half\n",
    "scale_not_finite": GEMM + DIMS + "scale: .inf\n",
    "rounding_of_no_shift": GEMM + DIMS + "scale: 0.3\nrounding: half_up\n",
    "rounding_of_sums": GEMM + DIMS + "result: int32\nrounding: half_up\n",
    "transpose_not_a_boolean": GEMM + DIMS + "transpose_a: 3\n",
    "key_twice": GEMM + DIMS + "scale: 1\nscale: 2\n",
    "tensor_dtype": CUSTOM + "tensors:\n  - {name: x, dtype: int9, shape: [3], role: input}\n",
    "tensor_role": CUSTOM + "tensors:\n  - {name: x, dtype: int8, shape: [3], role: out}\n",
    "tensor_name": CUSTOM + "tensors:\n  - {name: 1x, dtype: int8, shape: [3], role: input}\n",
    "range_without_end": CUSTOM
    + "tensors:\n  - {name: x, dtype: float32, shape: [3], role: output, range: [-.inf, 1]}\n",
    "range_beyond_the_type": CUSTOM
    + "tensors:\n  - {name: x, dtype: uint8, shape: [3], role: output, range: [-1, 1]}\n",
    "range_without_values": CUSTOM
    + "tensors:\n  - {name: x, dtype: int8, shape: [3], role: output, range: [0.2, 0.7]}\n",
    "no_output": CUSTOM + "tensors:\n  - {name: x, dtype: int8, shape: [3], role: input}\n",
    "unknown_constant": CUSTOM + "tensors:\n  - {name: x, dtype: int8, shape: [N], role: output}\n",
    "bad_extent": CUSTOM + "tensors:\n  - {name: x, dtype: int8, shape: ['3 +'], role: output}\n",
    "reference_without_function": CUSTOM.replace("f.py:f", "f.py")
    + "tensors:\n  - {name: x, dtype: int8, shape: [3], role: output}\n",
    "no_tensors": CUSTOM + "tensors: []\n",
    "too_large": GEMM + "dims: {I: 1000000, J: 1000000, K: 1}\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_message(name: str, golden: Callable[..., None]) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(BROKEN[name], Path("w.yaml"))
    golden(str(caught.value) + "\n", name=f"schema_{name}.txt")


def test_a_gemm_has_its_tensors_in_signature_order() -> None:
    workload = parse(GEMM + DIMS + "bias: row\ntranspose_b: true\n", Path("w.yaml"))
    assert [(t.name, t.dtype, t.shape, t.role) for t in workload.tensors] == [
        ("A", "int8", (3, 2), "input"),
        ("B", "int8", (5, 2), "input"),
        ("bias", "int32", (1, 5), "input"),
        ("C", "int8", (3, 5), "output"),
    ]
    assert workload.multiply_accumulates == 30


def test_overrides_win_over_the_file() -> None:
    workload = parse(GEMM + DIMS + "set: {DIM: 8, BANKS: 2}\n", Path("w.yaml"), {"DIM": 32})
    assert workload.overrides == {"DIM": 32, "BANKS": 2}


def test_the_digest_depends_on_what_is_computed_and_not_on_names() -> None:
    first = parse(GEMM + DIMS, Path("w.yaml"))
    assert parse("name: other\ndoc: hello\n" + GEMM + DIMS, Path("v.yaml")).digest == first.digest
    assert parse(GEMM + DIMS + "scale: 0.5\n", Path("w.yaml")).digest != first.digest


def test_every_shipped_workload_loads() -> None:
    names = sorted(p.stem for p in (Path(__file__).parents[2] / "workloads").glob("*.yaml"))
    assert "gemm" in names
    for name in names:
        assert load(name).digest


def test_an_unknown_name_gets_the_closest_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="did you mean 'gemm_512'"):
        load("gem_512")

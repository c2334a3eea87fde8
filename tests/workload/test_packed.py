"""GEMMs with packed operands and wide results: inputs as they lie in memory, results of the matrices they store."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from autocomp.errors import ConfigError
from autocomp.targets.registry import load_target
from autocomp.workload import InputSet, Workload, parse
from autocomp.workload.inputs import make_inputs
from autocomp.workload.layout import operand_layout
from autocomp.workload.reference import compute

DIMS = {"I": 10, "J": 12, "K": 20}
RANDOM = InputSet("random", "random", 0)


def gemm(**keys: object) -> Workload:
    document = {"operation": "gemm", "accelerator": "tiny", "dims": DIMS, **keys}
    return parse(yaml.safe_dump(document), Path("packed.yaml"))


def test_the_result_is_that_of_the_matrices() -> None:
    layout = {"A": "I/4 K I%4", "B": "J/4 K/4 J%4 K%4"}
    plain, packed = gemm(), gemm(layout=layout)
    assert [tensor.shape for tensor in packed.tensors] == [(3, 20, 4), (3, 5, 4, 4), (10, 12)]
    arrays = make_inputs(plain, RANDOM)
    stored = {name: operand_layout(name, text, DIMS).store(arrays[name]) for name, text in layout.items()}
    assert np.array_equal(compute(packed, {**arrays, **stored})["C"], compute(plain, arrays)["C"])
    drawn = make_inputs(packed, RANDOM)
    assert [drawn[name].shape for name in "AB"] == [(3, 20, 4), (3, 5, 4, 4)]


def test_a_wide_result_is_the_sum_itself() -> None:
    workload = gemm(result="int32", activation="relu")
    arrays = make_inputs(workload, RANDOM)
    sums = arrays["A"].astype(np.int32) @ arrays["B"].astype(np.int32)
    assert np.array_equal(compute(workload, arrays)["C"], np.maximum(sums, 0))


def test_workloads_without_them_keep_their_identity() -> None:
    assert gemm().options.keys() == gemm(result="int8").options.keys() == gemm(layout={}).options.keys()
    assert gemm().digest == gemm(result="int8").digest != gemm(result="int32").digest


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"layout": {"B": "K/4 J"}}, "several elements in one place"),
        ({"layout": {"B": "K J"}, "transpose_b": True}, "B has a layout; leave out 'transpose_b'"),
        ({"result": "int32", "scale": 0.5}, "'scale' must be 1 for a result of int32"),
        ({"result": "float32"}, "cannot be float32 of int8 operands"),
    ],
)
def test_what_contradicts_itself_is_refused(keys: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        gemm(**keys)


@pytest.mark.parametrize(
    "keys",
    [
        {"accelerator": "vta", "dims": {"I": 20, "J": 32, "K": 48}, "layout": {"B": "J/16 K/16 J%16 K%16"}},
        {"accelerator": "vta", "dims": {"I": 600, "J": 16, "K": 16}, "layout": {"B": "J/16 K/16 J%16 K%16"}},
        {"accelerator": "amx", "dims": {"I": 20, "J": 24, "K": 72}, "layout": {"B": "K/4 J K%4"}, "result": "int32"},
        {"accelerator": "amx", "dims": {"I": 16, "J": 8, "K": 64}, "layout": {"B": "K/4 J K%4"}, "result": "int32"}
        | {"bias": "full"},
        {"accelerator": "rvv", "dims": {"I": 3, "J": 150, "K": 5}, "dtype": "float32", "activation": "relu"},
        {"accelerator": "rvv", "dims": {"I": 3, "J": 20, "K": 5}, "dtype": "float32", "bias": "row"},
        {"accelerator": "tpu_v1", "set": {"DIM": 16}, "dims": {"I": 40, "J": 20, "K": 50}, "scale": 0.01},
    ],
)
def test_the_naive_kernel_of_a_machine_is_correct(keys: dict[str, object]) -> None:
    workload = gemm(**keys)
    target = load_target(workload.target, workload.overrides)
    kernel = target.starting_kernel(workload)
    evaluation = target.evaluator(workload).evaluate(kernel)
    assert evaluation.correct, (evaluation.failure, kernel)

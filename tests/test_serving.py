"""The service for compilers: a kernel for exactly this, from the library or adapted in seconds."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from autocomp import workload as workloads
from autocomp.errors import ConfigError
from autocomp.schedules.index import user_root
from autocomp.search import executors
from autocomp.serving import Answer, lookup, lookup_or_adapt, lookup_or_adapt_all
from autocomp.workload import Workload

LAYER = """\
accelerator: gemmini
operation: gemm
dims: {I: 20, J: 24, K: 36}
bias: row
activation: relu
scale: 0.0123
"""


SIZES = {"accelerator": "gemmini", "operation": "gemm", "dims": {"I": 20, "J": 24, "K": 36}}


@pytest.fixture(scope="module")
def layer() -> Workload:
    return workloads.parse(LAYER, Path("layer.yaml"))


@pytest.fixture(scope="module")
def found(layer: Workload, tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """Adapted into an empty store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUTOCOMP_SCHEDULES", str(tmp_path_factory.mktemp("store")))
        patch.setenv("AUTOCOMP_SHIPPED_SCHEDULES", "0")
        patch.setattr(executors, "available_cores", lambda: 1)
        return lookup_or_adapt(layer, evaluations=4)


@pytest.fixture
def adapted(found: Answer) -> Answer:
    """The answer in a store of the test's own, which holds nothing else."""
    assert found.path is not None
    store = found.path.parents[2]
    shutil.copytree(store, user_root())
    return replace(found, path=user_root() / found.path.relative_to(store))


def reference(layer: Workload, arrays: dict[str, np.ndarray]) -> np.ndarray:
    bias, scale = arrays["bias"].astype(np.int64), np.float32(layer.options["scale"])
    wide = arrays["A"].astype(np.int64) @ arrays["B"].astype(np.int64) + bias
    return np.clip(np.rint(wide.astype(np.float32) * scale), 0, 127).astype(np.int8)


def _arrays(layer: Workload) -> dict[str, npt.NDArray[Any]]:
    generator = np.random.default_rng(7)
    return {
        tensor.name: np.zeros(tensor.shape, tensor.dtype)
        if tensor.role == "output"
        else generator.integers(-100, 100, tensor.shape).astype(tensor.dtype)
        for tensor in layer.tensors
    }


def test_what_no_store_has_is_adapted_validated_and_kept(adapted: Answer, layer: Workload) -> None:
    assert (adapted.origin, adapted.evaluations) == ("adapted", 4)
    assert set(adapted.record.result.stages.values()) == {"passed"}
    assert adapted.path is not None
    assert adapted.path.is_relative_to(user_root())
    again = lookup_or_adapt({key: layer.options[key] for key in ("bias", "activation", "scale")} | SIZES)
    assert (again.origin, again.kernel, again.path) == ("exact", adapted.kernel, adapted.path)


def test_it_computes_with_the_scale_that_was_asked_for(adapted: Answer, layer: Workload) -> None:
    arrays = _arrays(layer)
    assert np.array_equal(adapted.run(arrays)["C"], reference(layer, arrays))
    strided = {name: np.repeat(array, 2, axis=1)[:, ::2] for name, array in arrays.items()}
    assert np.array_equal(adapted.run(strided)["C"], reference(layer, arrays))


def test_a_schedule_of_the_other_activation_serves_where_the_machine_takes_that_as_an_operand(adapted: Answer) -> None:
    plain = lookup_or_adapt({**SIZES, "bias": "row", "scale": 0.04}, evaluations=4)
    assert (plain.origin, plain.evaluations, plain.record.result.value) == ("adapted", 1, adapted.record.result.value)
    arrays = _arrays(plain.workload)
    sums = arrays["A"].astype(np.int32) @ arrays["B"].astype(np.int32) + arrays["bias"]
    expected = np.clip(np.rint(sums.astype(np.float32) * np.float32(0.04)), -128, 127)
    assert np.array_equal(plain.run(arrays)["C"], expected)
    assert lookup_or_adapt({**SIZES, "bias": "row", "scale": 0.5}).path == plain.path


def test_arrays_of_another_shape_or_type_are_refused(adapted: Answer) -> None:
    with pytest.raises(ConfigError, match=r"A of .* is int8\[20, 36\], not float32\[2\]"):
        adapted.run({"A": np.zeros(2, np.float32)})


def test_it_is_written_as_c(adapted: Answer) -> None:
    assert "const int32_t *bias, int8_t *C, float scale);" in adapted.to_c("vendor.h")["kernels.h"]


@pytest.mark.parametrize("scale", ["1.0", "3.7e-4", pytest.param("0.5", marks=pytest.mark.long)])
def test_the_scale_is_an_argument_of_the_kernel(adapted: Answer, scale: str) -> None:
    other = workloads.parse(LAYER.replace("0.0123", scale), Path("layer.yaml"))
    answer = lookup_or_adapt(other, evaluations=2, keep=False)
    assert (answer.origin, answer.path) == ("exact", adapted.path)
    arrays = _arrays(other)
    assert np.array_equal(answer.run(arrays)["C"], reference(other, arrays))


def test_equal_layers_of_a_network_are_adapted_once(layer: Workload) -> None:
    first, second = lookup_or_adapt_all([layer, layer], evaluations=2, keep=False)
    assert first is second


def test_nothing_is_kept_where_the_caller_says_so(layer: Workload) -> None:
    answer = lookup_or_adapt(layer, evaluations=2, keep=False)
    assert answer.path is None
    assert not Path(user_root()).exists()


def test_a_match_runs_with_the_scale_that_was_asked_for(adapted: Answer, layer: Workload) -> None:
    match = lookup(layer.operation, layer.dims, "gemmini", options={**layer.options, "scale": 0.37})
    assert match is not None
    arrays = _arrays(layer)
    other = replace(layer, options={**layer.options, "scale": 0.37})
    assert np.array_equal(match.run(arrays)["C"], reference(other, arrays))
    assert match.to_c() == adapted.to_c()


def test_a_match_computes_other_sizes_by_blocks_and_what_there_is_for_the_rest(
    adapted: Answer, layer: Workload
) -> None:
    other = workloads.parse(LAYER.replace("I: 20", "I: 73"), Path("layer.yaml"))
    match = lookup(other.operation, other.dims, "gemmini", options=other.options)
    assert match is not None
    arrays = _arrays(other)
    assert np.array_equal(match.run(arrays)["C"], reference(other, arrays))
    assert match.to_c()["dispatch.c"].startswith(adapted.to_c()["dispatch.c"][:200])
    with pytest.raises(ConfigError, match=r"A of .* is int8\[73, 36\], not int8\[20, 36\]"):
        match.run(_arrays(layer))


def test_a_schedule_that_assumes_other_options_neither_runs_nor_becomes_c(adapted: Answer, layer: Workload) -> None:
    match = lookup(layer.operation, {**layer.dims, "I": 21}, "gemmini", options={"bias": "row"})
    assert match is not None
    for use in (match.run, lambda _: match.to_c()):
        with pytest.raises(ConfigError, match=r"assumes .*'activation': 'relu'.*: it does not compute"):
            use(_arrays(layer))


def test_operations_of_ones_own_are_adapted_too() -> None:
    asked = workloads.as_trusted(workloads.load("tiny_add"), True)
    answer = lookup_or_adapt(asked, evaluations=1, keep=False)
    assert answer.origin == "adapted"

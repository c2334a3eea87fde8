"""Starting kernels store results of the type that the workload states, or say what the machine stores."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.errors import ConfigError
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.workload import Workload, parse

MACHINES = {
    name: isa.load(name)
    for name in ("gemmini", "gemmini:lean", "gemmini:fp32", "quad", "tiny", "tpu_v1", "amx", "vta", "rvv", "neuroncore")
}


def gemm(machine: str, *lines: str, dims: tuple[int, int, int] = (5, 7, 33)) -> Workload:
    i, j, k = dims
    head = f"operation: gemm\naccelerator: {machine}\ndims: {{I: {i}, J: {j}, K: {k}}}\n"
    return parse(head + "".join(f"{line}\n" for line in lines), Path("w.yaml"))


def start_is_right(machine: str, workload: Workload) -> None:
    evaluation = SimulatorEvaluator(MACHINES[machine], workload).evaluate(starting_kernel(workload, MACHINES[machine]))
    assert evaluation.correct, evaluation.failure


@settings(max_examples=15, deadline=None)
@given(
    machine=st.sampled_from(["gemmini", "quad"]),
    dims=st.tuples(st.integers(1, 36), st.integers(1, 36), st.integers(1, 40)),
    bias=st.sampled_from(["none", "row", "full"]),
)
def test_sums_are_stored_in_full_width(machine: str, dims: tuple[int, int, int], bias: str) -> None:
    start_is_right(machine, gemm(machine, "result: int32", f"bias: {bias}", dims=dims))


def test_the_address_of_the_store_alone_asks_for_full_width() -> None:
    text = starting_kernel(gemm("gemmini", "result: int32"), MACHINES["gemmini"])
    assert text.count("0x20000000") == 1
    assert "0x20000000" not in starting_kernel(gemm("gemmini"), MACHINES["gemmini"])


def test_a_machine_that_stores_sums_as_they_lie_needs_no_such_bit() -> None:
    start_is_right("amx", gemm("amx", "result: int32", "layout: {B: K/4 J K%4}", dims=(5, 7, 36)))


@pytest.mark.parametrize(
    ("machine", "lines", "stored"),
    [
        ("gemmini:lean", ["result: int32"], "move_out stores i8"),
        ("tiny", ["result: int32"], "store_tile stores i8, store_sum stores i32"),
        ("tpu_v1", ["result: int32"], "write_host_memory stores i8"),
        ("neuroncore", ["dtype: bfloat16", "result: float32"], "dma_store stores bf16"),
    ],
    ids=str,
)
def test_a_machine_that_stores_others_says_which(machine: str, lines: list[str], stored: str) -> None:
    with pytest.raises(ConfigError) as refused:
        starting_kernel(gemm(machine, *lines), MACHINES[machine])
    assert "cannot store those" in refused.value.message
    assert refused.value.message.endswith(stored)


def test_a_store_of_bytes_stores_elements_of_the_type_that_the_sums_have() -> None:
    with pytest.raises(ConfigError, match="tilestored stores i32"):
        starting_kernel(gemm("amx", "layout: {B: K/4 J K%4}", dims=(5, 7, 36)), MACHINES["amx"])


def test_bytes_that_a_store_skips_are_no_part_of_what_it_stores() -> None:
    with pytest.raises(ConfigError, match="move_result stores i8"):
        starting_kernel(gemm("vta", "result: int32"), MACHINES["vta"])


@pytest.mark.parametrize(
    ("machine", "dtype", "loaded"),
    [
        ("rvv", "float16", "flw loads f32, vle32 loads f32"),
        ("gemmini:fp32", "bfloat16", "move_in loads f32"),
        ("neuroncore", "float32", "dma_load loads bf16"),
    ],
)
def test_a_machine_that_loads_other_operands_says_which(machine: str, dtype: str, loaded: str) -> None:
    with pytest.raises(ConfigError) as refused:
        starting_kernel(gemm(machine, f"dtype: {dtype}", "result: float32"), MACHINES[machine])
    assert "its operands are" in refused.value.message
    assert refused.value.message.endswith(loaded)


def test_an_activation_that_the_sums_would_skip_is_named() -> None:
    with pytest.raises(ConfigError, match="stores i32 as the sums are, without `activation: relu`"):
        starting_kernel(gemm("gemmini", "result: int32", "activation: relu"), MACHINES["gemmini"])

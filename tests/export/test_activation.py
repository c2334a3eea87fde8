"""Kernels for the other activation, by the operand that sets it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autocomp import workload
from autocomp.export.activation import with_activation
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.target import SimulatorTarget

SIZES = {"amx": "{I: 16, J: 16, K: 64}", "neuroncore": "{I: 16, J: 16, K: 16}", "rvv": "{I: 4, J: 8, K: 4}"}
OPTIONS = {
    "amx": "result: int32\nlayout: {B: K/4 J K%4}",
    "neuroncore": "dtype: bfloat16\ntranspose_a: true",
    "rvv": "dtype: float32",
    "vta": "layout: {B: J/16 K/16 J%16 K%16}",
}
TURNED = ("gemmini", "quad", "tiny", "tpu_v1", "vta", "neuroncore")


@pytest.mark.parametrize("accelerator", TURNED)
@pytest.mark.parametrize("activation", ["none", "relu"])
def test_a_kernel_is_right_for_the_other_activation(accelerator: str, activation: str) -> None:
    machine = isa.load(accelerator)
    text = f"operation: gemm\naccelerator: {accelerator}\ndims: {SIZES.get(accelerator, '{I: 16, J: 16, K: 16}')}\n"
    given = workload.parse(f"{text}activation: {activation}\n{OPTIONS.get(accelerator, '')}", Path("w.yaml"))
    other = "relu" if activation == "none" else "none"
    asked = replace(given, options={**given.options, "activation": other})
    kernel = with_activation(starting_kernel(given, machine), "naive", machine, {})
    assert kernel is not None
    target = SimulatorTarget(machine)
    assert target.evaluator(asked).evaluate(kernel).correct
    assert not target.evaluator(given).evaluate(kernel).correct


@pytest.mark.parametrize("accelerator", ["amx", "rvv"])
def test_a_machine_without_such_an_operand_has_none(accelerator: str) -> None:
    machine = isa.load(accelerator)
    text = f"operation: gemm\naccelerator: {accelerator}\ndims: {SIZES[accelerator]}\n{OPTIONS[accelerator]}"
    given = workload.parse(text, Path("w.yaml"))
    assert with_activation(starting_kernel(given, machine), "naive", machine, {}) is None

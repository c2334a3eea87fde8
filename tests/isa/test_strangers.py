"""Machines that the language was not made for: an array of no power of two with engines that semaphores order, a DSP
with two multipliers, a small NPU that latches registers, a row-stationary array."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from autocomp.targets.registry import load_target
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.derived.advice import advice
from autocomp.targets.simulator.isa.derived.contractions import contractions, peak
from autocomp.workload import parse

FOLDER = Path(__file__).parent / "strangers"
PEAKS = {"array100": 100 * 100, "dsp": 2, "micronpu": 128, "rowstationary": 12 * 14}


@pytest.mark.parametrize("name", PEAKS)
def test_a_strangers_machine_is_understood(name: str) -> None:
    accelerator = isa.load(name, {}, [FOLDER])
    isa.lower(accelerator)
    assert peak(accelerator) == PEAKS[name]
    assert [found.unit is not None for found in contractions(accelerator)] == [True]
    assert not list(advice(accelerator))


@pytest.mark.parametrize("dims", [(250, 150, 130), (100, 100, 100), (3, 101, 7)])
def test_an_array_of_no_power_of_two_starts(dims: tuple[int, int, int]) -> None:
    document = {"operation": "gemm", "accelerator": "array100", "dims": dict(zip("IJK", dims, strict=True))}
    workload = parse(yaml.safe_dump({**document, "scale": 0.0078125, "activation": "relu"}), FOLDER / "gemm.yaml")
    target = load_target(workload.target, {}, [FOLDER])
    evaluation = target.evaluator(workload).evaluate(target.starting_kernel(workload))
    assert evaluation.correct, evaluation.failure

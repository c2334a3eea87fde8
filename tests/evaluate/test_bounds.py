"""No kernel beats the lower bound: none that ships, and none where memory is far."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from autocomp import workload as workloads
from autocomp.data import data_dir
from autocomp.schedules.store import all_schedules, record_at
from autocomp.schedules.verify import workload_of
from autocomp.targets.protocol import Target
from autocomp.targets.registry import load_target
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.evaluate import SimulatorEvaluator, bound
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.workload import parse


@pytest.mark.parametrize("step", [10, pytest.param(1, marks=pytest.mark.long)], ids=["some", "all"])
def test_no_schedule_that_ships_beats_the_bound(step: int) -> None:
    found = all_schedules(print, [data_dir("schedules")])[::step]
    assert len(found) > 15
    targets: dict[str, Target] = {}
    for one in found:
        record = record_at(one)
        named = f"{record.target.spec} {record.target.parameters}"
        if named not in targets:
            targets[named] = load_target(record.target.spec, record.target.parameters)
        workload = workload_of(record, targets[named], one.path, ())
        assert targets[named].bound(workload).value <= record.result.value, one.path


@pytest.mark.parametrize("latency", [40, 120, 400])
def test_requests_under_way_bound_what_far_memory_gives(latency: int) -> None:
    """16 requests of at most 64 bytes, each under way for the latency: 1,024 bytes in that time."""
    far = isa.load("gemmini", {"MEM_LATENCY": latency})
    workload = parse("operation: gemm\naccelerator: gemmini\ndims: {I: 4, J: 256, K: 64}\n", Path("flat.yaml"))
    least = bound(workload, far)
    assert least.parts["memory"] == math.ceil((4 * 64 + 64 * 256) / min(16, 1024 / latency))
    measured = SimulatorEvaluator(far, workload).evaluate(starting_kernel(workload, far))
    assert measured.value is not None
    assert least.value <= measured.value


def test_acknowledgements_of_stores_come_between_the_data_of_loads() -> None:
    """Two tensors come in by 64 bytes a cycle; one goes out in 256 requests, of which 70 may be the last ones."""
    small = isa.load("tpu_v1", {"DIM": 64, "UB_KB": 256, "ACC_KB": 256, "BUS": 64})
    workload = parse("operation: gemm\naccelerator: tpu_v1\ndims: {I: 256, J: 256, K: 256}\n", Path("even.yaml"))
    least = bound(workload, small)
    assert least.parts == {"compute": 4096 + 128, "memory": 2 * 256 * 256 / 64 + 256 - 70, "ends": 2 * 70}
    measured = SimulatorEvaluator(small, workload).evaluate(starting_kernel(workload, small))
    assert measured.value is not None
    assert least.value <= measured.value


def test_what_is_not_multiplied_waits_for_no_product() -> None:
    """16,384 bytes come in by 8 a cycle; of 128 acknowledgements, 12 may come after them."""
    workload = workloads.load(data_dir("workloads") / "tiny_add.yaml")
    assert bound(workload, isa.load("tiny")).parts == {"compute": 0, "memory": 2048 + 128 - 12, "ends": 2 * 12}


def test_each_channel_has_a_way_back_of_its_own() -> None:
    """Of 128 acknowledgements, 12 on each of two channels may come after the last data."""
    workload = workloads.load(data_dir("workloads") / "tiny_add.yaml")
    text = (data_dir("isa") / "tiny.isa").read_text()
    two = isa.parse(text.replace("bus: 8; latency: MEM_LATENCY;", "bus: 8; latency: MEM_LATENCY; channels: 2;"))
    assert bound(workload, two).parts["memory"] == (2048 + 128 - 2 * 12) / 2

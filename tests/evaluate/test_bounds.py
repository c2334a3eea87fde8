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
from autocomp.targets.simulator.evaluate.chain import chain
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
    """16 requests of at most 64 bytes, each under way for the latency: 1,024 bytes in that time, the first at once."""
    far = isa.load("gemmini", {"MEM_LATENCY": latency})
    workload = parse("operation: gemm\naccelerator: gemmini\ndims: {I: 4, J: 256, K: 64}\n", Path("flat.yaml"))
    least, bytes_in = bound(workload, far), 4 * 64 + 64 * 256
    beats = max(bytes_in / 16, bytes_in * latency / 1024 - latency)
    assert least.parts["memory"] == math.ceil(beats) + chain(far).product - 1
    measured = SimulatorEvaluator(far, workload).evaluate(starting_kernel(workload, far))
    assert measured.value is not None
    assert least.value <= measured.value


@pytest.mark.parametrize(
    ("name", "depth", "each"),
    [
        pytest.param("inmemory", 256, 8 / 64, id="one product"),
        pytest.param("inmemory", 257, 16 / 64, id="two products of 256"),
        pytest.param("fused", 100, 112 / 256, id="seven lines of 16"),
    ],
)
def test_sums_need_as_many_products_as_their_depth_takes(name: str, depth: int, each: float) -> None:
    folder = Path(__file__).parents[1] / "isa" / "strangers"
    machine = isa.load(name, {}, [folder])
    dims = f"{{I: 20, J: 64, K: {depth}}}"
    layout = "layout: {B: J K}\n" if name == "fused" else ""
    text = f"operation: gemm\naccelerator: {name}\nscale: 0.01\ndims: {dims}\n{layout}"
    workload = parse(text, folder / "deep.yaml")
    links, least = chain(machine), bound(workload, machine)
    assert least.parts["compute"] == 20 * 64 * each + links.entered + links.result
    measured = SimulatorEvaluator(machine, workload).evaluate(starting_kernel(workload, machine))
    assert measured.value is not None
    assert least.value <= measured.value


def test_acknowledgements_of_stores_come_between_the_data_of_loads() -> None:
    """Two tensors come in by 64 bytes a cycle; one goes out in 256 requests. The last ones may be acknowledged between
    the last data and the end: in the time of the ends but for the 70 cycles before the first data."""
    small = isa.load("tpu_v1", {"DIM": 64, "UB_KB": 256, "ACC_KB": 256, "BUS": 64})
    workload = parse("operation: gemm\naccelerator: tpu_v1\ndims: {I: 256, J: 256, K: 256}\n", Path("even.yaml"))
    least, links = bound(workload, small), chain(small)
    memory = max(2 * 256 * 256 / 64 + 256 - (links.ends - 70), 2 * 256 * 256 / 64 + links.product)
    assert least.parts == {"compute": 4096 + 130, "memory": memory - 1, "ends": links.ends}
    measured = SimulatorEvaluator(small, workload).evaluate(starting_kernel(workload, small))
    assert measured.value is not None
    assert least.value <= measured.value


@pytest.mark.parametrize("channels", [1, 2])
def test_each_channel_has_a_way_back_for_data_and_acknowledgements(channels: int) -> None:
    """16,384 bytes come in by 8 a cycle. Of 128 acknowledgements, some may come after them: in the time of the ends but
    for the 12 cycles before the first data. Nothing is multiplied."""
    workload = workloads.load(data_dir("workloads") / "tiny_add.yaml")
    text = (data_dir("isa") / "tiny.isa").read_text()
    machine = isa.parse(text.replace("latency: MEM_LATENCY;", f"latency: MEM_LATENCY; channels: {channels};"))
    ends = chain(machine).ends
    assert bound(workload, machine).parts == {
        "compute": 0,
        "memory": math.ceil((2048 + 128) / channels) - (ends - 12) - 1,
        "ends": ends,
    }

"""No kernel beats the lower bound: none that ships, and none where memory is far."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp import workload as workloads
from autocomp.data import data_dir
from autocomp.schedules.store import all_schedules, record_at
from autocomp.schedules.verify import workload_of
from autocomp.targets.protocol import Target
from autocomp.targets.registry import load_target
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.evaluate import SimulatorEvaluator, bound
from autocomp.targets.simulator.evaluate.chain import chain
from autocomp.targets.simulator.evaluate.dependence import Lines, lines_of
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
        least = [targets[named].bound(workload), *targets[named].bounds_by_kind(workload).values()]
        assert max(bound.value for bound in least) <= record.result.value, one.path


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
    """Two tensors come in by 64 bytes a cycle; one goes out in 1,024 requests, as commands store rows of 64 bytes. 64
    of these may be under way when the last data come, and those that leave before the first result of these data are
    acknowledged later too."""
    small = isa.load("tpu_v1", {"DIM": 64, "UB_KB": 256, "ACC_KB": 256, "BUS": 64})
    workload = parse("operation: gemm\naccelerator: tpu_v1\ndims: {I: 256, J: 256, K: 256}\n", Path("even.yaml"))
    least, links = bound(workload, small), chain(small)
    later = 64 + (links.product + links.ends - 2 * 70)
    memory = math.ceil(2 * 256 * 256 / 64 + 1024 - later) + links.product
    assert least.parts == {"compute": 4096 + links.entered + links.result, "memory": memory - 1, "ends": links.ends}
    measured = SimulatorEvaluator(small, workload).evaluate(starting_kernel(workload, small))
    assert measured.value is not None
    assert least.value <= measured.value


@pytest.mark.parametrize("channels", [1, 2])
def test_each_channel_has_a_way_back_for_data_and_acknowledgements(channels: int) -> None:
    """16,384 bytes come in by 8 a cycle. Of 512 acknowledgements, one for each row of 16 bytes, some may come after
    them: in the time of the ends but for the 12 cycles before the first data. Nothing is multiplied."""
    workload = workloads.load(data_dir("workloads") / "tiny_add.yaml")
    text = (data_dir("isa") / "tiny.isa").read_text()
    machine = isa.parse(text.replace("latency: MEM_LATENCY;", f"latency: MEM_LATENCY; channels: {channels};"))
    ends = chain(machine).ends
    assert bound(workload, machine).parts == {
        "compute": 0,
        "memory": math.ceil((2048 + 512) / channels) - (ends - 12) - 1,
        "ends": ends,
    }


@settings(max_examples=50)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 5), st.integers(1, 5), st.integers(1, 3), st.floats(0, 1))
def test_no_order_of_loads_completes_more_results(
    left: int, right: int, left_bytes: int, right_bytes: int, groups: int, part: float
) -> None:
    lines = Lines(left, left_bytes, right, right_bytes, groups)
    loaded = part * groups * (left * left_bytes + right * right_bytes)
    tables = [(a * left_bytes + b * right_bytes, a * b) for a in range(left + 1) for b in range(right + 1)]
    chosen = itertools.combinations_with_replacement(tables, groups)
    assert lines.complete(loaded) + 1e-9 >= max(
        sum(results for _, results in each) for each in chosen if sum(size for size, _ in each) <= loaded
    )


def test_results_leave_after_all_that_they_are_sums_of() -> None:
    """As many lines of either operand are best, and then all of the shorter one."""
    workload = parse("operation: gemm\naccelerator: tiny\ndims: {I: 64, J: 32, K: 8}\n", Path("wide.yaml"))
    lines = lines_of(workload)
    assert lines == Lines(64, 8, 32, 8)
    assert lines.complete(2 * 16 * 8) == 16 * 16
    assert lines.complete((48 + 32) * 8) == 48 * 32


@settings(max_examples=15, deadline=None)
@given(
    st.tuples(*(st.integers(1, 40),) * 3),
    st.fixed_dictionaries({"BUS": st.sampled_from([4, 16, 48]), "MEM_LATENCY": st.integers(1, 90)}),
)
def test_results_that_leave_through_a_further_unit_never_beat_the_bound(
    dims: tuple[int, int, int], parameters: dict[str, int | float]
) -> None:
    machine = isa.load("tpu_v1", {"DIM": 8, "UB_KB": 64, "ACC_KB": 64, **parameters})
    sizes = ", ".join(f"{name}: {extent}" for name, extent in zip("IJK", dims, strict=True))
    text = f"operation: gemm\naccelerator: tpu_v1\nscale: 0.01\ndims: {{{sizes}}}\n"
    workload = parse(text, Path("small.yaml"))
    measured = SimulatorEvaluator(machine, workload).evaluate(starting_kernel(workload, machine))
    assert measured.value is not None
    assert bound(workload, machine).value <= measured.value


VECTORS = """
accelerator vectors {
  memory dram { kind: dram; bus: 128; latency: 12; }
  memory v { rows: 16; row: i8[128]; }
  memory w { rows: 16; row: i32[32]; }
  memory r { rows: 32; row: i8[4]; }
  address vec { field row = 3..0; memory v; }
  address acc { field row = 3..0; memory w; }
  address reg { field row = 4..0; memory r; }
  hazards { tracked: 1; dram: 1; }
  host { issue: 1; }
  front { queue: 16; latency: 2; width: 4; }
  unit load { kind: transfer_in; entries: 32; request_min: 4; request_max: 128; requests: 64; in_flight: 64; }
  unit multiply { kind: serial; entries: 16; }
  unit store { kind: transfer_out; entries: 16; request_min: 128; request_max: 128; requests: 16; }
  instruction load_vector(d: vec, src: dram*) on load {
    semantics { for j < 128: v[d.row][j] = src.i8[j]; }
    timing { rows: 1; }
  }
  instruction load_word(d: reg, src: dram*) on load {
    semantics { for j < 4: r[d.row][j] = src.i8[j]; }
    timing { rows: 1; }
  }
  instruction zero(d: acc) on multiply { semantics { for j < 32: w[d.row][j] = 0; } timing { busy: 1; } }
  instruction add_products(d: acc, x: vec, s: reg) on multiply {
    semantics { for j < 32: w[d.row][j] = wrap<i32>(w[d.row][j] + sum(k < 4: v[x.row][4 * j + k] * r[s.row][k])); }
    timing { busy: 1; latency: 3; }
  }
  instruction store_sums(dst: dram*, s: acc) on store {
    semantics { for j < 32: dst.i32[4 * j] = w[s.row][j]; }
    timing { rows: 1; }
  }
  instruction fence() { timing { role: fence; } }
}
"""


def test_sums_may_start_before_the_first_data_come() -> None:
    """16 sums are started while the first vectors are on their way."""
    machine = isa.parse(VECTORS, "vectors.isa")
    text = "operation: gemm\naccelerator: any\nresult: int32\nlayout: {B: K/4 J K%4}\ndims: {I: 8, J: 64, K: 16}\n"
    kernel = """
    void solution(int8_t A[8][16], int8_t B[4][64][4], int32_t C[8][64]) {
      for (int k = 0; k < 4; k++) {
        for (int i = 0; i < 8; i++) {
          if (i < 2) load_vector(2 * k + i, &B[k][32 * i][0]);
          load_word(8 * k + i, &A[i][4 * k]);
        }
        for (int n = 0; n < 16 && k == 0; n++) zero(n);
        for (int n = 0; n < 16; n++) add_products(n, 2 * k + n % 2, 8 * k + n / 2);
      }
      for (int n = 0; n < 16; n++) store_sums(&C[n / 2][32 * (n % 2)], n);
      fence();
    }
    """
    workload = parse(text, Path("sums.yaml"))
    verdict, products = SimulatorEvaluator(machine, workload).evaluate(kernel), 8 * 64 * 16 // 128
    assert verdict.correct, verdict.failure
    assert bound(workload, machine).parts["compute"] == products + 2  # to begin, and to see the last
    assert (verdict.value or 0) < products + 16 + 2 + chain(machine).ends

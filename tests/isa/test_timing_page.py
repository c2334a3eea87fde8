"""The text of the timing page follows from the description, and its figures from the simulator."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocomp.data import data_dir
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.guide import timing_page
from autocomp.targets.simulator.guide.measured import measured
from autocomp.targets.simulator.guide.page import examples, limits
from autocomp.targets.simulator.isa.requests import beats, requests
from autocomp.targets.simulator.stalls import STALLS
from autocomp.targets.simulator.target import SimulatorTarget
from autocomp.workload import load, parse
from autocomp.workload.model import Workload

MACHINES = sorted(file.stem for file in data_dir("isa").glob("*.isa"))
EXAMPLES = [(name, operation) for name in MACHINES for operation in ("gemm", "conv2d")]
SMALL = ("tiny", "quad", "rvv")  # machines whose examples are judged within a fifth of a second each


def test_a_page_of_a_small_machine(golden) -> None:  # type: ignore[no-untyped-def]
    golden(timing_page(isa.load("tiny", {}, ())), "timing_page.md")


@pytest.mark.parametrize("name", MACHINES)
def test_every_shipped_machine_has_a_page_with_figures(name: str) -> None:
    page = timing_page(isa.load(name, {}, ()))
    assert len(re.findall(r"[\d.]+ alone, [\d.]+ each", page)) >= 4
    for unit in isa.load(name, {}, ()).units:
        assert f"`{unit.name}`" in page


def test_a_command_costs_what_the_description_says() -> None:
    """tiny: `contract` is busy for the larger of rows and depth, and its sums come 2 * DIM cycles later."""
    for dim in (4, 8):
        machine = isa.load("tiny", {"DIM": dim}, ())
        whole, part = measured(machine)["contract"]
        assert (whole.sizes["rows"], whole.each) == (dim, dim)
        assert whole.alone - part.alone == dim - part.sizes["rows"]


def test_multiplies_that_keep_their_operand_cost_less() -> None:
    """quad: a multiply of one row does not wait for weights to be shifted in."""
    whole, row = measured(isa.load("quad", {}, ()))["compute"]
    assert "with the operand kept" not in whole.otherwise
    assert row.otherwise["with the operand kept"] < row.each


def test_moves_are_measured_along_each_of_their_sizes() -> None:
    sizes = [found.sizes for found in measured(isa.load("gemmini", {}, ()))["move_in"]]
    assert sizes == [{"cols": cols, "rows": rows} for cols, rows in ((64, 16), (16, 16), (64, 4))]


def test_a_wider_bus_makes_moves_cheaper_and_nothing_else() -> None:
    text = Path(isa.load("tiny", {}, ()).path).read_text()
    narrow, wide = (isa.parse(text.replace("bus: 8", f"bus: {bus}"), "tiny.isa") for bus in (1, 8))
    assert measured(narrow)["load_sum"][0].each > measured(wide)["load_sum"][0].each
    assert measured(narrow)["contract"] == measured(wide)["contract"]
    assert "1 bytes a cycle in each direction" in timing_page(narrow)


@given(st.integers(0, 300), st.integers(1, 300), st.sampled_from([(1, 1), (8, 32), (16, 64), (16, 16)]))
def test_requests_cover_a_row_and_are_aligned_powers_of_two(address: int, length: int, sizes: tuple[int, int]) -> None:
    cut = requests(address, length, *sizes)
    assert sum(cut) >= length
    assert all(sizes[0] <= size <= sizes[1] and size.bit_count() == 1 for size in cut)
    assert beats(cut, 16) >= -(-length // 16)


def test_the_glossary_knows_every_cause_of_the_simulator() -> None:
    timing = SimulatorEvaluator(isa.load("tiny", {}, ()), load("tiny_gemm")).evaluate(
        SimulatorTarget.load("tiny", {}, ()).starting_kernel(load("tiny_gemm"))
    )
    named = {cause for causes in timing.evidence.parts.values() for cause in causes}
    assert named <= {"Busy", *STALLS} == set(SimulatorTarget.causes)
    assert all(stall.meaning.endswith(".") and stall.remedy for stall in STALLS.values())


def _problem(text: str, machine: str, operation: str) -> Workload:
    """The workload that the comment at an example's head states: sizes, and options after that word."""
    head = text[: text.find("void ")]
    dims = ", ".join(f"{name}: {size}" for name, size in re.findall(r"\b([A-Z]) = (\d+)", head))
    options = "".join(f"{line}\n" for line in re.findall(r"`(\w+: [^`]+)`", head))
    return parse(f"operation: {operation}\naccelerator: {machine}\ndims: {{{dims}}}\n{options}", Path("example.yaml"))


def _judged_at_length(name: str, operation: str) -> bool:
    return name in ("neuroncore", "tpu_v1") or (operation == "conv2d" and name not in SMALL)


@pytest.mark.parametrize(
    ("name", "operation"),
    [pytest.param(*pair, marks=[pytest.mark.long] if _judged_at_length(*pair) else []) for pair in EXAMPLES],
)
def test_an_example_is_right_and_as_fast_as_it_says(name: str, operation: str) -> None:
    machine = isa.load(name, {}, ())
    text = examples(machine)[operation]
    verdict = SimulatorEvaluator(machine, _problem(text, name, operation)).evaluate(text)
    assert verdict.correct, verdict.failure
    stated = re.search(r"It reaches (\d+) % of the bound", " ".join(text.replace("//", " ").split()))
    assert stated
    assert int(100 * (verdict.ratio or 0)) == int(stated[1]) > 85


@pytest.mark.parametrize(("name", "operation"), [pair for pair in EXAMPLES if _judged_at_length(*pair)])
def test_an_example_that_is_judged_at_length_is_a_kernel_of_its_machine(name: str, operation: str) -> None:
    text = examples(isa.load(name, {}, ()))[operation]
    SimulatorTarget.load(name, {}, ()).language.check(text, _problem(text, name, operation))


def test_a_move_takes_what_the_page_says() -> None:
    """neuroncore: 4,096 columns of bfloat16 are 8,192 bytes of each of 128 partitions, 32 local rows and 32 beats."""
    machine = isa.load("neuroncore", {}, ())
    load, store = (measured(machine)[name][0] for name in ("dma_load", "dma_store"))
    assert (load.sizes["columns"], load.each) == (4096, 4096)
    assert (store.sizes["columns"], store.each) == (4096, 128 * (32 + 32 - 1))
    assert "for each DRAM row the local rows that make it, one a cycle, then its cycles of the bus" in timing_page(
        machine
    )


def test_wide_moves_are_advised_where_operands_say_how_much_moves() -> None:
    """amx: a tile's rows and bytes are configured, and all of it moves."""
    assert "Wide moves" in timing_page(isa.load("gemmini", {}, ()))
    assert "Wide moves" not in timing_page(isa.load("amx", {}, ()))


def test_what_limits_a_kernel_counts_requests_that_wait_for_memory() -> None:
    """array100: a bus of 100 bytes, and 16 requests of 64 bytes under way for 90 cycles."""
    told = " ".join(limits(isa.load("array100", {}, [Path(__file__).parent / "strangers"])))
    assert "bytes of inputs / 11.38" in told
    assert "for each byte moved in: 878.9 at least" in told


def test_an_example_is_not_shown_for_a_machine_of_other_sizes() -> None:
    assert examples(isa.load("gemmini", {}, ()))
    assert not examples(isa.load("gemmini", {"DIM": 8}, ()))

"""Machines that the language was not made for: an array of no power of two with engines that semaphores order, a DSP
with two multipliers, a small NPU that latches registers, a row-stationary array, a unit whose sums never leave it,
memories that multiply where weights lie, and rows of sums that take two lines each."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from autocomp.targets.registry import load_target
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.derived.advice import advice
from autocomp.targets.simulator.isa.derived.contractions import contraction_tile, contractions, peak
from autocomp.targets.simulator.start.misplaced import misplaced_tiles
from autocomp.workload import parse

FOLDER = Path(__file__).parent / "strangers"
PEAKS = {
    "array100": 100 * 100,
    "dsp": 2,
    "micronpu": 128,
    "rowstationary": 12 * 14,
    "fused": 256,
    "inmemory": 256 * 64 // 8,
    "halves": 8 * 8,
}


@pytest.mark.parametrize("name", PEAKS)
def test_a_strangers_machine_is_understood(name: str) -> None:
    accelerator = isa.load(name, {}, [FOLDER])
    isa.lower(accelerator)
    assert peak(accelerator) == PEAKS[name]
    assert [found.unit is not None for found in contractions(accelerator)] == [True]
    assert not list(advice(accelerator))
    assert not list(misplaced_tiles(accelerator))


@pytest.mark.parametrize(
    ("name", "dims"),
    [
        ("array100", (250, 150, 130)),
        ("array100", (100, 100, 100)),
        ("array100", (3, 101, 7)),
        ("halves", (21, 13, 11)),
        pytest.param("fused", (70, 20, 300), id="an operand states the depth, and so how far apart rows are"),
    ],
)
def test_a_strangers_machine_starts(name: str, dims: tuple[int, int, int]) -> None:
    document = {"operation": "gemm", "accelerator": name, "dims": dict(zip("IJK", dims, strict=True))}
    layout = {"layout": {"B": "J K"}} if name == "fused" else {}
    given = yaml.safe_dump({**document, **layout, "scale": 0.0078125, "activation": "relu"})
    workload = parse(given, FOLDER / "gemm.yaml")
    target = load_target(workload.target, {}, [FOLDER])
    evaluation = target.evaluator(workload).evaluate(target.starting_kernel(workload))
    assert evaluation.correct, evaluation.failure


def test_columns_of_a_result_may_take_several_local_rows() -> None:
    assert contraction_tile(isa.load("halves", {}, [FOLDER])) == (16, 8, 8)


def test_a_hole_that_names_a_row_of_another_memory_is_warned_of(tmp_path: Path) -> None:
    text = (FOLDER / "halves.isa").read_text().replace("stride_a, stride_b", "stride_a, stride_b, b_tile")
    staged = text.replace("500", "$b_tile").replace("accelerator halves", "accelerator staged")
    (tmp_path / "staged.isa").write_text(staged)
    first, second = misplaced_tiles(isa.load("staged", {}, [tmp_path]))
    assert first.message == (
        "idiom gemm_tile: `$b_tile` is a row of weights, where products read or write it, and receive takes it as a "
        "row of lines, where `$a_tile` lies too"
    )
    assert "load_weights takes it" in second.message

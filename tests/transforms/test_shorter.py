"""The computation of a long kernel from few iterations of its loops."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import NotApplicable, analyse
from autocomp.targets.simulator.transforms.legality import check
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import commands_of
from autocomp.targets.simulator.transforms.scheduling.lifting.shorter import shorter
from autocomp.targets.simulator.transforms.scheduling.lifting.whole import whole_of
from autocomp.workload import parse

RVV = {"operation": "gemm", "accelerator": "rvv", "dtype": "float32"}
VTA = {"operation": "gemm", "accelerator": "vta", "layout": {"B": "J/16 K/16 J%16 K%16"}}


def naive(document: Mapping[str, Any], **dims: int) -> kernel.ast.Kernel:
    workload = parse(yaml.safe_dump({**document, "dims": dims}), Path("given.yaml"))
    accelerator = isa.load(str(document["accelerator"]))
    return analyse(kernel.parse(starting_kernel(workload, accelerator)), accelerator).kernel


def computed(accelerator: str, given: kernel.ast.Kernel) -> Contraction:
    machine = isa.load(accelerator)
    return whole_of(commands_of(given, machine, machine.constants)).computation


def in_full(accelerator: str, given: kernel.ast.Kernel, most: int) -> Contraction:
    """The computation of a kernel from an instance of at most some commands."""
    short = shorter(given, most)
    assert short is not None
    few = computed(accelerator, short.instance())
    return short.in_full(few, lambda other: computed(accelerator, other))


@settings(max_examples=4, deadline=None)
@given(st.integers(6, 12), st.integers(6, 12), st.sampled_from((100, 120)))
def test_few_iterations_compute_what_all_do(rows: int, depth: int, most: int) -> None:
    given = naive(RVV, I=rows, J=64, K=depth)
    assert in_full("rvv", given, most) == computed("rvv", given)


def test_a_first_iteration_may_differ() -> None:
    given = naive(VTA, I=16, J=96, K=128)  # the first product of a result starts it
    short = shorter(given, 250)
    assert short is not None
    assert list(short.loops) == ["j", "k"]
    assert in_full("vta", given, 250) == computed("vta", given)


def test_a_kernel_of_few_commands_stays_as_it_is() -> None:
    assert shorter(naive(RVV, I=8, J=64, K=8), 1000) is None


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("&A[i][k % 8]", id="a place that does not move on"),
        pytest.param("&A[i][(k == 11) * 8]", id="a last iteration that differs"),
        pytest.param("&A[k * 2][j * 4 + k]", id="a loop inside the steps of another one"),
    ],
)
def test_a_loop_that_does_not_go_on_keeps_its_iterations(place: str) -> None:
    text = f"""void solution(float A[32][64]) {{
        for (int j = 0; j < 12; j++)
            for (int k = 0; k < 12; k++)
                for (int i = 0; i < 12; i++) vle32(0, {place}, 16);
    }}"""
    machine = isa.load("rvv")
    short = shorter(analyse(kernel.parse(text), machine).kernel, 700)
    assert short is None or "k" not in short.loops


def test_a_kernel_whose_pattern_changes_is_not_taken_for_a_longer_one() -> None:
    given = naive(RVV, I=12, J=64, K=12)
    short = shorter(given, 400)
    assert short is not None
    few = computed("rvv", short.instance())
    other = computed("rvv", naive(RVV, I=4, J=32, K=12))
    with pytest.raises(NotApplicable, match="changes with the iterations"):
        short.in_full(few, lambda _: other)


def test_a_rewritten_kernel_that_is_too_long_to_compare_is_left_to_the_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autocomp.targets.simulator.transforms.legality.MAX_STEPS", 10_000)
    text = """void solution(float A[16], float B[16]) {
        int many = 0;
        for (int i = 0; i < TIMES; i++) many += i % 3;
        vle32(0, &A[0], 16);
        vse32(&B[many % 2 * 0], 0, 16);
    }"""
    machine = isa.load("rvv")
    before, after = (analyse(kernel.parse(text.replace("TIMES", n)), machine) for n in ("10", "100000"))
    check(before, after)

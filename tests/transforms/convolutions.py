"""Convolutions of any shape, as workloads, and the proof of kernels for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hypothesis import strategies as st

from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.kernel import print_kernel
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import Facts
from autocomp.workload import Workload, parse

from .conftest import PROOF, facts_of, machine


def convolution(dims: Mapping[str, int], accelerator: str = "gemmini", **options: float | str) -> Workload:
    """A workload with a bias for each filter, unless the options say otherwise."""
    more = "".join(f"{name}: {value}\n" for name, value in {"bias": "row", **options}.items())
    text = f"operation: conv2d\naccelerator: {accelerator}\ndims: {dims}\n{more}".replace("'", "")
    return parse(text, Path("conv.yaml"))


def naive(workload: Workload) -> Facts:
    name = workload.accelerator
    return facts_of(starting_kernel(workload, machine(name)), name)


def cycles(workload: Workload, facts: Facts) -> int:
    text = print_kernel(facts.written)
    found = SimulatorEvaluator(machine(workload.accelerator), workload).evaluate(text, stages=PROOF)
    assert found.correct, f"{found.failure}\n{text}"
    assert found.value is not None
    return int(found.value)


@st.composite
def convolutions(
    draw: st.DrawFn, accelerators: tuple[str, ...] = ("gemmini", "quad"), *, channels: int = 40, pixels: int = 30
) -> Workload:
    """Convolutions of at most `channels` channels and filters, whose lines are at most `pixels` pixels longer than
    necessary."""
    taps = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    stride, padding, dilation = draw(st.integers(1, 3)), draw(st.integers(0, 3)), draw(st.integers(1, 2))
    least = [max(1, (number - 1) * dilation + 1 - 2 * padding) for number in taps]
    dims = {
        "N": draw(st.integers(1, 2)),
        "H": draw(st.integers(least[0], least[0] + 8)),
        "W": draw(st.integers(least[1], least[1] + pixels)),
        "C": draw(st.integers(1, channels)),
        "K": draw(st.integers(1, channels)),
        "R": taps[0],
        "S": taps[1],
    }
    accelerator = draw(st.sampled_from(accelerators))
    return convolution(dims, accelerator, stride=stride, padding=padding, dilation=dilation)


@st.composite
def pooled_convolutions(draw: st.DrawFn) -> Workload:
    """Convolutions of small images, of which the machine pools windows of every kind that it has."""
    taps, size = draw(st.integers(1, 3)), draw(st.integers(2, 3))
    padding = draw(st.integers(0, taps - 1))
    least = max(1, size + taps - 1 - 2 * padding)
    dims = {
        "N": draw(st.integers(1, 2)),
        "H": draw(st.integers(least, least + 12)),
        "W": draw(st.integers(least, least + 20)),
        "C": draw(st.integers(1, 20)),
        "K": draw(st.integers(1, 40)),
        "R": taps,
        "S": taps,
    }
    pool = f"{{size: {size}, stride: {draw(st.integers(1, 3))}, padding: {draw(st.integers(0, 1))}}}"
    return convolution(dims, padding=padding, pool=pool, bias=draw(st.sampled_from(["row", "none"])))

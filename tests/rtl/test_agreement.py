"""The simulator says of the design in simulator/rtl what its hardware description does, to the bit and to the cycle."""

from __future__ import annotations

import random
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from autocomp.simulator import SimulationOptions, _core, run_program
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.isa.lowering.lower import MachineTables
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.rtl.machine import RtlMachine
from autocomp.targets.simulator.rtl.model.build import RtlModel, build

from .conftest import ROOT
from .programs import BYTES, programs

pytestmark = pytest.mark.rtl
DESIGN = ROOT / "simulator" / "rtl"
SHARED = [HealthCheck.function_scoped_fixture]  # a model is as it was: every run starts from reset
LATENCIES = st.sampled_from([1, 3, 12, 40])


@lru_cache(maxsize=16)
def machine(**overrides: int) -> tuple[Accelerator, MachineTables]:
    accelerator = isa.load("quad", overrides)
    return accelerator, isa.lower(accelerator)


def tensors(seed: int) -> dict[str, npt.NDArray[np.int8]]:
    return {"A": np.frombuffer(random.Random(seed).randbytes(BYTES), np.int8), "C": np.zeros(BYTES, np.int8)}


def check_agreement(model: RtlModel, text: str, seed: int, **overrides: int) -> None:
    accelerator, tables = machine(**overrides)
    program = kernel.link(kernel.compile(kernel.parse(text), accelerator), tables)
    simulated = run_program(tables.machine, program, tensors(seed), SimulationOptions(record_trace=True))
    assert simulated.error is None
    assert simulated.timing is not None
    assert isinstance(simulated.trace, _core.Trace)
    found = RtlMachine(accelerator, tables, model).run(simulated.trace, tensors(seed), 100_000)
    assert found.run.status == "done"
    np.testing.assert_array_equal(found.outputs["C"], simulated.outputs["C"])
    assert tuple(found.run.segment_cycles) == simulated.timing.segment_cycles


@settings(max_examples=150, deadline=None, suppress_health_check=SHARED)
@given(text=programs(4), latency=LATENCIES, seed=st.integers(0, 1 << 16))
def test_random_programs_give_the_same_bytes_in_the_same_cycles(
    quad: RtlModel, text: str, latency: int, seed: int
) -> None:
    check_agreement(quad, text, seed, MEM_LATENCY=latency)


@pytest.mark.long
@settings(max_examples=5000, deadline=None, suppress_health_check=SHARED)
@given(text=programs(4, most=120), latency=LATENCIES, seed=st.integers(0, 1 << 16))
def test_many_long_programs_do_as_well(quad: RtlModel, text: str, latency: int, seed: int) -> None:
    check_agreement(quad, text, seed, MEM_LATENCY=latency)


def of_size(dim: int, folder: Path) -> Path:
    """The design with an array of another size."""
    shutil.copytree(DESIGN, folder, dirs_exist_ok=True)
    package = folder / "accelerator_pkg.sv"
    package.write_text(package.read_text().replace("int DIM = 4;", f"int DIM = {dim};"))
    return folder


@pytest.fixture
def octo(rtl_cache: Path, tmp_path: Path) -> RtlModel:
    return build(of_size(8, tmp_path), "accelerator")


@pytest.mark.long
@settings(max_examples=300, deadline=None, suppress_health_check=SHARED)
@given(text=programs(8), latency=LATENCIES, seed=st.integers(0, 1 << 16))
def test_a_design_of_another_size_is_a_parameter_of_the_description(
    octo: RtlModel, text: str, latency: int, seed: int
) -> None:
    check_agreement(octo, text, seed, DIM=8, MEM_LATENCY=latency)


@pytest.mark.parametrize("dim", [2, 4, 16])
def test_verilator_has_nothing_to_complain_about(dim: int, tmp_path: Path) -> None:
    sources = sorted(of_size(dim, tmp_path).glob("*.sv"), key=lambda path: (path.stem != "accelerator_pkg", path))
    command = ["verilator", "--lint-only", "-Wall", "--top-module", "accelerator", *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")

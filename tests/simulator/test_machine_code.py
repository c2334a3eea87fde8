"""The machine code of the functional engine is chosen by what the processor can do, and changes no result."""

from __future__ import annotations

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, _core, run_program
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import isa, kernel

ACCELERATOR = isa.load("gemmini", {})
TABLES = isa.lower(ACCELERATOR)
GEMM = """
void solution(int8_t A[16][{k}], int8_t B[{k}][16], int8_t C[16][16]) {{
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld({k}, 1.0f, 16, 0);
    config_ld(16, 1.0f, 16, 1);
    config_st(16);
    mvin(A, 0, {k}, {rows});
    mvin2(B, 64, 16, {k});
    preload(64, 0x80000000, 16, {k}, 16, {rows});
    compute_preloaded(0, 0xffffffff, {k}, {rows}, 16, {rows});
    mvout(C, 0x80000000, 16, {rows});
    fence();
}}
"""


@pytest.mark.parametrize(
    ("avx2", "avx512", "chosen"),
    [(False, False, "plain"), (True, False, "avx2"), (True, True, "avx512"), (False, True, "plain")],
)
def test_the_fastest_code_that_the_processor_runs_is_chosen(avx2: bool, avx512: bool, chosen: str) -> None:
    assert _core.choose_machine_code("", avx2, avx512) == chosen


def test_a_slower_code_can_be_asked_for() -> None:
    assert _core.choose_machine_code("plain", True, True) == "plain"
    assert _core.choose_machine_code("avx2", True, True) == "avx2"


@pytest.mark.parametrize("wanted", ["avx512", "sse"])
def test_code_that_the_processor_cannot_run_is_refused(wanted: str) -> None:
    with pytest.raises(ValueError, match=f"'{wanted}' cannot run on this processor; it can run plain, avx2"):
        _core.choose_machine_code(wanted, True, False)


@settings(deadline=None, max_examples=20)
@given(k=st.integers(1, 16), rows=st.integers(1, 16), seed=st.integers(0, 99))
def test_every_code_that_runs_here_gives_the_same_result(k: int, rows: int, seed: int) -> None:
    text = GEMM.format(k=k, rows=rows)
    program = kernel.link(kernel.compile(kernel.parse(text), ACCELERATOR, {}), TABLES)
    random = np.random.default_rng(seed)
    tensors = {
        "A": random.integers(-128, 128, (16, k), dtype=np.int8),
        "B": random.integers(-128, 128, (k, 16), dtype=np.int8),
        "C": np.zeros((16, 16), np.int8),
    }
    exact = np.clip(tensors["A"][:rows].astype(int) @ tensors["B"].astype(int), -128, 127)
    for code in _core.machine_codes():
        result = run_program(TABLES.machine, program, tensors, SimulationOptions(timing=False, machine_code=code))
        assert result.error is None, result.error
        assert np.array_equal(result.outputs["C"][:rows], exact), code

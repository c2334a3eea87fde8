"""LAYERNORM, IGELU and SOFTMAX through kernels with the vendor's calls: close to the exact functions."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from autocomp.simulator import SimulationOptions, SimulationResult, run_program

from autocomp.errors import KernelError
from autocomp.targets.simulator import isa, kernel

MACHINE = isa.load("gemmini:ibert")
TABLES = isa.lower(MACHINE)
COLS = 40  # two whole blocks and a half
STEP = 1 / 64  # what 1 in the accumulator stands for
MOVE_IN = (
    "config_ld(160, 1.0f, DIM, 0); for (int j = 0; j < 40; j += 16) mvin(&x[0][j], 0x80000000 | j, min16(40 - j), 1);"
)
HELPER = "int min16(int n) { return n < 16 ? n : 16; }"


def simulate(body: str, x: npt.NDArray[np.int32]) -> SimulationResult:
    text = f"{HELPER} void solution(int32_t x[1][40], int8_t y[1][40]) {{ {MOVE_IN} {body} fence(); }}"
    program = kernel.link(kernel.compile(kernel.parse(text), MACHINE), TABLES)
    return run_program(TABLES.machine, program, {"x": x, "y": np.zeros((1, COLS), np.int8)}, SimulationOptions())


def run(body: str, x: npt.NDArray[np.int32]) -> npt.NDArray[np.int8]:
    result = simulate(body, x)
    assert result.error is None, result.error
    assert result.timing is not None
    assert result.timing.cycles > 0
    return result.outputs["y"]


def values(seed: int, spread: float) -> npt.NDArray[np.int32]:
    return np.random.default_rng(seed).normal(0, spread, (1, COLS)).astype(np.int32)


def passes(*commands: int) -> str:
    return " ".join(f"mvout(y, 0x80000000 | ({command} << 26), 40, 1);" for command in commands)


@pytest.mark.parametrize("slot", [0, 1])
def test_layernorm_subtracts_the_mean_and_divides_by_the_deviation(slot: int) -> None:
    x = values(1, 1000) + 300
    body = f"gemmini_extended_config_st(40, LAYERNORM, 32.0f); gemmini_config_norm(0, 0, 1, 0, {slot}, 0, 0);"
    got = run(f"{body} {passes(2, 4, 0)}", x)
    expected = np.clip((x - x.mean()) / x.std() * 32, -128, 127)
    assert np.abs(got - expected).max() <= 1


def test_statistics_of_a_row_may_take_several_moves() -> None:
    x = values(2, 1000)
    body = "gemmini_extended_config_st(40, LAYERNORM, 32.0f); gemmini_config_norm(0, 0, 1, 0, 0, 0, 0);"
    split = " ".join(
        f"mvout(y, 0x80000000 | ({first} << 26), 16, 1); mvout(y, 0x80000010 | ({last} << 26), 24, 1);"
        for first, last in ((1, 2), (3, 4))
    )
    np.testing.assert_array_equal(run(f"{body} {split} {passes(0)}", x), run(f"{body} {passes(2, 4, 0)}", x))


def test_softmax_divides_exponentials_by_their_sum() -> None:
    x = values(3, 1.5 / STEP)
    qb, qc = round(1.353 / STEP), round(0.344 / (0.3585 * STEP**2))
    qln2, qln2_inv = round(math.log(2) / STEP), round(65536 * STEP / math.log(2))
    body = f"gemmini_extended_config_st(40, SOFTMAX, 1.0f); gemmini_config_norm({qln2}, 0, 0, 1, 0, {qb}, {qc});"
    body += f" gemmini_config_norm({qln2_inv}, 1, 0, 1, 0, {qb}, {qc});"
    got = run(f"{body} {passes(5, 7, 0)}", x)
    weights = np.exp((x - x.max()) * STEP)
    assert np.abs(got - 127 * weights / weights.sum()).max() <= 1
    assert got.max() > 10


def test_igelu_is_close_to_the_gaussian_error_linear_unit() -> None:
    x = np.linspace(-4, 4, COLS).reshape(1, COLS)
    step = STEP / math.sqrt(2)
    qb, qc = round(-1.769 / step), round(1 / (-0.2888 * step**2))
    factor = 16 * STEP * -0.2888 * step**2 / 2
    body = f"gemmini_extended_config_st(40, IGELU, {factor:.12e}f); gemmini_config_norm(0, 0, 0, 0, 0, {qb}, {qc});"
    got = run(f"{body} {passes(0)}", np.rint(x / STEP).astype(np.int32))
    exact = np.array([v * 0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x[0]])
    assert np.abs(got[0] / 16 - exact).max() < 0.1


def test_a_row_of_equal_elements_has_a_deviation_of_one() -> None:
    x = np.full((1, COLS), 7, np.int32)
    body = "gemmini_extended_config_st(40, LAYERNORM, 1.0f); gemmini_config_norm(0, 0, 1, 0, 0, 0, 0);"
    assert not run(f"{body} {passes(2, 4, 0)}", x).any()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("mvout(y, 1 << 26, 16, 1);", "statistics are of accumulator rows"),
        ("mvout(y, 0x80000000 | (2 << 26), 16, 2);", "completed by a move of one row"),
    ],
)
def test_what_statistics_cannot_be(body: str, message: str) -> None:
    result = simulate(f"config_st(40); {body}", values(0, 1))
    assert result.error is not None
    assert message in result.error.message


@pytest.mark.parametrize(
    ("body", "machine", "message"),
    [
        (
            "gemmini_config_norm(0, 0, 0, 0, 2, 0, 0);",
            "gemmini:ibert",
            "'slot' of 'gemmini_config_norm' must be 0 to 1",
        ),
        ("gemmini_extended_config_st(40, IGELU, 1.0f);", "gemmini", "'act' of .* must be 0 to 1, not 3"),
        (
            "gemmini_config_norm(0, 0, 0, 0, 0, 0, 0);",
            "gemmini",
            "gemmini has no 'gemmini_config_norm': that needs HAS_NORM",
        ),
    ],
)
def test_what_a_machine_does_not_have_is_said_where_it_is_called(body: str, machine: str, message: str) -> None:
    text = f"void solution(int8_t y[1][40]) {{ {body} mvout(y, 0, 1, 1); }}"
    with pytest.raises(KernelError, match=message):
        kernel.compile(kernel.parse(text), isa.load(machine))

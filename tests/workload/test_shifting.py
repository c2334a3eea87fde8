"""Results that are shifted to the right: exact, with halves rounded as a workload says."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocomp.errors import ConfigError
from autocomp.targets.registry import load_target
from autocomp.workload import parse
from autocomp.workload.shifting import shift_of, shifted

CUBE = (Path(__file__).parent.parent / "transforms" / "cube.isa").read_text()
SHIFTS = (
    CUBE.replace("float(relu(l0c[src.row + m][n]))", "relu(l0c[src.row + m][n])")
    .replace("float(l0c[src.row + m][n])", "l0c[src.row + m][n]")
    .replace("* scale))", "+ (scale ? 1 << scale - 1 : 0) >> scale))")
    .replace("scale: float", "scale: int 0..31")
    .replace("$scale", "$shift")
    .replace("stride_c, scale", "stride_c, shift")
    .replace("saturate<i8>(round(", "saturate<i8>((")
)
GEMM = "operation: gemm\ndims: {{I: 16, J: 32, K: 32}}\nlayout: {{B: K/32 J K%32}}\naccelerator: {}\n"


@given(st.integers(-(2**31), 2**31 - 1), st.integers(0, 31))
def test_shifts_are_exact_and_round_halves_as_they_say(number: int, bits: int) -> None:
    exact = Fraction(number, 1 << bits)
    half = Fraction(1, 2)
    away = floor(exact + half) if exact >= 0 else ceil(exact - half)
    sums = np.array([number], np.int32)
    assert shifted(sums, bits, "half_up")[0] == floor(exact + half)
    assert shifted(sums, bits, "half_even")[0] == round(exact)
    assert shifted(sums, bits, "half_away")[0] == away


@pytest.mark.parametrize(
    ("scale", "bits"), [(1.0, 0), (0.5, 1), (2.0**-31, 31), (2.0**-32, None), (2.0, None), (0.3, None), (-0.5, None)]
)
def test_a_power_of_two_is_a_shift(scale: float, bits: int | None) -> None:
    assert shift_of(scale) == bits


def test_a_start_shifts_where_idioms_take_no_factor(tmp_path: Path) -> None:
    (tmp_path / "cube.isa").write_text(SHIFTS)
    machine = GEMM.format(tmp_path / "cube.isa")
    asked = parse(machine + "scale: 0.015625\nrounding: half_up\n", tmp_path / "w.yaml")
    target = load_target(asked.target, {})
    kernel = target.starting_kernel(asked)
    assert "deq(0, c_tile, rows, 6, false)" in kernel
    assert target.evaluator(asked).evaluate(kernel).correct

    other = parse(machine + "scale: 0.015625\n", tmp_path / "w.yaml")
    away = parse(machine + "scale: 0.015625\nrounding: half_away\n", tmp_path / "w.yaml")
    for wrong in (other, away):
        assert str(target.remedy(wrong)) == "'cube' shifts results: write `rounding: half_up`"
    scaled = parse(machine + "scale: 0.3\n", tmp_path / "w.yaml")
    with pytest.raises(ConfigError, match="a shift, the hole 'shift'"):
        target.starting_kernel(scaled)

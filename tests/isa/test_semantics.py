"""The computations of the shipped descriptions, against NumPy and the vectors measured on the hardware."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa.model import Accelerator

from .conftest import Interpreter, RequirementError, pointer

ACC, ADD, FULL, NONE = 1 << 31, 1 << 30, 1 << 29, 0xFFFFFFFF
Array = npt.NDArray[Any]


@cache
def narrow() -> Accelerator:
    """The systolic array with 4 columns, so that plain interpretation is quick."""
    return isa.load("gemmini", {"DIM": 4, "SPAD_KB": 1, "ACC_KB": 1, "MAX_BYTES": 16})


def machine(*tensors: Array) -> Interpreter:
    found = Interpreter(narrow(), tensors)
    found.call("config_ex", 1, 0, 1, 0, 0)
    found.call("config_ld", 4, 1.0, 4, 0)
    found.call("config_st", 4)
    return found


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


def load(m: Interpreter, row: int, values: Array) -> None:
    m.memory["spad"][row : row + values.shape[0], : values.shape[1]] = values


@pytest.mark.parametrize(
    ("value", "scale", "expected"),
    [
        (5, 0.5, 2),
        (7, 0.5, 4),
        (-5, 0.5, -2),
        (-7, 0.5, -4),
        (300, 1.0, 127),
        (-300, 1.0, -128),
        (16777217, 2**-20, 16),
    ],
)
def test_moving_out_scales_rounds_to_even_and_saturates(value: int, scale: float, expected: int) -> None:
    out = np.zeros(4, np.int8)
    m = machine(out)
    m.memory["acc"][0, 0] = value
    m.call("config_st", 4, scale)
    m.call("mvout", pointer(0), ACC, 1, 1)
    assert out[0] == expected


@pytest.mark.parametrize(("value", "scale", "expected"), [(-128, -1.0, 127), (3, 0.5, 2), (1, float("nan"), 127)])
def test_moving_in_scales_likewise(value: int, scale: float, expected: int) -> None:
    m = machine(np.array([value], np.int8))
    m.call("config_ld", 4, scale, 4, 0)
    m.call("mvin", pointer(0), 0, 1, 1)
    assert m.memory["spad"][0, 0] == expected


def test_relu_comes_before_the_scale_and_all_ones_keep_the_scale() -> None:
    out = np.zeros(4, np.int8)
    m = machine(out)
    m.memory["acc"][0] = [10, -10, 0, 1]
    m.call("gemmini_extended_config_st", 4, 1, -2.0)
    m.call("gemmini_extended_config_st", 4, 1, algebra.bits_to_float(0xFFFFFFFF))
    m.call("mvout", pointer(0), ACC, 4, 1)
    assert out.tolist() == [-20, 0, 0, -2]


def test_unaddressed_lanes_keep_their_contents_and_wide_moves_use_blocks() -> None:
    m = machine(random(4, 8))
    m.memory["spad"][:] = 1
    m.call("config_ld", 8, 1.0, 20, 0)
    m.call("mvin", pointer(0), 2, 6, 3)
    assert (m.memory["spad"][2:5] == m.tensors[0][:3, :4]).all()
    assert (m.memory["spad"][22:25, :2] == m.tensors[0][:3, 4:6]).all()
    assert (m.memory["spad"][22:25, 2:] == 1).all()


def test_a_stride_of_zero_repeats_a_row_and_null_writes_zeros() -> None:
    m = machine(random(1, 4))
    m.call("config_ld", 0, 1.0, 4, 0)
    m.call("mvin", pointer(0), 0, 4, 3)
    assert (m.memory["spad"][:3] == m.tensors[0]).all()
    m.call("mvin", 0, 1, 4, 1)
    assert (m.memory["spad"][1] == 0).all()


def test_shrunk_moves_accumulate() -> None:
    m = machine(random(4, 4))
    m.call("gemmini_extended3_config_ld", 4, 0.5, 1, 0)
    m.memory["acc"][:] = 1000
    m.call("mvin", pointer(0), ACC | ADD, 4, 4)
    assert (m.memory["acc"][:4] == 1000 + np.rint(m.tensors[0] * np.float32(0.5))).all()


def test_pixel_repeats_shift_groups_to_the_right() -> None:
    m = machine(np.arange(1, 9, dtype=np.int8).reshape(8, 1))
    m.call("gemmini_extended5_config_ld", 1, 1.0, 0, 4, 3, 0)
    m.call("mvin", pointer(0), 2, 1, 4)
    assert m.memory["spad"][2:4].tolist() == [[1, 2, 3, 0], [2, 3, 4, 0]]
    assert m.memory["spad"][0:2].tolist() == [[0, 0, 1, 0], [0, 1, 2, 0]]


@pytest.mark.parametrize("a_transpose", [0, 1])
@pytest.mark.parametrize("b_transpose", [0, 1])
@pytest.mark.parametrize("dataflow", [0, 1])
def test_products_of_partial_tiles(dataflow: int, a_transpose: int, b_transpose: int) -> None:
    m = machine()
    try:
        m.call("config_ex", dataflow, 0, 1, a_transpose, b_transpose)
    except RequirementError:
        assert (dataflow, a_transpose) in ((0, 0), (1, 1))
        return
    a, b, d = random(3, 2), random(2, 4, seed=1), random(3, 4, seed=2)
    load(m, 0, a.T if a_transpose else a)
    load(m, 8, b.T if b_transpose else b)
    load(m, 16, d)
    first, second = (8, 16) if dataflow else (16, 8)
    shapes = {8: (4, 2), 16: (4, 3)}
    m.memory["acc"][:] = 7
    m.call("preload", first, ACC | ADD, *shapes[first], 4, 3)
    m.call("compute_preloaded", 0, second, 2, 3, *shapes[second])
    assert (m.memory["acc"][:3] == 7 + a.astype(int) @ b + d).all()
    assert (m.memory["acc"][3:] == 7).all()


def test_kept_weights_and_strides() -> None:
    m = machine()
    m.call("gemmini_extended3_config_ex", 1, 1, 0, 1.0, 3, 2, 0, 0, 0)
    a, b = random(8, 4) // 16, random(4, 4, seed=1) // 16
    load(m, 0, a)
    load(m, 16, b)
    m.call("preload", 16, NONE, 4, 4, 4, 4)
    m.call("compute_preloaded", 0, NONE, 4, 4, 4, 4)
    m.call("preload", NONE, 32, 4, 4, 4, 4)
    m.call("compute_accumulated", 0, NONE, 4, 4, 4, 4)
    expected = np.clip(np.clip(a[::2].astype(int) @ b, -128, 127), 0, None)
    assert (m.memory["spad"][32:44:3] == expected).all()


def test_output_stationary_sums_stay_in_the_array_and_wrap_at_20_bits() -> None:
    m = machine()
    m.call("config_ex", 0, 0, 1, 0, 0)
    load(m, 0, np.full((4, 4), -128, np.int8))
    for step in range(8):
        m.call("preload", NONE, ACC if step == 7 else NONE, 4, 4, 4, 4)
        m.call("compute_preloaded" if step == 0 else "compute_accumulated", 0, 0, 4, 4, 4, 4)
    assert (m.memory["acc"][:4] == -524288).all()  # measured: 32 products of (-128)**2


@pytest.mark.parametrize(("value", "shift", "expected"), [(-77, 3, -10), (100, 3, 12), (-210, 3, -26)])
def test_output_stationary_shift_rounds_to_even(value: int, shift: int, expected: int) -> None:
    m = machine()
    m.call("gemmini_config_ex", 0, 0, shift)
    m.memory["spad"][0, 0], m.memory["spad"][4, 0] = 1, value if value >= -128 else value // 2
    m.memory["spad"][0, 1], m.memory["spad"][5, 0] = 1, 0 if value >= -128 else value - value // 2
    m.call("preload", NONE, ACC, 4, 4, 1, 1)
    m.call("compute_preloaded", 0, 4, 2, 1, 1, 2)
    assert m.memory["acc"][0, 0] == expected


def test_pooling_takes_the_largest_of_each_window_with_zeros_around() -> None:
    out = np.zeros((2, 2, 4), np.int8)
    m = machine(out)
    image = random(3, 3, 4)
    m.memory["acc"][:9] = image.reshape(9, 4)
    m.call("gemmini_extended2_config_st", 4, 0, 1.0, 2, 3, 2, 2, 2, 3, 3, 1, 1)
    m.call("mvout", pointer(0), ACC, 4, 0)
    padded = np.pad(image, ((1, 1), (1, 1), (0, 0)))
    for p, q in np.ndindex(2, 2):
        assert (out[p, q] == padded[2 * p : 2 * p + 3, 2 * q : 2 * q + 3].max(axis=(0, 1))).all()


UNDEFINED = {
    "a compute needs its own preload": [("compute_preloaded", 0, NONE, 4, 4, 4, 4)],
    "not by another preload": [("preload", 0, NONE, 4, 4, 4, 4)] * 2,
    "not by a configuration": [("preload", 0, NONE, 4, 4, 4, 4), ("config_ex", 1, 0, 1, 0, 0)],
    "block stride": [("config_ld", 4, 1.0, 1, 0), ("mvin", pointer(0), 0, 4, 2)],
    "not the absent operand": [("mvin", pointer(0), NONE, 4, 4)],
    "at most MAX_BYTES": [("config_ld", 4, 1.0, 4, 0), ("mvin", pointer(0), ACC, 8, 4)],
    "full-width": [("mvout", pointer(0), ACC | FULL, 8, 4)],
    "come from the scratchpad": [("preload", ACC, NONE, 4, 4, 4, 4)],
    "without operand A": [
        ("preload", 0, ACC, 4, 4, 4, 4),
        ("compute_preloaded", NONE, NONE, 4, 4, 4, 4),
    ],
    "needs a preload with weights": [
        ("preload", NONE, ACC, 4, 4, 4, 4),
        ("compute_preloaded", 0, NONE, 4, 4, 4, 4),
    ],
    "cols is 17": [("mvin", pointer(0), 0, 17, 4)],
}


@pytest.mark.parametrize("message", UNDEFINED)
def test_what_the_hardware_leaves_undefined_is_an_error(message: str) -> None:
    m = machine(random(4, 16))
    m.memory["spad"][:] = 1
    *before, last = UNDEFINED[message]
    for call in before:
        m.call(*call)
    with pytest.raises(RequirementError, match=message):
        m.call(*last)


def test_an_output_stationary_chain_has_one_destination() -> None:
    m = machine()
    m.call("config_ex", 0, 0, 1, 0, 0)
    m.call("preload", NONE, ACC, 4, 4, 4, 4)
    m.call("compute_preloaded", 0, 0, 4, 4, 4, 4)
    m.call("preload", NONE, ACC, 4, 4, 4, 4)
    with pytest.raises(RequirementError, match="only the last preload"):
        m.call("compute_accumulated", 0, 0, 4, 4, 4, 4)


def test_the_small_machine_multiplies_adds_and_stores(small: Accelerator) -> None:
    a, b = random(3, 4), random(4, 4, seed=1)
    bias, out = np.arange(4, dtype=np.int32) * 100, np.zeros((3, 4), np.int8)
    m = Interpreter(small, [a, b, bias, out])
    m.call("load_tile", pointer(0), 0, 4, 4, 3)
    m.call("load_tile", pointer(1), 4, 4, 4, 4)
    m.call("load_sum", pointer(2), 8, 0, 4, 3)
    m.call("matmul", 0, 4, 0, 4, 3, 4)
    m.call("matmul_add", 0, 4, 0, 4, 3, 4)
    m.call("vadd", 0, 8, 16, 4, 3)
    sums = 2 * (a.astype(int) @ b) + bias
    assert (m.memory["sums"][16:19] == sums).all()
    m.call("store_tile", pointer(3), 16, 4, 4, 3, 0.01, 1)
    scaled = np.rint(np.maximum(sums, 0).astype(np.float32) * np.float32(0.01))
    assert (out == np.clip(scaled, -128, 127)).all()

"""Hardware loops over convolutions compute what NumPy computes: any kernel, stride, padding, dilation and pooling."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from autocomp.simulator import SimulationOptions, SimulationResult, run_program
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import isa, kernel

MACHINE = {"DIM": 4, "SPAD_KB": 16, "ACC_KB": 16, "MAX_BYTES": 16}
SQUARE = 0  # the generation with one dimension for rows and columns, which ignores some flags
Array = npt.NDArray[Any]


@cache
def machine(generation: int = 1) -> tuple[isa.Accelerator, isa.MachineTables]:
    accelerator = isa.load("gemmini", {**MACHINE, "GENERATION": generation})
    return accelerator, isa.lower(accelerator)


@dataclass(frozen=True)
class Convolution:
    """One whole convolution in one loop: square kernels, images of any sides."""

    batch: int = 1
    rows: int = 6
    columns: int = 7
    channels: int = 5
    outputs: int = 6
    kernel: int = 3
    stride: int = 1
    padding: int = 1
    dilation: int = 1
    bias: bool = True
    pool: tuple[int, int, int] = (0, 0, 0)  # size, stride, padding
    relu: bool = False
    pixels: int = 1  # side by side in one local row
    flag: str = ""  # one that is set
    seed: int = 0

    @property
    def reach(self) -> int:
        return (self.kernel - 1) * self.dilation + 1

    def outs(self, length: int) -> int:
        return (length + 2 * self.padding - self.reach) // self.stride + 1

    def pooled(self, length: int) -> int:
        size, stride, padding = self.pool
        return (self.outs(length) + 2 * padding - size) // stride + 1 if size else self.outs(length)

    @property
    def possible(self) -> bool:
        sides = (self.rows, self.columns)
        return all(side + 2 * self.padding >= self.reach and self.pooled(side) >= 1 for side in sides)

    @property
    def ordered(self) -> bool:
        """A compute of the last taps also reads a row that the machine knows the last load to write."""
        beside = max(self.pixels, 1)
        return -self.kernel % beside < self.outs(self.columns) * self.stride

    def tensors(self) -> dict[str, Array]:
        random = np.random.default_rng(self.seed)
        return {
            "X": random.integers(-128, 128, (self.batch, self.rows, self.columns, self.channels)).astype(np.int8),
            "W": random.integers(-128, 128, (self.kernel, self.kernel, self.channels, self.outputs)).astype(np.int8),
            "D": random.integers(-5000, 5000, (1, self.outputs)).astype(np.int32),
            "Y": np.zeros((self.batch, self.pooled(self.rows), self.pooled(self.columns), self.outputs), np.int8),
        }

    def expected(self, tensors: dict[str, Array]) -> Array:
        x, w, d = (tensors[name].astype(np.int64) for name in "XWD")
        p = self.padding
        x = np.pad(x, ((0, 0), (p, p), (p, p), (0, 0)))
        w = w[::-1, ::-1] if self.flag == "wrot180" else w
        rows, columns = self.outs(self.rows), self.outs(self.columns)
        sums = np.zeros((self.batch, rows, columns, self.outputs), np.int64) + (d[0] if self.bias else 0)
        for ky in range(self.kernel):
            for kx in range(self.kernel):
                y0, x0 = ky * self.dilation, kx * self.dilation
                part = x[:, y0 : y0 + rows * self.stride : self.stride, x0 : x0 + columns * self.stride : self.stride]
                sums += part[:, :rows, :columns] @ w[ky, kx]
        if self.relu:
            sums = np.maximum(sums, 0)
        result = np.clip(np.rint(sums.astype(np.float32) * np.float32(0.01)), -128, 127)
        return self.max_pooled(result).astype(np.int8)

    def max_pooled(self, image: Array) -> Array:
        size, stride, p = self.pool
        if not size:
            return image
        image = np.pad(image, ((0, 0), (p, p), (p, p), (0, 0)))
        return np.stack(
            [
                np.stack(
                    [
                        image[:, y * stride : y * stride + size, x * stride : x * stride + size].max((1, 2))
                        for x in range(self.pooled(self.columns))
                    ],
                    1,
                )
                for y in range(self.pooled(self.rows))
            ],
            1,
        )

    def text(self, tensors: dict[str, Array]) -> str:
        rows, columns = self.outs(self.rows), self.outs(self.columns)
        out_rows, out_columns = self.pooled(self.rows), self.pooled(self.columns)
        size, stride, p = self.pool
        # What the loop reads beyond the image, below and to the right; it may also stop inside of it.
        below = max(0, rows * self.stride + self.reach - 1 - self.padding - self.rows)
        right = max(0, columns * self.stride + self.reach - 1 - self.padding - self.columns)
        apart = 1
        if self.flag == "downsample":  # it stops at the last row and column that it keeps
            below = right = 0
            apart = 2
        flags = {
            name: int(name == self.flag)
            for name in ("downsample", "wrot180", "input_dilated", "t1", "t2", "t3", "t4", "dw")
        }
        types = {name: "int32_t" if t.dtype == np.int32 else "int8_t" for name, t in tensors.items()}
        heads = ", ".join(f"{types[n]} {n}{''.join(f'[{k}]' for k in t.shape)}" for n, t in tensors.items())
        return f"""
void solution({heads}) {{
  gemmini_extended_config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 0, {self.stride // apart}, 0, 0);
  gemmini_extended_config_st({self.outputs}, {int(self.relu)}, 0.01f);
  gemmini_loop_conv_ws({self.batch}, {self.rows}, {self.columns}, {self.channels}, {self.outputs}, {rows}, {columns},
    {out_rows}, {out_columns}, {self.stride}, {self.padding}, {self.kernel}, {self.dilation}, {size}, {stride}, {p},
    {self.batch}, {out_rows}, {out_columns}, {self.outputs}, {self.kernel}, {self.kernel}, {self.channels},
    {self.padding}, {right}, {self.padding}, {below}, {p}, {p}, {p}, {p}, {rows}, {columns}, W, Y, D, X,
    {int(not self.bias)}, {int(size == 0)}, {flags["downsample"]}, {flags["wrot180"]}, {flags["input_dilated"]},
    {int(self.relu)}, {flags["t1"]}, {flags["t2"]}, {flags["t3"]}, {flags["t4"]}, {self.pixels},
    {self.channels}, {self.outputs}, {self.outputs}, {flags["dw"]}, 0, 0);
  fence();
}}"""

    def run(self, generation: int = 1) -> tuple[dict[str, Array], SimulationResult]:
        accelerator, tables = machine(generation)
        tensors = self.tensors()
        program = kernel.link(kernel.compile(kernel.parse(self.text(tensors)), accelerator), tables)
        return tensors, run_program(tables.machine, program, tensors, SimulationOptions(discipline=True))


SIZES: dict[str, st.SearchStrategy[Any]] = {
    "batch": st.integers(1, 2),
    "rows": st.integers(1, 9),
    "columns": st.integers(1, 9),
    "channels": st.integers(1, 18),
    "outputs": st.integers(1, 18),
    "kernel": st.integers(1, 3),
    "stride": st.integers(1, 3),
    "padding": st.integers(0, 2),
    "bias": st.booleans(),
    "pool": st.sampled_from([(0, 0, 0), (2, 2, 0), (2, 1, 0), (3, 2, 1)]),
    "relu": st.booleans(),
    "seed": st.integers(0, 1000),
}


def convolutions(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Convolution]:
    return st.builds(Convolution, **(SIZES | fields)).filter(lambda convolution: convolution.possible)


def check(convolution: Convolution, generation: int = 1) -> None:
    tensors, result = convolution.run(generation)
    if result.error is not None:
        assert "must fit half" in result.error.message
        return
    assert not convolution.ordered or not result.violations
    np.testing.assert_array_equal(result.outputs["Y"], convolution.expected(tensors))


@settings(max_examples=40, deadline=None)
@given(convolution=convolutions(dilation=st.integers(1, 2)))
def test_a_loop_convolves_images_of_any_size(convolution: Convolution) -> None:
    check(convolution)


@settings(max_examples=30, deadline=None)
@given(convolution=convolutions(kernel=st.integers(1, 4), channels=st.just(1), pixels=st.integers(0, 4)))
@example(Convolution(channels=1, pixels=3, rows=9, columns=9, batch=2))
def test_the_array_takes_several_pixels_of_a_row_in_one_go(convolution: Convolution) -> None:
    check(convolution)


@settings(max_examples=20, deadline=None)
@given(convolution=convolutions(channels=st.just(2), pixels=st.just(2), kernel=st.integers(2, 3)))
def test_pixels_side_by_side_have_all_their_channels(convolution: Convolution) -> None:
    check(convolution)


@pytest.mark.parametrize(("outputs", "unordered"), [(1, True), (2, False)])
def test_the_last_of_pixels_side_by_side_is_loaded_without_an_order_if_no_other_row_is_read(
    outputs: int, unordered: bool
) -> None:
    """The RTL computes with zeros there, if memory takes 200 cycles and the padding leaves the last load a pixel."""
    _, result = Convolution(rows=1, columns=outputs, channels=1, pixels=2).run()
    assert [violation.kind for violation in result.violations] == ["unordered-local"] * unordered


@settings(max_examples=20, deadline=None)
@given(convolution=convolutions(kernel=st.just(1), stride=st.just(2), padding=st.just(0), flag=st.just("downsample")))
def test_a_loop_that_downsamples_convolves_with_the_pixels_that_it_keeps(convolution: Convolution) -> None:
    check(convolution)


@settings(max_examples=20, deadline=None)
@given(convolution=convolutions(dilation=st.integers(1, 2), flag=st.just("wrot180")))
def test_a_kernel_may_be_turned_by_half_a_turn(convolution: Convolution) -> None:
    check(convolution)


@pytest.mark.parametrize(
    ("plain", "fewer"),
    [
        (Convolution(channels=1, rows=9, columns=9), {"pixels": 3}),
        (Convolution(channels=1, rows=9, columns=9, kernel=1, stride=2, padding=0), {"flag": "downsample"}),
    ],
)
def test_fewer_moves_or_computes_take_less_time(plain: Convolution, fewer: dict[str, Any]) -> None:
    (_, longer), (_, shorter) = plain.run(), replace(plain, **fewer).run()
    assert longer.timing is not None
    assert shorter.timing is not None
    assert shorter.timing.cycles < longer.timing.cycles


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("pool", [(0, 0, 0), (3, 2, 1)])
def test_a_plain_convolution_fits(bias: bool, pool: tuple[int, int, int]) -> None:
    convolution = Convolution(bias=bias, pool=pool, stride=2, padding=1)
    tensors, result = convolution.run()
    assert result.error is None, result.error
    np.testing.assert_array_equal(result.outputs["Y"], convolution.expected(tensors))


@pytest.mark.parametrize(
    ("flag", "message"),
    [("dw", "depthwise"), ("input_dilated", "dilated")] + [(f"t{n}", "transposed") for n in (1, 2, 3, 4)],
)
def test_what_is_not_described_is_refused(flag: str, message: str) -> None:
    check_refused(Convolution(flag=flag), message)


@pytest.mark.parametrize(
    ("convolution", "message"),
    [
        (Convolution(flag="downsample", kernel=3, padding=0, stride=2), "a kernel of 1 x 1"),
        (Convolution(flag="downsample", kernel=1, padding=0, stride=1), "a stride of 2"),
        (Convolution(flag="downsample", kernel=1, padding=1, stride=2), "no padding"),
        (Convolution(pixels=2, channels=3), "all their channels in one local row"),
        (Convolution(pixels=2, channels=1, dilation=2), "neither dilated"),
        (Convolution(pixels=2, channels=1, flag="wrot180"), "nor downsampling"),
    ],
)
def test_what_the_description_leaves_open_is_refused(convolution: Convolution, message: str) -> None:
    check_refused(convolution, message)


@settings(max_examples=20, deadline=None)
@given(convolution=convolutions(dilation=st.integers(1, 2)), side=st.integers(1, 9))
def test_with_one_dimension_for_rows_and_columns_images_are_square(convolution: Convolution, side: int) -> None:
    square = replace(convolution, rows=side, columns=side)
    if square.possible:
        check(square, SQUARE)


def test_with_one_dimension_for_rows_and_columns_others_are_refused() -> None:
    check_refused(Convolution(rows=6, columns=7), "images and outputs must be square", SQUARE)


def test_a_generation_that_cannot_turn_kernels_says_so() -> None:
    check_refused(Convolution(rows=6, columns=6, flag="wrot180"), "does not turn kernels", SQUARE)


def check_refused(convolution: Convolution, message: str, generation: int = 1) -> None:
    _, result = convolution.run(generation)
    assert result.error is not None
    assert message in result.error.message

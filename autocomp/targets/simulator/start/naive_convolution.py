"""The starting kernel of a convolution: pixels of a row, filters and channels in tiles, one pair of taps at a time.

A tile multiplies the pixels of one output row that meet one tap with the tap's weights; nothing is rearranged in DRAM.
Where the image is padded, a tile leaves out the pixels that lie outside; those sums start from the biases or from 0.
"""

from __future__ import annotations

import numpy as np

from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.parser import parse
from autocomp.targets.simulator.kernel.printer import print_kernel
from autocomp.targets.simulator.start.fold import fold_kernel
from autocomp.targets.simulator.start.idioms import (
    address_step,
    boolean,
    fill,
    signature,
    tile_addresses,
    tile_extent,
    tile_of,
)
from autocomp.workload.convolution import Axis, Convolution, Pooling, convolution
from autocomp.workload.model import Workload

RESULT = "result"  # the unpooled results


def naive_convolution(workload: Workload, accelerator: Accelerator) -> str:
    """The plain loops; pooling is left to the host."""
    shape = convolution(workload.dims, workload.options)
    tile = tile_of(workload, accelerator)
    addresses = tile_addresses(workload, accelerator, tile[0], tile[2])
    rows, rows_declared = tile_extent("rows", "q", shape.cols.results, tile[0])
    cols, cols_declared = tile_extent("cols", "k", shape.filters // shape.groups, tile[1])
    depth, depth_declared = tile_extent("depth", "c", shape.depth, tile[2])
    padded = shape.cols.padding > 0
    holes = {name: name for name, _ in addresses} | _facts(workload, shape) | _pointers(workload, shape)
    holes |= {"rows": rows, "cols": cols}
    taken = "pixels" if padded else rows
    inner = {"rows": taken, "depth": depth, "a_rows": taken, "a_cols": depth, "b_rows": depth, "b_cols": cols}
    if padded:
        inner["c_tile"] = f"c_tile + {_times('first_pixel', address_step(workload, accelerator))}"

    grouped = shape.groups > 1
    lines = [
        signature(workload.tensors) + " {",
        _buffer(shape) if shape.rows.pooling else "",
        *(f"const uint32_t {name} = {value};" for name, value in addresses),
        fill(accelerator, "gemm_configure", holes),
        _loop("n", shape.images),
        _loop("p", shape.rows.results),
        _loop("q", shape.cols.results, tile[0]) + rows_declared,
        _loop("g", shape.groups) if grouped else "",
        _loop("k", shape.filters // shape.groups, tile[1]) + cols_declared,
        fill(accelerator, "gemm_begin", holes),
        _loop("r", shape.rows.taps),
        _row_inside(shape.rows) if padded else "",
        _loop("s", shape.cols.taps),
        _pixels_inside(shape.cols, rows) if padded else "",
        _loop("c", shape.depth, tile[2]) + depth_declared,
        fill(accelerator, "gemm_tile", holes | inner),
        "} } }" + (" } }" if padded else ""),
        fill(accelerator, "gemm_store", holes),
        "} } } }" + (" }" if grouped else ""),
        fill(accelerator, "gemm_finish", holes),
        _pool(shape, shape.rows.pooling) if shape.rows.pooling else "",
        "}",
    ]
    return print_kernel(fold_kernel(parse("\n".join(lines), f"<naive kernel of {workload.name}>")))


def _loop(variable: str, extent: int, step: int = 1) -> str:
    by = f"{variable}++" if step == 1 else f"{variable} += {step}"
    return f"for (int {variable} = 0; {variable} < {extent}; {by}) {{ "


def _facts(workload: Workload, shape: Convolution) -> dict[str, str]:
    """Strides go from pixel to pixel. Sums of a padded image never start with a whole tile: they need a first value."""
    options = workload.options
    return {
        "stride_a": str(shape.cols.stride * shape.channels),
        "stride_b": str(shape.filters),
        "stride_c": str(shape.filters),
        "stride_bias": "0",
        "has_bias": boolean(options["bias"] != "none" or shape.cols.padding > 0),
        "relu": boolean(options["activation"] == "relu"),
        "scale": f"{float(np.float32(options['scale']))!r}f",
        "transpose_a": "false",
        "transpose_b": "false",
    }


def _pointers(workload: Workload, shape: Convolution) -> dict[str, str]:
    padded, grouped = shape.cols.padding > 0, shape.groups > 1
    channel = f"{_times('g', shape.depth)} + c" if grouped else "c"
    filter_ = f"{_times('g', shape.filters // shape.groups)} + k" if grouped else "k"
    row = "y" if padded else _pixel("p", "r", shape.rows)
    col = f"x + {_times('first_pixel', shape.cols.stride)}" if padded else _pixel("q", "s", shape.cols)
    return {
        "A": f"&inp[n][{row}][{col}][{channel}]",
        "B": f"&weights[r][s][c][{filter_}]",
        "C": f"&{RESULT if shape.rows.pooling else 'output'}[n][p][q][{filter_}]",
        "bias": "0" if workload.options["bias"] == "none" else f"&bias[0][{filter_}]",
        "first": "r == 0 && s == 0 && c == 0",
    }


def _pixel(result: str, tap: str, axis: Axis) -> str:
    """Where a tap of a result meets the image; negative or too large in the padding."""
    margin = f" - {axis.padding}" if axis.padding else ""
    return f"{_times(result, axis.stride)} + {_times(tap, axis.dilation)}{margin}"


def _times(variable: str, factor: int) -> str:
    return variable if factor == 1 else f"{variable} * {factor}"


def _row_inside(axis: Axis) -> str:
    return f"const int y = {_pixel('p', 'r', axis)}; if (y >= 0 && y < {axis.extent}) {{ "


def _pixels_inside(axis: Axis, rows: str) -> str:
    """Which pixels of a tile meet a tap inside the image: `pixels` of them from `first_pixel`."""
    stride, extent = axis.stride, axis.extent
    before = "-x" if stride == 1 else f"(-x + {stride - 1}) / {stride}"
    inside = f"{extent} - x" if stride == 1 else f"({extent} - x + {stride - 1}) / {stride}"
    return (
        f"const int x = {_pixel('q', 's', axis)};"
        f"const int first_pixel = x < 0 ? {before} : 0;"
        f"const int end_pixel = {inside} < {rows} ? {inside} : {rows};"
        "const int pixels = end_pixel - first_pixel;"
        "if (pixels > 0) { "
    )


def _buffer(shape: Convolution) -> str:
    extents = (shape.images, shape.rows.results, shape.cols.results, shape.filters)
    return f"static int8_t {RESULT}{''.join(f'[{extent}]' for extent in extents)};"


def _pool(shape: Convolution, pooling: Pooling) -> str:
    """The host takes the maxima; the kernel's last fence stands before."""
    rows, cols = shape.rows, shape.cols
    value = f"{RESULT}[n][y][x][k]"
    if pooling.padding:
        value = f"y >= 0 && y < {rows.results} && x >= 0 && x < {cols.results} ? {value} : 0"
    margin = f" - {pooling.padding}" if pooling.padding else ""
    return "\n".join(
        [
            _loop("n", shape.images) + _loop("p", rows.pooled) + _loop("q", cols.pooled) + _loop("k", shape.filters),
            "int most = -128;",
            _loop("i", pooling.size) + _loop("j", pooling.size),
            f"const int y = {_times('p', pooling.stride)} + i{margin};",
            f"const int x = {_times('q', pooling.stride)} + j{margin};",
            f"const int value = {value};",
            "if (value > most) most = value;",
            "} }",
            "output[n][p][q][k] = most;",
            "} } } }",
        ]
    )

"""The kernel that a search starts from: the plain loops over tiles that a newcomer to the machine would write.

Tile sizes, where tiles lie and how large they are at the edges follow from the machine's description. The calls that
configure, fill, multiply and store one tile are the machine's idioms; an idiom takes those holes that it names.
"""

from __future__ import annotations

from collections.abc import Mapping

from autocomp.errors import ConfigError
from autocomp.remember import remember
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.start.fold import folded
from autocomp.targets.simulator.start.idioms import (
    boolean,
    fill,
    scale_holes,
    signature,
    tile_addresses,
    tile_extent,
    tile_of,
)
from autocomp.targets.simulator.start.naive_convolution import naive_convolution
from autocomp.targets.simulator.start.operand_types import check_operands
from autocomp.targets.simulator.start.results import address_of_results
from autocomp.targets.simulator.start.stored import as_stored, gemm_operands, product_sizes
from autocomp.workload.datatypes import data_type
from autocomp.workload.model import Workload


def starting_kernel(workload: Workload, accelerator: Accelerator) -> str:
    """The kernel text a search starts from: the user's own, else the naive one of the operation.

    Raises ConfigError when the machine's description lacks an idiom that the operation needs.
    """
    if workload.starting_kernel is not None:
        return workload.starting_kernel
    makers = {"gemm": naive_gemm, "conv2d": naive_convolution}
    if workload.operation not in makers:
        raise ConfigError(
            f"{workload.path}: no starting kernel of a {workload.operation} can be generated for {accelerator.name!r}",
            hint=f"those of {' and '.join(makers)} can; for others name a file with one: `kernel: FILE`",
        )
    maker = makers[workload.operation]
    return remember(accelerator, "starting kernels", workload.problem, lambda: maker(workload, accelerator))


def naive_gemm(workload: Workload, accelerator: Accelerator) -> str:
    """C = A·B tile by tile, i outside j outside k, one tile of each operand in local memory at a time."""
    tile = tile_of(workload, accelerator)
    holes = gemm_holes(workload) | _pointers(workload) | gemm_operands(workload, accelerator, tile)
    return tiled_gemm(workload, accelerator, signature(workload.tensors), workload.dims, holes)


def tiled_gemm(
    workload: Workload,
    accelerator: Accelerator,
    head: str,
    dims: Mapping[str, int | str],
    holes: Mapping[str, str],
) -> str:
    """The loops over tiles of a GEMM; `dims` are the extents of the loops, as numbers or names of C."""
    tile = tile_of(workload, accelerator)
    check_operands(workload, accelerator)
    a, b = as_stored(*tile, holes)
    addresses = tile_addresses(workload, accelerator, a[0], b[0])
    extents, sizes = _extents(tile, dims, holes)
    filled = {**{name: name for name, _ in addresses}, **extents, **holes}

    stored = address_of_results(workload, accelerator, "c_tile")

    def idiom(name: str, **others: str) -> str:
        return fill(accelerator, name, {**filled, **others})

    def loop(variable: str, step: int) -> str:
        extent = dims[variable.upper()]
        return f"for (int {variable} = 0; {variable} < {extent}; {variable} += {step}) {{ {sizes[variable]}"

    lines = [
        head + " {",
        *(f"const uint32_t {name} = {value};" for name, value in addresses),
        idiom("gemm_configure"),
        loop("i", tile[0]),
        loop("j", tile[1]),
        idiom("gemm_begin"),
        loop("k", tile[2]),
        idiom("gemm_tile"),
        "}",
        idiom("gemm_store", c_tile=stored),
        "} }",
        idiom("gemm_finish"),
        "}",
    ]
    return folded("\n".join(lines), f"<naive kernel of {workload.name}>")


def gemm_holes(workload: Workload) -> dict[str, str]:
    """Values for the holes of the idioms that are the same for all tiles."""
    shapes = {tensor.name: tensor.shape for tensor in workload.tensors}
    size = data_type(workload.tensors[0].dtype).bytes(1)
    options = workload.options
    row_bias = options["bias"] == "row"
    return {
        "stride_a": str(size * shapes["A"][1]),
        "stride_b": str(size * shapes["B"][1]),
        "stride_c": str(data_type(workload.outputs[0].dtype).bytes(1) * shapes["C"][1]),
        "stride_bias": "0" if row_bias else str(4 * workload.dims["J"]),
        "has_bias": boolean(options["bias"] != "none"),
        "relu": boolean(options["activation"] == "relu"),
        **scale_holes(options),
        "transpose_a": boolean(options["transpose_a"]),
        "transpose_b": boolean(options["transpose_b"]),
    }


def _pointers(workload: Workload) -> dict[str, str]:
    options = workload.options
    bias = {"none": "0", "row": "&bias[0][j]", "full": "&bias[i][j]"}[options["bias"]]
    return {
        "A": "&A[k][i]" if options["transpose_a"] else "&A[i][k]",
        "B": "&B[j][k]" if options["transpose_b"] else "&B[k][j]",
        "C": "&C[i][j]",
        "bias": bias,
        "first": "k == 0",
    }


def _extents(
    tile: tuple[int, int, int], dims: Mapping[str, int | str], options: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Holes for a tile's sizes, and the declarations that compute those that are smaller at the edge, by loop."""
    sizes: dict[str, str] = {}
    declarations: dict[str, str] = {}
    for variable, name, size in zip("ijk", ("rows", "cols", "depth"), tile, strict=True):
        sizes[name], declarations[variable] = tile_extent(name, variable, dims[variable.upper()], size)
    holes = product_sizes(sizes["rows"], sizes["cols"], sizes["depth"], options)
    return sizes | holes, declarations

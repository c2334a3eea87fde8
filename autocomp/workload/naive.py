"""The kernel that a search starts from: the plain loops over tiles that a newcomer to the machine would write.

Tile sizes, where tiles lie and how large they are at the edges follow from the machine's description. The calls that
configure, fill, multiply and store one tile are the machine's idioms; an idiom takes those holes that it names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from autocomp.data import closest
from autocomp.errors import ConfigError
from autocomp.isa.model import Accelerator, Memory
from autocomp.isa.roles import contraction_tile
from autocomp.kernel.parser import parse
from autocomp.kernel.printer import print_kernel
from autocomp.workload.fold import fold_kernel
from autocomp.workload.model import TensorSpec, Workload

HOLES: Mapping[str, str] = {
    "A": "pointer to the tile of the left operand",
    "B": "pointer to the tile of the right operand",
    "C": "pointer to the tile of the result",
    "bias": "pointer to the tile's biases, or 0",
    "a_tile": "local address of the left tile",
    "b_tile": "local address of the right tile",
    "c_tile": "local address of the tile of sums",
    "rows": "rows of the result's tile",
    "cols": "columns of the result's tile",
    "depth": "length of the sum in this tile",
    "a_rows": "rows of the left tile as stored in DRAM",
    "a_cols": "columns of the left tile as stored",
    "b_rows": "rows of the right tile as stored",
    "b_cols": "columns of the right tile as stored",
    "first": "whether this is the first tile of the sum",
    "stride_a": "bytes from row to row of A",
    "stride_b": "bytes from row to row of B",
    "stride_c": "bytes from row to row of C",
    "stride_bias": "bytes from row to row of the biases, 0 for a single row",
    "has_bias": "whether there are biases",
    "relu": "whether the activation is RELU",
    "scale": "factor on the results, binary32",
    "transpose_a": "whether A is stored as [K][I]",
    "transpose_b": "whether B is stored as [J][K]",
}
REQUIRED = ("gemm_configure", "gemm_tile", "gemm_store")


def starting_kernel(workload: Workload, accelerator: Accelerator) -> str:
    """The kernel text a search starts from: the user's own, else the naive one of the operation.

    Raises ConfigError when the machine's description lacks an idiom that the operation needs.
    """
    if workload.starting_kernel is not None:
        return workload.starting_kernel
    return naive_gemm(workload, accelerator)


def naive_gemm(workload: Workload, accelerator: Accelerator) -> str:
    """C = A·B tile by tile, i outside j outside k, one tile of each operand in local memory at a time."""
    missing = [name for name in REQUIRED if accelerator.idiom(name) is None]
    if missing:
        raise ConfigError(
            f"accelerator {accelerator.name!r} has no idiom {', '.join(map(repr, missing))}, so no starting kernel for "
            f"{workload.name!r} can be made",
            hint="add it to the .isa file, or write a workload with `operation: custom` and a starting kernel",
        )
    tile = contraction_tile(accelerator)
    if tile is None:
        raise ConfigError(f"accelerator {accelerator.name!r} has no instruction that multiplies and sums")
    addresses = _addresses(workload, accelerator, tile)
    extents, sizes = _extents(workload, tile)
    holes = {name: name for name, _ in addresses} | _facts(workload) | _pointers(workload) | extents

    def idiom(name: str) -> str:
        return _fill(accelerator, name, holes)

    def loop(variable: str, step: int) -> str:
        extent = workload.dims[variable.upper()]
        head = f"for (int {variable} = 0; {variable} < {extent}; {variable} += {step})"
        return f"{head} {{ {sizes[variable]}"

    lines = [
        _signature(workload.tensors) + " {",
        *(f"const uint32_t {name} = {value};" for name, value in addresses),
        idiom("gemm_configure"),
        loop("i", tile[0]),
        loop("j", tile[1]),
        idiom("gemm_begin"),
        loop("k", tile[2]),
        idiom("gemm_tile"),
        "}",
        idiom("gemm_store"),
        "} }",
        idiom("gemm_finish"),
        "}",
    ]
    return print_kernel(fold_kernel(parse("\n".join(lines), f"<naive kernel of {workload.name}>")))


def _signature(tensors: tuple[TensorSpec, ...]) -> str:
    declared = (f"{_c_type(t.dtype)} {t.name}{''.join(f'[{extent}]' for extent in t.shape)}" for t in tensors)
    return f"void solution({', '.join(declared)})"


def _c_type(dtype: str) -> str:
    return {"float32": "float", "float64": "double"}.get(dtype, f"{dtype}_t")


def _addresses(workload: Workload, accelerator: Accelerator, tile: tuple[int, int, int]) -> list[tuple[str, str]]:
    """Where the tiles lie: operands one behind the other in the memory of their element type, sums in the widest."""
    operands, sums = _memories(workload, accelerator)
    a_rows = tile[2] if workload.options["transpose_a"] else tile[0]
    b_rows = tile[1] if workload.options["transpose_b"] else tile[2]
    c_row = a_rows + b_rows if operands is sums else 0
    places = (("a_tile", operands, 0), ("b_tile", operands, a_rows), ("c_tile", sums, c_row))
    return [(name, _address(accelerator, memory, row)) for name, memory, row in places]


def _memories(workload: Workload, accelerator: Accelerator) -> tuple[Memory, Memory]:
    operand = np.dtype(workload.tensors[0].dtype)
    by_width = sorted(accelerator.local_memories, key=lambda memory: int(memory.element[1:]))
    same_kind = [memory for memory in by_width if (memory.element[0] == "f") is (operand.kind == "f")]
    fitting = [memory for memory in same_kind if int(memory.element[1:]) >= operand.itemsize * 8]
    if not fitting:
        held = ", ".join(f"{memory.name} holds {memory.element}" for memory in by_width)
        raise ConfigError(
            f"no local memory of {accelerator.full_name!r} holds elements of {operand.name}: {held}",
            hint="choose another `dtype`, or a configuration of the accelerator that has such elements",
        )
    return fitting[0], by_width[-1]


def _address(accelerator: Accelerator, memory: Memory, row: int) -> str:
    for space in accelerator.spaces:
        for name, _, match in space.memories:
            if name == memory.name:
                value = match | row << space.field(space.row_field)[1]
                return hex(value) if value >= 1 << 16 else str(value)
    return str(row)


def _facts(workload: Workload) -> dict[str, str]:
    shapes = {tensor.name: tensor.shape for tensor in workload.tensors}
    size = np.dtype(workload.tensors[0].dtype).itemsize
    options = workload.options
    row_bias = options["bias"] == "row"
    return {
        "stride_a": str(size * shapes["A"][1]),
        "stride_b": str(size * shapes["B"][1]),
        "stride_c": str(size * shapes["C"][1]),
        "stride_bias": "0" if row_bias else str(4 * workload.dims["J"]),
        "has_bias": _boolean(options["bias"] != "none"),
        "relu": _boolean(options["activation"] == "relu"),
        "scale": f"{float(np.float32(options['scale']))!r}f",
        "transpose_a": _boolean(options["transpose_a"]),
        "transpose_b": _boolean(options["transpose_b"]),
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


def _extents(workload: Workload, tile: tuple[int, int, int]) -> tuple[dict[str, str], dict[str, str]]:
    """Holes for a tile's sizes, and the declarations that compute those that are smaller at the edge, by loop."""
    holes: dict[str, str] = {}
    declarations: dict[str, str] = {}
    for variable, name, size in zip("ijk", ("rows", "cols", "depth"), tile, strict=True):
        extent = workload.dims[variable.upper()]
        whole = extent % size == 0
        holes[name] = str(size) if whole else name
        left = f"{extent} - {variable}"
        declarations[variable] = "" if whole else f"const int {name} = {left} < {size} ? {left} : {size};"
    rows, cols, depth = holes["rows"], holes["cols"], holes["depth"]
    holes["a_rows"], holes["a_cols"] = (depth, rows) if workload.options["transpose_a"] else (rows, depth)
    holes["b_rows"], holes["b_cols"] = (cols, depth) if workload.options["transpose_b"] else (depth, cols)
    return holes, declarations


def _fill(accelerator: Accelerator, name: str, holes: Mapping[str, str]) -> str:
    """An idiom's text with its holes filled; nothing for an optional idiom that the machine does not have."""
    idiom = accelerator.idiom(name)
    if idiom is None:
        return ""
    for parameter in idiom.parameters:
        if parameter not in holes:
            near = closest(parameter, list(HOLES))
            raise ConfigError(
                f"{accelerator.path or accelerator.name}: idiom {name!r} has a hole {parameter!r} that nothing fills",
                hint=(f"did you mean {near!r}? " if near else "") + f"known: {', '.join(HOLES)}",
            )

    def value(match: re.Match[str]) -> str:
        word = match.group(1)
        if word not in idiom.parameters:
            raise ConfigError(f"{accelerator.path or accelerator.name}: idiom {name!r} uses ${word}, not its parameter")
        return f"({holes[word]})"

    return re.sub(r"\$([A-Za-z_]\w*)", value, idiom.text)


def _boolean(value: bool) -> str:
    return "true" if value else "false"

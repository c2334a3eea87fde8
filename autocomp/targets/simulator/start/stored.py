"""Tiles of operands that lie in memory as a layout says: where they begin, and how far apart their rows are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.start.idioms import AbsentError, boolean, known_options, tile_of
from autocomp.workload.convolution import each
from autocomp.workload.datatypes import data_type
from autocomp.workload.layout import Layout, operand_layouts
from autocomp.workload.model import Workload

At = Callable[[str, Sequence[str]], str]  # the address of a tensor's element, from its name and subscripts
Size = TypeVar("Size")  # a number, or an expression of C


def as_stored(
    rows: Size, cols: Size, depth: Size, options: Mapping[str, str]
) -> tuple[tuple[Size, Size], tuple[Size, Size]]:
    """Rows and columns of the left and of the right operand of a product, which may be stored transposed."""
    a, b = (rows, depth), (depth, cols)
    if options["transpose_a"] == boolean(True):
        a = (depth, rows)
    if options["transpose_b"] == boolean(True):
        b = (cols, depth)
    return a, b


def product_sizes(rows: str, cols: str, depth: str, options: Mapping[str, str]) -> dict[str, str]:
    """Holes for the sizes of one product and of its operands as they are stored; the columns have one of their own."""
    a, b = as_stored(rows, cols, depth, options)
    sizes = ("rows", "depth", "a_rows", "a_cols", "b_rows", "b_cols")
    return dict(zip(sizes, (rows, depth, *a, *b), strict=True))


def layouts_of(workload: Workload) -> dict[str, Layout]:
    """The layouts of a workload's operands, by name."""
    options = workload.options
    return operand_layouts(options.get("layout", {}), workload.dims, options.get("groups", 1))


def elements(workload: Workload, accelerator: Accelerator) -> At:
    """The addresses of a convolution's elements, wherever its layouts put them; channels and filters are those that a
    tile begins with."""
    _, cols, depth = tile_of(workload, accelerator)
    groups = int(workload.options["groups"])
    layouts = layouts_of(workload)
    multiples = {"C": math.gcd(depth, workload.dims["C"] // groups), "K": math.gcd(cols, workload.dims["K"] // groups)}
    multiples = multiples if groups > 1 else {"C": depth, "K": cols}

    def at(tensor: str, subscripts: Sequence[str]) -> str:
        layout = layouts.get(tensor)
        if layout is None:
            return f"&{tensor}{''.join(f'[{subscript}]' for subscript in subscripts)}"
        names = (name for name, _ in layout.dimensions)
        return f"&{tensor}{layout.subscripts(dict(zip(names, subscripts, strict=True)), multiples)}"

    return at


def gemm_operands(workload: Workload, accelerator: Accelerator, tile: tuple[int, int, int]) -> dict[str, str]:
    """Holes for the operands of a GEMM that have layouts: pointers to tiles, and their strides. A stride is the bytes
    from one entry of the first axis to the next that holds another row; a matrix stored with its columns as rows is a
    transposed one."""
    size = data_type(workload.tensors[0].dtype).bytes(1)
    multiples = dict(zip("IJK", tile, strict=True))
    holes: dict[str, str] = {}
    for name, layout in layouts_of(workload).items():
        subscripts = layout.subscripts({"I": "i", "J": "j", "K": "k"}, multiples)
        holes |= {name: f"&{name}{subscripts}", f"stride_{name.lower()}": str(layout.row_bytes(size))}
        if layout.swapped("IK" if name == "A" else "KJ"):
            holes |= _transposed(accelerator, f"transpose_{name.lower()}")
    return holes


def filter_operand(workload: Workload, accelerator: Accelerator, layout: Layout) -> dict[str, str]:
    """Holes for filters with a layout: their stride, as in a GEMM whose right operand has its axes over channels and
    filters."""
    stride = layout.row_bytes(data_type(workload.tensors[1].dtype).bytes(1), "CK")
    swapped = _transposed(accelerator, "transpose_b") if layout.swapped("CK") else {}
    return {"stride_b": str(stride), **swapped}


def image_operand(workload: Workload, accelerator: Accelerator, layout: Layout, depth: int) -> dict[str, str]:
    """Holes for images with a layout, of which a tile takes `depth` channels. The stride is the bytes from pixel to
    pixel. Where the pixels of a row that windows meet lie side by side, it is those from channel to channel, and the
    left operand is transposed.

    Raises AbsentError for other layouts.
    """
    size = data_type(workload.tensors[0].dtype).bytes(1)
    _, stride = each(workload.options["stride"], 2)
    across, along = layout.step("W", stride), layout.step("C", 1, depth)
    if along is not None and along <= 1 and across is not None:
        return {"stride_a": str(size * across)}
    if across is not None and across <= 1 and along is not None:
        return {"stride_a": str(size * along), **_transposed(accelerator, "transpose_a")}
    pixels = "N C H W" if stride == 1 else f"N C H W%{stride} W/{stride}"
    raise AbsentError(
        f"no starting kernel for {workload.name!r} can be made: with `layout: {{inp: {layout}}}` neither {depth} "
        f"channels nor the pixels of a row, {stride} apart, lie side by side",
        hint=f"store channels last, as `N H W C`, or the pixels of a row that windows meet, as `{pixels}`",
    )


def _transposed(accelerator: Accelerator, option: str) -> dict[str, str]:
    """The hole that says so; idioms without it may want operands in this way alone."""
    return {option: boolean(True)} if option in known_options(accelerator) else {}

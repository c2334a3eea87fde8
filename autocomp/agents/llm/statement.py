"""A workload in words: what is to be computed, as a formula over its tensors, and how near results must come."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from autocomp.workload.convolution import convolution
from autocomp.workload.layout import OPERANDS
from autocomp.workload.model import Workload

_INTEGERS = "the sum is exact in 32 bits and wraps there"
_SATURATED = "saturation is to 8 bits"
_ROUNDED = "rounding is to nearest with ties to even"
_SHIFTED: Mapping[str, str] = {
    "half_even": "the scale is an exact shift that rounds to nearest with ties to even",
    "half_up": "the scale is an exact shift that rounds to nearest with ties up",
    "half_away": "the scale is an exact shift that rounds to nearest with ties away from 0",
}
_NOT_STATED = ("dtype", "dtypes", "sizes")  # options of operations on tensors that are told in words


def statement(workload: Workload) -> str:
    """The computation, in sentences; the reference's text where a user defines it."""
    if workload.operation == "gemm":
        return "\n".join(_gemm(workload))
    if workload.operation == "conv2d":
        return "\n".join(_convolution(workload))
    text = workload.reference_text
    if text is not None:
        text = _needed(text, str(workload.reference_source).rpartition(":")[2])
        return f"The operation {workload.name}, defined by this Python reference:\n\n```python\n{text.strip()}\n```"
    return _tensor_operation(workload)


def accuracy(workload: Workload) -> str:
    """The sentence on how near a result must come to the reference."""
    if workload.exact:
        return "The result has to equal the reference exactly."
    parts = []
    if (allowed := workload.tolerance) is not None:
        if allowed.absolute:
            parts.append(f"{allowed.absolute:g}")
        if allowed.relative:
            parts.append(f"{allowed.relative:g} * |expected|")
        if allowed.roundings:
            parts.append(f"{allowed.roundings} roundings of the sum of the magnitudes of its terms")
    stated = " + ".join(parts) or "what rounding can cost, in any order of its sums"
    return f"An element may differ from the reference by {stated}."


def _gemm(workload: Workload) -> list[str]:
    options, dims = workload.options, workload.dims
    sizes = f"with I = {dims['I']}, J = {dims['J']}, K = {dims['K']}"
    formula, arithmetic = _result(_active("A · B", options), workload)
    said = [f"C = {formula}, {sizes}{arithmetic}."]
    if options["transpose_a"]:
        said.append("A is stored transposed, as A[K][I].")
    if options["transpose_b"]:
        said.append("B is stored transposed, as B[J][K].")
    said += _stored(options)
    if options["bias"] == "row":
        said.append("The bias is one row, the same for all rows of C.")
    return said


def _result(active: str, workload: Workload) -> tuple[str, str]:
    """A result's formula, and what there is to say of its arithmetic."""
    options, dtype = workload.options, workload.tensors[0].dtype
    if dtype != "int8":
        return f"{_scaled(active, options)} in {dtype}", ""
    if options.get("result") == "int32":
        return f"{active} in int32", f"; {_INTEGERS}"
    return _requantised(active, options), f"; {_arithmetic(options)}"


def _stored(options: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on operands that have a layout."""
    for name, layout in options.get("layout", {}).items():
        place = "".join(f"[{axis.lower()}]" for axis in layout.split())
        yield f"Element ({', '.join(OPERANDS[name].lower())}) of {name} is stored as `{name}{place}`."


def _convolution(workload: Workload) -> list[str]:
    dims, options = workload.dims, workload.options
    shape, groups = convolution(dims, options), options["groups"]
    depth, filters = dims["C"] // groups, dims["K"] // groups
    channel = "c" if groups == 1 else _group(filters, depth)
    row, column = (
        f"{_times(window, axis.stride)} + {_times(tap, axis.dilation)}" + (f" - {axis.before}" if axis.before else "")
        for axis, window, tap in ((shape.rows, "p", "r"), (shape.cols, "q", "s"))
    )
    zeros = "; pixels outside the image are 0" if options["padding"] else ""
    active = _active("sum", options, "bias[0][k]")
    pool = options["pool"]
    formula, arithmetic = _result(active, workload)
    said = [
        f"sum = Σ inp[n][{row}][{column}][{channel}] * weights[r][s][c][k] over r < {dims['R']}, s < {dims['S']}, "
        f"c < {depth}{zeros}.",
        f"{'result' if pool else 'output'}[n][p][q][k] = {formula}{arithmetic}.",
        *_stored(options),
    ]
    if pool:
        y, x = (
            _times(name, pool["stride"]) + (f" - {pool['padding']}" if pool["padding"] else "") for name in ("y", "x")
        )
        outside = "; those outside count as 0" if pool["padding"] else ""
        said.append(
            f"output[n][y][x][k] is the largest of result[n][p][q][k] for the {pool['size']} x {pool['size']} places "
            f"from p = {y}, q = {x}{outside}."
        )
    return said


def _group(filters: int, depth: int) -> str:
    """The channel that filter k reads at depth c, where each group of filters has channels of its own."""
    group = "k" if filters == 1 else f"k / {filters}"
    return group if depth == 1 else f"{group} * {depth} + c"


def _needed(source: str, function: str) -> str:
    """A module's text without the functions and classes that this function has no use for."""
    nodes = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    uses = {node.name: {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} for node in nodes}
    needed, open_names = set[str](), {function}
    while open_names:
        name = open_names.pop()
        needed.add(name)
        open_names |= (uses.get(name, set()) & uses.keys()) - needed
    lines = source.splitlines()
    for node in reversed(nodes):
        if node.name not in needed:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            del lines[first - 1 : node.end_lineno]
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines))


def _tensor_operation(workload: Workload) -> str:
    options = workload.options
    stated = {**workload.dims, **{name: value for name, value in options.items() if name not in _NOT_STATED}}
    others = [dtype for dtype in options["dtypes"] if dtype != options["dtype"]]
    also = f", right in {' and '.join(others)} too" if others else ""
    sizes = ", ".join(f"{name} = {value}" for name, value in stated.items())
    return f"{workload.operation} with {sizes}; timed in {options['dtype']}{also}."


def _active(total: str, options: Mapping[str, Any], bias: str = "bias") -> str:
    if options["bias"] != "none":
        total = f"{total} + {bias}"
    return total if options["activation"] == "none" else f"{options['activation']}({total})"


def _scaled(active: str, options: Mapping[str, Any]) -> str:
    if options["scale"] == 1:
        return active
    return f"{options['scale']} * {active if active.endswith(')') or ' ' not in active else f'({active})'}"


def _requantised(active: str, options: Mapping[str, Any]) -> str:
    scaled = _scaled(active, options)
    return f"saturate({scaled if options['scale'] == 1 else f'round({scaled})'})"


def _arithmetic(options: Mapping[str, Any]) -> str:
    rounded = _SHIFTED[options["rounding"]] if "rounding" in options else _ROUNDED
    return "; ".join((_INTEGERS, *([] if options["scale"] == 1 else [rounded]), _SATURATED))


def _times(name: str, factor: int) -> str:
    return name if factor == 1 else f"{factor} * {name}"

"""The common parts of all starting kernels: the machine's idioms with their holes filled, tiles and addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from autocomp.data import closest
from autocomp.errors import ConfigError
from autocomp.remember import remember
from autocomp.targets.simulator.isa.derived.contractions import contraction_tile
from autocomp.targets.simulator.isa.derived.operands import (
    Operand,
    Operands,
    contraction_operands,
    memories_of_factors,
)
from autocomp.targets.simulator.isa.derived.roles import CallRole, call_parameters, call_role
from autocomp.targets.simulator.isa.model import Accelerator, Instruction, Memory
from autocomp.targets.simulator.isa.tree import element_bits, is_float
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.parser import parse
from autocomp.targets.simulator.kernel.syntax.walk import walk
from autocomp.workload.datatypes import data_type
from autocomp.workload.model import TensorSpec, Workload
from autocomp.workload.shifting import shift_of

GEMM_HOLES: Mapping[str, str] = {
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
    "shift": "bits by which results are shifted to the right, where the factor is a power of two",
    "transpose_a": "whether A is stored as [K][I]",
    "transpose_b": "whether B is stored as [J][K]",
    "size_i": "rows of the whole result",
    "size_j": "columns of the whole result",
    "size_k": "length of the whole sum; filters of a convolution",
}
HOLES: Mapping[str, str] = {
    **GEMM_HOLES,
    "inp": "pointer to the images of a convolution",
    "weights": "pointer to its filters",
    "output": "pointer to its results",
    "size_n": "images",
    "size_h": "rows of an image",
    "size_w": "columns of an image",
    "size_c": "channels of an image",
    "size_r": "rows of a filter",
    "size_s": "columns of a filter",
    "size_p": "rows of the results before pooling",
    "size_q": "columns of the results before pooling",
    "stride": "pixels from window to window",
    "padding": "pixels of 0 around an image",
    "dilation": "pixels from tap to tap",
    "pool_size": "side of a pooling window, 0 for none",
    "pool_stride": "results from pooling window to pooling window",
    "pool_padding": "results of 0 around those that are pooled",
    "pool_rows": "rows of pooled results that a pooling store makes",
    "pool_cols": "columns of pooled results that it makes",
    "pool_width": "pooled results in a row of the whole output",
    "image_rows": "rows of sums that it compares",
    "image_cols": "columns of sums that it compares",
    "above": "rows of 0 above the first of them",
    "before": "columns of 0 before the first of them",
}
TILES = ("a_tile", "b_tile", "c_tile")  # holes for where they lie
_DECLARED = re.compile(r"\b[A-Za-z_]\w*\s+([A-Za-z_]\w*)\s*=(?!=)")  # a variable and its first value
_USED = re.compile(r"\$([A-Za-z_]\w*)")  # a hole in an idiom's text
SHARE = 4  # tiles of rows that a local memory holds at least
REQUIRED = ("gemm_configure", "gemm_tile", "gemm_store")
TILED = (*REQUIRED, "gemm_begin", "gemm_finish")  # the idioms that starting kernels are made of
# Options of a workload, the value without effect, and the holes by one of which idioms learn of another.
OPTION_HOLES: Mapping[str, tuple[object, tuple[str, ...]]] = {
    "bias": ("none", ("has_bias",)),
    "activation": ("none", ("relu",)),
    "scale": (1.0, ("scale", "shift")),
    "transpose_a": (False, ("transpose_a",)),
    "transpose_b": (False, ("transpose_b",)),
}


class AbsentError(ConfigError):
    """The machine holds or stores no elements as the workload has them."""


def known_options(accelerator: Accelerator) -> frozenset[str]:
    """The options of a workload that the machine's idioms take into account."""
    named = _holes_named(accelerator)
    return frozenset(option for option, (_, holes) in OPTION_HOLES.items() if named.intersection(holes))


def shifts_alone(accelerator: Accelerator) -> bool:
    """True if the machine's idioms scale results by shifts, and not by a factor."""
    named = _holes_named(accelerator)
    return "shift" in named and "scale" not in named


def _holes_named(accelerator: Accelerator) -> frozenset[str]:
    idioms = [idiom for name in TILED if (idiom := accelerator.idiom(name)) is not None]
    return frozenset(hole for idiom in idioms for hole in idiom.parameters)


def tile_of(workload: Workload, accelerator: Accelerator) -> tuple[int, int, int]:
    """Rows, columns and depth of one contraction. Raises ConfigError when the machine cannot be started on."""
    missing = [name for name in REQUIRED if accelerator.idiom(name) is None]
    if missing:
        raise ConfigError(
            f"accelerator {accelerator.name!r} has no idiom {', '.join(map(repr, missing))}, so no starting kernel for "
            f"{workload.name!r} can be made",
            hint="add it to the .isa file, or name a kernel to start from with `kernel:` in the workload",
        )
    known = known_options(accelerator)
    for option, (neutral, holes) in OPTION_HOLES.items():
        if workload.options.get(option, neutral) != neutral and option not in known:
            raise ConfigError(
                f"no idiom of accelerator {accelerator.name!r} has a hole {' or '.join(map(repr, holes))}, so no "
                f"starting kernel for {workload.name!r} with `{option}: {workload.options[option]}` can be made",
                hint=_hint_for(option),
            )
    if shifts_alone(accelerator) and shift_of(workload.options["scale"]) is None:
        raise ConfigError(
            f"the idioms of accelerator {accelerator.name!r} scale results by a shift, the hole 'shift', so no "
            f"starting kernel for {workload.name!r} with `scale: {workload.options['scale']}` can be made",
            hint="write a scale that is 0.5, 0.25 … down to 2^-31, or name a kernel to start from with `kernel:`",
        )
    operands = _operands(workload, accelerator)
    tile = contraction_tile(accelerator) if operands is None else _within(operands)
    if tile is None:
        raise ConfigError(f"accelerator {accelerator.name!r} has no instruction that multiplies and sums")
    return _taken(accelerator, tile)


def _hint_for(option: str) -> str:
    """Two ways to state an option that idioms do not take; a machine may take an operand in one way alone."""
    stored = {"transpose_a": "A: K I", "transpose_b": "B: J K"}.get(option)
    other = f"; where the idiom takes nothing else, write `layout: {{{stored}}}` instead" if stored else ""
    return f"name the hole in an idiom, or name a kernel to start from with `kernel:` in the workload{other}"


def scale_holes(options: Mapping[str, Any]) -> dict[str, str]:
    """The factor on results, and the bits of the shift that does the same, or 0."""
    scale = float(np.float32(options["scale"]))
    return {"scale": f"{scale!r}f", "shift": str(shift_of(scale) or 0)}


def signature(tensors: tuple[TensorSpec, ...]) -> str:
    declared = (f"{c_type(t.dtype)} {t.name}{''.join(f'[{extent}]' for extent in t.shape)}" for t in tensors)
    return f"void solution({', '.join(declared)})"


def c_type(dtype: str) -> str:
    """C's name of a NumPy type."""
    return {"bool": "bool", "float32": "float", "float64": "double"}.get(dtype, f"{dtype}_t")


def tile_addresses(workload: Workload, accelerator: Accelerator, a_rows: int, b_rows: int) -> list[tuple[str, str]]:
    """Local addresses of the tiles, by name: in the memories where the contraction finds them, one after the other
    where they share one. Where that does not follow from its semantics: operands in the memory of their element type,
    or where the array takes them from, sums in the widest."""
    operands, sums = _memories(workload, accelerator)
    left, right = memories_of_factors(accelerator) or (operands, operands)
    c_row = sum(rows for memory, rows in ((left, a_rows), (right, b_rows)) if memory is sums)
    apart = (left, 0), (right, a_rows if left is right else 0), (sums, c_row)
    places = _derived_places(workload, accelerator) or apart
    return [(name, _address(accelerator, memory, row)) for name, (memory, row) in zip(TILES, places, strict=True)]


def _derived_places(workload: Workload, accelerator: Accelerator) -> list[tuple[Memory, int]] | None:
    """Memory and first row of the left, the right and the tile of sums; None where they do not follow. Tiles are as
    far apart as the largest ones where these fit: registers of tiles begin at multiples of their rows."""
    operands = _operands(workload, accelerator)
    if operands is None:
        return None
    largest = _in_a_row(operands, operands.tile)
    if largest is not None and all(end <= memory.rows for memory, _, end in largest):
        return [(memory, row) for memory, row, _ in largest]
    within = _in_a_row(operands, _within(operands))
    return None if within is None else [(memory, row) for memory, row, _ in within]


def _in_a_row(operands: Operands, tile: tuple[int, int, int]) -> list[tuple[Memory, int, int]] | None:
    """Memory, first row and end of each operand's tile, one after the other in each memory; None where their rows do
    not follow."""
    used: dict[str, int] = {}
    places = []
    for operand in operands.all:
        rows = operand.rows(operands.ranges, tile)
        if rows is None:
            return None
        row = used.get(operand.memory.name, 0)
        used[operand.memory.name] = row + rows
        places.append((operand.memory, row, row + rows))
    return places


def _operands(workload: Workload, accelerator: Accelerator) -> Operands | None:
    """Those of the first contraction that multiplies elements as the workload has them."""
    kind = data_type(workload.tensors[0].dtype)

    def fits(operand: Operand) -> bool:
        wide = element_bits(operand.element) >= kind.bits
        return wide and is_float(operand.element) is kind.is_float

    known = contraction_operands(accelerator)
    return next((operands for operands in known if fits(operands.left) and fits(operands.right)), None)


def _within(operands: Operands) -> tuple[int, int, int]:
    """The largest tile of which a memory holds four, and of the right operand two, so that a search can keep some while
    it uses others. Sizes that are the same for every command stay."""
    rows, columns, depth = operands.tile
    while (
        rows > 1
        and "rows" not in operands.fixed
        and any(
            (operand.rows(operands.ranges, (rows, columns, depth)) or 0) > operand.memory.rows // SHARE
            for operand in (operands.left, operands.sums)
            if set(operand.variables.values()) & {"rows"}
        )
    ):
        rows = (rows + 1) // 2
    right = operands.right
    divisible = "depth" in right.variables.values() and "depth" not in operands.fixed
    while depth > 1 and divisible and _fills(right, operands, (rows, columns, depth)):
        depth = (depth + 1) // 2
    return rows, columns, depth


def _taken(accelerator: Accelerator, tile: tuple[int, int, int]) -> tuple[int, int, int]:
    """A tile, cut to what the operands take that idioms pass its sizes on to."""
    sizes = dict(zip(("rows", "cols", "depth"), tile, strict=True))
    for call in (call for name in TILED for call in calls_in(accelerator, name)):
        parameters = call_parameters(accelerator, call.function, len(call.arguments))
        for argument, parameter in zip(call.arguments, parameters, strict=False):
            if isinstance(argument, ast.Name) and argument.name in sizes and parameter is not None and parameter.high:
                sizes[argument.name] = min(sizes[argument.name], parameter.high)
    return sizes["rows"], sizes["cols"], sizes["depth"]


def _fills(operand: Operand, operands: Operands, tile: tuple[int, int, int]) -> bool:
    """True if a memory has no room for a tile beside another one."""
    return (operand.rows(operands.ranges, tile) or 0) > operand.memory.rows // 2


def _memories(workload: Workload, accelerator: Accelerator) -> tuple[Memory, Memory]:
    operand = data_type(workload.tensors[0].dtype)
    by_width = sorted(accelerator.local_memories, key=lambda memory: element_bits(memory.element))
    same_kind = [memory for memory in by_width if is_float(memory.element) is operand.is_float]
    fitting = [memory for memory in same_kind if element_bits(memory.element) >= operand.bits]
    if not fitting:
        held = ", ".join(f"{memory.name} holds {memory.element}" for memory in by_width)
        raise AbsentError(
            f"no local memory of {accelerator.full_name!r} holds elements of {operand.name}: {held}",
            hint="choose another `dtype`, or a configuration of the accelerator that has such elements",
        )
    return fitting[0], by_width[-1]


def memory_of_sums(workload: Workload, accelerator: Accelerator) -> Memory:
    """The memory that `c_tile` is an address in."""
    operands = _operands(workload, accelerator)
    return operands.sums.memory if operands is not None else _memories(workload, accelerator)[1]


def type_of_sums(workload: Workload, accelerator: Accelerator) -> str:
    """The type of the elements in the tile of sums, such as `i32`."""
    operands = _operands(workload, accelerator)
    return str(operands.sums.element if operands is not None else _memories(workload, accelerator)[1].element)


def types_of_operands(workload: Workload, accelerator: Accelerator) -> Mapping[str, set[str]]:
    """The types as which the contraction reads its operands, by the memory that they are loaded into."""
    operands = _operands(workload, accelerator)
    if operands is None:
        memory = _memories(workload, accelerator)[0]
        return {memory.name: {str(memory.element)}}
    types: dict[str, set[str]] = {}
    for operand in (operands.left, operands.right):
        types.setdefault(operand.memory.name, set()).add(str(operand.element))
    return types


def rows_of_sums(workload: Workload, accelerator: Accelerator, a_rows: int, b_rows: int) -> int:
    """Rows of the memory of sums from `c_tile` on, where tiles of `a_rows` and `b_rows` rows lie before it."""
    operands, sums = _memories(workload, accelerator)
    return sums.rows - (a_rows + b_rows if operands is sums else 0)


def address_step(workload: Workload, accelerator: Accelerator) -> int:
    """From one row of sums to the next, in local addresses."""
    sums = memory_of_sums(workload, accelerator)
    return _value(accelerator, sums, 1) - _value(accelerator, sums, 0)


def _address(accelerator: Accelerator, memory: Memory, row: int) -> str:
    value = _value(accelerator, memory, row)
    return hex(value) if value >= 1 << 16 else str(value)


def _value(accelerator: Accelerator, memory: Memory, row: int) -> int:
    for space in accelerator.spaces:
        for name, _, match in space.memories:
            if name == memory.name:
                return match | row << space.field(space.row_field)[1]
    return row


def tile_extent(name: str, variable: str, extent: int | str, size: int) -> tuple[str, str]:
    """A tile's size along a loop over `extent`, a number or a name of C, in steps of `size`, and the declaration that
    computes it if it may be smaller at the edge."""
    if size == 1 or (isinstance(extent, int) and extent % size == 0):
        return str(size), ""
    left = f"{extent} - {variable}"
    return name, f"const int {name} = {left} < {size} ? {left} : {size};"


def fill(accelerator: Accelerator, name: str, holes: Mapping[str, str]) -> str:
    """An idiom's text with its holes filled; nothing for an optional idiom that the machine does not have. Its own
    variables have other names where what fills a hole has variables of the same."""
    idiom = accelerator.idiom(name)
    if idiom is None:
        return ""
    used = set(_USED.findall(idiom.text))
    for parameter in idiom.parameters:
        if parameter in holes or (parameter in HOLES and parameter not in used):
            continue
        near = closest(parameter, list(HOLES))
        raise ConfigError(
            f"{accelerator.path or accelerator.name}: idiom {name!r} has a hole {parameter!r} that nothing fills",
            hint=f"it is {HOLES[parameter]}, and not known there; known are {', '.join(h for h in HOLES if h in holes)}"
            if parameter in HOLES
            else (f"did you mean {near!r}? " if near else "") + f"known: {', '.join(HOLES)}",
        )

    taken = {word for hole in idiom.parameters for word in re.findall(r"[A-Za-z_]\w*", holes.get(hole, ""))}
    own = set(_DECLARED.findall(idiom.text)) & taken

    def value(match: re.Match[str]) -> str:
        word = match.group(1)
        if word not in idiom.parameters:
            raise ConfigError(f"{accelerator.path or accelerator.name}: idiom {name!r} uses ${word}, not its parameter")
        return f"({holes[word]})"

    text = idiom.text
    for name in sorted(own):
        text = re.sub(rf"(?<![$\w]){name}\b", f"{name}_of_tile", text)
    return _USED.sub(value, text)


def instructions_called(accelerator: Accelerator, name: str, kind: str) -> Iterator[Instruction]:
    """The instructions of a kind that an idiom calls, whatever its holes are filled with."""
    for _, role in calls_of(accelerator, name, kind):
        instruction = accelerator.instruction(role.instruction)
        if instruction is not None:
            yield instruction


def calls_of(accelerator: Accelerator, name: str, kind: str) -> Iterator[tuple[ast.Call, CallRole]]:
    """The calls of a kind in an idiom."""
    for call in calls_in(accelerator, name):
        role = call_role(accelerator, call.function, len(call.arguments))
        if role is not None and role.kind == kind:
            yield call, role


def calls_in(accelerator: Accelerator, name: str) -> tuple[ast.Call, ...]:
    """The calls in an idiom whose holes are filled with their own names."""

    def read() -> tuple[ast.Call, ...]:
        text = fill(accelerator, name, {hole: hole for hole in HOLES})
        parsed = parse(f"void called() {{ {text} }}", f"idiom {name}")
        return tuple(call for call in walk(parsed) if isinstance(call, ast.Call))

    return remember(accelerator, "calls of idioms", name, read)


def boolean(value: bool) -> str:
    return "true" if value else "false"

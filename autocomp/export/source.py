"""The C files of exported kernels: a file and a function a kernel, their header, and a dispatch over sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from autocomp.errors import KernelError
from autocomp.export.any_size import MOST, AnySize
from autocomp.export.blocks import Block, Blocks
from autocomp.export.dispatch import Dispatch
from autocomp.export.forms import c_number, narrow_types
from autocomp.export.lower import MEMORY, Lowered, lower
from autocomp.export.schedule import Schedule
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel import parse, print_kernel
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.start.any_size import NAME, STRIDE
from autocomp.targets.simulator.start.idioms import c_type
from autocomp.workload import TensorSpec

HEADER = "kernels.h"
DISPATCH = "dispatch.c"
DONE, LEFT = "done", "left"  # of the dimension that is cut
_STANDARD = "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n"
_BUILTINS = {
    "add_matrix": """static void add_matrix(const float *A, const float *B, float *out, size_t rows, size_t cols) {
    for (size_t i = 0; i < rows * cols; i++) {
        out[i] = A[i] + B[i];
    }
}
""",
    "negate_matrix": """static void negate_matrix(const float *in, float *out, size_t rows, size_t cols) {
    for (size_t i = 0; i < rows * cols; i++) {
        out[i] = -in[i];
    }
}
""",
}


def kernel_source(schedule: Schedule, accelerator: Accelerator, vendor_header: str) -> str:
    """The C file of one kernel: its helpers and the kernel itself for this file alone, then the function for callers,
    which returns when the result is in memory. Raises KernelError for what C cannot say."""
    tree = parse(schedule.kernel, schedule.source, {**accelerator.all_constants, **schedule.constants})
    if tree.globals:
        raise KernelError(f"{schedule.source}: arrays and variables outside of functions cannot be exported")
    lowered = lower(tree, accelerator, schedule.constants, schedule.arguments)
    share = schedule.bound_cycles / schedule.cycles
    string = "#include <string.h>\n" if lowered.has_arrays else ""
    parts = [
        f"// {_title(schedule)} on {accelerator.full_name}.\n"
        f"// {schedule.cycles} cycles on the simulator, {share:.1%} of what is possible at most.\n"
        "// Signed sums wrap, and products are rounded before they are added: compile with -fwrapv -ffp-contract=off.\n"
        f'{_STANDARD}{string}#include "{vendor_header}"\n#include "{HEADER}"\n',
        *(_constant(name, value) for name, value in lowered.constants.items()),
        *([f"#ifndef {MEMORY}\n#define {MEMORY}(array)\n#endif\n"] if lowered.has_arrays else []),
        *(_BUILTINS[name] for name in lowered.builtins),
        *_functions(lowered),
        _public(schedule, lowered),
    ]
    return "\n".join(parts)


def any_size_source(kernel: AnySize, accelerator: Accelerator, vendor_header: str) -> str:
    """The C file of a kernel for any size and stride."""
    lowered = lower(parse(kernel.kernel, kernel.function), accelerator, {})
    tensors = kernel.workload.tensors
    numbers = [*kernel.sizes, *(f"{STRIDE}{name}" for name in kernel.strided)]
    pointers = [f"({c_type(t.dtype)} *){t.name}" for t in tensors]
    call = ", ".join([*pointers, *(f"(int){name}" for name in numbers), *kernel.arguments])
    limits = " || ".join([*(f"{name} < 1 || {name} > {MOST}" for name in numbers), *kernel.refused])
    parts = [
        f"// {kernel.family} of any size on {accelerator.full_name}; correct, and not searched for.\n"
        f'{_STANDARD}#include "{vendor_header}"\n#include "{HEADER}"\n',
        *(_constant(name, value) for name, value in lowered.constants.items()),
        *_functions(lowered),
        f"{_any_size_head(kernel)} {{\n    if ({limits}) {{\n        return -1;\n    }}\n"
        f"    {NAME}({call});\n    return 0;\n}}\n",
    ]
    return "\n".join(parts)


def _any_size_head(kernel: AnySize) -> str:
    parameters = [f"size_t {name}" for name in kernel.sizes]
    for tensor in kernel.workload.tensors:
        parameters.append(_parameters([tensor], ()))
        parameters += [f"size_t {STRIDE}{tensor.name}"] * (tensor.name in kernel.strided)
    return f"int {kernel.function}({', '.join([*parameters, *(f'float {name}' for name in kernel.arguments)])})"


def kernels_header(schedules: Sequence[Schedule], operations: Sequence[Dispatch]) -> str:
    """The declarations of all functions."""
    narrow = narrow_types(c_type(tensor.dtype) for schedule in schedules for tensor in schedule.tensors)
    lines = [
        "// Kernels of one accelerator. A function returns when its result is in memory; tensors are row-major and do",
        "// not overlap. A dispatch function returns 0, or -1 where it has no kernel for the sizes and did nothing.",
        "// Strides are the elements from the begin of one row, along the last axis, to that of the next.",
        "#pragma once",
        _STANDARD,
        *([narrow] if narrow else []),
        *(f"void {schedule.function}({_parameters(schedule.tensors, schedule.arguments)});" for schedule in schedules),
        *(f"{_dispatch_head(operation)};" for operation in operations),
        *(f"{_any_size_head(o.fallback)};" for o in operations if isinstance(o.fallback, AnySize)),
    ]
    return "\n".join(lines) + "\n"


def dispatch_source(operations: Sequence[Dispatch]) -> str:
    """One function for each operation, which chooses the kernels by the sizes."""
    parts = [f'#include "{HEADER}"\n']
    for operation in operations:
        lines = [f"{_dispatch_head(operation)} {{"]
        for schedule in operation.schedules:
            call = f"{schedule.function}({', '.join([*tensor_names(schedule), *schedule.arguments])});"
            lines += [f"    if ({_sizes(schedule.dims)}) {{", f"        {call}", "        return 0;", "    }"]
        for blocks in operation.blocks:
            lines += _by_blocks(blocks, operation)
        parts.append("\n".join([*lines, *_otherwise(operation), "}\n"]))
    return "\n".join(parts)


def _sizes(dims: Mapping[str, int]) -> str:
    return " && ".join(f"{name} == {size}" for name, size in dims.items())


def _by_blocks(blocks: Blocks, operation: Dispatch) -> Iterator[str]:
    size = blocks.dimension
    conditions = [f"{size} >= {blocks.least}", *([_sizes(blocks.others)] if blocks.others else [])]
    yield f"    if ({' && '.join(conditions)}) {{"
    yield f"        size_t {DONE} = 0;"
    yield f"        while ({DONE} < {size}) {{"
    yield f"            const size_t {LEFT} = {size} - {DONE};"
    for before, block in zip(("", *("} else " for _ in blocks.blocks)), blocks.blocks, strict=False):
        yield f"            {before}if ({_applies(block, blocks)}) {{"
        if block.least < block.size:
            yield f"                {DONE} = {size} - {block.size};"
        yield f"                {_call_of_block(block, blocks)}"
        yield f"                {DONE} += {block.size};"
    yield "            } else {"
    yield from (f"            {line}" for line in _otherwise(operation, blocks))
    yield "            }"
    yield "        }"
    yield "        return 0;"
    yield "    }"


def _applies(block: Block, blocks: Blocks) -> str:
    """The condition in C under which a block is called, if none before it is."""
    conditions = [f"{LEFT} >= {block.least}"]
    conditions += [f"{LEFT} < {block.limit}"] * (block.limit < math.inf)
    conditions += [f"{blocks.dimension} >= {block.size}"] * (block.least < block.size > blocks.least)
    return " && ".join(conditions)


def _call_of_block(block: Block, blocks: Blocks) -> str:
    names = zip(block.schedule.tensors, tensor_names(block.schedule), strict=True)
    parts = [_part(name, tensor.name, blocks) for tensor, name in names]
    return f"{block.schedule.function}({', '.join([*parts, *block.schedule.arguments])});"


def _part(name: str, tensor: str, blocks: Blocks) -> str:
    """A tensor from the first element that is not done."""
    step = blocks.steps.get(tensor)
    return name if step is None else f"{name} + {DONE}{f' * {step}' if step > 1 else ''}"


def _otherwise(operation: Dispatch, blocks: Blocks | None = None) -> list[str]:
    """The lines for what no fast kernel is for: all, or what blocks leave."""
    fallback = operation.fallback
    if isinstance(fallback, str):
        return [f"    // No kernel for other sizes: {fallback}.", "    return -1;"]
    cut = None if blocks is None else blocks.dimension
    given = [LEFT if name == cut else name for name in fallback.sizes]
    for tensor in fallback.workload.tensors:
        given.append(tensor.name if blocks is None else _part(tensor.name, tensor.name, blocks))
        given += [fallback.strides[tensor.name]] if tensor.name in fallback.strides else []
    return [f"    return {fallback.function}({', '.join([*given, *fallback.arguments])});"]


def dispatch_name(schedule: Schedule) -> str | None:
    """The dispatch function that a kernel is in; None for an operation without sizes."""
    return schedule.family if schedule.dims else None


def _dispatch_head(operation: Dispatch) -> str:
    first = operation.schedules[0]
    return f"int {operation.family}({sized_parameters(first)}{''.join(f', float {name}' for name in first.arguments)})"


def sized_parameters(schedule: Schedule) -> str:
    """The sizes and the tensors of a kernel as parameters of a function that takes sizes at run time."""
    names = zip(schedule.tensors, tensor_names(schedule), strict=True)
    tensors = [replace(tensor, name=name) for tensor, name in names]
    return ", ".join([*(f"size_t {dim}" for dim in schedule.dims), _parameters(tensors, ())])


def tensor_names(schedule: Schedule) -> list[str]:
    """The names of the tensors, apart from those of the sizes."""
    return [f"{t.name}_" if t.name in schedule.dims else t.name for t in schedule.tensors]


def _title(schedule: Schedule) -> str:
    stated = {**schedule.dims, **schedule.unusual}
    return " ".join([schedule.operation, *(f"{name}={value}" for name, value in stated.items())])


def _constant(name: str, value: int | float) -> str:
    """The header's own value has to be the one that the kernel was made for."""
    literal = c_number(value)
    check = "" if isinstance(value, float) else f'_Static_assert({name} == {literal}, "made for {name} = {literal}");\n'
    return f"#ifndef {name}\n#define {name} {literal}\n#endif\n{check}"


def _functions(lowered: Lowered) -> Iterator[str]:
    for function in lowered.kernel.functions:
        yield "static " + print_kernel(ast.Kernel((function,)))


def _parameters(tensors: Sequence[TensorSpec], arguments: Iterable[str]) -> str:
    pointers = [f"{'const ' if t.role == 'input' else ''}{c_type(t.dtype)} *{t.name}" for t in tensors]
    return ", ".join([*pointers, *(f"float {name}" for name in arguments)])


def _public(schedule: Schedule, lowered: Lowered) -> str:
    entry = lowered.kernel.entry
    pointers = [
        f"({c_type(t.dtype)} (*){_inner(t)}){t.name}" if len(t.shape) > 1 else f"({c_type(t.dtype)} *){t.name}"
        for t in schedule.tensors
    ]
    call = f"{entry.name}({', '.join([*pointers, *schedule.arguments])});"
    return f"void {schedule.function}({_parameters(schedule.tensors, schedule.arguments)}) {{\n    {call}\n}}\n"


def _inner(tensor: TensorSpec) -> str:
    return "".join(f"[{extent}]" for extent in tensor.shape[1:])

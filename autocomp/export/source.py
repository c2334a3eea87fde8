"""The C files of exported kernels: a file and a function a kernel, their header, and a dispatch over sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from autocomp.errors import ConfigError, KernelError
from autocomp.export.any_size import MOST, AnySize
from autocomp.export.forms import c_number
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


def kernels_header(schedules: Sequence[Schedule], fallbacks: Mapping[str, AnySize | str]) -> str:
    """The declarations of all functions."""
    lines = [
        "// Kernels of one accelerator. A function returns when its result is in memory; tensors are row-major and do",
        "// not overlap. A dispatch function returns 0, or -1 where it has no kernel for the sizes and did nothing.",
        "// Strides are the elements from the begin of one row to that of the next.",
        "#pragma once",
        _STANDARD,
        *(f"void {schedule.function}({_parameters(schedule.tensors, schedule.arguments)});" for schedule in schedules),
        *(f"{_dispatch_head(name, group[0])};" for name, group in _families(schedules)),
        *(f"{_any_size_head(kernel)};" for kernel in fallbacks.values() if isinstance(kernel, AnySize)),
    ]
    return "\n".join(lines) + "\n"


def dispatch_source(schedules: Sequence[Schedule], fallbacks: Mapping[str, AnySize | str]) -> str:
    """One function for each operation, which chooses the kernel by the sizes, and falls back on that of any size."""
    parts = [f'#include "{HEADER}"\n']
    for name, group in _families(schedules):
        lines = [f"{_dispatch_head(name, group[0])} {{"]
        for schedule in group:
            sizes = " && ".join(f"{dim} == {size}" for dim, size in schedule.dims.items())
            call = f"{schedule.function}({', '.join([*_tensor_names(schedule), *schedule.arguments])});"
            lines += [f"    if ({sizes}) {{", f"        {call}", "        return 0;", "    }"]
        parts.append("\n".join([*lines, *_otherwise(fallbacks[name]), "}\n"]))
    return "\n".join(parts)


def _otherwise(fallback: AnySize | str) -> list[str]:
    if isinstance(fallback, str):
        return [f"    // No kernel for other sizes: {fallback}.", "    return -1;"]
    given = list(fallback.sizes)
    for tensor in fallback.workload.tensors:
        given += [tensor.name, *([fallback.strides[tensor.name]] if tensor.name in fallback.strides else [])]
    return [f"    return {fallback.function}({', '.join([*given, *fallback.arguments])});"]


def dispatch_name(schedule: Schedule) -> str | None:
    """The dispatch function that a kernel is in; None for an operation without sizes."""
    return schedule.family if schedule.dims else None


def _families(schedules: Iterable[Schedule]) -> list[tuple[str, list[Schedule]]]:
    families: dict[str, list[Schedule]] = {}
    for schedule in schedules:
        name = dispatch_name(schedule)
        if name is not None:
            group = families.setdefault(name, [])
            group.append(schedule)
            if _dispatch_head(name, schedule) != _dispatch_head(name, group[0]):
                raise ConfigError(
                    f"{group[0].source} and {schedule.source} take different tensors, and both are {name}"
                )
    return list(families.items())


def _dispatch_head(name: str, first: Schedule) -> str:
    sizes = ", ".join(f"size_t {dim}" for dim in first.dims)
    tensors = (
        replace(tensor, name=tensor_name)
        for tensor, tensor_name in zip(first.tensors, _tensor_names(first), strict=True)
    )
    return f"int {name}({sizes}, {_parameters(tuple(tensors), first.arguments)})"


def _tensor_names(schedule: Schedule) -> list[str]:
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

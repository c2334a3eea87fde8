"""A whole kernel: names from outside, functions in order, bytecode put together and linked to a machine.

Checking and code generation are one pass: a kernel that `check` accepts has a program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from autocomp.errors import IsaError, KernelError
from autocomp.remember import remember
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.checking.calls import Forms, call_forms
from autocomp.targets.simulator.kernel.checking.expressions import Expressions
from autocomp.targets.simulator.kernel.checking.scope import (
    FunctionSignature,
    Scope,
    Unit,
    is_complete,
    outer_types,
    tensor_of,
)
from autocomp.targets.simulator.kernel.checking.statements import FunctionCompiler
from autocomp.targets.simulator.kernel.code.bytecode import MAX_STACK, Code, CompiledProgram, CompiledTensor
from autocomp.targets.simulator.kernel.code.emitter import FunctionCode
from autocomp.targets.simulator.kernel.code.types import INT, NUMPY_NAMES, VOID, Array, CType, Pointer, Void
from autocomp.targets.simulator.kernel.flow.data_flow import Dependence
from autocomp.targets.simulator.kernel.flow.dependence import dependence_on_data, dependence_on_places
from autocomp.targets.simulator.kernel.host.costs import host_costs
from autocomp.targets.simulator.kernel.host.cycles import Signature, host_time
from autocomp.targets.simulator.kernel.judged import for_tensors
from autocomp.targets.simulator.kernel.procedures import called_by, with_callees
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.walk import walk

if TYPE_CHECKING:
    from autocomp.simulator import _core


class TensorLike(Protocol):
    """A tensor that a kernel's parameter must agree with; `dtype` is a NumPy name."""

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...


class MachineTables(Protocol):
    """The part of a lowered accelerator that linking needs."""

    @property
    def machine(self) -> Any: ...
    @property
    def instructions(self) -> Mapping[str, int]: ...


@dataclass(frozen=True)
class CheckedKernel:
    """A kernel without mistakes that can be seen before it runs."""

    kernel: ast.Kernel
    program: CompiledProgram

    @property
    def parameters(self) -> tuple[CompiledTensor, ...]:
        return self.program.parameters


def check(
    kernel: ast.Kernel,
    accelerator: Accelerator,
    constants: Mapping[str, int | float] | None = None,
    signature: Sequence[TensorLike] | None = None,
    *,
    host_time: bool | None = None,
    fixed_commands: bool = False,
) -> CheckedKernel:
    """Resolves names, checks types and ranges, and compiles.

    `constants` are the workload's symbolic names, which win over the accelerator's. `signature` lists the tensors that
    the entry function must take, by position, or pointers to them. `host_time` says whether the kernel's own code takes
    time, None that the machine's description says so. `fixed_commands`: no command may depend on data, on any path.
    Raises KernelError with the place of the first mistake.
    """
    kernel = kernel if signature is None else for_tensors(kernel, signature, accelerator)
    names = {**accelerator.all_constants, **kernel.constants, **(constants or {})}
    unit = Unit(kernel, accelerator, names, outer_types(accelerator), host_time=host_time)
    forms = call_forms(accelerator)
    parameters = _entry_parameters(unit)
    _check_includes(unit)
    codes = _procedures(unit, forms, called_by(kernel))
    _declare_globals(unit, forms)
    for number, function in enumerate(kernel.functions[:-1], len(codes)):
        declared = _signature(unit, function, number)
        codes.append(FunctionCompiler(unit, function, declared, forms).compile())
        unit.functions[function.name] = declared
    entry = FunctionCompiler(unit, kernel.entry, None, forms)
    entry.declare_tensors(parameters)
    if kernel.is_program:
        entry.declare_arguments()
    codes.append(entry.compile())
    if fixed_commands:
        _refuse_data(unit, codes)
    if unit.numeric_addresses and not kernel.is_program:
        _refuse_places(unit, codes)
    program = _assemble(unit, codes)
    if signature is not None:
        _match(unit, program, signature)
    return CheckedKernel(kernel, program)


def compile(  # noqa: A001 - the module's verb
    kernel: ast.Kernel,
    accelerator: Accelerator,
    constants: Mapping[str, int | float] | None = None,
) -> CompiledProgram:
    """The bytecode of a kernel; see `check`."""
    return check(kernel, accelerator, constants).program


def link(program: CompiledProgram, tables: MachineTables) -> _core.Program:
    """The program for one native machine. Raises ValueError if the machine is not the program's accelerator."""
    from autocomp.simulator import _core

    code = program.code
    issues = code[:, 0] == Code.Issue
    if issues.any():
        numbers = np.array([tables.instructions.get(name, -1) for name in program.instructions], dtype=np.int64)
        code = code.copy()
        code[issues, 4] = numbers[code[issues, 4]]
    tensors = [(t.name, t.dtype, t.shape, t.initial, t.parameter) for t in program.tensors]
    frames = (program.frame_size, program.stack_size)
    messages = list(program.messages)
    return _core.Program(tables.machine, code, program.lines, tensors, *frames, program.host_cycles, messages)


def _check_includes(unit: Unit) -> None:
    """A quoted header must be one that the machine's library offers: files are not read."""
    known = unit.accelerator.library.headers
    for name, line in unit.kernel.includes:
        if name.rpartition("/")[2] not in known:
            offered = ", ".join(known) or "none"
            hint = f"files are not read; headers whose names {unit.accelerator.name} has: {offered}"
            unit.fail(SimpleNamespace(line=line), f"unknown header {name!r}", hint)


def _declare_globals(unit: Unit, forms: Forms) -> None:
    """Arrays and variables outside of functions, which all functions share."""
    if not unit.kernel.globals:
        return
    bodies = tuple(function.body for function in unit.kernel.functions)
    around = ast.Function("", ast.Type("void"), (), ast.Block(bodies))
    outside = FunctionCompiler(unit, around, FunctionSignature(0, "", VOID, ()), forms)
    unit.globals = outside.declare_globals(unit.kernel.globals)


def check_procedures(accelerator: Accelerator) -> None:
    """Checks every procedure of a description as if a kernel called it. Raises IsaError with the first mistake."""
    unit = Unit(ast.Kernel(()), accelerator, accelerator.constants, outer_types(accelerator))
    _procedures(unit, call_forms(accelerator), [procedure.name for procedure in accelerator.all_procedures])


def _procedures(unit: Unit, forms: Forms, names: Iterable[str]) -> list[FunctionCode]:
    """The code of the machine's procedures of these names, which are the first functions of the unit. It has no lines:
    what it does counts for the call. Each is compiled once for all kernels."""
    accelerator = unit.accelerator
    procedures = with_callees(names, accelerator)
    before = len(unit.tensors)
    called = tuple(procedure.entry.name for procedure in procedures)

    def compiled() -> tuple[Unit, list[FunctionCode]]:
        blank = Unit(ast.Kernel(()), accelerator, accelerator.all_constants, unit.types, host_time=unit.host_time)
        blank = replace(blank, tensors=list(unit.tensors), tensor_bytes=unit.tensor_bytes)
        return blank, [_procedure(blank, forms, number, one) for number, one in enumerate(procedures)]

    given = (called, unit.host_time, before, unit.tensor_bytes)
    made, codes = remember(accelerator, "compiled procedures", given, compiled)
    unit.tensors += made.tensors[before:]
    unit.tensor_bytes = made.tensor_bytes
    unit.messages += made.messages
    unit.numeric_addresses |= made.numeric_addresses
    unit.program_only |= made.program_only
    unit.procedures |= made.procedures
    return list(codes)


def _procedure(unit: Unit, forms: Forms, number: int, procedure: ast.Kernel) -> FunctionCode:
    inner = replace(unit, kernel=procedure, functions={}, globals={})
    try:
        declared = _signature(inner, procedure.entry, number)
        code = FunctionCompiler(inner, procedure.entry, declared, forms).compile()
    except KernelError as error:
        raise IsaError(error.message, place=error.place, hint=error.hint) from None
    called = {node.function for node in walk(procedure) if isinstance(node, ast.Call)}
    if Code.Service in code.code[:, 0] or called & unit.program_only:
        unit.program_only.add(declared.name)
    unit.procedures[declared.name] = declared
    unit.tensor_bytes = inner.tensor_bytes
    return replace(code, lines=np.zeros_like(code.lines))


def _signature(unit: Unit, function: ast.Function, number: int) -> FunctionSignature:
    """A helper's types; its array parameters decay to pointers, as in C."""
    expressions = Expressions(unit, Scope(), lambda node: 0)
    if function.name in unit.functions:
        unit.fail(function, f"{function.name!r} is defined twice")
    parameters = []
    for parameter in function.parameters:
        kind = expressions.type_of(parameter.type, parameter)
        if not is_complete(kind):
            unit.fail(parameter, f"a parameter cannot have the type {kind}")
        parameters.append((parameter.name, Pointer(kind.element) if isinstance(kind, Array) else kind))
    result = expressions.type_of(function.return_type, function)
    return FunctionSignature(number, function.name, result, tuple(parameters))


def _entry_parameters(unit: Unit) -> list[tuple[ast.KernelParameter, CType]]:
    """The entry's tensors, which are the first of the program."""
    entry = unit.kernel.entry
    others = [function.name for function in unit.kernel.functions[:-1]]
    if "solution" in others:
        unit.fail(unit.kernel.functions[others.index("solution")], "'solution' must be the last function of the file")
    expressions = Expressions(unit, Scope(), lambda node: 0)
    if unit.kernel.is_program:
        if len(entry.parameters) not in (0, 2) or expressions.type_of(entry.return_type, entry) not in (INT, VOID):
            unit.fail(entry, "a program begins with `int main()` or `int main(int argc, char* argv[])`")
        return []
    if not isinstance(expressions.type_of(entry.return_type, entry), Void):
        unit.fail(entry, f"the entry function {entry.name!r} must return void")
    result: list[tuple[ast.KernelParameter, CType]] = []
    for parameter in entry.parameters:
        kind = expressions.type_of(parameter.type, parameter)
        if not isinstance(kind, Array) or not is_complete(kind):
            hint = f"write its extents, as in {parameter.type.name} {parameter.name}[16][16]"
            unit.fail(parameter, f"parameter {parameter.name!r} must be an array of numbers", hint)
        result.append((parameter, kind))
    unit.tensors.extend(tensor_of(parameter.name, kind, None, True) for parameter, kind in result)
    return result


def _match(unit: Unit, program: CompiledProgram, signature: Sequence[TensorLike]) -> None:
    """The entry's parameters are the workload's tensors, in order; their names are free."""
    entry = unit.kernel.entry
    expected = ", ".join(f"{t.dtype} {t.name}{''.join(f'[{n}]' for n in t.shape)}" for t in signature)
    given = program.parameters
    if len(given) != len(signature):
        taken = "1 tensor" if len(given) == 1 else f"{len(given)} tensors"
        unit.fail(entry, f"{entry.name!r} takes {taken}; the workload has {len(signature)}: {expected}")
    for parameter, tensor, wanted in zip(entry.parameters, given, signature, strict=True):
        name = NUMPY_NAMES.get(wanted.dtype, "?")
        if tensor.dtype != name or tensor.shape != tuple(wanted.shape):
            declared = f"{tensor.dtype} {list(tensor.shape)}"
            unit.fail(
                parameter, f"parameter {tensor.name!r} is {declared}; expected {name} {list(wanted.shape)}", expected
            )


def _refuse_data(unit: Unit, codes: list[FunctionCode]) -> None:
    counts = [len(instruction.parameters) for instruction in unit.accelerator.instructions]
    dependence = dependence_on_data(codes, counts, len(codes) - 1)
    hint = "what the accelerator is told must be the same for all data, unless the workload says `host: data_dependent`"
    _refuse(unit, dependence, "data decides", "depends on data", hint)


def _refuse_places(unit: Unit, codes: list[FunctionCode]) -> None:
    """Only kernels that compare addresses or make numbers of them can depend on where tensors lie."""
    kinds = [tuple(parameter.kind for parameter in i.parameters) for i in unit.accelerator.instructions]
    dependence = dependence_on_places(codes, kinds, len(codes) - 1)
    hint = (
        "compare addresses of one tensor only, or an address with NULL; make numbers of addresses only to add to them"
    )
    _refuse(unit, dependence, "the place of a tensor decides", "depends on where tensors lie", hint)


def _refuse(unit: Unit, dependence: Dependence | None, decides: str, depends: str, hint: str) -> None:
    if dependence is None:
        return
    instruction = unit.accelerator.instructions[dependence.instruction]
    if dependence.operand is None:
        message = f"{decides} here whether {instruction.name!r} is issued"
    else:
        message = f"operand {instruction.parameters[dependence.operand].name!r} of {instruction.name!r} {depends}"
    unit.fail(SimpleNamespace(line=dependence.line), message, hint)


def _assemble(unit: Unit, codes: list[FunctionCode]) -> CompiledProgram:
    """The entry first, then the helpers that are called; calls get their targets."""
    order = [codes[-1], *codes[:-1]]
    starts, position = {}, 0
    for number, code in zip([len(codes) - 1, *range(len(codes) - 1)], order, strict=True):
        starts[number] = position
        position += len(code.code)
    parts = []
    for number, code in zip([len(codes) - 1, *range(len(codes) - 1)], order, strict=True):
        part = code.code.copy()
        jumps = np.isin(part[:, 0], (Code.Jump, Code.JumpIfZero, Code.JumpIfNotZero))
        part[jumps, 4] += starts[number]
        for row in np.flatnonzero(part[:, 0] == Code.Call):
            part[row, 4] = starts[int(part[row, 4])]
        parts.append(part)
    depths: list[int] = []
    for code in codes:  # callees come before their callers
        depths.append(max([code.frame_size, *(slot + depths[callee] for slot, callee in code.calls)]))
    depth = max(depths)  # also of helpers that nothing calls: their code is there
    if depth > MAX_STACK:
        unit.fail(unit.kernel.entry, f"the kernel needs a stack of {depth} slots; at most {MAX_STACK} are available")
    return CompiledProgram(
        np.concatenate(parts),
        np.concatenate([code.lines for code in order]),
        tuple(unit.tensors),
        tuple(instruction.name for instruction in unit.accelerator.instructions),
        codes[-1].frame_size,
        depth,
        _host_cycles(unit, order),
        tuple(unit.messages),
    )


def _host_cycles(unit: Unit, order: Sequence[FunctionCode]) -> npt.NDArray[np.int64] | None:
    """The cost of each bytecode on the machine's host, None where the description gives it none."""
    costs = host_costs(unit.accelerator, unit.host_time)
    if costs is None:
        return None
    instructions = unit.accelerator.instructions
    signature = Signature(
        [tuple(parameter.kind for parameter in instruction.parameters) for instruction in instructions],
        frozenset(n for n, instruction in enumerate(instructions) if instruction.words.get("role") == "fence"),
        {called.index: len(called.parameters) for called in (*unit.procedures.values(), *unit.functions.values())},
    )
    return np.concatenate([host_time(code.code, signature, costs) for code in order])

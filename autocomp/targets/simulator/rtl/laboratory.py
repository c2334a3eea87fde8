"""Runs straight lines of commands on tensors with fixed random contents: the bench on which programs are compared."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.errors import ConfigError
from autocomp.simulator import SimulationOptions, SimulationResult, run_program
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.isa.lowering.lower import MachineTables
from autocomp.targets.simulator.isa.model import Accelerator, Instruction, Parameter
from autocomp.targets.simulator.kernel.code.bytecode import POINTER_SHIFT, Code, CompiledProgram, CompiledTensor
from autocomp.targets.simulator.rtl.commands import split_pointer

TENSORS = ("a", "b", "c", "d")
ELEMENTS = 8192  # of each tensor
_POINTER = re.compile(r"&(\w+)\[(\d+)\]")
_Row = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class Laboratory:
    """Runs programs of one machine. A command is a line of a kernel that calls one instruction with literals."""

    accelerator: Accelerator
    tables: MachineTables = field(repr=False)
    _known: dict[str, tuple[_Row, ...]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def dtype(self) -> str:
        """Of the tensors: binary32 if the machine's local rows hold that, so that no bits are NaN by chance."""
        is_float = any(memory.element == "f32" for memory in self.accelerator.memories if memory.kind == "local")
        return "float32" if is_float else "int8"

    @cached_property
    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        numbers = np.random.default_rng(1)
        integers = {name: numbers.integers(-128, 128, ELEMENTS) for name in TENSORS}
        scale = 1 / 128 if self.dtype == "float32" else 1
        return {name: (values * scale).astype(self.dtype) for name, values in integers.items()}

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """Those that hardware takes, and the fence."""
        known = self.accelerator.instructions
        return tuple(i for i in known if i.encoding or i.words.get("role") == "fence")

    def line(self, name: str, arguments: Sequence[int | float]) -> str:
        """The line of a command whose pointers are (tensor + 1) << POINTER_SHIFT | byte, or 0."""
        instruction = self.instruction(name)
        literals = [self._literal(p, a) for p, a in zip(instruction.parameters, arguments, strict=True)]
        return f"{name}({', '.join(literals)});"

    def call(self, command: str) -> tuple[str, list[str]]:
        """The instruction of such a line, and its operands' texts."""
        name, _, rest = command.removesuffix(");").partition("(")
        return name, rest.split(", ") if rest else []

    def text(self, commands: Sequence[str], comments: Sequence[str] = ()) -> str:
        """The kernel that issues the commands, and a fence."""
        notes = "".join(f"// {comment}\n" for comment in comments)
        lines = "".join(f"    {command}\n" for command in (*commands, *self._end))
        return f"{notes}void solution({self._signature}) {{\n{lines}}}\n"

    def run_text(self, text: str) -> SimulationResult:
        """One run of a kernel on the tensors, watched and recorded. Raises KernelError if it does not check, and
        ConfigError if its parameters are others."""
        program = kernel.check(kernel.parse(text), self.accelerator).program
        if tuple(tensor for tensor in program.tensors if tensor.parameter) != self._parameters:
            raise ConfigError(f"a program to be compared must have the parameters ({self._signature})")
        return self._run(program)

    def run(self, commands: Sequence[str], timing: bool = True) -> SimulationResult:
        """The same for commands. Findings give a command's number, from 1 on, as the line."""
        rows: list[_Row] = []
        lines: list[int] = []
        for number, command in enumerate((*commands, *self._end), start=1):
            if command not in self._known:
                self._known[command] = self._assembled(command)
            rows.extend(self._known[command])
            lines.extend([number] * len(self._known[command]))
        rows.append((Code.Halt, 0, 0, 0, 0))
        lines.append(len(commands) + 1)
        frame = 1 + max(len(i.parameters) for i in self.accelerator.instructions)
        names = tuple(instruction.name for instruction in self.accelerator.instructions)
        code, places = np.array(rows, np.int64), np.array(lines, np.int32)
        return self._run(CompiledProgram(code, places, self._parameters, names, frame, frame, None), timing)

    def legal(self, commands: Sequence[str]) -> SimulationResult | None:
        """The run of commands that the machine allows and orders, or None."""
        result = self.run(commands)
        return result if result.error is None and not result.violations else None

    @property
    def _signature(self) -> str:
        element = "float" if self.dtype == "float32" else "int8_t"
        return ", ".join(f"{element} {name}[{ELEMENTS}]" for name in TENSORS)

    @cached_property
    def _parameters(self) -> tuple[CompiledTensor, ...]:
        return tuple(CompiledTensor(name, self._element, (ELEMENTS,), None, True) for name in TENSORS)

    @property
    def _element(self) -> str:
        return "f32" if self.dtype == "float32" else "i8"

    @cached_property
    def _end(self) -> tuple[str, ...]:
        fences = [i for i in self.instructions if i.words.get("role") == "fence" and not i.parameters]
        return tuple(f"{fence.name}();" for fence in fences[:1])

    def _run(self, program: CompiledProgram, timing: bool = True) -> SimulationResult:
        linked = kernel.link(program, self.tables)
        options = SimulationOptions(timing=timing, discipline=True, record_trace=timing)
        return run_program(self.tables.machine, linked, self.tensors, options)

    def instruction(self, name: str) -> Instruction:
        declared = self.accelerator.instruction(name)
        assert declared is not None, name
        return declared

    def _assembled(self, command: str) -> tuple[_Row, ...]:
        name, operands = self.call(command)
        instruction = self.instruction(name)
        given = zip(instruction.parameters, operands, strict=True)
        loads = [self._load(slot, parameter, text) for slot, (parameter, text) in enumerate(given)]
        return (*loads, (Code.Issue, 0, 0, 0, self.accelerator.instructions.index(instruction)))

    def _load(self, slot: int, parameter: Parameter, text: str) -> _Row:
        if parameter.kind == "float":
            bits = struct.unpack("<q", struct.pack("<d", float(text.removesuffix("f"))))[0]
            return (Code.LoadFloat, slot, 0, 0, bits)
        pointer = _POINTER.fullmatch(text)
        if pointer is None:
            return (Code.LoadInt, slot, 0, 0, 0 if text == "NULL" else int(text, 0))
        offset = int(pointer.group(2)) * np.dtype(self.dtype).itemsize
        return (Code.LoadInt, slot, 0, 0, (TENSORS.index(pointer.group(1)) + 1 << POINTER_SHIFT) + offset)

    def _literal(self, parameter: Parameter, value: int | float) -> str:
        if parameter.kind == "float":
            return f"{float(value)!r}f"
        if parameter.kind == "address":
            return f"{int(value):#x}"
        if parameter.kind != "pointer":
            return str(value)
        tensor, offset = split_pointer(int(value))
        return "NULL" if tensor < 0 else f"&{TENSORS[tensor]}[{offset // np.dtype(self.dtype).itemsize}]"


def laboratory(accelerator: Accelerator) -> Laboratory:
    return Laboratory(accelerator, isa.lower(accelerator))

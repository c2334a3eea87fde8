"""Random legal programs of a machine, made from its description alone: straight lines of commands, as kernels.

A program begins as a small matrix multiplication, in the description's own idioms, and is then mutated: commands come,
go, move, and get other operands. What the machine forbids, or leaves to luck, is taken back: legal is that in which the
simulator and its memory discipline find nothing wrong.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.errors import ConfigError
from autocomp.simulator import Options, SimulationResult, _core, run_program
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.evaluate.compiled import compile_kernel
from autocomp.targets.simulator.isa.lower import MachineTables
from autocomp.targets.simulator.isa.model import Accelerator, AddressSpace, Instruction, Parameter
from autocomp.targets.simulator.rtl.commands import split_pointer
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.workload.load import parse as parse_workload

TENSORS = ("a", "b", "c", "d")
ELEMENTS = 2048  # of each tensor
MUTATIONS = 60  # tried on each program
MOST_SIDE = 40  # of the matrices that programs start from
WIDE = 128  # no operand without a narrower range is larger, so that strides stay in the tensors
SCALES = (1.0, 1.0, 0.5, 2.0, 0.0625, -1.0)
TILES = 3  # local rows in use are those of so many tiles: few, so that commands depend on each other


@dataclass(frozen=True)
class Laboratory:
    """Runs programs of one machine on tensors with the same random contents every time."""

    accelerator: Accelerator
    tables: MachineTables = field(repr=False)

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

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """Those that hardware takes, and the fence."""
        known = self.accelerator.instructions
        return tuple(i for i in known if i.encoding or i.words.get("role") == "fence")

    def text(self, commands: Sequence[str], comments: Sequence[str] = ()) -> str:
        """The kernel that issues the commands, and a fence."""
        element = "float" if self.dtype == "float32" else "int8_t"
        parameters = ", ".join(f"{element} {name}[{ELEMENTS}]" for name in TENSORS)
        notes = "".join(f"// {comment}\n" for comment in comments)
        return f"{notes}void solution({parameters}) {{\n{''.join(f'    {c}{chr(10)}' for c in commands)}}}\n"

    def run(self, text: str) -> SimulationResult:
        """One run of a kernel on the tensors, watched and recorded. Raises KernelError if it does not check."""
        checked = kernel.check(kernel.parse(text), self.accelerator)
        program = kernel.link(checked.program, self.tables)
        options = Options(discipline=True, record_trace=True)
        return run_program(self.tables.machine, program, self.tensors, options)

    def legal(self, commands: Sequence[str]) -> SimulationResult | None:
        """The run of commands that the machine allows and orders, or None."""
        result = self.run(self.text(commands))
        return result if result.error is None and not result.violations else None


def laboratory(accelerator: Accelerator) -> Laboratory:
    return Laboratory(accelerator, isa.lower(accelerator))


def random_program(lab: Laboratory, seed: int, length: int) -> list[str]:
    """A legal program of at most `length` commands, the same for the same seed: one command a line of a kernel."""
    numbers = random.Random(seed)
    commands = _whole(lab, _multiplication(lab, numbers)[:length])
    for _ in range(MUTATIONS):
        trial = _mutated(lab, commands, numbers)
        if len(trial) <= length and lab.legal(trial) is not None:
            commands = trial
    return commands


def _multiplication(lab: Laboratory, numbers: random.Random) -> list[str]:
    """The commands of a small matrix multiplication, none on a machine that has no idiom of it."""
    side = min(MOST_SIDE, 2 * max((m.cols for m in lab.accelerator.memories if m.kind == "local"), default=1))
    dims = ", ".join(f"{name}: {numbers.randint(1, side)}" for name in "IJK")
    lines = ["operation: gemm", f"accelerator: {lab.accelerator.full_name}", f"dims: {{{dims}}}"]
    lines.append(f"activation: {numbers.choice(('none', 'relu'))}")
    problem = parse_workload("\n".join(lines), Path("random.yaml"))
    try:
        text = starting_kernel(problem, lab.accelerator)
    except ConfigError:
        return []
    compiled = compile_kernel(text, problem, lab.accelerator, lab.tables, "random.c")
    arrays = {tensor.name: np.zeros(tensor.shape, tensor.dtype) for tensor in problem.tensors}
    result = compiled.run(arrays, Options(timing=False, record_trace=True))
    assert isinstance(result.trace, _core.Trace)
    names = {index: name for name, index in lab.tables.instructions.items()}
    issued = ((names[index], arguments) for index, arguments, *_ in result.trace.commands(lab.tables.machine))
    return [_call(lab, name, arguments) for name, arguments in issued]


def _call(lab: Laboratory, name: str, arguments: Sequence[int | float]) -> str:
    """A recorded command as a line of a kernel on the laboratory's tensors."""
    parameters = _instruction(lab, name).parameters
    return _line(name, [_literal(lab, p, a) for p, a in zip(parameters, arguments, strict=True)])


def _instruction(lab: Laboratory, name: str) -> Instruction:
    found = lab.accelerator.instruction(name)
    assert found is not None
    return found


def _literal(lab: Laboratory, parameter: Parameter, value: int | float) -> str:
    if parameter.kind == "float":
        return f"{float(value)!r}f"
    if parameter.kind == "address":
        return f"{int(value):#x}"
    if parameter.kind != "pointer":
        return str(value)
    tensor, offset = split_pointer(int(value))
    return "NULL" if tensor < 0 else f"&{TENSORS[tensor]}[{offset // np.dtype(lab.dtype).itemsize}]"


def _line(name: str, operands: Sequence[str]) -> str:
    return f"{name}({', '.join(operands)});"


def _mutated(lab: Laboratory, commands: Sequence[str], numbers: random.Random) -> list[str]:
    """The commands with one more, one less, one elsewhere, one twice, or other operands of one."""
    changed = list(commands)
    place = numbers.randrange(len(changed) + 1)
    kind = numbers.choice(("new", "drop", "move", "repeat", "operand", "operand"))
    if kind == "new" or not changed:
        instruction = numbers.choice(lab.instructions)
        changed.insert(place, _line(instruction.name, [_operand(lab, p, numbers) for p in instruction.parameters]))
        return changed
    victim = numbers.randrange(len(changed))
    command = changed[victim] if kind == "repeat" else changed.pop(victim)
    if kind in ("move", "repeat"):
        changed.insert(place, command)
    elif kind == "operand":
        name, _, rest = command.removesuffix(");").partition("(")
        parameters = _instruction(lab, name).parameters
        operands = rest.split(", ") if rest else []
        if operands:
            which = numbers.randrange(len(operands))
            operands[which] = _operand(lab, parameters[which], numbers)
        changed.insert(victim, _line(name, operands))
    return changed


def _whole(lab: Laboratory, commands: list[str]) -> list[str]:
    """The longest beginning that is a legal program."""
    while lab.legal(commands) is None:
        commands = commands[:-1]
    return commands


def _operand(lab: Laboratory, parameter: Parameter, numbers: random.Random) -> str:
    if parameter.kind == "float":
        return f"{numbers.choice(SCALES)}f"
    if parameter.kind == "pointer":
        offset = numbers.randrange(ELEMENTS // 2)
        return f"&{numbers.choice(TENSORS)}[{offset if numbers.random() < 0.3 else offset // 16 * 16}]"
    if parameter.kind == "address" and parameter.space is not None:
        return f"{_address(lab.accelerator, lab.accelerator.space(parameter.space), numbers):#x}"
    low = parameter.low or 0
    high = WIDE if parameter.high is None else min(parameter.high, max(low, WIDE))
    if high - low <= max(memory.cols for memory in lab.accelerator.memories):  # a size, rather than a distance
        return str(numbers.choice((low, high, high, high, numbers.randint(low, high))))
    return str(min(high, numbers.choice((low, low, low + 1, 16, 64, numbers.randint(low, high)))))


def _address(accelerator: Accelerator, space: AddressSpace, numbers: random.Random) -> int:
    if space.none is not None and numbers.random() < 0.1:
        return space.none
    name, _, value = numbers.choice(space.memories)
    memory = accelerator.memory(name)
    row = numbers.randrange(TILES) * memory.cols
    if numbers.random() < 0.2:
        row += numbers.randrange(memory.cols)
    bank = numbers.randrange(memory.banks) * (memory.rows // memory.banks) if numbers.random() < 0.3 else 0
    value |= (bank + row) % memory.rows << space.field(space.row_field)[1]
    for _, flag in space.text_flags:
        if numbers.random() < 0.3:
            value |= 1 << space.field(flag)[1]
    return value

"""A recorded trace as the commands that hardware takes: bits by the description's encodings, pointers as addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from autocomp.errors import ConfigError, IsaError
from autocomp.simulator import _core
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.language.encoding import command_words
from autocomp.targets.simulator.isa.lowering.lower import MachineTables
from autocomp.targets.simulator.isa.model import Accelerator, Instruction
from autocomp.targets.simulator.kernel.code.bytecode import POINTER_SHIFT, tensor_number
from autocomp.targets.simulator.rtl.model.native import EncodedCommands

FIRST_ADDRESS = 0x8000_0000  # where generators put main memory
PAGE = 4096
GUARD = 1 << 20  # bytes of guard memory around each tensor: more than any command reaches beyond one by mistake
ADDRESS_END = 1 << 32


def split_pointer(pointer: int) -> tuple[int, int]:
    """The tensor that a recorded pointer names, -1 for none, and the byte in it."""
    bits = pointer & ((1 << 64) - 1)
    number = tensor_number(bits)
    return number - 1, bits - (number << POINTER_SHIFT)


def place(sizes: Sequence[int]) -> tuple[int, ...]:
    """Addresses for tensors of these sizes in bytes: on pages of their own, with guard memory around each.

    Raises ConfigError when they do not fit below 4 GiB, where a design's bus ends.
    """
    addresses, free = [], FIRST_ADDRESS + GUARD
    for size in sizes:
        addresses.append(free)
        free += -(-size // PAGE) * PAGE + GUARD
    if free > ADDRESS_END:
        raise ConfigError(f"tensors of {sum(sizes):,} bytes do not fit the address range of the design's bus")
    return tuple(addresses)


def encode_trace(
    accelerator: Accelerator, tables: MachineTables, trace: _core.Trace, addresses: Sequence[int] | None
) -> EncodedCommands:
    """The commands of a trace. `addresses` are those of the tensors that its pointers name, in order; without them a
    pointer is its offset, as in traces that were written down.

    Raises ConfigError for a command that has no encoding, or that points to what has no address.
    """
    issued = {tables.instructions[i.name]: (i, i.words.get("role") == "fence") for i in accelerator.instructions}
    words: list[tuple[int, ...]] = []
    gaps, fences = [], []
    known: dict[tuple[int, tuple[int | float, ...]], tuple[int, ...]] = {}
    nothing = (0,) * len(command_words(accelerator))
    for index, arguments, gap, line in trace.commands(tables.machine):
        instruction, fence = issued[index]
        key = (index, tuple(arguments))
        if not fence and key not in known:
            known[key] = tuple(_encode(accelerator, instruction, arguments, addresses, line).values())
        words.append(nothing if fence else known[key])
        gaps.append(gap)
        fences.append(fence)
    shape = (len(words), len(nothing))
    return EncodedCommands(
        np.array(words, np.uint64).reshape(shape), np.array(gaps, np.int64), np.array(fences, np.uint8)
    )


def _encode(
    accelerator: Accelerator,
    instruction: Instruction,
    arguments: Sequence[int | float],
    addresses: Sequence[int] | None,
    line: int,
) -> Mapping[str, int]:
    operands = {
        parameter.name: _address(int(value), addresses, instruction, line) if parameter.kind == "pointer" else value
        for parameter, value in zip(instruction.parameters, arguments, strict=True)
    }
    try:
        return isa.encode_command(accelerator, instruction.name, operands)
    except IsaError as error:
        raise ConfigError(f"line {line}: {error.message}", hint=error.hint) from None


def _address(pointer: int, addresses: Sequence[int] | None, instruction: Instruction, line: int) -> int:
    tensor, offset = split_pointer(pointer)
    if tensor < 0:
        return 0
    if addresses is None:
        return offset
    if tensor >= len(addresses):
        raise ConfigError(
            f"line {line}: {instruction.name} points to tensor {tensor}; there are {len(addresses)}",
            hint="give every array that the commands point to",
        )
    return addresses[tensor] + offset

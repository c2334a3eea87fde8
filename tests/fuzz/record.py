"""Write the shipped machines as bytes that the native fuzzing targets read, and inputs for these to begin with.

    python tests/fuzz/record.py FOLDER

makes FOLDER/machines and FOLDER/seeds. A machine is recorded as the builder's calls that lowering it makes;
machines.cpp makes the same calls again.
"""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from autocomp.simulator import _core

from autocomp.data import data_dir
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.trace import read_trace

METHODS = (
    "build", "memory", "state", "expr", "require", "store", "store_dram", "set_state", "loop", "when", "unit",
    "instruction", "word", "setting", "choice", "emit", "stream",
)  # fmt: skip
KINDS = ("dram", "local", "register")
DTYPES = (
    "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "f16", "bf16", "f8e5m2", "f8e4m3", "i4", "u4"
)  # fmt: skip
LONGEST = 255  # of a word or a list
ROOT = Path(__file__).parents[2]
MEASURED = "gemmini"  # the machine of the measured cases
APART = 23  # of the cases, one in so many
RECORDED = 4 | 8  # options: the commands' times, and the trace that units get


def number(value: int) -> bytes:
    """LEB128 with the sign in the lowest bit, as Input::number reads it."""
    bits = (value << 1) ^ (value >> 63)
    bits &= (1 << 64) - 1
    out = bytearray()
    while bits >= 0x80:
        out.append(bits & 0x7F | 0x80)
        bits >>= 7
    return bytes([*out, bits])


def real(value: float) -> bytes:
    return number(struct.unpack("<q", struct.pack("<d", value))[0])


def word(text: str) -> bytes:
    data = text.encode()[:LONGEST]
    return bytes([len(data)]) + data


def listed(items: Iterable[bytes]) -> bytes:
    parts = list(items)
    assert len(parts) <= LONGEST
    return bytes([len(parts)]) + b"".join(parts)


def indices(values: Sequence[int]) -> bytes:
    return listed(number(value) for value in values)


def _expr(
    op: str, a: int = -1, b: int = -1, c: int = -1, imm: int = 0, fimm: float = 0.0, is_float: bool = False
) -> bytes:
    position = _core.operator_names().index(op)
    head = bytes([position, is_float]) + b"".join(number(value) for value in (a, b, c, imm))
    return head + (real(fimm) if op == "ConstFloat" else b"")


def _access(access: dict[str, Any]) -> bytes:
    fields = ("guard", "pointer", "base", "first_col", "cols", "bytes", "parameter", "point")
    flags = ("write", "accumulate_read", "tracked")
    head = number(access["memory"]) + bytes(access.get(flag, False) for flag in flags)
    dims = access.get("dims", ())
    shape = bytes([len(dims)]) + b"".join(number(count) + number(stride) for count, stride in dims)
    numbers = b"".join(number(access.get(field, -1)) for field in fields)
    return head + numbers + number(access.get("point_bytes", 0)) + indices(access.get("loops", ())) + shape


def _instruction(
    name: str, unit: int, parameters: Any, body: Any, accesses: Any, properties: Any, pointers: Any
) -> bytes:
    kinds = [bytes([is_float + 2 * (position in pointers)]) for position, (_, is_float) in enumerate(parameters)]
    return (
        word(name) + number(unit) + listed(kinds) + indices(body)
        + listed(_access(access) for access in accesses)
        + listed(word(key) + number(value) for key, value in properties)
    )  # fmt: skip


ENCODERS: dict[str, Callable[..., bytes]] = {
    "build": bytes,
    "memory": lambda name, kind, rows, cols, dtype, banks=1, shown=-1: (
        word(name) + bytes([KINDS.index(kind)]) + number(rows) + number(cols)
        + bytes([DTYPES.index(dtype)]) + number(banks) + number(shown)
    ),
    "state": lambda name, initial, is_float=False: real(initial) + word(name) + bytes([is_float]),
    "expr": _expr,
    "require": lambda condition, message: number(condition),
    "store": lambda memory, row, col, value: number(memory) + number(row) + number(col) + number(value),
    "store_dram": lambda pointer, offset, value, dtype: (
        number(pointer) + number(offset) + number(value) + bytes([DTYPES.index(dtype)])
    ),
    "set_state": lambda slot, index, value: number(slot) + number(index) + number(value),
    "loop": lambda count, body, step=-1, ordered=False: (
        number(count) + indices(body) + number(step) + bytes([ordered])
    ),
    "when": lambda condition, body, otherwise=(): number(condition) + indices(body) + indices(otherwise),
    "unit": lambda name, settings, choices: (
        word(name)
        + listed(word(key) + number(value) for key, value in settings.items())
        + listed(word(key) + word(value) for key, value in choices.items())
    ),
    "instruction": _instruction,
    "word": lambda instruction, key, text: number(instruction) + word(key) + word(text),
    "setting": lambda key, value: word(key) + number(value),
    "choice": lambda key, value: word(key) + word(value),
    "emit": lambda instruction, arguments, awaits: number(instruction) + indices(arguments) + indices(awaits),
    "stream": lambda instruction, name, priority, after, body: (
        number(instruction) + word(name) + number(priority) + indices(after) + indices(body)
    ),
}  # fmt: skip


class Recorder:
    """A machine builder that writes down what it is asked for."""

    def __init__(self) -> None:
        self.builder = _core.MachineBuilder()
        self.written = bytearray()

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def call(*values: Any, **named: Any) -> Any:
            said = "choice" if method == "setting" and isinstance(values[1], str) else method
            self.written += bytes([METHODS.index(said)]) + ENCODERS[said](*values, **named)
            return getattr(self.builder, method)(*values, **named)

        return call


def recorded(machine: isa.Accelerator) -> bytes:
    """The builder's calls of lowering `machine`, `build` last."""
    recorder = Recorder()
    with mock.patch.object(_core, "MachineBuilder", return_value=recorder):
        isa.lower(machine)
    return bytes(recorder.written)


def measured(accelerators: Sequence[isa.Accelerator]) -> list[bytes]:
    """Measured cases, spread over all groups, as inputs of the `trace` target; the longer ones without their ends."""
    position = next(index for index, machine in enumerate(accelerators) if machine.name == MEASURED)
    machine = accelerators[position]
    tables = isa.lower(machine)
    inputs = []
    for path in sorted((ROOT / "benchmarks" / "rtl" / "traces").iterdir())[::APART]:
        commands = read_trace(path, machine, tables).trace.commands(tables.machine)
        inputs.append(bytes([position, RECORDED]) + b"".join(_command(*command) for command in commands[:LONGEST]))
    return inputs


def _command(instruction: int, arguments: Sequence[int | float], gap: int, line: int) -> bytes:
    """As read_trace of runs.cpp reads it: a 5 says that the argument is any number."""
    values = (real(value) if isinstance(value, float) else b"\x05" + number(value) for value in arguments)
    return bytes([instruction]) + b"".join(values) + (b"\x01" + number(gap) if gap else b"\x00")


def main(folder: Path) -> None:
    machines = [isa.load(str(path)) for path in sorted(data_dir("isa").glob("*.isa"))]
    tables = [recorded(machine) for machine in machines]
    (folder / "machines").mkdir(parents=True, exist_ok=True)
    for machine, data in zip(machines, tables, strict=True):
        (folder / "machines" / f"{machine.name}.bin").write_bytes(data)
    chance = random.Random(1)
    seeds = {
        "tables": [b"\x02" + data + chance.randbytes(2000) for data in tables],
        "bytecode": [bytes([number % len(tables)]) + chance.randbytes(600) for number in range(20)],
        "trace": [bytes([number % len(tables)]) + chance.randbytes(600) for number in range(20)] + measured(machines),
    }
    for target, inputs in seeds.items():
        (folder / "seeds" / target).mkdir(parents=True, exist_ok=True)
        for index, data in enumerate(inputs):
            (folder / "seeds" / target / str(index)).write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Command traces: text with one command a line and named operands, as measured on hardware, into native traces.

A line is `name operand=value ...`. Values are numbers, names of the accelerator's constants, hexadecimal DRAM
addresses, or local addresses such as `sp:12` and `acc:5+acc`. `#` begins a comment; `@cycle-gap N` asks for at least
N idle host cycles between the commands from there on.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from autocomp.errors import ConfigError, Place
from autocomp.simulator import _core
from autocomp.targets.simulator.isa.lowering.lower import MachineTables
from autocomp.targets.simulator.isa.model import Accelerator, AddressSpace, Parameter
from autocomp.targets.simulator.isa.tree import Expression, Name, Number

MAX_BYTES = 1 << 28  # of a trace's text, unpacked
MAX_GAP = 1 << 36  # cycles
MAX_MESSAGE = 400  # characters of what a line is told
MAX_DIGITS = 100  # of a number
_POINTER = 1 << 48  # tensor 0 in a DRAM pointer; the trace's addresses are offsets in it


@dataclass(frozen=True)
class TraceText:
    """A parsed trace. `unsupported` names the commands that the accelerator's description does not have."""

    trace: _core.Trace
    command_count: int
    unsupported: Mapping[str, int]

    def unknown(self) -> str:
        """The first of the unsupported commands, for a message."""
        names = sorted(self.unsupported)
        listed = ", ".join(name[:40] if name.isprintable() else repr(name[:40]) for name in names[:8])
        return listed if len(names) <= 8 else f"{listed} and {len(names) - 8:,} more"


def read_trace(path: Path, accelerator: Accelerator, tables: MachineTables) -> TraceText:
    """The trace of a file, gzipped if its name ends in `.gz`.

    Raises ConfigError when it cannot be read or a line is not a command with operands as described.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode("utf-8")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", hint="a trace is text, or gzipped text") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path}: a trace may have at most {MAX_BYTES:,} bytes of text")
    return parse_trace(text, str(path), accelerator, tables)


def parse_trace(text: str, source: str, accelerator: Accelerator, tables: MachineTables) -> TraceText:
    """The trace of a text; `source` is its name in messages. Raises ConfigError as `read_trace` does."""
    reader = _Reader(accelerator, tables)
    for number, line in enumerate(text.splitlines(), 1):
        try:
            reader.line(line.split("#", 1)[0].strip(), number)
        except ValueError as error:
            place = Place(source, number, 1, line, max(1, len(line.strip())))
            what = str(error) if len(str(error)) <= MAX_MESSAGE else f"{str(error)[:MAX_MESSAGE]}…"
            raise ConfigError(f"not a command of {accelerator.name}: {what}", place=place) from None
    trace = _core.Trace(
        tables.machine,
        np.array(reader.instructions, np.int32),
        reader.arguments,
        np.array(reader.gaps, np.int64),
        np.array(reader.lines, np.int32),
    )
    return TraceText(trace, len(reader.instructions), reader.unsupported)


class _Reader:
    def __init__(self, accelerator: Accelerator, tables: MachineTables) -> None:
        self.accelerator = accelerator
        self.tables = tables
        self.instructions: list[int] = []
        self.arguments: list[list[int | float]] = []
        self.gaps: list[int] = []
        self.lines: list[int] = []
        self.unsupported: dict[str, int] = {}
        self.gap = 0
        self.fences = {i.name for i in accelerator.instructions if i.words.get("role") == "fence"}
        self.between = False  # the first command of a segment is offered at once

    def line(self, line: str, number: int) -> None:
        if not line:
            return
        name, *words = line.split()
        if name == "@cycle-gap":
            if len(words) != 1:
                _fail("@cycle-gap takes one number")
            self.gap = _integer(words[0])
            if not 0 <= self.gap <= MAX_GAP:
                _fail(f"a gap is from 0 to {MAX_GAP:,} cycles")
            return
        operands = {}
        for word in words:
            key, equals, value = word.partition("=")
            if not equals:
                _fail(f"{word!r} is not of the form operand=value")
            operands[key] = value
        calls = self._calls(name, operands)
        if calls is None:
            self.unsupported[name] = self.unsupported.get(name, 0) + 1
            return
        for instruction, arguments in calls:
            self.instructions.append(self.tables.instructions[instruction])
            self.arguments.append(arguments)
            self.gaps.append(self.gap if self.between else 0)
            self.between = instruction not in self.fences
            self.lines.append(number)

    def _calls(self, name: str, operands: Mapping[str, str]) -> list[tuple[str, list[int | float]]] | None:
        alias = self.accelerator.trace_form(name)
        if alias is None:
            instruction = self.accelerator.instruction(name)
            if instruction is None:
                return None
            names = tuple(p.name for p in instruction.parameters)
            expansion: tuple[tuple[str, tuple[Expression, ...]], ...] = ((name, tuple(Name(n) for n in names)),)
        else:
            names, expansion = alias.parameters, alias.expansion
        if missing := [n for n in names if n not in operands]:
            _fail(f"{name} lacks {', '.join(missing)}")
        if unknown := [n for n in operands if n not in names]:
            _fail(f"{name} has no operand {', '.join(unknown)}; it has {', '.join(names)}")
        return [
            (target, [self._argument(p, e, operands) for p, e in zip(self._parameters(target), given, strict=True)])
            for target, given in expansion
        ]

    def _parameters(self, name: str) -> tuple[Parameter, ...]:
        return self.tables.parameters[name]

    def _argument(self, parameter: Parameter, expression: Expression, operands: Mapping[str, str]) -> int | float:
        if isinstance(expression, Number):
            return expression.value
        if not isinstance(expression, Name):
            _fail("a trace's form may only pass its operands and numbers on")
        text = operands.get(expression.name)
        if text is None:
            return self.accelerator.constants[expression.name]
        if parameter.kind == "address" and parameter.space is not None:
            return _address(text, self.accelerator.space(parameter.space))
        if parameter.kind == "pointer":
            offset = _integer(text)
            if not 0 <= offset < _POINTER:
                _fail(f"expected an address of at most 48 bits, found {text}")
            return _POINTER | offset if offset else 0
        if parameter.kind == "float":
            return float(text)
        return int(self.accelerator.constants[text]) if text in self.accelerator.constants else _integer(text)


def _address(text: str, space: AddressSpace) -> int:
    if text == space.text_none and space.none is not None:
        return space.none
    place, *flags = text.split("+")
    spelling, _, row = place.partition(":")
    memory = dict(space.text_names).get(spelling)
    if memory is None:
        _fail(f"{spelling!r} names no memory of an address")
    value = next(match for name, _, match in space.memories if name == memory)
    _, low = space.field(space.row_field)
    value |= _integer(row) << low
    for flag in flags:
        field = dict(space.text_flags).get(flag)
        if field is None:
            _fail(f"unknown flag {flag!r} of an address")
        value |= 1 << space.field(field)[1]
    return value


def _integer(text: str) -> int:
    """A number of 64 bits, signed or not."""
    value = int(text, 0) if len(text) <= MAX_DIGITS else _fail("a number of more than 64 bits")
    if not -(1 << 63) <= value < 1 << 64:
        _fail(f"{text} has more than 64 bits")
    return value


def _fail(message: str) -> NoReturn:
    raise ValueError(message)

"""Whole programs, with `main()`: what they print, how they end, and how long the accelerator took."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from autocomp.simulator import ProgramError, SimulationOptions, SimulationResult, run_program
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.checking.system import CONVERSION, FLOATING
from autocomp.targets.simulator.kernel.procedures import called_by, with_callees
from autocomp.targets.simulator.kernel.syntax.ast import Kernel

MAX_STEPS = 1 << 36
FENCE = "fence"


@dataclass(frozen=True)
class ProgramRun:
    """`output` is what the program printed, `cycles` from its first command to its last. `notes` say what it asked for
    that is not there."""

    exit_code: int
    output: str
    cycles: int
    commands: int
    notes: tuple[str, ...]
    error: ProgramError | None = None


def run_file(text: str, source_name: str, accelerator: Accelerator, constants: Mapping[str, int | float]) -> ProgramRun:
    """Run a program on a machine. `constants` are names from outside, as `-D` gives them.

    Raises KernelError for a text that does not parse or check, or that has no `main()`.
    """
    names = {**accelerator.all_constants, **constants}
    tree = kernel.parse(text, source_name, names)
    checked = kernel.check(tree, accelerator, constants)
    tables = isa.lower(accelerator)
    program = kernel.link(checked.program, tables)
    options = SimulationOptions(record_commands=True, max_steps=MAX_STEPS)
    result = run_program(tables.machine, program, {}, options)
    if result.clock_readings and result.error is None:
        times = _times(result, _fences(accelerator, tables.instructions))
        result = run_program(tables.machine, program, {}, replace(options, clock=times))
    notes = [f"{p.name}: {p.note}" for p in _used(tree, accelerator) if p.note]
    if result.not_printed:
        notes.append(f"{result.not_printed:,} messages more than are kept were printed")
    return ProgramRun(
        result.exit_code,
        "".join(_printed(result.printed, checked.program.messages)),
        result.timing.cycles if result.timing is not None else 0,
        result.command_count,
        (*notes, *(result.timing.notes if result.timing is not None else ())),
        result.error,
    )


def _used(tree: Kernel, accelerator: Accelerator) -> list[isa.model.Procedure]:
    """The procedures of the description that a program comes to call."""
    needed = {procedure.entry.name for procedure in with_callees(called_by(tree), accelerator)}
    return [procedure for procedure in accelerator.all_procedures if procedure.name in needed]


def _fences(accelerator: Accelerator, numbers: Mapping[str, int]) -> frozenset[int]:
    return frozenset(numbers[i.name] for i in accelerator.instructions if i.words.get("role") == FENCE)


def _times(result: SimulationResult, fences: frozenset[int]) -> list[int]:
    """The clock's time at each reading: when the machine took the command before, or was idle after a fence."""
    timing = result.timing
    assert timing is not None
    assert timing.commands is not None
    commands, times, now = timing.commands, [], 0
    for count in result.clock_readings:
        if count:
            last = count - 1
            waited = int(commands.instruction[last]) in fences
            now = max(now, int(commands.completed[last] if waited else commands.accepted[last]))
        times.append(now)
    return times


def _printed(words: Sequence[int], messages: Sequence[str]) -> Iterator[str]:
    """The text of each message of a run, see `SimulationResult.printed`."""
    position = 0
    while position < len(words):
        message, count = words[position : position + 2]
        position += 2 + count
        yield _formatted(messages[message], words[position - count : position], messages)


def _formatted(text: str, values: Sequence[int], messages: Sequence[str]) -> str:
    """A format with its values, as C prints them."""
    parts, end, left = [], 0, iter(values)
    for match in CONVERSION.finditer(text):
        parts.append(text[end : match.start()])
        end = match.end()
        flags, width, precision, letter = match.groups()
        if letter == "%":
            parts.append("%")
            continue
        value = next(left)
        long = match.group().rstrip(letter)[-1:] in "lzjt"
        form = f"%{flags}{width}" + (f".{precision}" if precision is not None else "")
        if letter in FLOATING:
            parts.append(
                (form + letter.replace("a", "e").replace("A", "E")) % struct.unpack("<d", struct.pack("<q", value))
            )
        elif letter == "s":
            parts.append((form + "s") % messages[value])
        elif letter == "c":
            parts.append((form + "c") % chr(value & 0xFF))
        elif letter == "p":
            parts.append(hex(value))
        elif letter in "di":
            parts.append((form + "d") % (value if long else (value + (1 << 31)) % (1 << 32) - (1 << 31)))
        else:
            parts.append((form + letter.replace("u", "d")) % (value % (1 << (64 if long else 32))))
    return "".join([*parts, text[end:]])

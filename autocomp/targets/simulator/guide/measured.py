"""The cost of commands, measured on the simulator: one alone, and each of many in a row, at a few sizes.

Operands come from the machine's naive matrix multiplication where that issues the command, else from the roles and
ranges of its parameters. Sizes are the largest that the description allows, and a quarter of these: all of them, of
moves each by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from autocomp.errors import AutocompError
from autocomp.remember import remembered
from autocomp.simulator import SimulationOptions, _core, replay_trace
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.derived.contractions import contraction_tile
from autocomp.targets.simulator.isa.derived.roles import Role, bounding, instruction_role, instruction_roles
from autocomp.targets.simulator.isa.lowering.lower import MachineTables
from autocomp.targets.simulator.isa.model import Accelerator, Instruction, Parameter
from autocomp.targets.simulator.isa.timing import POOLED
from autocomp.targets.simulator.isa.tree import Number
from autocomp.targets.simulator.profile.recording import record
from autocomp.targets.simulator.start.naive import naive_gemm
from autocomp.workload.load import parse as parse_workload

SIZES = ("rows", "cols", "depth")  # roles of operands that say how much a command does
MOVES = ("load", "store")  # kinds of instructions
UNTIMED = ("fence", "immediate", "wait", "signal", "configure")
MOST_ROWS = 4096  # of a size that is tried
# Commands in a row: the difference is free of how the run begins and ends. A queue that nothing empties holds few.
ROWS = ((8, 40), (2, 4))
APART = 1 << 16  # bytes of DRAM between two of them
POINTER = 1 << 48  # tensor 0 of a trace
EXTENT = 64  # of the multiplication that operands come from: its rows in DRAM are aligned
MOST_SAMPLES = 100  # commands of it that are looked at
PLACES = 4  # of results that are formed at the same time
PITCH = 4096  # bytes from row to row of an operand in DRAM

Command = tuple[str, Mapping[str, int | float]]


@dataclass(frozen=True)
class Measured:
    """Commands of one size. `alone` are the cycles of one, from the host to its completion; `each` those by which every
    further one lengthens a row of them. Multiplies go to places of their own, from operands in banks of their own,
    where that helps: `otherwise` says in words when they cost more, and when less."""

    sizes: Mapping[str, int]
    alone: int
    each: float
    otherwise: Mapping[str, float] = field(default_factory=dict)


@remembered
def measured(accelerator: Accelerator) -> Mapping[str, tuple[Measured, ...]]:
    """The figures of each instruction. Those of a multiply are of the pair that it forms with its preload. Instructions
    that need no time of their own, or do not run with such operands, are left out."""
    probe = _Probe(accelerator)
    samples = {instruction.name: tuple(probe.measure(instruction)) for instruction in accelerator.instructions}
    return {name: figures for name, figures in samples.items() if figures}


class _Probe:
    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator = accelerator
        self.tables: MachineTables = isa.lower(accelerator)
        samples = _samples(accelerator, self.tables)
        self.setup: list[Command] = [
            command for command in samples if instruction_roles(accelerator)[command[0]].kind == "configuration"
        ]
        self.samples: dict[str, Mapping[str, int | float]] = {}
        for name, operands in samples:
            self.samples.setdefault(name, operands)
        preloads = (i for i in accelerator.instructions if i.words.get("role") == "preload")
        self.preloads = {instruction.unit: instruction for instruction in preloads}

    def measure(self, instruction: Instruction) -> Iterator[Measured]:
        kinds = {unit.name: unit.settings.get("kind", "serial") for unit in self.accelerator.units}
        role = instruction.words.get("role")
        if instruction.unit is None or kinds[instruction.unit] not in POOLED or role in (*UNTIMED, "preload"):
            return
        kind = instruction_role(self.accelerator, instruction).kind
        if kind == "configuration":
            return
        seen: list[Mapping[str, int]] = []
        known: set[tuple[int, float]] = set()  # another size with the same figures says nothing new
        for operands in self._at_sizes(instruction, kind in MOVES):
            commands = [(instruction.name, operands)]
            pair = self.preloads.get(instruction.unit) if role == "multiply" else None
            if pair is not None:
                part = 1 if not seen else 4
                commands.insert(0, (pair.name, self._operands(pair, dict.fromkeys(self._sizes(pair), part))))
            named = self._sizes(instruction) or bounding(instruction)
            sizes = {name: int(operands[name]) for name in named}
            if sizes in seen:
                continue
            seen.append(sizes)
            sample = self._measured(sizes, commands, role == "multiply" or kind == "contraction")
            if sample is not None and (not self._sizes(instruction) or (sample.alone, sample.each) not in known):
                known.add((sample.alone, sample.each))
                yield sample

    def _measured(self, sizes: Mapping[str, int], commands: Sequence[Command], multiplies: bool) -> Measured | None:
        plain = self._figures(commands)
        if plain is None or not multiplies:
            return None if plain is None else Measured(sizes, *plain)
        banked = _in_banks(self.accelerator, commands)
        apart = self._figures(banked, places=PLACES)
        best = plain if apart is None or apart[1] >= plain[1] else apart
        others = {
            "into one place": self._figures(banked),
            "with operands in one bank": self._figures(commands, places=PLACES),
        }
        slower = {words: figures[1] for words, figures in others.items() if figures and figures[1] > best[1]}
        kept = self._keeping(banked)
        again = None if kept is None else self._figures(kept, places=PLACES)
        faster = {"with the operand kept": again[1]} if again is not None and again[1] < best[1] else {}
        return Measured(sizes, *best, {**(slower if best is apart else {}), **faster})

    def _keeping(self, commands: Sequence[Command]) -> list[Command] | None:
        """A preload without an operand, and the multiply in the call form that keeps what is in the array; None where
        the machine has none."""
        if len(commands) < 2:
            return None
        (preload, loaded), (multiply, operands) = commands
        instructions = [self.accelerator.instruction(name) for name in (preload, multiply)]
        assert instructions[0] is not None
        assert instructions[1] is not None
        absent = {
            parameter.name: none
            for parameter in instructions[0].parameters
            if parameter.kind == "address"
            and instruction_role(self.accelerator, instructions[0]).parameters.get(parameter.name) != "destination"
            and (none := self.accelerator.space(parameter.space or "").none) is not None
        }
        forms = _forms(self.accelerator, instructions[1])
        kept = [form for form in forms if any(operands[name] != value for name, value in form.items())]
        if not absent or len(forms) != 2 or len(kept) != 1:
            return None
        return [(preload, {**loaded, **absent}), (multiply, {**operands, **kept[0]})]

    def _figures(self, commands: Sequence[Command], places: int = 1) -> tuple[int, float] | None:
        """`alone` and `each`, with the results of successive commands in `places` places."""
        none, one = (self._row(commands, n, places) for n in (0, 1))
        for few, many in ROWS:
            runs = [self._row(commands, n, places) for n in (few, many)]
            if none is not None and one is not None and runs[0] is not None and runs[1] is not None:
                return one - none, (runs[1] - runs[0]) / (many - few)
        return None

    def _row(self, commands: Sequence[Command], count: int, places: int) -> int | None:
        return self._cycles([*self.setup, *_in_a_row(self.accelerator, commands, count, places)])

    def _cycles(self, commands: Sequence[Command]) -> int | None:
        if not commands:
            return 0
        arguments = [
            [operands[parameter.name] for parameter in self.tables.parameters[name]] for name, operands in commands
        ]
        indices = np.array([self.tables.instructions[name] for name, _ in commands], np.int32)
        trace = _core.Trace(self.tables.machine, indices, arguments, np.zeros(len(commands), np.int64))
        result = replay_trace(self.tables.machine, trace, SimulationOptions(requirements=False))
        return None if result.error is not None or result.timing is None else result.timing.cycles

    def _at_sizes(self, instruction: Instruction, moves: bool) -> Iterator[Mapping[str, int | float]]:
        """The command's operands at its largest size, then at a quarter of that, of moves each size alone. A move whose
        sizes have no role has those of the naive kernel, and those in another order."""
        names = self._sizes(instruction)
        whole = self._operands(instruction, {})
        yield whole
        smaller = [[name] for name in names] if moves else [names]
        yield from (self._operands(instruction, dict.fromkeys(some, 4)) for some in smaller)
        bounds = [] if names or not moves else bounding(instruction)
        for turn in range(1, len(bounds)):
            yield {**whole, **{name: whole[bounds[(n + turn) % len(bounds)]] for n, name in enumerate(bounds)}}

    def _operands(self, instruction: Instruction, parts: Mapping[str, int]) -> Mapping[str, int | float]:
        """The command at its largest size, or with the share of some sizes that `parts` says."""
        likely = _plausible(self.accelerator, instruction)
        operands = {**likely, **self.samples.get(instruction.name, {})}
        words = instruction_role(self.accelerator, instruction).parameters
        # Rows that do not meet, and are aligned as those of large tensors are.
        operands |= {name: likely[name] for name, word in words.items() if word == "dram stride" and name in likely}
        for name in self._sizes(instruction):
            parameter = next(p for p in instruction.parameters if p.name == name)
            largest = int(operands[name]) if parameter.high is None else min(parameter.high, MOST_ROWS)
            operands[name] = max(largest // parts.get(name, 1), parameter.low or 0, 1)
        return operands

    def _sizes(self, instruction: Instruction) -> list[str]:
        words = instruction_role(self.accelerator, instruction).parameters
        whole = {p.name for p in instruction.parameters if p.kind == "integer"}
        return [name for name, word in words.items() if word in SIZES and name in whole]


def _forms(accelerator: Accelerator, instruction: Instruction) -> list[dict[str, int | float]]:
    """The operands that all call forms of an instruction fix to numbers, with their values in each different form."""
    fixed_by_form: list[dict[str, int | float]] = []
    for alias in accelerator.aliases:
        if len(alias.expansion) == 1 and alias.expansion[0][0] == instruction.name:
            pairs = zip(instruction.parameters, alias.expansion[0][1], strict=True)
            fixed_by_form.append(
                {parameter.name: value.value for parameter, value in pairs if isinstance(value, Number)}
            )
    shared = set.intersection(*map(set, fixed_by_form)) if fixed_by_form else set()
    forms = [{name: fixed[name] for name in sorted(shared)} for fixed in fixed_by_form]
    return [form for number, form in enumerate(forms) if form not in forms[:number]]


def _in_a_row(accelerator: Accelerator, commands: Sequence[Command], count: int, places: int) -> Iterator[Command]:
    """The commands `count` times, each time on another part of DRAM, with destinations in `places` places in turn."""
    for turn in range(count):
        for name, operands in commands:
            instruction = accelerator.instruction(name)
            assert instruction is not None
            pointers = {p.name for p in instruction.parameters if p.kind == "pointer"}
            moved = {key: value + turn * APART if key in pointers else value for key, value in operands.items()}
            if places > 1:
                for parameter, place in _addresses(accelerator, instruction, moved, destinations=True):
                    # The upper half of a memory, of which operands use the lower one.
                    moved[parameter] = place.row((place.rows + turn % places * (place.rows // places)) // 2)
            yield name, moved


def _in_banks(accelerator: Accelerator, commands: Sequence[Command]) -> list[Command]:
    """The commands with the operands that they read in banks of their own, as far as there are banks."""
    used: Counter[str] = Counter()
    placed: list[Command] = []
    for name, operands in commands:
        instruction = accelerator.instruction(name)
        assert instruction is not None
        values = dict(operands)
        for parameter, place in _addresses(accelerator, instruction, values, destinations=False):
            values[parameter] = place.row(used[place.memory] % place.banks * (place.rows // place.banks))
            used[place.memory] += 1
        placed.append((name, values))
    return placed


@dataclass(frozen=True)
class _Place:
    """An address, and the memory that it is in."""

    memory: str
    rows: int
    banks: int
    address: int
    low: int  # bit at which the row begins
    mask: int

    def row(self, number: int) -> int:
        """The address with another row."""
        return self.address & ~self.mask | (number << self.low) & self.mask


def _addresses(
    accelerator: Accelerator, instruction: Instruction, operands: Mapping[str, int | float], *, destinations: bool
) -> Iterator[tuple[str, _Place]]:
    """The operands of a command that name rows of a memory: its destinations, or what it reads."""
    words = instruction_role(accelerator, instruction).parameters
    memories = {memory.name: memory for memory in accelerator.local_memories}
    for parameter in instruction.parameters:
        if parameter.kind != "address" or (words.get(parameter.name) == "destination") != destinations:
            continue
        space, value = accelerator.space(parameter.space or ""), int(operands[parameter.name])
        named = next((name for name, mask, match in space.memories if value & mask == match), None)
        if value != space.none and named in memories:
            high, low = space.field(space.row_field)
            memory, mask = memories[named], ((1 << (high - low + 1)) - 1) << low
            yield parameter.name, _Place(named, memory.rows, max(1, memory.banks), value, low, mask)


def _samples(accelerator: Accelerator, tables: MachineTables) -> list[Command]:
    """The first commands of each kind of the naive kernel of a multiplication; none where there is no such kernel."""
    if contraction_tile(accelerator) is None:
        return []
    sizes = ", ".join(f"{name}: {EXTENT}" for name in "IJK")
    names = {index: name for name, index in tables.instructions.items()}
    for dtype in ("int8", "float32"):
        text = f"operation: gemm\naccelerator: any\ndtype: {dtype}\ndims: {{{sizes}}}\n"
        try:
            workload = parse_workload(text, Path("tile.yaml"))
            recording = record(naive_gemm(workload, accelerator), workload, accelerator)
        except AutocompError:
            continue
        commands: list[Command] = []
        for index, values, _, _ in recording.trace.commands(tables.machine)[:MOST_SAMPLES]:
            operands = {p.name: v for p, v in zip(tables.parameters[names[index]], values, strict=True)}
            commands.append((names[index], operands))
        return commands
    return []


def _plausible(accelerator: Accelerator, instruction: Instruction) -> Mapping[str, int | float]:
    role = instruction_role(accelerator, instruction)
    return {parameter.name: _operand(accelerator, parameter, role) for parameter in instruction.parameters}


def _operand(accelerator: Accelerator, parameter: Parameter, role: Role) -> int | float:
    """A value that lets a command do its usual work: the first row of a memory that it uses, a wide stride."""
    if parameter.kind == "pointer":
        return POINTER
    if parameter.kind == "float":
        return 1.0
    word = role.parameters.get(parameter.name, "other")
    if parameter.kind == "address" and parameter.space is not None:
        used = role.writes if word == "destination" else role.reads
        matches = [(name in used, match) for name, _, match in accelerator.space(parameter.space).memories]
        return next((match for fits, match in matches if fits), matches[0][1] if matches else 0)
    if word == "dram stride":
        return min(PITCH, parameter.high or PITCH)
    return parameter.low or 0

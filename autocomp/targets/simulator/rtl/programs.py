"""Random legal programs of a machine, made from its description alone: straight lines of commands, as kernels.

A program begins as a small matrix multiplication, in the description's own idioms, and with wide moves into a few
places of local memory. Then random phrases follow: a command, a preload with its multiply, or the commands of a
hardware loop. Commands that the machine forbids, or whose effect is undefined, are removed: a program is legal if the
simulator and its memory discipline find no error.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autocomp.errors import ConfigError
from autocomp.simulator import SimulationOptions, SimulationResult, _core
from autocomp.targets.simulator.evaluate.compiled import compile_kernel
from autocomp.targets.simulator.isa.model import AddressSpace, Instruction, Parameter
from autocomp.targets.simulator.rtl.laboratory import ELEMENTS, TENSORS, Laboratory
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.workload.load import parse as parse_workload

MOVES_IN = ("transfer_in", "stream_in")  # kinds of units
PHRASES = 16  # tried at a time
TRIES = 400  # phrases tried for each program at most, times its length over 40
PLACES = 5  # of each local memory that operands are in: few, so that commands depend on each other
WIDE = 512  # no operand without a narrower range is larger, so that strides stay in the tensors
FLAGGED = (0.1, 0.3, 0.7)  # shares of the addresses of a program that have a flag: with most, sums grow in chains
SCALES = (1.0, 1.0, 1.0, 0.5, 2.0, 0.0625, -1.0, 0.3)
REPEATED = 0.6  # of the phrases are like an earlier one
Phrase = tuple[str, ...]


def random_program(lab: Laboratory, seed: int, length: int) -> list[str]:
    """A legal program of at most `length` commands, the same for the same seed: one command a line of a kernel."""
    return _Author(lab, random.Random(seed)).program(length)


@dataclass(frozen=True)
class _Choice:
    """Interchangeable kinds of phrases, as the names of their instructions, and their share of a program."""

    weight: float
    names: tuple[tuple[str, ...], ...]


class _Author:
    """Writes one program."""

    def __init__(self, lab: Laboratory, numbers: random.Random) -> None:
        self.lab = lab
        self.numbers = numbers
        self.places = {
            memory.name: [self._place(memory.rows, memory.banks, memory.cols) for _ in range(PLACES)]
            for memory in lab.accelerator.memories
            if memory.kind == "local"
        }
        self.flagged = numbers.choice(FLAGGED)
        self.choices = _choices(lab)
        self.failed: Counter[_Choice] = Counter()  # phrases of a kind, since one was legal
        self.memories: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)

    def program(self, length: int) -> list[str]:
        wanted = self.numbers.randint(max(1, length // 3), length)
        start = self._paired(self._multiplication())
        start = start[: self.numbers.randint(min(len(start), 8), max(8, min(len(start), length // 2)))]
        kept = self._legal_part(start, length)
        kept = self._legal_part([*kept, *self._fills(), *self._fills()], max(1, length // 2))
        tries = 0
        while sum(map(len, kept)) < wanted and tries < TRIES * max(1, length // 40):
            there = len(kept)
            kept = self._legal_part([*kept, *(self._phrase(kept) for _ in range(PHRASES))], length)
            for choice in self.choices:
                if any(_names(phrase) in choice.names for phrase in kept[there:]):
                    self.failed[choice] = 0
            tries += PHRASES
        return [command for phrase in kept for command in phrase]

    def _legal_part(self, phrases: Sequence[Phrase], length: int) -> list[Phrase]:
        """The phrases without those in which something is wrong, and without the last ones beyond `length` commands."""
        kept = list(phrases)
        while kept:
            while sum(map(len, kept)) > length:
                kept.pop()
            result = self.lab.run([command for phrase in kept for command in phrase], timing=False)
            wrong = _wrong_lines(result)
            if not wrong:
                self._learn(kept)
                return kept
            kept = _without(kept, wrong)
        return kept

    def _paired(self, commands: Sequence[str]) -> list[Phrase]:
        """The commands one by one, but a preload with its multiply."""
        phrases: list[Phrase] = []
        for command in commands:
            before = self.lab.instruction(_names(phrases[-1])[-1]) if phrases else None
            if before is not None and before.words.get("role") == "preload":
                phrases[-1] = (*phrases[-1], command)
            else:
                phrases.append((command,))
        return phrases

    # --- phrases

    def _phrase(self, kept: Sequence[Phrase]) -> Phrase:
        """One of a kind that is rarer so far than its weight asks for; often like one that was legal before."""
        there = Counter(_names(phrase) for phrase in kept)
        shares = [
            (choice.weight / (1 + sum(there[n] for n in choice.names))) ** 2 / (1 + self.failed[choice])
            for choice in self.choices
        ]
        choice = self.numbers.choices(self.choices, shares)[0]
        self.failed[choice] += 1
        names = self.numbers.choice(choice.names)
        alike = [phrase for phrase in kept if _names(phrase) == names]
        if alike and self.numbers.random() < REPEATED:
            model = self.numbers.choice(alike)
            share = self.numbers.choice((0.1, 0.3, 0.6))
            return tuple(self._changed(command, share) for command in model)
        return tuple(self._command(self.lab.instruction(name)) for name in names)

    def _changed(self, command: str, share: float) -> str:
        """The command with a share of its operands drawn anew."""
        name, operands = self.lab.call(command)
        given = zip(self.lab.instruction(name).parameters, operands, strict=True)
        drawn = [self._operand(name, p) if self.numbers.random() < share else text for p, text in given]
        return f"{name}({', '.join(drawn)});"

    def _command(self, instruction: Instruction) -> str:
        operands = (self._operand(instruction.name, p) for p in instruction.parameters)
        return f"{instruction.name}({', '.join(operands)});"

    def _fills(self) -> Iterator[Phrase]:
        """For each place a move of as much as one of its rows and a square hold."""
        units = {unit.name for unit in self.lab.accelerator.units if unit.settings.get("kind") in MOVES_IN}
        moves = [i for i in self.lab.instructions if i.unit in units and i.words.get("role", "transfer") == "transfer"]
        for memory, places in self.places.items():
            for place in places if moves else ():
                move = self.numbers.choice(moves)
                yield (f"{move.name}({', '.join(self._full(p, memory, place) for p in move.parameters)});",)

    def _full(self, parameter: Parameter, memory: str, place: int) -> str:
        if parameter.kind == "integer" and parameter.low == 1 and parameter.high is not None:
            return str(min(parameter.high, self.lab.accelerator.memory(memory).cols))
        if parameter.kind == "address" and parameter.space is not None:
            space = self.lab.accelerator.space(parameter.space)
            match = next((value for name, _, value in space.memories if name == memory), 0)
            return f"{match | place << space.field(space.row_field)[1]:#x}"
        return self._operand("", parameter)

    def _multiplication(self) -> list[str]:
        """The commands of a small matrix multiplication, none on a machine that has no idiom of it."""
        lab, numbers = self.lab, self.numbers
        side = 2 * max((m.cols for m in lab.accelerator.memories if m.kind == "local"), default=1)
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
        result = compiled.run(arrays, SimulationOptions(timing=False, record_trace=True))
        assert isinstance(result.trace, _core.Trace)
        names = {index: name for name, index in lab.tables.instructions.items()}
        issued = ((names[index], arguments) for index, arguments, *_ in result.trace.commands(lab.tables.machine))
        return [lab.line(name, arguments) for name, arguments in issued]

    # --- operands

    def _operand(self, instruction: str, parameter: Parameter) -> str:
        if parameter.kind == "float":
            return f"{self.numbers.choice(SCALES)}f"
        if parameter.kind == "pointer":
            return self._pointer()
        if parameter.kind == "address" and parameter.space is not None:
            space = self.lab.accelerator.space(parameter.space)
            return f"{self._address(space, self.memories[instruction, parameter.name]):#x}"
        return str(self._number(parameter.low or 0, parameter.high))

    def _number(self, low: int, high: int | None) -> int:
        high = WIDE if high is None else min(high, max(low, WIDE))
        some = self.numbers.randint(low, high)
        if low == 0 and some == 0 and high > 1 and self.numbers.random() < 0.8:
            some = 1
        if high - low <= 1:
            return some
        if high - low <= max(memory.cols for memory in self.lab.accelerator.memories):  # a size, not a distance
            return low if self.numbers.random() < 0.01 else self.numbers.choice((high, some, some, max(low, 1)))
        few = self.numbers.randint(low, low + 6)
        usual = (low, low + 1, low + 1, few, few, 16, 16)
        return min(high, self.numbers.choice(usual if self.numbers.random() < 0.85 else (64, some)))

    def _pointer(self) -> str:
        if self.numbers.random() < 0.08:
            return "NULL"
        offset = self.numbers.randrange(ELEMENTS // 2)
        grain = self.numbers.choice((1, 1, 4, 16, 16, 64))
        return f"&{self.numbers.choice(TENSORS)}[{offset // grain * grain}]"

    def _place(self, rows: int, banks: int, cols: int) -> int:
        bank = self.numbers.randrange(banks) * (rows // banks)
        return (bank + self.numbers.randrange(8) * cols) % rows

    def _address(self, space: AddressSpace, legal: Mapping[str, int]) -> int:
        """A row; of a memory that an operand was legal in before, the more often the likelier."""
        if space.none is not None and self.numbers.random() < 0.1:
            return space.none
        weights = [0.2 + legal.get(name, 0) for name, _, _ in space.memories]
        name, _, value = self.numbers.choices(space.memories, weights)[0]
        memory = self.lab.accelerator.memory(name)
        row = self.numbers.choice(self.places[name])
        if self.numbers.random() < 0.2:
            row += self.numbers.randrange(memory.cols)
        value |= row % memory.rows << space.field(space.row_field)[1]
        for _, flag in space.text_flags:
            if self.numbers.random() < self.flagged:
                value |= 1 << space.field(flag)[1]
        return value

    def _learn(self, phrases: Sequence[Phrase]) -> None:
        """Take note of the memories that address operands are in."""
        for command in (command for phrase in phrases for command in phrase):
            name, operands = self.lab.call(command)
            for parameter, text in zip(self.lab.instruction(name).parameters, operands, strict=True):
                if parameter.kind != "address" or parameter.space is None:
                    continue
                space, value = self.lab.accelerator.space(parameter.space), int(text, 0)
                for memory, mask, match in space.memories:
                    if value != space.none and value & mask == match:
                        self.memories[name, parameter.name][memory] += 1


def _choices(lab: Laboratory) -> tuple[_Choice, ...]:
    """Transfers and pairs are most of a program, configurations and fences some of it."""
    kinds = {unit.name: unit.settings.get("kind") for unit in lab.accelerator.units}
    groups: dict[tuple[str | None, str], list[str]] = {}
    for instruction in lab.instructions:
        expands = kinds.get(instruction.unit or "") == "expander"
        role = "loop" if expands else instruction.words.get("role", "work")
        groups.setdefault((instruction.unit, role), []).append(instruction.name)
    choices = []
    for (unit, role), names in groups.items():
        if role == "loop":
            choices.append(_Choice(0.1, (tuple(names),)))
        elif role == "preload":
            multiplies = groups.get((unit, "multiply"), [])
            choices.append(_Choice(5.0, tuple((name, multiply) for name in names for multiply in multiplies)))
        elif role != "multiply" or (unit, "preload") not in groups:
            weight = 0.1 if unit is None else 0.8 if role == "configure" else 4.0
            choices.append(_Choice(weight, tuple((name,) for name in names)))
    return tuple(choices)


def _names(phrase: Phrase) -> tuple[str, ...]:
    return tuple(command.partition("(")[0] for command in phrase)


def _wrong_lines(result: SimulationResult) -> set[int]:
    """Numbers of the commands in which something is wrong."""
    if result.error is not None:
        return {result.error.line or result.command_count}
    return {violation.line for violation in result.violations}


def _without(phrases: Sequence[Phrase], lines: set[int]) -> list[Phrase]:
    """The phrases that none of these lines is in; at least one less."""
    kept: list[Phrase] = []
    line = 0
    for phrase in phrases:
        if not lines & set(range(line + 1, line + len(phrase) + 1)):
            kept.append(phrase)
        line += len(phrase)
    return kept if len(kept) < len(phrases) else kept[:-1]

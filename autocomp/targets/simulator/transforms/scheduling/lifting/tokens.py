"""Tokens that commands pass by operands of their own, for nothing but order: a schedule orders units anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from autocomp.remember import remembered
from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.derived.regions import effects, writes
from autocomp.targets.simulator.isa.tree import Expression, Name, Number
from autocomp.targets.simulator.isa.walk import expressions

Column = npt.NDArray[np.int64]
_PASSED = ("pops", "pushes")  # bit masks of semaphores
_MOST_CHOICES = 256  # combinations of a command's flags


def without_tokens(accelerator: m.Accelerator, instruction: Column, first: Column, arguments: Column) -> Column:
    """The operands of commands, from those of the command `first` on, with no token passed where flags decide it."""
    given: Column = arguments.copy()
    for number, one in enumerate(accelerator.instructions):
        flags = _all_flags(accelerator)[one.name]
        positions = [n for n, parameter in enumerate(one.parameters) if parameter.name in flags]
        given[first[instruction == number][:, None] + np.array(positions, dtype=np.int64)] = 0
    return given


@remembered
def _all_flags(accelerator: m.Accelerator) -> Mapping[str, frozenset[str]]:
    """The operands of each instruction that say which tokens it passes, and nothing else."""
    return {instruction.name: _flags(instruction) for instruction in accelerator.instructions}


def _flags(instruction: m.Instruction) -> frozenset[str]:
    passed = [instruction.timing[key] for key in _PASSED if key in instruction.timing]
    others = [e for key, e in instruction.timing.items() if key not in _PASSED]
    others += [expression for statement in instruction.body for expression in expressions(statement)]
    mentioned, elsewhere = _names(passed), _names(others)
    names = frozenset(p.name for p in instruction.parameters if p.name in mentioned - elsewhere and not p.low)
    return names if _masks(instruction, dict.fromkeys(names, 0)) == (0, 0) else frozenset()


def _names(given: list[Expression]) -> set[str]:
    return {part.name for expression in given for part in algebra.walk(expression) if isinstance(part, Name)}


def _masks(instruction: m.Instruction, operands: Mapping[str, int]) -> tuple[int | None, int | None]:
    """The semaphores that a command pops and pushes, as bits; None where operands do not say it."""

    def mask(key: str) -> int | None:
        stated = instruction.timing.get(key, Number(0))
        value = algebra.substitute(stated, lambda part: _number(part, operands))
        return int(value.value) if isinstance(value, Number) else None

    return mask("pops"), mask("pushes")


def _number(part: Expression, operands: Mapping[str, int]) -> Expression | None:
    return Number(operands[part.name]) if isinstance(part, Name) and part.name in operands else None


def passing(accelerator: m.Accelerator, instruction: m.Instruction, role: str) -> Iterator[tuple[int, dict[str, int]]]:
    """The semaphores that a command takes one token from (`wait`) or adds one to (`signal`) while it does nothing else,
    with its operands."""
    if instruction.body and (writes(accelerator, instruction) or effects(accelerator, instruction)):
        return
    ranges = [range(p.low or 0, (p.high or 0) + 1) for p in instruction.parameters]
    if not set(_PASSED) & instruction.timing.keys() or prod(map(len, ranges)) > _MOST_CHOICES:
        return
    for values in product(*ranges):
        operands = dict(zip((p.name for p in instruction.parameters), values, strict=True))
        pops, pushes = _masks(instruction, operands)
        taken, other = (pops, pushes) if role == "wait" else (pushes, pops)
        if taken and other == 0 and taken & (taken - 1) == 0:
            yield taken.bit_length() - 1, operands

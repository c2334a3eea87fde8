"""The commands of several equal cores as those of one, which does what one after the other of them does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from autocomp.remember import remembered
from autocomp.simulator import _core
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.derived.cores import cores
from autocomp.targets.simulator.isa.derived.roles import instruction_roles
from autocomp.targets.simulator.kernel.code.bytecode import POINTER_SHIFT

_ALL = -1  # in place of a core's number: commands of no core, which configure all of them
Column = npt.NDArray[np.int64]


def on_one_core(accelerator: m.Accelerator, trace: _core.Trace) -> _core.Trace:
    """A trace in which the first core does what all do: commands of no core come again for each. The same trace where
    one core alone works, where programs order units, or where a tensor that is read is written too."""
    owners, firsts = _owners(accelerator), _firsts(accelerator)
    machine = isa.lower(accelerator).machine
    instruction, first, arguments, lines = trace.columns(machine)
    core = owners[instruction]
    used = [number for number in np.unique(core).tolist() if number != _ALL]
    ordered = accelerator.settings.get("hazards.tracked", 1)
    if used in ([], [0]) or not ordered or _read_and_written(accelerator, instruction, first, arguments):
        return trace
    order = np.concatenate([np.flatnonzero((core == number) | (core == _ALL)) for number in used])
    parameters = [one.parameters for one in accelerator.instructions]
    values = [
        _values(parameters[number], arguments[at : at + len(parameters[number])].tolist())
        for number, at in zip(instruction[order].tolist(), first[order].tolist(), strict=True)
    ]
    numbers = firsts[instruction[order]].astype(np.int32)
    return _core.Trace(machine, numbers, values, np.zeros(len(order), np.int64), lines[order].astype(np.int32))


def _values(parameters: Sequence[m.Parameter], given: Sequence[int]) -> list[int | float]:
    pairs = zip(parameters, given, strict=True)
    return [algebra.bits_to_float(value) if p.kind == "float" else value for p, value in pairs]


@remembered
def _owners(accelerator: m.Accelerator) -> Column:
    """The core of each instruction, by its number."""
    first = {name for core in cores(accelerator) for name in core.instructions}
    others = {name: n for n, core in enumerate(cores(accelerator), 1) for name in core.instructions.values()}
    own = {**dict.fromkeys(first, 0), **others}
    return np.array([own.get(i.name, _ALL) for i in accelerator.instructions], dtype=np.int64)


@remembered
def _firsts(accelerator: m.Accelerator) -> Column:
    """For the number of each instruction that of the first core's which does the same."""
    numbers = {i.name: number for number, i in enumerate(accelerator.instructions)}
    firsts = {other: numbers[one] for core in cores(accelerator) for one, other in core.instructions.items()}
    return np.array([firsts.get(name, number) for name, number in numbers.items()], dtype=np.int64)


def _read_and_written(accelerator: m.Accelerator, instruction: Column, first: Column, arguments: Column) -> bool:
    """True if commands read a tensor that others write: what cores do then depends on their order."""
    roles = instruction_roles(accelerator)
    dram = {memory.name for memory in accelerator.memories if memory.kind == "dram"}
    touched: dict[bool, set[int]] = {True: set(), False: set()}
    for number in np.unique(instruction).tolist():
        one = accelerator.instructions[number]
        places = [n for n, parameter in enumerate(one.parameters) if parameter.kind == "pointer"]
        pointers = arguments[first[instruction == number][:, None] + np.array(places, dtype=np.int64)]
        tensors = set(np.unique(pointers >> POINTER_SHIFT).tolist()) - {0}
        role = roles[one.name]
        for write, memories in ((True, role.writes), (False, role.reads)):
            if memories & dram:
                touched[write] |= tensors
    return bool(touched[True] & touched[False])

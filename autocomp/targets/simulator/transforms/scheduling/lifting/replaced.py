"""The commands of a run with some of them replaced by others of the same instruction, with other operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from autocomp.simulator import _core
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Commands, of_trace
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form

Changes = Mapping[str, int]  # by operand: what is added to it where it is a place, else its number


def replaced(commands: Commands, parts: Mapping[int, Sequence[Changes]]) -> Commands:
    """The commands with each of some in as many `parts` as given. A change of an address is in local rows, of a pointer
    in bytes. The first part of each passes the tokens."""
    tables = isa.lower(commands.accelerator)
    instruction, _, arguments, lines = commands.trace.columns(tables.machine)
    made: list[tuple[int, list[int | float], int]] = []
    for number, first in enumerate(commands.first.tolist()):
        form = commands.forms[commands.form[number]]
        for part, changes in enumerate(parts.get(number, ({},))):
            given = (commands.arguments if part else arguments)[first : first + len(form.instruction.parameters)]
            made.append((int(instruction[number]), _operands(form, given.tolist(), changes), int(lines[number])))
    trace = _core.Trace(
        tables.machine,
        np.array([one for one, _, _ in made], np.int32),
        [values for _, values, _ in made],
        np.zeros(len(made), np.int64),
        np.array([line for _, _, line in made], np.int32),
    )
    return of_trace(commands.accelerator, trace, commands.tensors)


def _operands(form: Form, given: Sequence[int], changes: Changes) -> list[int | float]:
    operands: list[int | float] = []
    for value, parameter in zip(given, form.instruction.parameters, strict=True):
        change = changes.get(parameter.name)
        if parameter.kind == "address":
            one = 1 << form.space(parameter.name).field("row")[1]
            operands.append(value + (change or 0) * one)
        elif parameter.kind == "pointer":
            operands.append(value + (change or 0))
        elif change is not None:
            operands.append(change)
        else:
            operands.append(algebra.bits_to_float(value) if parameter.kind == "float" else value)
    return operands

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
_AS_IT_IS: Sequence[Changes] = ({},)


def replaced(commands: Commands, parts: Mapping[int, Sequence[Changes]]) -> Commands:
    """The commands with each of some in as many `parts` as given. A change of an address is in local rows, of a pointer
    in bytes. The first part of each passes the tokens."""
    tables = isa.lower(commands.accelerator)
    instruction, _, arguments, lines = commands.trace.columns(tables.machine)
    passing, others = arguments.tolist(), commands.arguments.tolist()
    forms = [_Operands(form) for form in commands.forms]
    made: list[tuple[int, list[int | float], int]] = []
    columns = (commands.first, commands.form, instruction, lines)
    for number, (first, form, own, line) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        for part, changes in enumerate(parts.get(number, _AS_IT_IS)):
            made.append((own, forms[form].changed(others if part else passing, first, changes), line))
    trace = _core.Trace(
        tables.machine,
        np.array([one for one, _, _ in made], np.int32),
        [values for _, values, _ in made],
        np.zeros(len(made), np.int64),
        np.array([line for _, _, line in made], np.int32),
    )
    return of_trace(commands.accelerator, trace, commands.tensors)


class _Operands:
    """The operands of commands of a form."""

    def __init__(self, form: Form) -> None:
        parameters = form.instruction.parameters
        self._count = len(parameters)
        self._floats = [n for n, parameter in enumerate(parameters) if parameter.kind == "float"]
        self._at = {parameter.name: n for n, parameter in enumerate(parameters)}
        self._steps = {p.name: 1 for p in parameters if p.kind == "pointer"}
        self._steps |= {p.name: 1 << form.space(p.name).field("row")[1] for p in parameters if p.kind == "address"}

    def changed(self, arguments: Sequence[int], first: int, changes: Changes) -> list[int | float]:
        """Those from the argument `first` on, with changes."""
        operands: list[int | float] = [*arguments[first : first + self._count]]
        for number in self._floats:
            operands[number] = algebra.bits_to_float(arguments[first + number])
        for name in changes.keys() & self._at.keys():
            number, step = self._at[name], self._steps.get(name)
            operands[number] = changes[name] if step is None else operands[number] + changes[name] * step
        return operands

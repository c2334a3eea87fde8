"""Negate on store: the scale of the move out changes signs, instead of the host after a fence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.straight.edit import Edit
from autocomp.targets.simulator.transforms.straight.elements import Byte, computed, touched
from autocomp.targets.simulator.transforms.straight.program import Program, ProgramStep


def negate_on_store(program: Program) -> Iterator[ast.Kernel]:
    """The kernel in which stores negate what the host would negate, for each tensor that it negates elements of where
    they lie."""
    negating = [element for step in program.steps if _negates(step) for element in computed(step)]
    for tensor in dict.fromkeys(element.result[0][1:] for element in negating):
        with suppress(NotApplicable):
            yield _negated_by_stores(program, tensor)


def _negated_by_stores(program: Program, tensor: str) -> ast.Kernel:
    """The kernel in which the stores of a tensor negate. Raises NotApplicable unless the host negates all that each of
    them wrote, untouched since."""
    owners: dict[Byte, int] = {}  # the store that wrote a byte, if nothing touched it since
    negated: dict[int, set[Byte]] = defaultdict(set)  # by store
    edit = Edit(program)
    for number, step in enumerate(program.steps):
        cells = touched(step)
        if _negates(step) and f"&{tensor}" in {name for name, _ in cells}:
            if not cells <= owners.keys():
                raise NotApplicable(f"{tensor!r} is used between its store and its negation, or not stored at all")
            for cell in cells:
                negated[owners[cell]].add(cell)
            edit.gone.add(number)
        for cell in cells:
            owners.pop(cell, None)
        if step.kind == "store" and step.factor is not None:
            owners.update(dict.fromkeys(cells, number))
    if not negated:
        raise NotApplicable(f"the host does not negate {tensor!r}")
    for store, cells in negated.items():
        if cells != touched(program.steps[store]):
            raise NotApplicable(f"a store moves more elements of {tensor!r} than the host negates")
        edit.scales[store] = -1.0
    return edit.kernel()


def _negates(step: ProgramStep) -> bool:
    """True if a step of the host changes the signs of elements in place, and does nothing else."""
    sum_of_step = computed(step)
    return bool(sum_of_step) and all([(t.element, t.sign) for t in e.terms] == [(e.result, -1.0)] for e in sum_of_step)

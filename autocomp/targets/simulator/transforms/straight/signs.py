"""Signs that the host changes where a store put the elements, moved to the scale of the store."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.straight.edit import Edit
from autocomp.targets.simulator.transforms.straight.elements import Byte, computed, touched
from autocomp.targets.simulator.transforms.straight.program import Program, ProgramStep


def negated_tensors(program: Program) -> Mapping[str, int]:
    """The tensors of which the host negates elements where they are, and in how many steps."""
    negating = (step for step in program.steps if _negates(step))
    return Counter(name for step in negating for name in {element.result[0][1:] for element in computed(step)})


def negated_by_stores(program: Program, tensor: str) -> ast.Kernel:
    """The kernel in which stores negate what the host would negate, which is all that each of them wrote, and untouched
    since. Raises NotApplicable if it is not."""
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

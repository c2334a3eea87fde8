"""A kernel as what it computes and how: the contraction, its schedule, and the commands that it is carried out with.

A kernel that was lowered from a schedule says so in a comment at its head. The comment counts if the schedule gives
that very kernel. A kernel that was changed since, or written by hand, is taken for one tile at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.kernel import canonical_hash
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.raising.normal import normalise
from autocomp.targets.simulator.transforms.scheduling import steps
from autocomp.targets.simulator.transforms.scheduling.choose import plain
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction
from autocomp.targets.simulator.transforms.scheduling.cost import CostModel
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Commands, commands_of
from autocomp.targets.simulator.transforms.scheduling.lifting.contractions import Lifted, contractions_of
from autocomp.targets.simulator.transforms.scheduling.lifting.shorter import shorter
from autocomp.targets.simulator.transforms.scheduling.lifting.tracing import flow_of
from autocomp.targets.simulator.transforms.scheduling.lifting.whole import whole_of
from autocomp.targets.simulator.transforms.scheduling.lowering.blocked import blocked
from autocomp.targets.simulator.transforms.scheduling.lowering.body import body
from autocomp.targets.simulator.transforms.scheduling.lowering.deeper import deeper
from autocomp.targets.simulator.transforms.scheduling.lowering.divided import divided
from autocomp.targets.simulator.transforms.scheduling.lowering.joined import joined
from autocomp.targets.simulator.transforms.scheduling.lowering.leaves import Leaves
from autocomp.targets.simulator.transforms.scheduling.lowering.lined import lined
from autocomp.targets.simulator.transforms.scheduling.lowering.reading import leaves_of
from autocomp.targets.simulator.transforms.scheduling.lowering.sizes import sized
from autocomp.targets.simulator.transforms.scheduling.lowering.staged import staged
from autocomp.targets.simulator.transforms.scheduling.lowering.taken import tasks_of
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Tasks
from autocomp.targets.simulator.transforms.scheduling.lowering.tidy import tidied
from autocomp.targets.simulator.transforms.scheduling.lowering.wide_stores import with_wide_stores
from autocomp.targets.simulator.transforms.scheduling.parts import Part
from autocomp.targets.simulator.transforms.scheduling.schedule import Schedule
from autocomp.targets.simulator.transforms.scheduling.whole_cost import WholeCostModel


@dataclass(frozen=True)
class Raised:
    """A part of a kernel. `given`: it was lowered from the schedule; else the schedule is that of a newcomer."""

    computation: Contraction
    leaves: Leaves | Tasks
    schedule: Schedule
    given: bool
    part: Part

    @cached_property
    def model(self) -> CostModel:
        """Estimates for this computation."""
        if isinstance(self.leaves, Tasks):
            return WholeCostModel(self.computation, self.leaves)
        return CostModel(self.computation, self.leaves)

    @cached_property
    def cycles(self) -> float:
        """Estimated cycles of the schedule."""
        return steps.cycles(self.model, self.schedule)

    def estimate(self, schedule: Schedule) -> float:
        """Estimated cycles of another schedule."""
        return steps.cycles(self.model, schedule)

    def divided(self) -> Raised:
        """The computation that the decisions of the schedule are said of."""
        computation, leaves, schedule = divided(self.computation, self.leaves, self.schedule)
        return replace(self, computation=computation, leaves=leaves, schedule=schedule)

    def lowered(self, schedule: Schedule) -> ast.Kernel:
        """The kernel with another schedule. Raises NotApplicable where that does not fit the machine."""
        return lower(self.part, self.computation, self.leaves, schedule)


def raised(part: Part, accelerator: m.Accelerator, constants: Mapping[str, int | float]) -> Raised:
    """The computation of a part of a kernel and its schedule; `constants` are all names of numbers. Raises
    NotApplicable, with the reason, where these are not seen."""
    computation, leaves = _lifted(part.alone, accelerator, constants)
    schedule = _stated(part, computation)
    if schedule is not None:
        try:
            if canonical_hash(lower(part, computation, leaves, schedule)) == canonical_hash(part.kernel):
                return Raised(computation, leaves, schedule, True, part)
        except NotApplicable:
            pass
    return Raised(computation, leaves, plain(computation, leaves), False, part)


def _lifted(
    kernel: ast.Kernel, accelerator: m.Accelerator, constants: Mapping[str, int | float]
) -> tuple[Contraction, Leaves | Tasks]:
    """The contraction that a kernel carries out, and its commands: of a long one, where that is seen, from few
    iterations of its loops."""
    short = shorter(normalise(kernel, constants))
    if short is not None:
        with suppress(NotApplicable):
            few = commands_of(short.instance(), accelerator, constants)
            return _read(
                few, lambda one: short.in_full(one, lambda k: _computed(commands_of(k, accelerator, constants)))
            )
    return _read(commands_of(kernel, accelerator, constants), lambda computation: computation)


def _computed(commands: Commands) -> Contraction:
    """The contraction of elements that commands carry out, or that of whole tiles."""
    try:
        return _of_elements(commands).computation
    except NotApplicable:
        return whole_of(commands).computation


def _of_elements(commands: Commands) -> Lifted:
    computations = contractions_of(flow_of(commands))
    if len(computations) != 1:
        raise NotApplicable(f"the kernel computes {len(computations)} results, one after another")
    return computations[0]


def _read(commands: Commands, in_full: Callable[[Contraction], Contraction]) -> tuple[Contraction, Leaves | Tasks]:
    """The contraction of elements that commands carry out; where their semantics do not say that, that of whole tiles.
    `in_full` gives that of the kernel. Raises NotApplicable with the reasons against both."""
    try:
        lifted = _of_elements(commands)
        return in_full(lifted.computation), leaves_of(lifted, commands)
    except NotApplicable as error:
        reason = str(error)
    try:
        whole = whole_of(commands)
        given = sized(in_full(whole.computation), staged(tasks_of(whole)), whole.halves)
        ways = {id(pair[1]): pair for pair in (lined(*given), given, deeper(*given))}  # most machines have one
        choices = (with_wide_stores(*blocked(*joined(*pair))) for pair in ways.values())
        return min(choices, key=lambda pair: WholeCostModel(*pair).busy)
    except NotApplicable as error:
        raise NotApplicable(f"{reason}; of whole tiles: {error}") from None


def lower(part: Part, computation: Contraction, leaves: Leaves | Tasks, schedule: Schedule) -> ast.Kernel:
    """The kernel in which a part carries out its computation by a schedule. Raises NotApplicable if the schedule does
    not fit."""
    statements = tidied(body(computation, schedule, leaves))
    return part.replaced(statements, json.dumps(as_data(schedule), sort_keys=True))


def returns_in(part: Part) -> bool:
    """True if sums return between the parts of a kernel, by what it states at its head."""
    try:
        stated = json.loads(part.heading)
    except ValueError:
        return False
    return isinstance(stated, Mapping) and bool(stated.get("returns"))


def _stated(part: Part, computation: Contraction) -> Schedule | None:
    """The schedule that a part states at its head."""
    if not part.heading:
        return None
    try:
        return from_data(json.loads(part.heading), computation)
    except (ValueError, NotApplicable):
        return None


def as_data(schedule: Schedule) -> dict[str, Any]:
    """A schedule as plain data; what is as it is by default is left out."""
    data: dict[str, Any] = {}
    for entry in fields(schedule):
        value = getattr(schedule, entry.name)
        if isinstance(value, frozenset):
            value = sorted(value)
        if isinstance(value, tuple):
            value = list(value)
        if isinstance(value, Mapping):
            value = dict(value)
        if value:
            data[entry.name] = value
    return data


def from_data(data: Any, computation: Contraction, base: Schedule | None = None) -> Schedule:
    """The schedule that plain data state, on top of another one. Raises NotApplicable, naming what is wrong."""
    if not isinstance(data, Mapping):
        raise NotApplicable(f"a schedule is a mapping of decisions, got {data!r}")
    known = {entry.name for entry in fields(Schedule)}
    unknown = sorted(set(map(str, data)) - known)
    if unknown:
        raise NotApplicable(f"unknown decision {unknown[0]!r}; known: {', '.join(sorted(known))}")
    order = (*computation.parallel, *computation.reduction)
    start = base or Schedule({}, {}, order, order, {})
    changes: dict[str, Any] = {}
    for name, value in data.items():
        present = getattr(start, name)
        if isinstance(present, Mapping):
            changes[name] = {**present, **_sizes(name, value)}
        elif isinstance(present, tuple):
            changes[name] = _names(name, value)
        elif isinstance(present, frozenset):
            changes[name] = frozenset(_names(name, value))
        elif isinstance(present, bool):
            changes[name] = bool(value)
        else:
            changes[name] = _number(name, value)
    return replace(start, **changes)


def _sizes(name: str, value: Any) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise NotApplicable(f"{name!r} maps names to numbers, got {value!r}")
    least = 0 if name == "level" else 1  # loops around a panel; tiles, blocks and moves have an extent
    return {str(key): _number(f"{name}.{key}", number, least) for key, number in value.items()}


def _names(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise NotApplicable(f"{name!r} is a list of names, got {value!r}")
    return tuple(value)


def _number(name: str, value: Any, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 31:
        raise NotApplicable(f"{name!r} is a whole number from {least} on, got {value!r}")
    return value

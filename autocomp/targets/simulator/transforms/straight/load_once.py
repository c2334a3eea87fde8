"""Load once: what is in local memory already is not loaded again."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.straight.footprint import Access
from autocomp.targets.simulator.transforms.straight.program import Program, ProgramStep
from autocomp.targets.simulator.transforms.straight.values import Value, home, keeps, loaded_by_one, moved, values_of


def load_once(program: Program) -> Iterator[ast.Kernel]:
    """The kernel without loads of what is there. A load goes if an earlier one with the same configuration brought the
    same bytes, that nothing has written since, into rows that keep them until the last use."""
    values = {value.first: value for value in values_of(program) if value.movable and loaded_by_one(program, value)}
    kept: dict[Hashable, list[Value]] = {}
    gone: set[int] = set()
    homes: dict[tuple[int, tuple[int, int]], tuple[str, int]] = {}
    for number, value in sorted(values.items()):
        alike = kept.setdefault(_brought(program, value), [])
        source = next((v for v in alike if _is_there(program, v, value)), None)
        if source is None:
            alike.append(value)
            continue
        gone.add(number)
        for user, access in value.readers:
            assert access.operand is not None
            homes[user, access.operand] = home(access, source.memory, source.low - value.low)
    if gone:
        yield program.kernel(step for number, step in enumerate(moved(program, homes)) if number not in gone)


def _brought(program: Program, value: Value) -> Hashable:
    """A key for what a load brings, and how: equal for loads that are the same but for the rows that they write."""
    step = program.steps[value.first]
    return (
        value.memory,
        _shape(value.writers[0][1], value.low),
        step.reads[0].memory,
        step.reads[0].spans,
        _settings(program, step),
    )


def _is_there(program: Program, source: Value, value: Value) -> bool:
    """True if the data of a load are there already, in the rows of an earlier one, up to the last use."""
    read = program.steps[value.first].reads[0]
    is_same = keeps(program, read, source.first, value.first)
    return is_same and keeps(program, source.writers[0][1], source.first, value.last)


def _shape(access: Access, low: int) -> tuple[tuple[int, int, int], ...]:
    return tuple((row - low, first, end) for row, first, end in access.spans)


def _settings(program: Program, step: ProgramStep) -> tuple[ast.Call, ...]:
    """The configuration of a move, whichever of several records of it holds it."""
    return tuple(_without_selector(program, setting) for setting in step.settings)


def _without_selector(program: Program, setting: ast.Call) -> ast.Call:
    role = program.facts.machine.roles[setting.function, len(setting.arguments)]
    position = role.position("selector")
    if position is None:
        return setting
    return replace(setting, arguments=(*setting.arguments[:position], *setting.arguments[position + 1 :]))

"""Load once: what is in local memory already is not loaded again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autocomp.kernel import ast
from autocomp.transforms.cost import move_cycles
from autocomp.transforms.facts import Facts, Site
from autocomp.transforms.parameters import names_of
from autocomp.transforms.protocol import NotApplicable, Parameters, Proposal, Rewriting
from autocomp.transforms.straight.footprint import Access
from autocomp.transforms.straight.program import Program, Step, is_written_out, program_of
from autocomp.transforms.straight.values import Value, home, moved, values_of


class LoadOnce(Rewriting):
    name = "load_once"
    title = "Load what stays in local memory once"

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """All repeated loads at once."""
        if not is_written_out(facts):
            return ()
        repeated: list[Site] = []
        seen: set[ast.Expression | None] = set()
        for site in facts.sites:
            if site.kind == "load":
                repeated.extend([site] if site.argument("pointer") in seen else [])
                seen.add(site.argument("pointer"))
        saved = sum(move_cycles(facts, site) for site in repeated)
        return [Proposal({}, f"{len(repeated)} loads bring what was loaded before", saved)] if repeated else []

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`tensors` limits this to loads of some tensors (default: all). A load goes where an earlier one with the same
        configuration brought the same bytes, that nothing has written since, into rows that keep them until the last
        use: give values rows of their own first."""
        wanted = names_of(parameters, "tensors")
        program = program_of(facts)
        values = {value.writers[0][0]: value for value in values_of(program) if _loaded(program, value)}
        kept: list[Value] = []
        gone: set[int] = set()
        homes: dict[tuple[int, tuple[int, int]], tuple[str, int]] = {}
        for number, value in sorted(values.items()):
            tensor = program.steps[number].dram(write=False)[0].memory[1:]
            source = (
                next((v for v in kept if _same(program, v, value)), None) if not wanted or tensor in wanted else None
            )
            if source is None:
                kept.append(value)
                continue
            gone.add(number)
            for user, access in value.readers:
                assert access.operand is not None
                homes[user, access.operand] = home(access, source.memory, source.low - value.low)
        if not gone:
            raise NotApplicable("nothing is loaded again while it is still there")
        steps = moved(program, homes)
        return program.kernel(step for number, step in enumerate(steps) if number not in gone)


def _loaded(program: Program, value: Value) -> bool:
    """Whether a value is what one load brings, whole."""
    writers = value.writers
    step = program.steps[writers[0][0]] if len(writers) == 1 else None
    return (
        step is not None and step.kind == "load" and not writers[0][1].adds and value.movable and len(step.reads) == 1
    )


def _same(program: Program, source: Value, value: Value) -> bool:
    """Whether a value is there already, in the rows of an earlier one, up to its last use."""
    one, two = program.steps[source.first], program.steps[value.first]
    if source.memory != value.memory or _shape(source.writers[0][1], source.low) != _shape(
        value.writers[0][1], value.low
    ):
        return False
    if one.reads[0].spans != two.reads[0].spans or one.reads[0].memory != two.reads[0].memory:
        return False
    if _settings(program, one) != _settings(program, two):
        return False
    between = program.steps[source.first + 1 : value.first]
    if any(access.meets(two.reads[0]) for step in between for access in step.dram(write=True)):
        return False
    return keeps(program, source.writers[0][1], source.first, value.last)


def keeps(program: Program, access: Access, start: int, end: int) -> bool:
    """Whether rows that a step writes are written by no later step up to another one."""
    later = program.steps[start + 1 : end]
    return not any(write.meets(access) for step in later for write in step.local(write=True))


def _shape(access: Access, low: int) -> tuple[tuple[int, int, int], ...]:
    return tuple((row - low, first, end) for row, first, end in access.spans)


def _settings(program: Program, step: Step) -> list[ast.Call]:
    """The configuration of a move, whichever of several records of it holds it."""
    return [_without_selector(program, setting) for setting in step.settings]


def _without_selector(program: Program, setting: ast.Call) -> ast.Call:
    role = program.facts.machine.roles[setting.function, len(setting.arguments)]
    position = role.position("selector")
    if position is None:
        return setting
    return replace(setting, arguments=(*setting.arguments[:position], *setting.arguments[position + 1 :]))

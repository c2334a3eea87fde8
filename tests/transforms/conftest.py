"""Kernels on the 16x16 machine, transformed and judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import Facts, NotApplicable, analyse, candidates_of, transformation
from autocomp.targets.simulator.transforms.nests.block_diagonal import BlockDiagonal
from autocomp.targets.simulator.transforms.nests.merge_depth import MergeDepth
from autocomp.targets.simulator.transforms.nests.pad_input import PadInput
from autocomp.targets.simulator.transforms.nests.schedule import raised_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Rewriting
from autocomp.targets.simulator.transforms.scheduling.choose import ranked
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import commands_of
from autocomp.targets.simulator.transforms.scheduling.neighbours import neighbours
from autocomp.targets.simulator.transforms.scheduling.raised import as_data
from autocomp.targets.simulator.transforms.straight.command_by_command import STEPS
from autocomp.targets.simulator.transforms.straight.program import program_of
from autocomp.targets.simulator.transforms.straight.write_out import in_sequence
from autocomp.workload import Workload
from autocomp.workload import parse as parse_workload

PROOF = ("check", "smoke", "discipline")


@cache
def machine(name: str = "gemmini") -> Accelerator:
    return isa.load(name)


@cache
def gemm(rows: int, cols: int, depth: int, accelerator: str = "gemmini") -> Workload:
    text = f"operation: gemm\naccelerator: {accelerator}\ndims: {{I: {rows}, J: {cols}, K: {depth}}}\n"
    return parse_workload(text, Path("gemm.yaml"))


@cache
def evaluator(rows: int, cols: int, depth: int, accelerator: str = "gemmini") -> SimulatorEvaluator:
    return SimulatorEvaluator(machine(accelerator), gemm(rows, cols, depth, accelerator))


@lru_cache(maxsize=32)
def facts_of(text: str, accelerator: str = "gemmini") -> Facts:
    """The facts of a kernel, shared by all tests that ask for the same one, with all that is remembered of them."""
    return analyse(kernel.parse(text), machine(accelerator))


def naive(rows: int, cols: int, depth: int, accelerator: str = "gemmini") -> Facts:
    return facts_of(starting_kernel(gemm(rows, cols, depth, accelerator), machine(accelerator)), accelerator)


def rewriting(name: str) -> Rewriting:
    """The transformation of a name, or what `schedule` may do to a kernel first."""
    before = {item.name: item for item in (PadInput(), MergeDepth(), BlockDiagonal())}
    return before[name] if name in before else transformation(name)


def apply(facts: Facts, *steps: tuple[str, Mapping[str, Any]]) -> Facts:
    """The facts after rewritings by name, printed and parsed again after each."""
    for name, parameters in steps:
        changed = rewriting(name).apply(facts, parameters)
        text = kernel.print_kernel(facts.with_kernel(changed).written)
        facts = facts.with_kernel(kernel.parse(text))
    return facts


Prove = Callable[..., int]


@pytest.fixture
def prove() -> Prove:
    """Asserts that a kernel is right; returns its cycles."""

    def check(facts: Facts, rows: int, cols: int, depth: int, accelerator: str = "gemmini") -> int:
        text = kernel.print_kernel(facts.written)
        found = evaluator(rows, cols, depth, accelerator).evaluate(text, stages=PROOF)
        assert found.correct, f"{found.failure}\n{text}"
        assert found.value is not None
        return int(found.value)

    return check


def with_best(facts: Facts, name: str) -> Facts:
    """The facts after the best candidate of a rewriting, if one applies here."""
    for candidate in candidates_of(rewriting(name), facts):
        try:
            return apply(facts, (name, candidate.parameters))
        except NotApplicable:
            continue
    return facts


def stepped(facts: Facts, *names: str) -> Facts:
    """The facts of a kernel written out, after the first that each of these steps of command_by_command makes of it."""
    facts = in_sequence(facts)
    for name in names:
        with suppress(NotApplicable, StopIteration):
            changed = next(STEPS[name](program_of(facts)))
            facts = facts.with_kernel(kernel.parse(kernel.print_kernel(changed)))
    return facts


def proposals(facts: Facts) -> list[Parameters]:
    return [proposal.parameters for proposal in candidates_of(transformation("schedule"), facts)]


def loads(facts: Facts, tensor: str) -> list[int]:
    """The places of the moves of a tensor among the commands of a kernel."""
    commands = commands_of(facts.written, facts.accelerator, facts.constants)
    (number,) = (n for n, given in enumerate(commands.tensors) if given.name == tensor)
    forms = [n for n, form in enumerate(commands.forms) if form.name in ("move_in", "load_tile")]
    moves = np.flatnonzero(np.isin(commands.form, forms))
    return moves[commands.place(moves, "src")[0] == number].tolist()


def changes(facts: Facts) -> list[Parameters]:
    """Schedules to go on with, none of them timed: the best by estimates, or of a kernel with a schedule those that
    differ in one decision."""
    given = raised_of(facts)
    offered = neighbours(given) if given.given else (item.schedule for item in ranked(given.model))
    return [as_data(schedule) for schedule in offered]

"""Holes of idioms that name rows of one memory, used as rows of another one where other tiles lie."""

from __future__ import annotations

from collections.abc import Iterator

from autocomp.targets.simulator.isa.derived.advice import Advice
from autocomp.targets.simulator.isa.derived.operands import contraction_operands
from autocomp.targets.simulator.isa.derived.roles import call_parameters
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.start.idioms import TILED, TILES, calls_in


def misplaced_tiles(accelerator: Accelerator) -> Iterator[Advice]:
    """Warnings: the tile would lie over another one, as what is free there is not known to who fills the hole."""
    memories: dict[str, set[str]] = {hole: set() for hole in TILES}
    for operands in contraction_operands(accelerator):
        for hole, operand in zip(TILES, operands.all, strict=True):
            memories[hole].add(operand.memory.name)
    for idiom in (idiom for name in TILED if (idiom := accelerator.idiom(name)) is not None):
        for call, hole, here in _taken(accelerator, idiom.name):
            others = [other for other in TILES if other != hole and memories[other] & here]
            if memories[hole] and not memories[hole] & here and others:
                own, there = (" or ".join(sorted(names)) for names in (memories[hole], here))
                yield Advice(
                    f"idiom {idiom.name}: `${hole}` is a row of {own}, where products read or write it, and {call} "
                    f"takes it as a row of {there}, where `${others[0]}` lies too",
                    idiom.place,
                    f"write a row of {there} that no tile uses, as a number",
                )


def _taken(accelerator: Accelerator, idiom: str) -> Iterator[tuple[str, str, set[str]]]:
    """The holes of tiles that an idiom's calls take as addresses: the call, the hole, and the memories of its rows."""
    for call in calls_in(accelerator, idiom):
        parameters = call_parameters(accelerator, call.function, len(call.arguments))
        for argument, parameter in zip(call.arguments, parameters, strict=False):
            if not isinstance(argument, ast.Name) or argument.name not in TILES:
                continue
            if parameter is not None and parameter.space is not None:
                here = {memory for memory, _, _ in accelerator.space(parameter.space).memories}
                yield call.function, argument.name, here

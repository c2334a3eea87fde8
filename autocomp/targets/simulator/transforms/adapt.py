"""Applies a transformation that was chosen for one kernel to one of another shape, or of a machine of another size."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.targets.distance import distance
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.protocol import Parameters, Transformation, candidates_of
from autocomp.targets.simulator.transforms.registry import transformation


def adapted(facts: Facts, name: str, parameters: Parameters) -> tuple[Parameters, ast.Kernel]:
    """The parameters nearest to the given ones that apply here, and the rewritten kernel: the given ones themselves if
    they do, else those of the transformation's candidates in the order of their distance.

    Raises NotApplicable, for the reason that the given ones do not apply, where none does.
    """
    item = transformation(name)
    try:
        return parameters, item.apply(facts, parameters)
    except NotApplicable as error:
        reason = error
    candidates = [proposal.parameters for proposal in candidates_of(item, facts)]
    return _first(facts, item, sorted(candidates, key=lambda other: distance(parameters, other)), reason)


def chosen(facts: Facts, name: str) -> tuple[Parameters, ast.Kernel]:
    """The parameters that the transformation itself thinks best of those that apply here, and the rewritten kernel.

    Raises NotApplicable where none does, for the reason that the best one does not.
    """
    item = transformation(name)
    return _first(facts, item, [proposal.parameters for proposal in candidates_of(item, facts)])


def _first(
    facts: Facts, item: Transformation, candidates: Sequence[Parameters], reason: NotApplicable | None = None
) -> tuple[Parameters, ast.Kernel]:
    """The first candidate that applies. Raises `reason`, or that of the first one, where none does."""
    for candidate in candidates:
        try:
            return candidate, item.apply(facts, candidate)
        except NotApplicable as error:
            reason = reason or error
    raise reason or NotApplicable(f"{item.name} has nothing to propose here")

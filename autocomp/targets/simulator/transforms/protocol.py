"""What a transformation is: a named, parameterised rewriting of a kernel."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from autocomp.remember import remember
from autocomp.targets.simulator.kernel import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.legality import check

Parameters = Mapping[str, Any]  # plain data: strings, integers, lists, dictionaries


@dataclass(frozen=True)
class Proposal:
    """Parameters worth trying, with the reason in words. `gain` estimates the cycles saved, to rank by."""

    parameters: Parameters
    reason: str
    gain: float = 0.0


def applied(item: Transformation, facts: Facts, parameters: Parameters) -> Facts:
    """The facts of the rewritten kernel, worked out once for the same facts. Raises NotApplicable, also where the
    kernel would not do what it did before."""

    def outcome() -> Facts | NotApplicable:
        try:
            changed = facts.with_kernel(item.apply(facts, parameters))
            check(facts, changed)
            return changed
        except NotApplicable as error:
            return error

    found = remember(facts, item.name, json.dumps(parameters, default=list), outcome)
    if isinstance(found, NotApplicable):
        raise found.with_traceback(None)
    return found


def fitting(item: Transformation, facts: Facts, candidates: Iterable[Proposal]) -> list[Proposal]:
    """The proposals that apply, in their order, each set of parameters once."""
    found: list[Proposal] = []
    for candidate in candidates:
        if any(candidate.parameters == other.parameters for other in found):
            continue
        try:
            applied(item, facts, candidate.parameters)
        except NotApplicable:
            continue
        found.append(candidate)
    return found


class Transformation(Protocol):
    """Equal parameters on equal kernels give equal results."""

    name: str
    title: str

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """Parameters that suit this kernel and machine, best first, not all of which need to apply."""
        ...

    def proposals(self, facts: Facts) -> Sequence[Proposal]:
        """Those candidates that do apply."""
        ...

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """The rewritten kernel. Raises NotApplicable."""
        ...


class Rewriting(ABC):
    """What transformations have in common."""

    name: str
    title: str

    @abstractmethod
    def candidates(self, facts: Facts) -> Sequence[Proposal]: ...

    def proposals(self, facts: Facts) -> Sequence[Proposal]:
        """The candidates that apply."""
        return fitting(self, facts, self.candidates(facts))

    @abstractmethod
    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel: ...

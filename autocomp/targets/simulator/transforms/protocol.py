"""The base of transformations: named, parameterised rewritings of a kernel that menus offer."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any, ClassVar

from autocomp.errors import TransformationFault, transforming
from autocomp.remember import remember, remember_or_raise
from autocomp.targets.menu import Applies, MenuOption
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.legality import check

Parameters = Mapping[str, Any]  # plain data: strings, integers, lists, dictionaries


@dataclass(frozen=True)
class Proposal:
    """Parameters worth trying, with the reason in words. `gain` estimates the cycles saved, to rank by. `result` is
    what a kernel that has been run with them measures by the objective."""

    parameters: Parameters
    reason: str
    gain: float = 0.0
    result: float | None = None


def applied(item: Rewriting, facts: Facts, parameters: Parameters) -> Facts:
    """The facts of the rewritten kernel, worked out once for the same facts. Raises NotApplicable, also where the
    kernel would not do what it did before, and TransformationFault."""

    def outcome() -> Facts:
        unknown = [name for name in parameters if item.takes is not None and name not in item.takes]
        if unknown:
            known = ", ".join(item.takes or ()) or "it takes none"
            raise NotApplicable(f"unknown parameter {unknown[0]!r} of {item.name!r}", hint=f"known: {known}")
        with _faults_noted(item, facts):
            changed = facts.with_kernel(item.apply(facts, parameters))
            check(facts, changed)
            return changed

    return remember_or_raise(facts, item.name, json.dumps(parameters, default=list), outcome, NotApplicable)


def candidates_of(item: Rewriting, facts: Facts) -> Sequence[Proposal]:
    """The candidates of a transformation, worked out once for the same facts: some rank thousands of schedules. It has
    no candidates where it fails."""

    def found() -> Sequence[Proposal]:
        try:
            with _faults_noted(item, facts):
                return item.candidates(facts)
        except TransformationFault:
            return ()

    return remember(facts, "candidates", item.name, found)


@contextmanager
def _faults_noted(item: Rewriting, facts: Facts) -> Iterator[None]:
    try:
        with transforming(item.name):
            yield
    except TransformationFault as fault:
        _noted(facts).append(fault.message)
        raise


def _noted(facts: Facts) -> list[str]:
    return remember(facts, "faults", None, list)


def faults_of(facts: Facts) -> tuple[str, ...]:
    """The faults of transformations of a kernel so far, each once."""
    return tuple(dict.fromkeys(_noted(facts)))


def fitting(item: Rewriting, facts: Facts, candidates: Iterable[Proposal]) -> list[Proposal]:
    """The proposals that apply, in their order, each set of parameters once."""
    proposals: list[Proposal] = []
    for candidate in candidates:
        if any(candidate.parameters == other.parameters for other in proposals):
            continue
        try:
            applied(item, facts, candidate.parameters)
        except NotApplicable:
            continue
        proposals.append(candidate)
    return proposals


class Rewriting(ABC):
    """A named, parameterised change of a kernel. Equal parameters on equal kernels give equal results. `takes` names
    its parameters; one with None refuses unknown ones itself."""

    name: ClassVar[str]
    takes: ClassVar[tuple[str, ...] | None] = ()

    @abstractmethod
    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """Parameters that suit this kernel and machine, best first, not all of which need to apply."""

    def proposals(self, facts: Facts) -> Sequence[Proposal]:
        """Those candidates that do apply."""
        return fitting(self, facts, candidates_of(self, facts))

    @abstractmethod
    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """The rewritten kernel. Raises NotApplicable."""


class Transformation(Rewriting):
    """A rewriting that menus offer, with all that is known of it.

    Planners get `title`, `guidance` and `example`, the `causes` of stalls that it reduces, and the kinds of
    instructions that it `uses`. `order` is its position in menus. One that writes a kernel `anew` leaves nothing of
    what others did to it.
    """

    title: ClassVar[str]
    guidance: ClassVar[str]
    example: ClassVar[str | None] = None
    causes: ClassVar[tuple[str, ...]]
    uses: ClassVar[tuple[str, ...]] = ()
    order: ClassVar[int]
    anew: ClassVar[bool] = False

    def option(self) -> MenuOption:
        """The transformation as an option of a menu."""
        example = None if self.example is None else cleandoc(self.example).strip()
        guidance = cleandoc(self.guidance).strip()
        return MenuOption(self.name, self.title, guidance, self.name, Applies(self.causes), example, self.uses)

"""The base of transformations: a transformation is a named, parameterised rewriting of a kernel."""

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


def applied(item: Transformation, facts: Facts, parameters: Parameters) -> Facts:
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


def candidates_of(item: Transformation, facts: Facts) -> Sequence[Proposal]:
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
def _faults_noted(item: Transformation, facts: Facts) -> Iterator[None]:
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


def fitting(item: Transformation, facts: Facts, candidates: Iterable[Proposal]) -> list[Proposal]:
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


class Transformation(ABC):
    """A named rewriting with all that is known of it. Equal parameters on equal kernels give equal results.

    Planners get `title`, `guidance` and `example`, the `causes` of stalls that it reduces, and the kinds of
    instructions that it `uses`. It never applies to the operations that it is `not_for`, nor where an option of the
    workload has a value that `unless` states. `order` is its position in menus. `takes` names its parameters; one with
    None refuses unknown ones itself.

    The rules agent uses `prior` and `anew`. `prior` is the weight of its causes, below 1 if it rather prepares others.
    One that writes a kernel `anew` leaves nothing of what others did to it.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    guidance: ClassVar[str]
    example: ClassVar[str | None] = None
    causes: ClassVar[tuple[str, ...]]
    uses: ClassVar[tuple[str, ...]] = ()
    not_for: ClassVar[tuple[str, ...]] = ()
    unless: ClassVar[tuple[tuple[str, Any], ...]] = ()
    order: ClassVar[int]
    takes: ClassVar[tuple[str, ...] | None] = ()
    prior: ClassVar[float] = 1.0
    anew: ClassVar[bool] = False

    @abstractmethod
    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """Parameters that suit this kernel and machine, best first, not all of which need to apply."""

    def proposals(self, facts: Facts) -> Sequence[Proposal]:
        """Those candidates that do apply."""
        return fitting(self, facts, candidates_of(self, facts))

    @abstractmethod
    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """The rewritten kernel. Raises NotApplicable."""

    def option(self) -> MenuOption:
        """The transformation as an option of a menu."""
        example = None if self.example is None else cleandoc(self.example).strip()
        guidance = cleandoc(self.guidance).strip()
        applies = Applies(self.causes, not_for=self.not_for, unless=self.unless)
        return MenuOption(self.name, self.title, guidance, self.name, applies, example, self.uses)

"""The seam between the search and what it searches for: a target, its language, its judge.

The search knows nothing else of the world. It takes kernels as text, asks a target's evaluator, and compares
measurements under the target's objective. `autocomp.targets.registry` finds targets by name.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from autocomp.errors import ConfigError, NotApplicable
from autocomp.targets.evaluation import (
    PHASES,
    SCREEN,
    Bound,
    Cause,
    Evaluation,
    Evidence,
    Measurement,
    Number,
    Objective,
    Phase,
    Stage,
)
from autocomp.targets.fences import blocks_defining
from autocomp.targets.menu import MenuOption
from autocomp.targets.planning import Coder, Planner, Precedent, Replay
from autocomp.targets.profile import Recorded

if TYPE_CHECKING:
    from typing_extensions import Self

    from autocomp.workload.model import Workload

__all__ = [
    "Bound",
    "Evaluation",
    "Evaluator",
    "Evidence",
    "Focus",
    "Knowledge",
    "Language",
    "Measurement",
    "Objective",
    "Proposal",
    "Rules",
    "Stage",
    "Target",
    "Transformations",
]


class Language(ABC):
    """The language that kernels are written in. None of its methods executes a kernel."""

    name: str  # as prompts and messages call it: "C", "Triton"
    suffix: str  # of files, a dot with letters or digits: ".c"
    fence: str  # the word after the backticks of a fenced block: "c"
    entry: str = "solution"  # the function that is the kernel

    @abstractmethod
    def check(self, kernel: str, workload: Workload, source: str = "kernel") -> None:
        """Raise KernelError, with the place in `source`, for what cannot be a kernel of the workload."""

    @abstractmethod
    def signature(self, workload: Workload) -> str:
        """The head of the entry function, as a prompt shows it."""

    def entry_of(self, kernel: str) -> str:
        """The name of a kernel's entry function."""
        return self.entry

    def fingerprint(self, kernel: str) -> str:
        """A digest that is equal for kernels that differ in nothing that matters, such as names and comments. Never
        raises: a text that does not parse has a fingerprint too."""
        return hashlib.sha256(b"text " + kernel.encode()).hexdigest()

    def locate(self, answer: str) -> str | None:
        """The kernel in a model's answer, or None. By default the last fenced block that has the entry function's name
        followed by a parenthesis."""
        blocks = blocks_defining(answer, self.entry)
        return blocks[-1] if blocks else None

    def skeleton(self, workload: Workload) -> str:
        """The signature with a body that is left out, as a prompt shows what it wants."""
        return f"{self.signature(workload)}\n  ..."

    def loops(self, kernel: str) -> tuple[str, ...]:
        """Names of the parts of a kernel that a plan may be about, such as its loops, in source order."""
        return ()

    def is_foreign(self, kernel: str) -> bool:
        """True if a kernel computes its result without the machine, so that it has to be translated first."""
        return False

    def hands_on(self, kernel: str, number: float) -> bool:
        """True if all that a kernel does with numbers of this value is to hand them to the machine: it computes nothing
        from them, and decides nothing by them. False where nobody knows."""
        return False


class Evaluator(ABC):
    """Judges and measures kernels of one workload on one target. Picklable, since evaluations run in worker processes.

    `stages` are all stages in their order. `version` changes whenever the same kernel might be judged otherwise: a run
    that is resumed compares it, and the cache of verdicts keeps it in its keys. `device` names what an evaluation needs
    for itself: two evaluations that name the same device never run at the same time, whichever process they are in.
    `keeps` says whether a verdict may be taken from the cache of earlier ones.
    """

    stages: tuple[Stage, ...]
    version: str
    device: str | None = None
    keeps: bool = True

    @abstractmethod
    def evaluate(self, kernel: str, phases: Collection[Phase] = PHASES, seed: int | None = None) -> Evaluation:
        """Run the stages of the phases in order up to the first that fails; the rest are skipped.

        Never raises for what a kernel does wrong: that is a failed stage. Inputs and initial contents are drawn from
        `seed`, and from fresh entropy without one; the evaluation says which seed that was. Raises DeviceError where
        the device failed: this says nothing of the kernel, and the search tries again. Raises ConfigError where nothing
        can be evaluated at all: the search ends.
        """

    def measure_beside(self, kernels: Sequence[str]) -> tuple[Measurement | None, ...]:
        """Measure kernels that are correct once more, in turns, so that whatever drifts concerns all of them alike.
        None for a kernel that could not be measured. Asked only of targets whose measurements have a spread."""
        return tuple(self.evaluate(kernel, SCREEN).measurement for kernel in kernels)


@dataclass(frozen=True)
class Roofs:
    """Of the roofline model: `peak` multiply-accumulates, and `bus` bytes in each direction, for each unit of the
    objective; 0 where not known."""

    peak: Number
    bus: Number


@dataclass(frozen=True)
class Proposal:
    """Parameters of a transformation that are worth trying, with the reason in words. `gain` estimates by how much the
    objective improves, in its unit; 0 where nothing is known. `result` is the measurement that the target has seen
    the parameters lead to, if it has."""

    parameters: Mapping[str, Any]
    reason: str
    gain: float = 0.0
    result: float | None = None


class Transformations:
    """The named rewrites of kernels that a target can carry out exactly. The default has no rewrites."""

    names: tuple[str, ...] = ()

    def proposals(self, name: str, kernel: str, workload: Workload) -> Sequence[Proposal]:
        """Parameters that suit this kernel, best first; not all of them need to apply. Raises KernelError for a kernel
        that does not parse, NotApplicable for an unknown name."""
        raise NotApplicable(f"unknown transformation {name!r}", hint=f"known: {', '.join(self.names) or 'none'}")

    def apply(self, name: str, kernel: str, workload: Workload, parameters: Mapping[str, Any]) -> str:
        """The rewritten kernel. Raises NotApplicable with the reason, KernelError as above."""
        raise NotApplicable(f"unknown transformation {name!r}", hint=f"known: {', '.join(self.names) or 'none'}")


@dataclass(frozen=True)
class Rules:
    """The agent that needs no model: who plans, and who carries plans out. `dives` is whether single plans are followed
    first, one after the other; where an evaluation takes seconds and several run at once, that wastes them."""

    planner: Planner
    coder: Coder
    dives: bool = True


@dataclass(frozen=True)
class Focus:
    """The subject of a prompt, so that a target leaves out what does not matter: the kernels that it shows, and the
    kinds of constructs (`uses` of menu options) that may come in. `everything` asks for all there is."""

    kernels: tuple[str, ...] = ()
    uses: frozenset[str] = frozenset()
    everything: bool = False


@dataclass(frozen=True)
class Knowledge:
    """The parts of prompts that only the target can write.

    Sections in Markdown: `role` says who is asked and how kernels are judged, `language` how kernels are written,
    `machine` what the machine offers. Parts of sentences: `subject` is what is improved ("a program for a tensor
    accelerator"), `plans` what a plan must name ("the loops and operands by line"). `coding` a sentence that says what
    to work out before writing. `translation` is how to begin where a kernel does not use the machine yet.
    """

    role: str
    language: str
    machine: str
    subject: str
    plans: str
    coding: str = ""
    translation: str = ""


class Target(ABC):
    """One machine, which kernels are written for and judged by. An entry point of the group `autocomp.targets` names a
    subclass. Picklable and immutable.

    `kind` is the name of the entry point, `name` that of the machine within its kind, as MACHINE or
    MACHINE:VARIANT: schedules are carried over between variants. `digest` is the machine's meaning: what changes a
    result changes it, and nothing else does. `parameters` are those of the machine's figures that a user may set,
    and `area` is how large it is, in the units that `area_note` names. `causes` are the words that `Evidence.parts`
    uses, and `uses` the kinds of constructs that `Focus` names: the vocabulary of menus for this kind. `lacks` are
    those that this machine has none of. `records` says whether kernels can be profiled. `objectives` are the names of
    what kernels can be searched for, the usual one first; none where there is only one. `scheduled` says whether the
    best kernels are kept as schedules.
    """

    kind: ClassVar[str]
    causes: ClassVar[tuple[str, ...]] = ()
    glossary: ClassVar[Mapping[str, Cause]] = MappingProxyType({})  # what the causes mean
    uses: ClassVar[tuple[str, ...]] = ()
    records: ClassVar[bool] = False
    name: str
    digest: str
    parameters: Mapping[str, Number]
    lacks: frozenset[str] = frozenset()
    area: Number | None = None
    area_note: str = ""
    language: Language
    objective: Objective
    objectives: tuple[str, ...] = ()
    scheduled: bool = True
    transformations: Transformations = Transformations()

    # --- where targets come from ---------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def load(cls, name: str, parameters: Mapping[str, Number], paths: Sequence[Path], trust: bool = False) -> Self:
        """The machine of a name, "" for the usual one, with some parameters set. `paths` are folders to look for its
        description in. A name may come from a stranger's workload: programs that its files name run only if the user
        says so, with `trust`, or said so before (`autocomp.trust`). Raises ConfigError, or a more special error, for
        what is not there, TrustError for what may not run."""

    @classmethod
    @abstractmethod
    def restore(cls, snapshot: Mapping[str, Any], trust: bool = False) -> Self:
        """The target that wrote a snapshot, whatever became of its description since. A snapshot may be a stranger's:
        what it names to run counts as in `load`. Raises ConfigError."""

    @abstractmethod
    def snapshot(self) -> dict[str, Any]:
        """All that `restore` needs, as JSON; a run folder keeps it."""

    def pursuing(self, objective: str) -> Target:
        """The same machine with another of its objectives, by its name. Raises ConfigError."""
        known = f"{self.name} has {', '.join(self.objectives) or f'one objective, {self.objective.unit}'}"
        raise ConfigError(f"unknown objective {objective!r}", hint=known)

    @classmethod
    def options(cls) -> tuple[MenuOption, ...]:
        """The transformations of this kind as options: the entries of a menu with `transformations: true`."""
        return ()

    # --- what it says of a workload ------------------------------------------------------------------------------

    @abstractmethod
    def starting_kernel(self, workload: Workload) -> str:
        """The kernel that a search starts from unless the user gives one. Raises ConfigError if the target has none for
        this workload."""

    def remedy(self, workload: Workload) -> str | None:
        """Advice on what to write in a workload whose generated starting kernel is not correct; None where nothing is
        known."""
        return None

    def advice(self, workload: Workload) -> str | None:
        """Advice on what to write in a workload so that kernels come nearer to its bound; None where nothing is
        known."""
        return None

    def completed(self, kernel: str, workload: Workload) -> str:
        """A user's own starting kernel with what its harness did for it elsewhere. Other texts stay."""
        return kernel

    @abstractmethod
    def evaluator(self, workload: Workload, source: str = "kernel") -> Evaluator:
        """Who judges and measures kernels of a workload; messages call the kernel `source`. Raises ConfigError for a
        workload that this machine cannot do."""

    def bound(self, workload: Workload) -> Bound | None:
        """A value that no kernel can beat; None where nothing is known."""
        return None

    def bounds_by_kind(self, workload: Workload) -> Mapping[str, Bound]:
        """Values that kernels of a kind cannot beat, by the kind's name: a measure for kernels that are written as
        people write them. Others may beat it, so that no kernel is refused for it."""
        return {}

    def roofs(self, workload: Workload) -> Roofs | None:
        """The machine's roofs for a workload's kind of work; None where they are not known."""
        return None

    def menus(self, operation: str) -> tuple[str, ...]:
        """Names or paths of menus for planners where the user names none; the first that there is counts."""
        return ()

    def routine(self, workload: Workload) -> str | None:
        """The vendor's own routine for a workload, as a kernel to compare with, or None. It need not be correct: not
        every routine can do every workload."""
        return None

    # --- other circumstances -------------------------------------------------------------------------------------

    def conditions(self) -> Mapping[str, Target]:
        """The same machine in other circumstances that kernels meet where they are used, by name: a search says how its
        result holds there."""
        return {}

    def varied(self, parameters: Mapping[str, Number]) -> Target:
        """The same machine with some parameters set otherwise. Raises ConfigError for a name or a value that it does
        not have."""
        raise ConfigError(f"parameters of {self.name} cannot be changed", hint="it states no other conditions")

    # --- what agents are told ------------------------------------------------------------------------------------

    @abstractmethod
    def knowledge(self, workload: Workload, focus: Focus) -> Knowledge:
        """The sections of a prompt about the language and the machine."""

    def diagnose(self, kernel: str, workload: Workload) -> Evidence | None:
        """A closer look at what limits a correct kernel, made when an agent is about to plan: a critical path, marks in
        the kernel, counters. None where there is nothing beyond what its evaluation says. The costs of its lines, if it
        has any, add up to the measurement, where those of an evaluation may overlap."""
        return None

    def cause(self, kernel: str, workload: Workload, evaluation: Evaluation) -> str:
        """The cause of a failed kernel's wrong values, if a closer analysis finds one; else ""."""
        return ""

    def record(self, kernel: str, workload: Workload, source: str = "kernel") -> Recorded:
        """Run a kernel once on the workload's first input and record what it does, where the target `records`.

        Raises KernelError if it does not parse or check, CandidateFailure if it does not run to its end, ConfigError
        where this target records nothing.
        """
        raise ConfigError(f"the target {self.kind} does not record what kernels do")

    def story(self, evaluation: Evaluation, diagnosis: Evidence | None) -> tuple[str, ...]:
        """In sentences, what limits the kernel."""
        return (diagnosis or evaluation.evidence).story

    def figures(self, evaluation: Evaluation) -> Mapping[str, Number]:
        """Those of an evaluation's single figures that matter to the objective."""
        return evaluation.evidence.figures

    def weights(self, evaluation: Evaluation, diagnosis: Evidence | None) -> Mapping[str, float]:
        """For each cause, the share of the measurement that removing it might save, from 0 to 1."""
        value = evaluation.value
        parts = (diagnosis or evaluation.evidence).parts
        shares: dict[str, float] = {}
        for causes in parts.values():
            for cause, amount in causes.items():
                shares[cause] = shares.get(cause, 0.0) + (amount / value / len(parts) if value else 0.0)
        return shares

    def weight(self, causes: Collection[str], evaluation: Evaluation, diagnosis: Evidence | None) -> float:
        """The share of the measurement that removing all these causes might save, from 0 to 1."""
        weights = self.weights(evaluation, diagnosis)
        return min(1.0, sum(weights.get(cause, 0.0) for cause in causes))

    # --- what works without a model ------------------------------------------------------------------------------

    def ready(self, name: str, kernel: str, workload: Workload) -> Iterator[tuple[Proposal, str]]:
        """The proposals of a transformation that apply, each with the fingerprint of the kernel that it gives. Raises
        as the transformations do."""
        for proposal in self.transformations.proposals(name, kernel, workload):
            try:
                changed = self.transformations.apply(name, kernel, workload, proposal.parameters)
            except NotApplicable:
                continue
            yield proposal, self.language.fingerprint(changed)

    def rules(self) -> Rules | None:
        """The target's own agents that need no model. None for those of `autocomp.targets.rewriting`, which carry out
        transformations by their stated gain."""
        return None

    def replay(self, precedents: Sequence[Precedent], start: str, workload: Workload) -> Replay | None:
        """The result of applying the plans of earlier schedules to a starting kernel here. None for the way of
        `autocomp.targets.rewriting`. Raises KernelError if the kernel does not parse."""
        return None

    def ahead_of_rules(self, replayed: Replay, start: str, workload: Workload) -> Replay:
        """The replay without the kernels that the target's own rules beat with their first plan for the starting
        kernel, as far as that is known without an evaluation."""
        return replayed

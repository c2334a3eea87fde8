"""A simulated accelerator as a target."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import ConfigDict, TypeAdapter, ValidationError

from autocomp.errors import ConfigError
from autocomp.targets.evaluation import Bound, Evaluation, Evidence, Number
from autocomp.targets.menu import MenuOption
from autocomp.targets.planning import Precedent, Replay
from autocomp.targets.protocol import Focus, Knowledge, Proposal, Roofs, Rules, Target
from autocomp.targets.rewriting import RewritingCoder
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.cause import cause
from autocomp.targets.simulator.conditions import usual_conditions, with_parameters
from autocomp.targets.simulator.dialect import Dialect
from autocomp.targets.simulator.evaluate import ENERGY, OBJECTIVES, SimulatorEvaluator
from autocomp.targets.simulator.evaluate.bounds import peak_multiply_accumulates
from autocomp.targets.simulator.evaluate.objectives import bound_of, objective_of
from autocomp.targets.simulator.evaluate.tiled import TILED, tiled_bound
from autocomp.targets.simulator.isa.derived.analysis import Kind
from autocomp.targets.simulator.isa.derived.roles import SIZED, has_sized_moves, instruction_roles
from autocomp.targets.simulator.isa.main_memory import total_width
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.knowledge import knowledge
from autocomp.targets.simulator.profile import record
from autocomp.targets.simulator.recorded import SimulatedRun
from autocomp.targets.simulator.remedy import remedy
from autocomp.targets.simulator.replay import replay
from autocomp.targets.simulator.rewrites import Rewrites
from autocomp.targets.simulator.rules import RulesPlanner
from autocomp.targets.simulator.rules.ahead import ahead_of_rules
from autocomp.targets.simulator.rules.profile import profile
from autocomp.targets.simulator.stalls import BUSY, STALLS
from autocomp.targets.simulator.start.fenced import fenced
from autocomp.targets.simulator.start.library import library_kernel
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.storage import storage_advice
from autocomp.targets.simulator.story import diagnose, limits_of, story
from autocomp.targets.simulator.transforms import TRANSFORMATIONS
from autocomp.workload.model import Workload


@dataclass(frozen=True)
class _Snapshot:
    """The record of an accelerator in a run folder."""

    __pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)
    name: str
    path: str
    configuration: str
    overrides: dict[str, Number]
    source: str
    objective: str = "cycles"


_SNAPSHOT: TypeAdapter[_Snapshot] = TypeAdapter(_Snapshot)


class SimulatorTarget(Target):
    """An accelerator that a description defines. `overrides` are the parameters that a user set."""

    kind = "simulator"
    objectives = tuple(OBJECTIVES)
    records = True
    uses = (*get_args(Kind), SIZED)
    causes = (BUSY, *STALLS)
    glossary = STALLS

    def __init__(
        self, accelerator: Accelerator, overrides: Mapping[str, Number] | None = None, objective: str = "cycles"
    ) -> None:
        self.accelerator = accelerator
        self.objective = objective_of(accelerator, objective)
        self.scheduled = objective == "cycles"
        self.pursued = objective
        self.overrides = dict(overrides or {})
        self.name = accelerator.full_name
        self.digest = accelerator.machine_digest if self.scheduled else f"{accelerator.machine_digest}-{objective}"
        self.parameters = accelerator.parameters
        self.area = accelerator.area
        self.area_note = accelerator.area_note
        self.language = Dialect(accelerator)
        self.transformations = Rewrites(accelerator, objective)
        sized = {SIZED} if has_sized_moves(accelerator) else set()
        self.lacks = frozenset(self.uses) - {role.kind for role in instruction_roles(accelerator).values()} - sized

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SimulatorTarget) and (self.digest, self.snapshot()) == (other.digest, other.snapshot())

    def __hash__(self) -> int:
        return hash(self.digest)

    @classmethod
    def load(
        cls, name: str, parameters: Mapping[str, Number], paths: Sequence[Path], trust: bool = False
    ) -> SimulatorTarget:
        """`name` is that of a description, with `:configuration` where it has several. Raises IsaError too."""
        if not name:
            raise ConfigError("no accelerator is named", hint="name one: `accelerator: NAME` in the workload")
        return cls(isa.load(name, parameters, paths), parameters)

    @classmethod
    def restore(cls, snapshot: Mapping[str, Any], trust: bool = False) -> SimulatorTarget:
        try:
            kept = _SNAPSHOT.validate_python(snapshot)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in fault["loc"])
            raise ConfigError(f"the accelerator of a run folder, field {where!r}: {fault['msg']}") from None
        return cls(
            isa.parse(kept.source, kept.path or kept.name, kept.overrides, kept.configuration),
            kept.overrides,
            kept.objective,
        )

    def snapshot(self) -> dict[str, Any]:
        machine = self.accelerator
        return asdict(
            _Snapshot(machine.name, machine.path, machine.configuration, self.overrides, machine.source, self.pursued)
        )

    def pursuing(self, objective: str) -> SimulatorTarget:
        return SimulatorTarget(self.accelerator, self.overrides, objective)

    def completed(self, kernel: str, workload: Workload) -> str:
        return fenced(kernel, self.accelerator)

    def starting_kernel(self, workload: Workload) -> str:
        return starting_kernel(workload, self.accelerator)

    def remedy(self, workload: Workload) -> str | None:
        return remedy(workload, self.accelerator)

    def advice(self, workload: Workload) -> str | None:
        return storage_advice(workload, self.accelerator)

    def evaluator(self, workload: Workload, source: str = "kernel.c") -> SimulatorEvaluator:
        return SimulatorEvaluator(self.accelerator, workload, source, self.pursued)

    def bound(self, workload: Workload) -> Bound:
        return bound_of(self.pursued, workload, self.accelerator)

    def bounds_by_kind(self, workload: Workload) -> Mapping[str, Bound]:
        return {TILED: tiled_bound(workload, self.accelerator)} if self.pursued == "cycles" else {}

    def routine(self, workload: Workload) -> str | None:
        return library_kernel(workload, self.accelerator)

    def conditions(self) -> Mapping[str, Target]:
        machines = usual_conditions(self.accelerator)
        return {name: SimulatorTarget(machine, self.overrides) for name, machine in machines.items()}

    def varied(self, parameters: Mapping[str, Number]) -> SimulatorTarget:
        return SimulatorTarget(with_parameters(self.accelerator, parameters), {**self.overrides, **parameters})

    @classmethod
    def options(cls) -> tuple[MenuOption, ...]:
        return tuple(item.option() for item in TRANSFORMATIONS)

    def menus(self, operation: str) -> tuple[str, ...]:
        """The operation's own menu, else the general one."""
        return operation, "general"

    def knowledge(self, workload: Workload, focus: Focus) -> Knowledge:
        return knowledge(self.accelerator, workload, self.language.signature(workload), focus)

    def diagnose(self, kernel: str, workload: Workload) -> Evidence | None:
        return diagnose(kernel, workload, self.accelerator)

    def cause(self, kernel: str, workload: Workload, evaluation: Evaluation) -> str:
        return cause(kernel, workload, self.accelerator, evaluation)

    def record(self, kernel: str, workload: Workload, source: str = "kernel.c") -> SimulatedRun:
        return SimulatedRun(record(kernel, workload, self.accelerator, source))

    def roofs(self, workload: Workload) -> Roofs:
        bus = total_width(self.accelerator)
        return Roofs(peak_multiply_accumulates(self.accelerator), bus)

    def story(self, evaluation: Evaluation, diagnosis: Evidence | None) -> tuple[str, ...]:
        return story(evaluation, diagnosis)

    def figures(self, evaluation: Evaluation) -> Mapping[str, Number]:
        """All but energies, where time is what counts, and steps of the interpreter."""
        unwanted = ("host_steps", ENERGY) if self.scheduled else ("host_steps",)
        return {name: value for name, value in evaluation.evidence.figures.items() if not name.startswith(unwanted)}

    def weights(self, evaluation: Evaluation, diagnosis: Evidence | None) -> Mapping[str, float]:
        return profile(evaluation, self.accelerator, limits_of(diagnosis)).shares

    def weight(self, causes: Collection[str], evaluation: Evaluation, diagnosis: Evidence | None) -> float:
        """Of the critical path where that is known: a wait has a cause of its own, and one why others wait for it."""
        known = limits_of(diagnosis)
        return super().weight(causes, evaluation, diagnosis) if known is None else known.share(causes)

    def ready(self, name: str, kernel: str, workload: Workload) -> Iterator[tuple[Proposal, str]]:
        return Rewrites(self.accelerator, self.pursued).ready(name, kernel, workload)

    def rules(self) -> Rules:
        return Rules(RulesPlanner(), RewritingCoder())

    def replay(self, precedents: Sequence[Precedent], start: str, workload: Workload) -> Replay:
        return replay(precedents, start, self.accelerator, workload)

    def ahead_of_rules(self, replayed: Replay, start: str, workload: Workload) -> Replay:
        return ahead_of_rules(replayed, start, self.accelerator, workload, self.pursued)


def accelerator_of(target: Target, what: str) -> Accelerator:
    """The accelerator that a target simulates; `what` needs one. Raises ConfigError for a target of another kind."""
    if not isinstance(target, SimulatorTarget):
        raise ConfigError(f"{what} needs a simulated accelerator, and {target.name!r} is a target of {target.kind}")
    return target.accelerator

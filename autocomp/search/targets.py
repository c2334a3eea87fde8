"""The objects that executors call: an agent pair and an evaluator, with plain JSON documents as results."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from autocomp.agents import scientist
from autocomp.errors import AutocompError, ConfigError, DeviceError, ModelError, describe
from autocomp.targets.device import claimed
from autocomp.targets.evaluation import PHASES, PROVE, SCREEN, Evaluation, Evidence, Phase
from autocomp.targets.menu import Menu
from autocomp.targets.planning import (
    Attempt,
    Coder,
    Context,
    Experience,
    Implementation,
    LineageStep,
    Peer,
    Plan,
    Planner,
    Planning,
    Precedent,
    Usage,
    cause_first,
)
from autocomp.targets.protocol import Evaluator, Rules, Target
from autocomp.targets.serial import to_document
from autocomp.workload import derived_seed
from autocomp.workload.model import Workload

EVERYTHING = 10_000  # plans; more than any planner lists for one kernel


@dataclass(frozen=True)
class AgentCall:
    """The inputs of one question to an agent, besides those that the whole search shares.

    `key` names the call in the journal. `chance` seeds all randomness of the call; calls with different labels are
    independent. `count` None asks for all plans that there are, `avenues` other than 0 for a design. `broken` and
    `failure` are a kernel that failed and why, for a repair; `verdict` is all that was judged of it. `lessons` are
    attempts on other kernels.
    """

    kernel: str
    evaluation: Evaluation
    lineage: tuple[LineageStep, ...]
    tried: frozenset[str]
    chance: str
    count: int | None = 1
    whole_menu: bool = False
    avenues: int = 0
    plan: Plan | None = None
    broken: str = ""
    failure: str = ""
    verdict: Evaluation | None = None
    peers: tuple[Peer, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    lessons: tuple[Attempt, ...] = ()
    findings: str = ""
    credit: Mapping[str, float] = field(default_factory=dict)
    key: str = ""


@dataclass(frozen=True)
class SelectCall:
    """The kernels to select from."""

    population: tuple[Peer, ...]
    findings: str
    chance: str
    key: str = ""


@dataclass(frozen=True)
class AgentTarget:
    """The two agents and what all their contexts share.

    An agent that raises is recorded as having failed at this call; only ModelError ends the search, since it says that
    no answer can be had: nothing is recorded then, and resuming asks again. With a `fallback` the rules answer instead.
    `account` books the charges of models during a call under its key. Where kernels have to hold in several
    `conditions`, agents are asked about the one in which the kernel is worst.
    """

    planner: Planner
    coder: Coder
    target: Target
    workload: Workload
    menu: Menu
    dropout: float
    black_box: bool = False
    precedents: tuple[Precedent, ...] = ()
    experience: tuple[Experience, ...] = ()
    account: Callable[[str], AbstractContextManager[object]] = nullcontext
    fallback: Rules | None = None
    writes: bool = False  # the coder writes kernels by hand, and may write another one for the same plan
    diagnoses: bool = False  # planners get a closer look at each kernel
    conditions: Mapping[str, Target] = field(default_factory=dict)

    def select(self, call: SelectCall) -> dict[str, Any]:
        fastest = scientist.fastest_first(call.population)[0]
        asked = AgentCall(
            fastest.kernel,
            fastest.evaluation,
            tuple(fastest.lineage),
            frozenset(),
            call.chance,
            peers=call.population,
            findings=call.findings,
        )
        try:
            with self.account(call.key):
                selected = scientist.select(self.planner, self._context(asked, self.menu))
        except ModelError as error:
            if self.fallback is None:
                raise
            selected = scientist.by_speed(call.population)
            selected = replace(selected, reason=f"{selected.reason}; {error.message}")
        except Exception as error:
            selected = scientist.by_speed(call.population)
            selected = replace(selected, reason=f"{selected.reason}; the selector failed: {describe(error)}")
        return dataclasses.asdict(selected)

    def plan(self, call: AgentCall) -> dict[str, Any]:
        count = EVERYTHING if call.count is None else call.count
        try:
            # Where a search begins, nothing is known yet that could be too much of one idea.
            whole = call.whole_menu or call.count is None or not call.lineage
            dropout = 0.0 if whole else self.dropout
            context = self._context(call, self.menu.dropout(Random(f"menu/{call.chance}"), dropout))
            context = replace(context, diagnosis=self._diagnosis(call))
            with self.account(call.key):
                planning = self._planned(call, context, count)
        except ModelError:
            raise
        except Exception as error:
            return {"plans": [], "messages": [describe(error)], "error": True}
        document = {
            "plans": [plan_document(plan) for plan in planning.plans[:count]],
            "messages": list(planning.messages),
            "usage": dataclasses.asdict(planning.usage),
        }
        return {**document, "avenues": list(planning.avenues)} if planning.avenues else document

    def _planned(self, call: AgentCall, context: Context, count: int) -> Planning:
        """The planner's plans, or those of the fallback where no model answers."""

        def ask(planner: Planner) -> Planning:
            if call.avenues:
                return scientist.design(planner, context, call.avenues, count)
            return planner.plan(context, count)

        try:
            return ask(self.planner)
        except ModelError as error:
            if self.fallback is None:
                raise
            planning = ask(self.fallback.planner)
            return replace(planning, messages=(f"{error.message}; the rules planned instead", *planning.messages))

    def implement(self, call: AgentCall) -> dict[str, Any]:
        return self._implementation(lambda plan: self.coder.implement(self._context(call, self.menu), plan), call)

    def repair(self, call: AgentCall) -> dict[str, Any]:
        """A second attempt at `call.plan`: the context is the parent's, `call.broken` the kernel that failed."""
        context = self._context(call, self.menu)
        failure = self._failure(call)
        return self._implementation(lambda plan: self.coder.repair(context, plan, call.broken, failure), call)

    def _failure(self, call: AgentCall) -> str:
        """The description of a failed kernel for the coder: the cause first, where it is found."""
        if call.verdict is None or self.black_box or not self.diagnoses:
            return call.failure
        return cause_first(self.target.cause(call.broken, self.workload, call.verdict), call.failure)

    def _implementation(self, ask: Callable[[Plan], Implementation], call: AgentCall) -> dict[str, Any]:
        if call.plan is None:
            raise TypeError("an implementation needs a plan")
        try:
            with self.account(call.key):
                answer = ask(call.plan)
        except ModelError as error:
            if self.fallback is None:
                raise
            return {"kernel": None, "message": error.message}
        except Exception as error:
            return {"kernel": None, "message": describe(error), "error": not isinstance(error, AutocompError)}
        document = {"kernel": answer.kernel, "message": answer.message, "usage": dataclasses.asdict(answer.usage)}
        if answer.kernel is not None:
            document["hash"] = self.target.language.fingerprint(answer.kernel)
        if answer.plan is not None:
            document["plan"] = plan_document(answer.plan)
        return document

    def _context(self, call: AgentCall, menu: Menu) -> Context:
        return Context(
            target=self._machine(call.evaluation),
            workload=self.workload,
            kernel=call.kernel,
            evaluation=self._shown(call.evaluation),
            lineage=call.lineage,
            menu=menu,
            random=Random(f"agent/{call.chance}"),
            tried=call.tried,
            peers=tuple(replace(peer, evaluation=self._shown(peer.evaluation)) for peer in call.peers),
            attempts=call.attempts,
            lessons=call.lessons,
            findings=call.findings,
            precedents=self.precedents,
            experience=self.experience,
            credit=call.credit,
        )

    def _machine(self, evaluation: Evaluation) -> Target:
        return self.conditions.get(evaluation.worst or "", self.target)

    def _diagnosis(self, call: AgentCall) -> Evidence | None:
        if self.black_box or not self.diagnoses:
            return None
        return self._machine(call.evaluation).diagnose(call.kernel, self.workload)

    def _shown(self, evaluation: Evaluation) -> Evaluation:
        """The part of an evaluation that agents see."""
        return evaluation.without_evidence() if self.black_box else evaluation


@dataclass(frozen=True)
class EvaluationTarget:
    """An evaluator, with its device for itself. ConfigError says that nothing can be evaluated and ends the search,
    DeviceError that this has to be tried again. Any other error is a fault of the evaluator's own at this kernel: that
    is recorded, and the search goes on.

    Each kernel is judged on draws of its own, which follow from `seed`; without one, from fresh entropy."""

    evaluator: Evaluator
    seed: int | None = None

    def screen(self, kernel: str) -> dict[str, Any]:
        """The stages that give a measurement."""
        return self._evaluated(kernel, SCREEN)

    def prove(self, kernel: str) -> dict[str, Any]:
        """The other stages, which take most of the time."""
        return self._evaluated(kernel, PROVE)

    def evaluate(self, kernel: str) -> dict[str, Any]:
        """All stages."""
        return self._evaluated(kernel, PHASES)

    def measure_beside(self, kernels: tuple[str, ...]) -> list[dict[str, Any] | None]:
        """Another measurement of each of these kernels."""
        with claimed(self.evaluator.device):
            measured = self.evaluator.measure_beside(kernels)
        return [None if one is None else dataclasses.asdict(one) for one in measured]

    def _evaluated(self, kernel: str, phases: tuple[Phase, ...]) -> dict[str, Any]:
        try:
            seed = None if self.seed is None else derived_seed(self.seed, "kernel", kernel)
            with claimed(self.evaluator.device):
                return {"evaluation": to_document(self.evaluator.evaluate(kernel, phases, seed))}
        except (ConfigError, DeviceError):
            raise
        except Exception as error:
            return {"evaluation": None, "message": describe(error)}


def lost_answer(call: AgentCall | SelectCall, method: str, message: str) -> dict[str, Any]:
    """The record of a call that ended its worker."""
    if isinstance(call, SelectCall):
        selected = scientist.by_speed(call.population)
        return dataclasses.asdict(replace(selected, reason=f"{selected.reason}; {message}"))
    if method == "plan":
        return {"plans": [], "messages": [message], "error": True}
    return {"kernel": None, "message": message, "error": True}


def plan_document(plan: Plan) -> dict[str, Any]:
    """The plan as a plain document, without what it leaves open."""
    return {k: v for k, v in to_document(plan).items() if v is not None or k == "transformation"}


def usage_of(event: Mapping[str, Any]) -> Usage:
    """The cost of the answer that an event records."""
    return Usage(**event.get("usage", {}))

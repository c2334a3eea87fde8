"""Replays the plans of earlier schedules on a new shape or machine, as the first candidates of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autocomp import kernel
from autocomp.agents.protocol import Plan, Precedent
from autocomp.isa.model import Accelerator
from autocomp.transforms import Facts, NotApplicable, analyse
from autocomp.transforms.adapt import adapted
from autocomp.workload.model import Workload

AUTHOR = "reuse"


@dataclass(frozen=True)
class Replayed:
    """A plan that was carried out and the kernel it gave. `parent` is the position in the replay of what it was applied
    to, None for the starting kernel."""

    record: str
    plan: Plan
    kernel: str
    parent: int | None


@dataclass(frozen=True)
class Replay:
    """What came of the precedents' plans; `left_out` says of each plan that does not apply, behind its record's name,
    why."""

    steps: tuple[Replayed, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


def replay(precedents: Sequence[Precedent], start: str, accelerator: Accelerator, workload: Workload) -> Replay:
    """Apply each precedent's plans in turn, each to what the one before it left. Kernels that two precedents share
    appear once. Raises KernelError if the starting kernel does not parse."""
    facts = analyse(kernel.parse(start), accelerator, workload.constants)
    known: dict[str, int | None] = {kernel.canonical_hash(facts.kernel): None}
    steps: list[Replayed] = []
    left_out: list[tuple[str, str]] = []
    for precedent in precedents:
        present, parent = facts, None
        for plan in (step.plan for step in precedent.lineage):
            try:
                made, changed = _carried_out(present, plan, precedent.record)
            except NotApplicable as error:
                left_out.append((precedent.record, f"{plan.option or 'free plan'}: {error.message}"))
                continue
            digest = kernel.canonical_hash(changed.kernel)
            if digest in known and known[digest] == parent:
                left_out.append((precedent.record, f"{plan.option}: changes nothing here"))
                continue
            if digest not in known:
                known[digest] = len(steps)
                steps.append(Replayed(precedent.record, made, kernel.print_kernel(changed.kernel), parent))
            present, parent = changed, known[digest]
    return Replay(tuple(steps), tuple(left_out))


def _carried_out(facts: Facts, plan: Plan, record: str) -> tuple[Plan, Facts]:
    if plan.transformation is None:
        raise NotApplicable("names no transformation that could be applied again")
    parameters, changed = adapted(facts, plan.transformation, plan.parameters)
    same = "with its parameters" if parameters == plan.parameters else "with the nearest parameters that apply"
    text = f"{plan.option} as in {record}, {same}."
    return Plan(plan.option, text, plan.transformation, dict(parameters), AUTHOR), facts.with_kernel(changed)

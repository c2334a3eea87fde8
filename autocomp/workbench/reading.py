"""The texts that an agent reads before it begins: the machine, the language and the task."""

from __future__ import annotations

from autocomp.targets.protocol import Focus, Target
from autocomp.workload.model import Workload


def machine(target: Target, workload: Workload) -> str:
    return target.knowledge(workload, Focus(everything=True)).machine


def language(target: Target, workload: Workload) -> str:
    knowledge = target.knowledge(workload, Focus(everything=True))
    return f"{knowledge.role}\n\n{knowledge.language}"


def task(target: Target, workload: Workload) -> str:
    """The workload's file, then its bound, signature and reference as comments."""
    bound = target.bound(workload)
    reached = "" if bound is None else f"\n# bound: {bound.value:,} {target.objective.unit}: {bound.explanation}\n"
    reference = workload.reference_text
    shown = "" if reference is None else f"\n# its reference:\n{reference}"
    return f"{workload.text}{reached}\n# signature:\n{target.language.signature(workload)}\n{shown}"

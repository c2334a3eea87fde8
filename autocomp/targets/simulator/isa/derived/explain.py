"""Facts derived from a description and stated nowhere in it: roles of instructions and operands, tiles, the peak."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autocomp.targets.simulator.isa.derived.contractions import Contraction, contractions, peak
from autocomp.targets.simulator.isa.derived.roles import CallRole, call_roles
from autocomp.targets.simulator.isa.model import Accelerator


@dataclass(frozen=True)
class FormExplanation:
    """One call form: its kind, what each argument means, and the memories that it reads and writes."""

    name: str
    instruction: str
    kind: str
    unit: str
    operands: tuple[tuple[str, str], ...]  # (argument, role)
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """Everything derived. `missing` says what searches cannot use because no instruction shows it."""

    forms: tuple[FormExplanation, ...]
    contractions: tuple[Contraction, ...]
    peak: int  # multiply-accumulates a cycle
    missing: tuple[str, ...]


def explain(accelerator: Accelerator) -> Explanation:
    """The facts that the tool derives from a description."""
    roles = call_roles(accelerator)
    return Explanation(
        tuple(_form(accelerator, role) for role in roles),
        contractions(accelerator),
        peak(accelerator),
        tuple(_missing(accelerator, roles)),
    )


def _form(accelerator: Accelerator, role: CallRole) -> FormExplanation:
    instruction = accelerator.instruction(role.instruction)
    assert instruction is not None
    alias = accelerator.alias(role.name, len(role.arguments))
    names = tuple(p.name for p in instruction.parameters) if alias is None else alias.parameters
    return FormExplanation(
        role.name,
        role.instruction,
        role.kind,
        instruction.unit or "",
        tuple(zip(names, role.arguments, strict=True)),
        tuple(sorted(role.role.reads)),
        tuple(sorted(role.role.writes)),
    )


def _missing(accelerator: Accelerator, roles: tuple[CallRole, ...]) -> Iterator[str]:
    kinds = {role.kind for role in roles}
    if "load" not in kinds:
        yield "no instruction reads DRAM and writes a local memory: nothing is a load"
    if "store" not in kinds:
        yield "no instruction reads a local memory and writes DRAM: nothing is a store"
    if "contraction" not in kinds:
        yield "no instruction multiplies and sums: nothing is a contraction, so there is no peak and no starting kernel"
    for contraction in contractions(accelerator):
        if contraction.tile is None:
            yield (
                f"{contraction.instruction}: the size of its {contraction.unknown} does not follow from ranges of "
                "operands; state it in `contraction { … }`"
            )
    loaded = {memory for role in roles if role.kind == "load" for memory in role.role.writes}
    stored = {memory for role in roles if role.kind == "store" for memory in role.role.reads}
    for role in roles:
        if role.kind != "contraction":
            continue
        local = {memory.name for memory in accelerator.local_memories}
        results = role.role.writes & local
        if results and not results & stored and not _relayed(roles, results, stored):
            yield f"{role.name}: its results in {', '.join(sorted(results))} reach no store"
        operands = (role.role.reads & local) - results
        for memory in sorted(operands - loaded - _produced(roles)):
            yield f"{role.name}: nothing fills {memory}, which it reads"


def _relayed(roles: tuple[CallRole, ...], results: frozenset[str], stored: set[str]) -> bool:
    """True if elementwise instructions carry results to a memory that a store reads."""
    reached = set(results)
    while True:
        further = {
            memory
            for role in roles
            if role.kind in ("elementwise", "preload") and role.role.reads & reached
            for memory in role.role.writes
        }
        if further & stored:
            return True
        if further <= reached:
            return False
        reached |= further


def _produced(roles: tuple[CallRole, ...]) -> set[str]:
    return {memory for role in roles if role.kind in ("elementwise", "contraction") for memory in role.role.writes}

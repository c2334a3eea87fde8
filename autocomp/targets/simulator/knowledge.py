"""What prompts say of the dialect and of an accelerator, as far as it matters to a question."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import jinja2

from autocomp.errors import KernelError
from autocomp.targets.protocol import Focus, Knowledge
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.guide import timing_page
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.isa.roles import instruction_roles
from autocomp.targets.simulator.kernel import ast
from autocomp.targets.simulator.kernel.walk import walk
from autocomp.workload.model import Workload

TEMPLATES = Path(__file__).parent / "templates"
ROLE = (
    "You are an expert at writing fast kernels for tensor accelerators. You work with a cycle-level simulator: every "
    "kernel you write is parsed, checked, run on several sets of inputs, compared with an exact reference result, and "
    "timed. A kernel that is not right counts for nothing, however fast."
)
SUBJECT = "a program for a tensor accelerator"
PLANS = "the loops and operands by line, the new loop order, block sizes, rows of local memory and where each move goes"
CODING = (
    "Before you write, work out which rows of local memory each operand occupies and make sure that none overlap and "
    "all fit."
)
TRANSLATION = (
    "Write a kernel that has the accelerator compute the same. Put simplicity before speed: it will be made faster "
    "later. Work tile by tile: move the operands of a tile into local memory, compute, move the result out. Mind the "
    "edges where a size is no multiple of the tile, and the rows of local memory that each tile takes."
)


def knowledge(accelerator: Accelerator, workload: Workload, signature: str, focus: Focus) -> Knowledge:
    """The sections for one workload; instructions that `focus` has no use for are left out."""
    only = None if focus.everything else used_instructions(accelerator, focus)
    machine = _template("machine").render(
        reference=isa.reference(accelerator, markdown=True, only=only),
        rules=isa.rules(accelerator, only),
        timing=timing_page(accelerator, only, workload.operation),
    )
    language = _template("language").render(signature=signature)
    return Knowledge(ROLE, language, machine, SUBJECT, PLANS, CODING, TRANSLATION)


def used_instructions(accelerator: Accelerator, focus: Focus) -> frozenset[str]:
    """Names of the instructions and procedures that the kernels call, of the kinds that may come in, of what configures
    them, and of what orders."""
    used: set[str] = set()
    for text in focus.kernels:
        try:
            tree = kernel.parse(text)
        except KernelError:
            continue
        calls = {node.function for node in walk(tree) if isinstance(node, ast.Call)}
        used |= _issued(accelerator, sorted(calls))
    kinds = (focus.uses | {"synchronisation", "front end"}) - {"configuration"}
    roles = instruction_roles(accelerator)
    used |= {name for name, role in roles.items() if role.kind in kinds}
    needed = {state for name, role in roles.items() if name in used for state in role.states_read}
    return frozenset(used | {name for name, role in roles.items() if role.states_written & needed})


def _issued(accelerator: Accelerator, calls: Sequence[str]) -> set[str]:
    """The instructions and procedures that calls of these names come to; an alias may expand into aliases."""
    names = {i.name for i in accelerator.instructions} | {p.name for p in accelerator.procedures}
    issued: set[str] = set()
    seen: set[str] = set()
    open_calls = set(calls)
    while open_calls:
        name = open_calls.pop()
        seen.add(name)
        if name in names:
            issued.add(name)
        inner = {n for alias in accelerator.aliases if alias.name == name for n, _ in alias.expansion}
        open_calls |= inner - seen
    return issued


@cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(f"{name}.j2")

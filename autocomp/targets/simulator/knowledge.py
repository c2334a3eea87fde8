"""The text in prompts about the dialect and an accelerator, as far as it matters to a question."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path

import jinja2

from autocomp.errors import AutocompError, KernelError
from autocomp.targets.protocol import Focus, Knowledge
from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.guide import brief, used_instructions
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.walk import walk
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.workload.model import Workload

TEMPLATES = Path(__file__).parent / "templates"
_REMEMBERED = 64  # kernels: those of a beam come in prompt after prompt
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
    "edges where a size is not a multiple of the tile, and the rows of local memory that each tile takes."
)


def knowledge(accelerator: Accelerator, workload: Workload, signature: str, focus: Focus) -> Knowledge:
    """The sections for one workload; instructions that `focus` has no use for are left out, and what configures them
    where neither the kernels nor the plain start do. They depend on the calls of the kernels and on nothing else of the
    question, so that prompts of a search begin alike."""
    kernels = (*focus.kernels, *_plain(workload, accelerator))
    called = sorted({name for text in kernels for name in _called(text)})
    every = [*(i.name for i in accelerator.instructions), *(p.name for p in accelerator.procedures)]
    only = every if focus.everything else used_instructions(accelerator, called, focus.uses)
    language = _template("language").render(signature=signature, host=workload.host)
    machine = brief(accelerator, only, called, workload.operation, kernels)
    return Knowledge(ROLE, language, machine, SUBJECT, PLANS, CODING, TRANSLATION)


def _plain(workload: Workload, accelerator: Accelerator) -> Iterator[str]:
    """The plain kernel for a workload, if there is one: it issues what such kernels need."""
    with suppress(AutocompError):
        yield starting_kernel(workload, accelerator)


@lru_cache(maxsize=_REMEMBERED)
def _called(text: str) -> frozenset[str]:
    """Names of the functions that a kernel calls; none where it does not parse."""
    try:
        return frozenset(node.function for node in walk(kernel.parse(text)) if isinstance(node, ast.Call))
    except KernelError:
        return frozenset()


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

"""The checks of a draft: it parses, its sources hold, a matrix multiplication is right, its commands run.

`faults` go back to the model. `doubts` are for a person, who can say whether they describe the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autocomp.drafting.manual import Page, citation_fault
from autocomp.errors import AutocompError, ConfigError
from autocomp.targets.evaluation import Number
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.guide import issued_instructions
from autocomp.targets.simulator.guide.measured import measured
from autocomp.targets.simulator.isa.derived.advice import advice
from autocomp.targets.simulator.isa.language.provenance import citations
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.walk import walk
from autocomp.targets.simulator.start.check import check_idioms
from autocomp.targets.simulator.target import SimulatorTarget
from autocomp.workload import stated
from autocomp.workload.model import Workload
from autocomp.yaml_text import read_yaml

EXTENT = 128  # of the multiplication that a draft is tried with
PARTIAL = 100  # rows of one whose tiles do not come out even
FORM = re.compile(r"^\s*// gemm: (?P<fields>\{.*\})\s*$", re.MULTILINE)
FORM_FIELDS = ("dtype", "result", "layout", "scale", "transpose_a", "transpose_b")


@dataclass(frozen=True)
class End:
    """One end of the range of an unknown parameter: the machine with that value, or the error that it ends in."""

    parameter: str
    value: Number
    machine: Accelerator | AutocompError


@dataclass(frozen=True)
class Moved:
    """A parameter that nobody knows: the cycles of a kernel at both ends of its range and as drafted; None where the
    kernel does not hold there."""

    name: str
    low: Number
    high: Number
    at_low: Number | None
    drafted: Number
    at_high: Number | None

    @property
    def swing(self) -> float:
        """The largest change of the cycles over the range, relative to the draft's."""
        ends = [end for end in (self.at_low, self.at_high) if end is not None]
        return max((abs(end - self.drafted) / self.drafted for end in ends), default=0.0)


@dataclass(frozen=True)
class Checked:
    """The outcome of the checks. `tested` are instructions by what ran them, `cycles` those of the multiplication.
    `ends` come in pairs, the low one first."""

    faults: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    machine: Accelerator | None = None
    tested: tuple[tuple[str, str], ...] = ()
    cycles: Number | None = None
    ends: tuple[End, ...] = ()
    moved: tuple[Moved, ...] = ()


def check_draft(text: str, pages: Sequence[Page], name: str) -> Checked:
    """Check the text of a description against the manuals that it is drafted from."""
    try:
        machine = isa.parse(text, name)
        isa.lower(machine)
        kernel.check_procedures(machine)
        check_idioms(machine)
    except AutocompError as error:
        return Checked((str(error),))
    ends = tuple(_ends(machine, text, name))
    impossible = (
        f"param {end.parameter} is unknown to {end.value}, and with that the description fails: {end.machine}"
        for end in ends
        if isinstance(end.machine, AutocompError)
    )
    faults = [*_unfounded(text, pages, name), *impossible]
    try:
        workload, partial = (stated(multiplication(text, "draft", rows)) for rows in (EXTENT, PARTIAL))
        start = SimulatorTarget(machine).starting_kernel(workload)
        cycles = _cycles(machine, workload, start)
        _cycles(machine, partial, SimulatorTarget(machine).starting_kernel(partial))
    except AutocompError as error:
        return Checked((*faults, f"no correct matrix multiplication comes of the draft: {error}"), machine=machine)
    tested = tuple(_tested(machine, start))
    untested = [i.name for i in machine.instructions if i.name not in dict(tested)]
    moved = weighed(ends, workload, start, cycles)
    doubts = [
        *(f"{warning}" for warning in advice(machine)),
        *(f"instruction {name}: nothing ran it; try it by hand" for name in untested),
    ]
    return Checked(tuple(faults), tuple(doubts), machine, tested, cycles, ends, moved)


def _unfounded(text: str, pages: Sequence[Page], name: str) -> Iterator[str]:
    """Facts without a source, and sources that do not say so."""
    for fact in citations(text, name):
        if not fact.sources and not fact.unknown:
            remedy = ', or state a range: `unknown LOW..HIGH : "why"`' if fact.kind == "param" else ""
            yield f"line {fact.line}: {fact.kind} {fact.name} cites no source; add `from` after its text{remedy}"
        for line, source in fact.sources:
            fault = citation_fault(source, pages)
            if fault is not None:
                yield f"line {line}: {fact.kind} {fact.name}: {fault}"


def _ends(machine: Accelerator, text: str, name: str) -> Iterator[End]:
    for parameter, values in machine.unknowns.items():
        for value in values:
            try:
                varied = isa.parse(text, name, {parameter: value})
                isa.lower(varied)
                yield End(parameter, value, varied)
            except AutocompError as error:
                yield End(parameter, value, error)


def multiplication(text: str, accelerator: str, rows: int = EXTENT) -> dict[str, object]:
    """The multiplication that a draft is tried with as a workload's mapping, in the form that its line `// gemm: {…}`
    states. `accelerator` names the machine.

    Raises ConfigError for a form that no workload has.
    """
    line = FORM.search(text)
    form: object = {} if line is None else read_yaml(line["fields"], "the line `// gemm: {…}`")[0]
    if not isinstance(form, dict) or not form.keys() <= set(FORM_FIELDS):
        raise ConfigError(f"the line `// gemm: {{…}}` states other fields than {', '.join(FORM_FIELDS)}")
    dims = {"I": rows, "J": EXTENT, "K": EXTENT}
    return {"operation": "gemm", "accelerator": accelerator, "dims": dims, **form}


def _cycles(machine: Accelerator, workload: Workload, text: str) -> Number:
    """The cycles of a kernel that passes all stages. Raises KernelError with the stage and its reason."""
    evaluation = SimulatorTarget(machine).evaluator(workload).evaluate(text)
    failure = evaluation.failure
    if failure is not None or evaluation.value is None:
        said = f"{failure.stage}: {failure.message}" if failure else "it is not measured"
        raise AutocompError(f"the naive kernel fails {said}\n{text}")
    return evaluation.value


def _tested(machine: Accelerator, start: str) -> Iterator[tuple[str, str]]:
    """Instructions that ran: in the multiplication, whose results are compared, or alone."""
    calls = {node.function for node in walk(kernel.parse(start)) if isinstance(node, ast.Call)}
    called = issued_instructions(machine, calls)
    for instruction in machine.instructions:
        if instruction.name in called:
            yield instruction.name, "the multiplication, with right results"
        elif instruction.name in measured(machine):
            yield instruction.name, "alone: it runs; its results are as drafted"


def weighed(ends: Sequence[End], workload: Workload, kernel: str, cycles: Number) -> tuple[Moved, ...]:
    """The cycles of a correct kernel at both ends of the range of each unknown figure."""
    pairs = zip(ends[::2], ends[1::2], strict=True)
    return tuple(
        Moved(low.parameter, low.value, high.value, _at(low, workload, kernel), cycles, _at(high, workload, kernel))
        for low, high in pairs
    )


def _at(end: End, workload: Workload, kernel: str) -> Number | None:
    if isinstance(end.machine, AutocompError):
        return None
    try:
        return _cycles(end.machine, workload, kernel)
    except AutocompError:
        return None

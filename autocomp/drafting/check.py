"""The checks of a draft: it parses, its sources hold, a matrix multiplication is right, its commands run.

`faults` go back to the model. `doubts` are for a person, who can say whether they describe the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

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
from autocomp.workload.load import parse as parse_workload
from autocomp.workload.model import Workload
from autocomp.yaml_text import read_yaml

EXTENT = 128  # of the multiplication that a draft is tried with
PARTIAL = 100  # rows of one whose tiles do not come out even
FORM = re.compile(r"^\s*// gemm: (?P<fields>\{.*\})\s*$", re.MULTILINE)
FORM_FIELDS = ("dtype", "result", "layout", "scale")


@dataclass(frozen=True)
class Moved:
    """A parameter that nobody knows: the cycles of the multiplication at both ends of its range and as drafted; None
    where the kernel does not hold there."""

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
    """The outcome of the checks. `tested` are instructions by what ran them; `cycles` those of the multiplication."""

    faults: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    machine: Accelerator | None = None
    tested: tuple[tuple[str, str], ...] = ()
    cycles: Number | None = None
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
    faults = [*_unfounded(text, pages, name), *_impossible(machine, text, name)]
    try:
        workload, partial = (_multiplication(text, rows) for rows in (EXTENT, PARTIAL))
        start = SimulatorTarget(machine).starting_kernel(workload)
        cycles = _cycles(machine, workload, start)
        _cycles(machine, partial, SimulatorTarget(machine).starting_kernel(partial))
    except AutocompError as error:
        return Checked((*faults, f"no correct matrix multiplication comes of the draft: {error}"), machine=machine)
    tested = tuple(_tested(machine, start))
    untested = [i.name for i in machine.instructions if i.name not in dict(tested)]
    moved = tuple(_moved(machine, text, name, workload, start, cycles))
    doubts = [
        *(f"{warning}" for warning in advice(machine)),
        *(f"instruction {name}: nothing ran it; try it by hand" for name in untested),
    ]
    return Checked(tuple(faults), tuple(doubts), machine, tested, cycles, moved)


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


def _impossible(machine: Accelerator, text: str, name: str) -> Iterator[str]:
    """Ends of unknown ranges at which the description does not hold."""
    for parameter, ends in machine.unknowns.items():
        for value in ends:
            try:
                isa.lower(isa.parse(text, name, {parameter: value}))
            except AutocompError as error:
                yield f"param {parameter} is unknown to {value}, and with that the description fails: {error}"


def _multiplication(text: str, rows: int) -> Workload:
    """The multiplication that a draft is tried with, in the form that its line `// gemm: {…}` states.

    Raises ConfigError for a form that no workload has.
    """
    stated = FORM.search(text)
    form: object = {} if stated is None else read_yaml(stated["fields"], "the line `// gemm: {…}`")[0]
    if not isinstance(form, dict) or not form.keys() <= set(FORM_FIELDS):
        raise ConfigError(f"the line `// gemm: {{…}}` states other fields than {', '.join(FORM_FIELDS)}")
    dims = {"I": rows, "J": EXTENT, "K": EXTENT}
    document = {"operation": "gemm", "accelerator": "draft", "dims": dims, **form}
    return parse_workload(yaml.safe_dump(document), Path("draft.yaml"))


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


def _moved(
    machine: Accelerator, text: str, name: str, workload: Workload, start: str, drafted: Number
) -> Iterator[Moved]:
    for parameter, (low, high) in machine.unknowns.items():
        ends: list[Number | None] = []
        for value in (low, high):
            try:
                ends.append(_cycles(isa.parse(text, name, {parameter: value}), workload, start))
            except AutocompError:
                ends.append(None)
        yield Moved(parameter, low, high, ends[0], drafted, ends[1])

"""The model of an accelerator that an ISA file describes: frozen data, names resolved, parameters folded in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from autocomp.errors import Place
from autocomp.targets.simulator.isa.tree import ElementType, Expression, Require, Statement, Stream, element_bits


@dataclass(frozen=True)
class Memory:
    name: str
    kind: Literal["dram", "local", "register"]
    rows: int  # 0 for dram
    cols: int  # elements in a row; 0 for dram
    element: ElementType
    banks: int = 1
    settings: Mapping[str, int | float | str] = field(default_factory=dict)  # ports, latency, bus …
    doc: str = ""
    place: Place | None = field(default=None, compare=False)
    shown: str = ""  # of a view: the memory whose rows it shows as elements of another type

    @property
    def row_bytes(self) -> int:
        """Bytes of a row as the hardware stores it."""
        return (self.cols * element_bits(self.element) + 7) // 8


@dataclass(frozen=True)
class AddressSpace:
    """The encoding of a row of a local memory in an integer operand: bit fields, `(name, high bit, low bit)`."""

    name: str
    fields: tuple[tuple[str, int, int], ...]
    none: int | None  # the value that names nothing ("garbage"); a field called `none` tests for it
    memories: tuple[tuple[str, int, int], ...]  # (memory, mask, match): value & mask == match selects the memory
    row_field: str = "row"
    text_names: tuple[tuple[str, str], ...] = ()  # (spelling in traces, memory), e.g. ("sp", "spad")
    text_flags: tuple[tuple[str, str], ...] = ()  # (spelling behind a `+` in traces, one-bit field that it sets)
    text_none: str | None = None  # spelling of `none` in traces
    doc: str = ""
    place: Place | None = field(default=None, compare=False)

    def field(self, name: str) -> tuple[int, int]:
        """High and low bit of a field."""
        return next((high, low) for field, high, low in self.fields if field == name)


@dataclass(frozen=True)
class StateRecord:
    """Configuration registers: `count` records of the same fields (count 0: a single record without index)."""

    name: str
    count: int
    fields: tuple[tuple[str, ElementType, int | float], ...]  # (name, type, initial value)
    doc: str = ""


@dataclass(frozen=True)
class Parameter:
    """An operand. `kind`: integer, float, address (of `space`), or pointer (into DRAM, elements of `element`)."""

    name: str
    kind: Literal["integer", "float", "address", "pointer"]
    element: ElementType | None = None
    space: str | None = None
    low: int | None = None  # inclusive range of integers, as evaluated
    high: int | None = None
    choices: tuple[str, ...] = ()  # names of constants that are meant here, for documentation and prompts
    beyond: tuple[str, ...] = ()  # those outside of the range: other configurations have them
    doc: str = ""
    memory: str = ""  # of a pointer: the memory of its tensors, where that is not the first of kind dram


@dataclass(frozen=True)
class EncodedField:
    """Bits `high` to `low` of a command word hold a number, an operand, or a function of one operand."""

    word: str
    high: int
    low: int
    value: Expression


@dataclass(frozen=True)
class Track:
    """`rows` rows of a local memory, by which the machine orders the instruction with those of other units."""

    write: bool
    memory: str
    first: Expression
    rows: Expression
    guard: Expression | None = None


@dataclass(frozen=True)
class Instruction:
    name: str
    parameters: tuple[Parameter, ...]
    unit: str | None  # None: executed by the front end (fence, flush)
    body: tuple[Statement, ...]
    timing: Mapping[str, Expression]  # property -> expression over parameters and state
    words: Mapping[str, str] = field(default_factory=dict)  # timing properties that are words, e.g. role: preload
    doc: str = ""
    place: Place | None = field(default=None, compare=False)
    streams: tuple[Stream, ...] = ()  # the commands that an expander sends instead of executing the instruction
    tracks: tuple[Track, ...] = ()  # none: the machine tracks the rows that the semantics access
    encoding: tuple[EncodedField, ...] = ()  # its bits in the machine's command words; none: not stated
    implied: Mapping[str, str] = field(default_factory=dict)  # operands without bits -> those that they equal
    contraction: Mapping[str, int] = field(default_factory=dict)  # what is stated of rows, columns, depth and peak
    sent: bool = False  # by hardware loops alone: kernels cannot call it


@dataclass(frozen=True)
class Alias:
    """A call form defined over instructions: each expansion is an instruction (or alias) with argument expressions
    over the alias's own parameters."""

    name: str
    parameters: tuple[str, ...]
    expansion: tuple[tuple[str, tuple[Expression, ...]], ...]
    trace: bool = False  # names a command of traces, whose operands are the parameters; not callable in kernels
    doc: str = ""
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Unit:
    name: str
    settings: Mapping[str, int | float | str]
    doc: str = ""
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Idiom:
    """A tile-level recipe that does not follow from semantics: dialect text with named holes, e.g. how to set a machine
    up for a GEMM. `text` is kernel-dialect source, in which `$name` is a hole."""

    name: str
    parameters: tuple[str, ...]
    text: str
    doc: str = ""
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Configuration:
    """A named set of parameter values, selected as `accelerator:name`."""

    name: str
    values: Mapping[str, int | float]
    doc: str = ""


@dataclass(frozen=True)
class Procedure:
    """A function in the kernel dialect that kernels may call. `text` is its definition, at `place` in the file;
    `requirements` are conditions on arguments that must be known when a call is compiled."""

    name: str
    text: str
    doc: str = ""
    requirements: tuple[Require, ...] = ()
    place: Place | None = field(default=None, compare=False)
    note: str = ""  # said to who runs a program that calls it


@dataclass(frozen=True)
class Otherwise:
    """Calls on whose arguments a condition holds go to another procedure."""

    procedure: str
    condition: Expression


@dataclass(frozen=True)
class Library:
    """The names that a vendor's headers offer to programs beside the machine's own: constants, types, procedures.

    `otherwise` says, for a procedure, on which arguments another one of the same parameters is called.
    """

    headers: tuple[str, ...] = ()
    doc: str = ""
    constants: Mapping[str, int | float] = field(default_factory=dict)
    types: Mapping[str, ElementType] = field(default_factory=dict)
    procedures: tuple[Procedure, ...] = ()
    otherwise: Mapping[str, Otherwise] = field(default_factory=dict)


@dataclass(frozen=True)
class Accelerator:
    name: str
    doc: str
    parameters: Mapping[str, int | float]  # `param`s with overrides applied
    constants: Mapping[str, int | float]  # names a kernel may use: DIM, WEIGHT_STATIONARY … (parameters included)
    types: Mapping[str, ElementType]  # type names a kernel may use: elem_t, acc_t
    memories: tuple[Memory, ...]
    spaces: tuple[AddressSpace, ...]
    states: tuple[StateRecord, ...]
    units: tuple[Unit, ...]
    instructions: tuple[Instruction, ...]
    aliases: tuple[Alias, ...]
    idioms: tuple[Idiom, ...]
    settings: Mapping[str, int | float | str]  # "host.issue", "front.queue", "hazards.…"
    source: str  # the text it was parsed from
    digest: str  # sha256 of its meaning, hex: isa.identity
    machine_digest: str  # the same without procedures, which a kernel may call or not
    path: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)  # what a parameter or constant means
    configurations: tuple[Configuration, ...] = ()  # all that the description offers
    configuration: str = ""  # the selected one, or none: the parameters' defaults
    absent: Mapping[str, str] = field(default_factory=dict)  # instruction or call form -> the condition that it needs
    procedures: tuple[Procedure, ...] = ()
    library: Library = field(default_factory=Library)
    area: int | float | None = None  # how large the machine is, in the units that the note names
    area_note: str = ""
    energy: Mapping[str, float] = field(default_factory=dict)  # picojoules, see `isa.energy`
    energy_doc: str = ""
    energy_notes: Mapping[str, str] = field(default_factory=dict)
    unknowns: Mapping[str, tuple[int | float, int | float]] = field(default_factory=dict)  # parameters, with ranges

    def __getstate__(self) -> dict[str, Any]:
        """The fields, for another process. Values remembered with a machine, such as native tables, are computed anew
        there."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @property
    def all_procedures(self) -> tuple[Procedure, ...]:
        """Its procedures and those of its library."""
        return self.procedures + self.library.procedures

    def procedure(self, name: str) -> Procedure:
        return next(p for p in self.all_procedures if p.name == name)

    @property
    def all_constants(self) -> dict[str, int | float]:
        """Its constants and those of its library, whose names are others."""
        return {**self.library.constants, **self.constants}

    @property
    def full_name(self) -> str:
        """The name by which users select this machine, as in `name:configuration`."""
        return f"{self.name}:{self.configuration}" if self.configuration else self.name

    def elsewhere(self, operand: Parameter) -> str:
        """The named values of an operand that other configurations take, with what the description says of them; empty
        for most operands."""
        named = ", ".join(f"{name} ({self.notes[name]})" if name in self.notes else name for name in operand.beyond)
        return f"; not on {self.full_name}: {named}" if named else ""

    def memory(self, name: str) -> Memory:
        return next(m for m in self.memories if m.name == name)

    def home(self, name: str) -> Memory:
        """The memory of a name, or the one that a view of this name shows."""
        memory = self.memory(name)
        return self.memory(memory.shown) if memory.shown else memory

    def instruction(self, name: str) -> Instruction | None:
        return next((i for i in self.instructions if i.name == name), None)

    def alias(self, name: str, arguments: int | None = None) -> Alias | None:
        """The call form of this name, among several of one name the one with this many arguments."""
        return next((a for a in self.forms(name) if arguments in (None, len(a.parameters))), None)

    def forms(self, name: str) -> tuple[Alias, ...]:
        """All call forms of a name that kernels may use; they differ in their number of parameters."""
        return tuple(a for a in self.aliases if a.name == name and not a.trace)

    def trace_form(self, name: str) -> Alias | None:
        """The form in which traces spell a command; without one, traces use the instruction's or alias's own name."""
        return next((a for a in self.aliases if a.name == name and a.trace), None)

    def space(self, name: str) -> AddressSpace:
        return next(s for s in self.spaces if s.name == name)

    def idiom(self, name: str) -> Idiom | None:
        return next((i for i in self.idioms if i.name == name), None)

    @property
    def dram(self) -> Memory:
        """The memory of tensors; of several the first, by whose name semantics call what pointers lead to."""
        return self.drams[0]

    @property
    def drams(self) -> tuple[Memory, ...]:
        """All memories of tensors."""
        return tuple(m for m in self.memories if m.kind == "dram")

    @property
    def local_memories(self) -> tuple[Memory, ...]:
        """Local memories, views left out."""
        return tuple(m for m in self.memories if m.kind == "local" and not m.shown)


def semantics(accelerator: Accelerator) -> Accelerator:
    """The machine that keeps what follows from semantics, for itself and those that differ in settings alone."""
    keeper: Accelerator = accelerator.__dict__.get(_KEEPER, accelerator)
    return keeper


def with_semantics(new: Accelerator, given: Accelerator) -> Accelerator:
    """The new machine, whose semantics and kinds of units are those of a given one: both share what follows."""
    new.__dict__[_KEEPER] = semantics(given)
    return new


_KEEPER = f"{__name__}.semantics"

"""The role of an instruction, read off its semantics: load, store, contraction … and the meaning of each operand.

Nothing is declared twice. A load is what reads DRAM and writes a local memory. A row count is what bounds the loop
whose variable steps through local rows. A DRAM stride is what that variable is multiplied by in a DRAM offset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autocomp.remember import remembered_with
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.derived.analysis import Analysis, Kind
from autocomp.targets.simulator.isa.tree import Name, Number
from autocomp.targets.simulator.isa.walk import loops, names

SIZED = "sized move"  # a kind of construct: a load or store with an operand that says how much it moves


@dataclass(frozen=True)
class Role:
    """`parameters` maps each operand to a word: pointer, source, destination, rows, cols, depth, dram stride,
    row stride, block stride, scale, selector (an index of a state record), or other."""

    kind: Kind
    parameters: Mapping[str, str]
    reads: frozenset[str] = frozenset()  # memories, DRAM by its memory's name
    writes: frozenset[str] = frozenset()
    states_read: frozenset[tuple[str, str]] = frozenset()
    states_written: frozenset[tuple[str, str]] = frozenset()

    def named(self, word: str) -> tuple[str, ...]:
        """The operands with one role, in order."""
        return tuple(name for name, role in self.parameters.items() if role == word)


@dataclass(frozen=True)
class CallRole:
    """A call form, instruction or alias: the instruction it comes to, and the role of each argument by position.

    `fixed` holds operands of the instruction that the form sets to constants, such as the id of `mvin2`.
    """

    name: str
    instruction: str
    role: Role
    arguments: tuple[str, ...]
    fixed: Mapping[str, int | float] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        return self.role.kind

    def position(self, word: str) -> int | None:
        """Where the first argument with this role stands."""
        return self.arguments.index(word) if word in self.arguments else None


@remembered_with(m.semantics)
def instruction_roles(accelerator: m.Accelerator) -> Mapping[str, Role]:
    """The role of every instruction, by name."""
    analyses = {i.name: Analysis(accelerator, i) for i in accelerator.instructions}
    used: dict[tuple[str, str], str] = {}
    for analysis in analyses.values():
        for target, word in analysis.fields.items():
            used.setdefault(target, word)
    return {name: _role(accelerator, analysis, used) for name, analysis in analyses.items()}


def instruction_role(accelerator: m.Accelerator, instruction: m.Instruction) -> Role:
    """The role of an instruction and of its operands."""
    return instruction_roles(accelerator)[instruction.name]


def call_role(accelerator: m.Accelerator, name: str, count: int | None = None) -> CallRole | None:
    """The role of a call by its name, and by its number of arguments where forms share a name.

    None for what is neither an instruction nor an alias of exactly one instruction.
    """
    return _call_role(accelerator, instruction_roles(accelerator), name, count)


def call_roles(accelerator: m.Accelerator, kind: Kind | None = None) -> tuple[CallRole, ...]:
    """The roles of all call forms, instructions first; of one kind if `kind` is given."""
    roles = instruction_roles(accelerator)
    forms = [(i.name, len(i.parameters)) for i in accelerator.instructions if not i.sent]
    forms += [(a.name, len(a.parameters)) for a in accelerator.aliases if not a.trace]
    candidates = [_call_role(accelerator, roles, name, count) for name, count in forms]
    return tuple(role for role in candidates if role is not None and kind in (None, role.kind))


def call_parameters(accelerator: m.Accelerator, name: str, arity: int) -> tuple[m.Parameter | None, ...]:
    """The instruction's operand that each argument of a call form becomes (None: an argument that no operand takes
    unchanged)."""
    instruction = accelerator.instruction(name)
    if instruction is not None:
        return instruction.parameters
    forms = (form for form in accelerator.aliases if (form.name, len(form.parameters)) == (name, arity))
    alias = next(forms, None)
    if alias is None or len(alias.expansion) != 1:
        return ()
    inner, arguments = alias.expansion[0]
    parameters: dict[str, m.Parameter | None] = dict.fromkeys(alias.parameters)
    for argument, parameter in zip(arguments, call_parameters(accelerator, inner, len(arguments)), strict=False):
        if isinstance(argument, Name) and argument.name in parameters:
            parameters[argument.name] = parameter
    return tuple(parameters.values())


def computing_unit(accelerator: m.Accelerator) -> str:
    """The unit that contracts; empty if the machine has no contraction."""
    for role in call_roles(accelerator, "contraction"):
        instruction = accelerator.instruction(role.instruction)
        if instruction is not None and instruction.unit is not None:
            return instruction.unit
    return ""


def _call_role(accelerator: m.Accelerator, roles: Mapping[str, Role], name: str, count: int | None) -> CallRole | None:
    if name in roles:
        return CallRole(name, name, roles[name], tuple(roles[name].parameters.values()))
    alias = accelerator.alias(name, count)
    if alias is None or len(alias.expansion) != 1:
        return None
    inner_name, arguments = alias.expansion[0]
    inner = _call_role(accelerator, roles, inner_name, len(arguments))
    if inner is None or len(arguments) != len(inner.arguments):
        return None
    words = dict.fromkeys(alias.parameters, "other")
    fixed = dict(inner.fixed)
    operands = _operand_names(accelerator, inner_name, len(arguments))
    for position, (argument, word) in enumerate(zip(arguments, inner.arguments, strict=True)):
        if isinstance(argument, Name) and argument.name in words:
            words[argument.name] = word
        elif isinstance(argument, Number):
            fixed[operands[position]] = argument.value
    return CallRole(name, inner.instruction, inner.role, tuple(words.values()), fixed)


def _operand_names(accelerator: m.Accelerator, name: str, count: int) -> tuple[str, ...]:
    instruction = accelerator.instruction(name)
    if instruction is not None:
        return tuple(parameter.name for parameter in instruction.parameters)
    alias = accelerator.alias(name, count)
    return alias.parameters if alias is not None else ()


def _role(accelerator: m.Accelerator, analysis: Analysis, used: Mapping[tuple[str, str], str]) -> Role:
    """Operands that only set a state field get the word for how instructions use that field."""
    words = dict(analysis.words)
    kept = {parameter: target for (parameter, _), target in analysis.addresses.items()}
    rows = {p: target for (p, bits), target in analysis.addresses.items() if bits in _row_fields(accelerator)}
    for parameter, target in {**analysis.sets, **kept, **rows}.items():
        if words[parameter] == "other":
            words[parameter] = used.get(target, "other")
    return Role(
        analysis.kind,
        words,
        frozenset(analysis.reads),
        frozenset(analysis.writes),
        frozenset(analysis.states_read),
        frozenset(analysis.sets_fields),
    )


def _row_fields(accelerator: m.Accelerator) -> frozenset[str]:
    return frozenset(space.row_field for space in accelerator.spaces)


def has_sized_moves(accelerator: m.Accelerator) -> bool:
    """True if an operand of some load or store bounds a loop of its semantics."""
    return any(
        bounding(instruction)
        for instruction in accelerator.instructions
        if instruction_role(accelerator, instruction).kind in ("load", "store")
    )


def bounding(instruction: m.Instruction) -> list[str]:
    """The integer operands of an instruction that bound loops of its semantics."""
    bounds = {
        name
        for statement in instruction.body
        for loop in loops(statement)
        for _, bound in loop.variables
        for name in names(bound)
    }
    return [p.name for p in instruction.parameters if p.name in bounds and p.kind == "integer"]

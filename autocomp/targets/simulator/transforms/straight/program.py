"""The steps of a kernel that is written out: commands with their configuration and footprint, and host arithmetic."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

from autocomp.remember import remember
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.derived.roles import CallRole
from autocomp.targets.simulator.kernel.checking.calls import BUILTINS
from autocomp.targets.simulator.kernel.code.types import Array
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.straight.calls import Command, call_with, command_of, operands_of, role_of
from autocomp.targets.simulator.transforms.straight.folding import Folding
from autocomp.targets.simulator.transforms.straight.footprint import Access, Change, Footprint, State, execute, initial
from autocomp.targets.simulator.transforms.straight.kept import Operands, brought, brought_again, keeping
from autocomp.targets.simulator.transforms.straight.places import TensorByte, Value, element_at
from autocomp.targets.simulator.transforms.straight.single import is_several
from autocomp.targets.simulator.transforms.syntax.affine import affine
from autocomp.targets.simulator.transforms.syntax.rewrite import call_of, names, walk, with_body

Record = tuple[str, int | None]  # a state record and its index
_KINDS = ("load", "store", "preload", "contraction", "elementwise", "copy")  # that are followed one by one
_COUNTS_OF_BUILTINS = {name: len(tensors) for name, tensors, _ in BUILTINS}


@dataclass(frozen=True)
class ProgramStep:
    """Code that stays together: a command, a computation with what it needs loaded into the array, or a statement
    of the host. `settings` are the configuring calls that its commands rely on."""

    kind: str  # of its last command: load, store, contraction …; fence; host
    unit: str  # that executes the last command; empty for fences and the host
    calls: tuple[ast.Call, ...]  # none for the host's arithmetic
    accesses: tuple[Access, ...]
    settings: tuple[ast.Call, ...] = ()
    change: Change | None = None  # what a move does to elements; None if that is none of the simple things
    taken: tuple[tuple[tuple[int, int], Change | None], ...] = ()  # what a computation does to those of operands first
    statement: ast.ExpressionStatement | None = None  # of the host
    kept: tuple[Operands, ...] = ()  # what a computation's calls are given where the array holds what the first brings

    @property
    def held(self) -> Access | None:
        """The rows of the operand that the array holds after a computation, if a later one can go on with it."""
        reads = (access for access in self.local(write=False) if access.operand and access.operand[0] == 0)
        return next(reads, None) if self.kept else None

    @property
    def reads(self) -> tuple[Access, ...]:
        return tuple(access for access in self.accesses if not access.write)

    @property
    def writes(self) -> tuple[Access, ...]:
        return tuple(access for access in self.accesses if access.write)

    @property
    def factor(self) -> float | None:
        """The factor that a move multiplies elements by, if it does nothing else to them."""
        return None if self.change is None or self.change.function else self.change.factor

    def local(self, *, write: bool) -> tuple[Access, ...]:
        """The accesses of local memory."""
        return tuple(access for access in self.accesses if access.local and access.write is write)

    def dram(self, *, write: bool) -> tuple[Access, ...]:
        """The accesses of tensors."""
        return tuple(access for access in self.accesses if not access.local and access.write is write)


@dataclass(frozen=True)
class Program:
    """A kernel of steps; `head` declares its local arrays."""

    facts: Facts
    head: tuple[ast.Declaration, ...]
    steps: tuple[ProgramStep, ...]
    arrays: Mapping[str, Array]  # by tensor

    def kernel(self, steps: Iterable[ProgramStep]) -> ast.Kernel:
        """The kernel with other steps. Configuring calls precede the first step that relies on them."""
        in_force: dict[str, ast.Call] = {}
        steps = tuple(steps)
        used = {name for step in steps for node in (*step.calls, step.statement) if node for name in names(node)}
        body: list[ast.Statement] = [d for d in self.head if any(part.name in used for part in d.declarators)]
        for step, calls in zip(steps, self._calls(steps), strict=True):
            for setting in step.settings:
                key = self._register(setting)
                if in_force.get(key) != setting:
                    in_force[key] = setting
                    body.append(ast.ExpressionStatement(setting))
            body.extend((step.statement,) if step.statement is not None else map(ast.ExpressionStatement, calls))
        return with_body(self.facts.given, ast.Block(tuple(body)))

    def _calls(self, steps: Iterable[ProgramStep]) -> Iterator[tuple[ast.Call, ...]]:
        """The calls of steps. A computation that needs what the array holds from the one before does not bring it."""
        last: ProgramStep | None = None  # whose operand the array holds
        for step in steps:
            again = last is not None and step.kept and self._brought(step) == self._brought(last)
            yield self._keeping(step) if again else step.calls
            last = step if step.kind == "contraction" else last
            held = None if last is None else last.held
            if held is None or any(access.meets(held) for access in step.local(write=True)):
                last = None

    def _brought(self, step: ProgramStep) -> Hashable:
        """A key for what a computation brings into the array. Its rows tell where they were read from, its operands
        where they lie by now."""
        held = step.held
        assert held is not None
        operands = brought(self.facts.accelerator, self._commands(step)[0])
        return held.memory, held.spans, step.settings, tuple(operands.items())

    def _keeping(self, step: ProgramStep) -> tuple[ast.Call, ...]:
        accelerator = self.facts.accelerator
        pairs = zip(self._commands(step), step.kept, strict=True)
        return tuple(call_with(accelerator, c.instruction, {**c.operands, **changed}) for c, changed in pairs)

    def _commands(self, step: ProgramStep) -> list[Command]:
        """The commands of a computation, whose operands are numbers."""
        folding = Folding(self.facts)
        return [command_of(self.facts, call, [folding.operand(a) for a in call.arguments]) for call in step.calls]

    def address(self, tensor: str, byte: int) -> ast.Expression:
        """`&T[i][j]` of the element that starts at a byte."""
        return ast.Unary("&", element_at(TensorByte(tensor, byte), self.arrays[tensor]))

    def _register(self, setting: ast.Call) -> str:
        """A name for what a configuring call sets."""
        role = role_of(self.facts, setting)
        assert role is not None
        chosen = role.fixed.get(next(iter(role.role.named("selector")), ""))
        position = role.position("selector")
        if position is not None:
            chosen = affine(setting.arguments[position]).constant
        return f"{role.instruction} {chosen}"


def is_written_out(facts: Facts) -> bool:
    """True if a kernel is only arrays, commands and assignments, one after another."""
    return all(_is_plain(facts, statement) for statement in facts.given.entry.body.statements)


def _is_plain(facts: Facts, statement: ast.Statement) -> bool:
    if isinstance(statement, ast.Declaration):
        return all(declarator.type.extents for declarator in statement.declarators)
    call = call_of(statement)
    plain = isinstance(statement, ast.ExpressionStatement | ast.Comment)
    return plain and (call is None or not is_several(facts, call))


def program_of(facts: Facts) -> Program:
    """The steps of a kernel. Raises NotApplicable if it is not written out, or uses what cannot be told exactly."""
    return remember(facts.given, "steps", facts.accelerator.digest, lambda: _program(facts))


@dataclass
class _Reader:
    """Reads statements one by one, with the configuration in force."""

    facts: Facts
    folding: Folding
    configured: frozenset[str]  # records that configuring calls set
    state: State = field(default_factory=State)
    holders: dict[Record, ast.Call] = field(default_factory=dict)
    number: int = 0
    before: State = field(default_factory=State)  # the step under way
    pending: list[ast.Call] = field(default_factory=list)  # calls of the step under way
    commands: list[Command] = field(default_factory=list)  # the same
    keeps: bool = False  # its computation uses what the array holds since an earlier one
    accesses: list[Access] = field(default_factory=list)
    settings: dict[Record, ast.Call] = field(default_factory=dict)
    taken: dict[tuple[int, int], Change | None] = field(default_factory=dict)
    giving: list[Command] = field(default_factory=list)  # of the last step that loaded an operand into the array
    held: list[Access] = field(default_factory=list)  # where that came from
    overwritten: list[Access] = field(default_factory=list)  # since then

    def step(self, call: ast.Call, role: CallRole) -> ProgramStep | None:
        """The step that a call completes."""
        accelerator = self.facts.accelerator
        instruction = accelerator.instruction(role.instruction)
        assert instruction is not None
        if role.kind == "synchronisation" or instruction.streams:
            raise NotApplicable(f"{call.function} is not among the commands that can be followed one by one")
        values = [self.folding.operand(argument) for argument in call.arguments]
        operands = operands_of(accelerator, call.function, values)
        if role.kind == "configuration":
            self._configure(call, instruction, operands)
            return None
        if instruction.words.get("role") == "fence":
            return ProgramStep("fence", "", (call,), ())
        if role.kind not in _KINDS:
            raise NotApplicable(f"{call.function} is not among the commands that can be followed one by one")
        self._need(role, operands)
        if not self.pending:
            self.before = self.state.copy()
        footprint = self._execute(call, Command(instruction, operands))
        if role.kind == "preload":
            self.keeps = not any(access.local and not access.write for access in footprint.accesses)
            return None
        if self.keeps:
            footprint = self._bring_again()
        step = ProgramStep(
            role.kind,
            instruction.unit or "",
            tuple(self.pending),
            tuple(self.accesses),
            tuple(self.settings.values()),
            footprint.change if role.kind in ("load", "store") else None,
            tuple(self.taken.items()),
            kept=self._kept() if role.kind == "contraction" else (),
        )
        self._note(step)
        self.pending, self.commands, self.accesses, self.settings, self.taken = [], [], [], {}, {}
        return step

    def _execute(self, call: ast.Call, command: Command) -> Footprint:
        """Adds a command to the step under way."""
        first = self.number - len(self.pending)
        self.pending.append(call)
        self.commands.append(command)
        footprint = execute(
            self.facts.accelerator,
            command.instruction,
            command.operands,
            self.state,
            self.number,
            lambda n, p: self._locate(n - first, p),
        )
        self.number += 1
        self.accesses.extend(footprint.accesses)
        self.taken.update(footprint.taken)
        return footprint

    def _bring_again(self) -> Footprint:
        """Replaces the step under way, whose operand the array keeps, by one that loads it anew."""
        if any(write.meets(read) for write in self.overwritten for read in self.held):
            raise NotApplicable("the array keeps an operand that is overwritten where it came from")
        first, last = brought_again(self.facts.accelerator, self.giving, self.commands)
        self.state, self.number, self.keeps = self.before, self.number - len(self.pending), False
        self.pending, self.commands, self.accesses, self.taken = [], [], [], {}
        self._execute(call_with(self.facts.accelerator, *first), first)
        return self._execute(call_with(self.facts.accelerator, *last), last)

    def _kept(self) -> tuple[Operands, ...]:
        """The operands of the step under way where the array holds what its first command brings."""
        before = initial(self.facts.accelerator).values
        known = {key: value for key, value in self.before.values.items() if key[0] in self.configured}
        return keeping(self.facts.accelerator, self.commands, {**before, **known})

    def _note(self, step: ProgramStep) -> None:
        """Notes what the array holds after a step, and what overwrites that where it came from."""
        if len(self.commands) > 1:
            self.giving, self.overwritten = self.commands, []
            self.held = [access for access in step.local(write=False) if access.operand and access.operand[0] == 0]
        self.overwritten.extend(step.local(write=True))

    def _configure(self, call: ast.Call, instruction: m.Instruction, operands: Mapping[str, Value]) -> None:
        if self.keeps:
            raise NotApplicable(f"{call.function} comes between commands that belong together")
        alone = initial(self.facts.accelerator)
        before = dict(alone.values)
        for state in (self.state, alone):
            execute(self.facts.accelerator, instruction, operands, state, self.number, lambda n, p: None)
        changed = {key for key, value in alone.values.items() if before[key] != value}
        role = role_of(self.facts, call)
        assert role is not None
        records = {key[:2] for key in changed} | {
            (
                record.name,
                int(chosen) if record.count and isinstance(chosen := _selected(role, operands), int) else None,
            )
            for record in self.facts.accelerator.states
            if any(record.name == name for name, _ in role.role.states_written)
        }
        for record in records:
            if any(self.state.values.get(k) != v for k, v in alone.values.items() if k[:2] == record):
                raise NotApplicable(f"{record[0]} is configured in parts by several calls")
            self.holders[record] = call

    def _need(self, role: CallRole, operands: Mapping[str, Value]) -> None:
        """Notes the configuring calls that a command relies on."""
        for record in self.facts.accelerator.states:
            if record.name in self.configured and any(name == record.name for name, _ in role.role.states_read):
                chosen = _selected(role, operands) if record.count else None
                key = (record.name, int(chosen) if isinstance(chosen, int) else None)
                if key in self.holders:
                    self.settings[key] = self.holders[key]

    def _locate(self, call: int, parameter: str) -> tuple[int, int] | None:
        if not 0 <= call < len(self.pending):
            return None
        given = self.pending[call]
        parameters = self.facts.machine.parameters[given.function, len(given.arguments)]
        positions = (n for n, pointer in enumerate(parameters) if pointer is not None and pointer.name == parameter)
        position = next(positions, None)
        return None if position is None else (call, position)

    def host(self, statement: ast.ExpressionStatement) -> ProgramStep:
        """A statement of the host on elements of tensors, or one of its functions on whole arrays."""
        node = statement.expression
        accesses: list[Access] = []
        if isinstance(node, ast.Call):
            tensors = _COUNTS_OF_BUILTINS.get(node.function)
            if tensors is None:
                raise NotApplicable(f"{node.function} is not a function that can be followed")
            values = [self.folding.operand(argument) for argument in node.arguments]
            length = 4 * prod(value for value in values[tensors:] if isinstance(value, int))
            for number, value in enumerate(values[:tensors]):
                if not isinstance(value, TensorByte):
                    raise NotApplicable(f"{node.function} is given no tensor")
                span = (0, value.byte, value.byte + length)
                accesses.append(Access(f"&{value.tensor}", (span,), number == tensors - 1, False, (0, number)))
        elif isinstance(node, ast.Assignment | ast.Increment):
            target = node.target
            reads = [node.value] if isinstance(node, ast.Assignment) else []
            if isinstance(node, ast.Increment) or node.operator:
                reads.append(target)
            accesses.extend(self._element(index, False) for part in reads for index in _elements(part))
            accesses.append(self._element(target, True))
        else:
            raise NotApplicable("the kernel is not written out")
        return ProgramStep("host", "", (), tuple(accesses), statement=statement)

    def _element(self, node: ast.Expression, write: bool) -> Access:
        place, size = self.folding.element(node)
        return Access(f"&{place.tensor}", ((0, place.byte, place.byte + size),), write, False, None)


def _elements(node: ast.Expression) -> Iterator[ast.Expression]:
    """The elements of tensors in an expression."""
    if isinstance(node, ast.Index):
        yield node
    elif isinstance(node, ast.Unary | ast.Cast):
        yield from _elements(node.operand)
    elif isinstance(node, ast.Binary):
        yield from (*_elements(node.left), *_elements(node.right))
    elif isinstance(node, ast.Conditional):
        yield from (*_elements(node.condition), *_elements(node.then), *_elements(node.otherwise))
    elif any(isinstance(part, ast.Index | ast.Call | ast.Assignment | ast.Increment) for part in walk(node)):
        raise NotApplicable("the host's arithmetic cannot be followed")


def _selected(role: CallRole, operands: Mapping[str, Value]) -> Value | None:
    """The index of the record of configuration that a command uses."""
    return next((operands[name] for name in role.role.named("selector") if name in operands), None)


def _program(facts: Facts) -> Program:
    folding = Folding(facts)
    arrays: dict[str, Array] = {}

    def declare(array: ast.KernelParameter | ast.Declarator) -> None:
        kind = folding.type_of(array.type, array)
        if not isinstance(kind, Array):
            raise NotApplicable("the kernel is not written out")
        arrays[array.name] = kind
        folding.declare_array(array.name, kind, array.name)

    for parameter in facts.given.entry.parameters:
        declare(parameter)
    configured = {
        name
        for role in facts.machine.roles.values()
        if role.kind == "configuration"
        for name, _ in role.role.states_written
    }
    reader = _Reader(facts, folding, frozenset(configured), initial(facts.accelerator))
    head: list[ast.Declaration] = []
    steps: list[ProgramStep] = []
    for statement in facts.given.entry.body.statements:
        if isinstance(statement, ast.Comment):
            continue
        if isinstance(statement, ast.Declaration) and not steps:
            head.append(statement)
            for declarator in statement.declarators:
                declare(declarator)
            continue
        if not isinstance(statement, ast.ExpressionStatement):
            raise NotApplicable("the kernel is not written out")
        call = call_of(statement)
        role = role_of(facts, call) if call is not None else None
        step = reader.host(statement) if call is None or role is None else reader.step(call, role)
        if step is not None:
            steps.append(step)
    return Program(facts, tuple(head), tuple(steps), arrays)

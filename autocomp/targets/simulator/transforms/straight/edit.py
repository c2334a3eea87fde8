"""Changes to the steps of a program, collected and then made at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from autocomp.targets.simulator.isa.derived.roles import CallRole
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.straight.calls import role_of
from autocomp.targets.simulator.transforms.straight.footprint import Access, Change, Span
from autocomp.targets.simulator.transforms.straight.places import float_literal
from autocomp.targets.simulator.transforms.straight.program import Program, ProgramStep, program_of
from autocomp.targets.simulator.transforms.straight.values import (
    Value,
    address_in,
    address_of,
    home,
    loaded_by_one,
    moved,
    values_of,
)
from autocomp.targets.simulator.transforms.syntax.affine import literal
from autocomp.targets.simulator.transforms.syntax.rewrite import with_arguments

Operand = tuple[int, int]


@dataclass
class Edit:
    """Changes of a program.

    - `homes`: where operands of steps point from now on
    - `gone`: steps that are left out
    - `behind`: steps that follow one
    - `scales`: factors on what moves bring
    - `adding`: writes that add to what is there
    - `targets`: tensors and bytes that stores write to
    - `functions`: what computations apply to operands first, such as `relu`
    """

    program: Program
    homes: dict[tuple[int, Operand], tuple[str, int]] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    behind: dict[int, list[ProgramStep]] = field(default_factory=dict)
    scales: dict[int, float] = field(default_factory=dict)
    adding: set[tuple[int, Operand]] = field(default_factory=set)
    targets: dict[int, tuple[str, int]] = field(default_factory=dict)
    functions: dict[tuple[int, Operand], str] = field(default_factory=dict)
    _copies: dict[tuple[int, float], tuple[str, int]] = field(default_factory=dict)
    _tops: dict[str, int] = field(default_factory=dict)

    def point(self, number: int, access: Access, memory: str, shift: int) -> None:
        """Lets an access of a step be in another memory, or some rows further on."""
        if access.operand is None:
            raise NotApplicable("no operand says where a step reads or writes")
        self.homes[number, access.operand] = home(access, memory, shift)

    def scale_value(self, value: Value, factor: float) -> None:
        """Multiplies what is written into a value: loads scale, products take a factor that was loaded scaled."""
        for number, access in value.writers:
            step = self.program.steps[number]
            if step.kind == "load":
                self.scales[number] = self.scales.get(number, 1.0) * factor
            else:
                self.scale_product(number, factor, access)

    def scale_product(self, number: int, factor: float, *besides: Access) -> None:
        """Multiplies a product by loading one of its two factors, none of `besides`, once more with another scale."""
        step = self.program.steps[number]
        factors = step.local(write=False)
        for access in factors if len(factors) == 2 else ():
            if any(access is other for other in besides) or access.operand is None:
                continue
            value = self.value_of(number, access)
            load = loaded_by_one(self.program, value)
            if load is not None and load.factor is not None:
                memory, low = self._scaled_copy(value, factor)
                self.point(number, access, memory, low - value.low)
                return
        raise NotApplicable("no factor of a product is brought by one load, which could scale it")

    def value_of(self, number: int, access: Access) -> Value:
        """The value that an access of a step is a use of."""
        return next(v for v in values_of(self.program) if any(n == number and a is access for n, a in v.uses))

    def _scaled_copy(self, value: Value, factor: float) -> tuple[str, int]:
        """Memory and first row of what a load brings, times a factor."""
        key = (value.first, factor)
        if key not in self._copies:
            memory = self.program.facts.accelerator.memory(value.memory)
            if memory.name not in self._tops:
                self._tops[memory.name] = 1 + max(v.high for v in values_of(self.program) if v.memory == memory.name)
            low = self._tops[memory.name]
            self._tops[memory.name] = low + value.rows
            if low + value.rows > memory.rows:
                raise NotApplicable(f"{memory.name} has no room for another copy of an operand")
            step = self.program.steps[value.first]
            _, access = value.writers[0]
            assert access.operand is not None
            there = moved(self.program, {(value.first, access.operand): home(access, memory.name, low - value.low)})
            settings = tuple(scaled(self.program.facts, setting, factor) for setting in step.settings)
            self.behind.setdefault(value.first, []).append(replace(there[value.first], settings=settings))
            self._copies[key] = (memory.name, low)
        return self._copies[key]

    def add_to(self, number: int, access: Access) -> None:
        """Lets a write add to what is there."""
        if access.operand is None:
            raise NotApplicable("no operand says where a step writes")
        self.adding.add((number, access.operand))

    def _called(self) -> list[ProgramStep]:
        """The steps with their operands as they are from now on."""
        steps = list(moved(self.program, self.homes))
        for number, (call, position) in self.adding:
            _, given = address_of(self.program.facts, steps[number].calls[call], position)
            steps[number] = _with(steps[number], call, position, literal(given | adding_bits(self.program)))
        for number, (tensor, byte) in self.targets.items():
            (access,) = steps[number].dram(write=True)
            assert access.operand is not None
            steps[number] = _with(steps[number], *access.operand, self.program.address(tensor, byte))
        return steps

    def kernel(self) -> ast.Kernel:
        """The changed kernel. Raises NotApplicable if the machine does not take it."""
        for exchanged in self._configurations():
            steps = self._changed(exchanged)
            kernel = self.program.kernel(steps.values())
            again = program_of(replace(self.program.facts, given=kernel))
            if self._applied(dict(zip(steps, again.steps, strict=False))):
                return kernel
        raise NotApplicable("no configuration lets a computation apply to its operands what the move out did")

    def _changed(self, exchanged: Mapping[ast.Call, ast.Call]) -> dict[int, ProgramStep]:
        """The steps that are left, by number (inserted ones have negative ones), some configured otherwise."""
        steps: dict[int, ProgramStep] = {}
        for number, step in enumerate(self._called()):
            settings = step.settings
            if number in self.scales:
                settings = tuple(scaled(self.program.facts, setting, self.scales[number]) for setting in settings)
            if any(number == user for user, _ in self.functions):
                settings = tuple(exchanged.get(setting, setting) for setting in settings)
            if number not in self.gone:
                steps[number] = replace(step, settings=settings)
            for inserted in self.behind.get(number, ()):
                steps[-1 - len(steps)] = inserted
        return steps

    def _configurations(self) -> Iterator[Mapping[ast.Call, ast.Call]]:
        """The ways to configure the computations that should apply functions: as they are, or with one of the choices
        that the description offers for an operand made otherwise."""
        yield {}
        numbers = dict.fromkeys(number for number, _ in self.functions)
        for setting in dict.fromkeys(s for number in numbers for s in self.program.steps[number].settings):
            parameters = self.program.facts.machine.parameters[setting.function, len(setting.arguments)]
            for position, parameter in enumerate(parameters):
                for choice in parameter.choices if parameter is not None else ():
                    yield {setting: with_arguments(setting, {position: ast.Name(choice)})}

    def _applied(self, steps: Mapping[int, ProgramStep]) -> bool:
        """True if operands go through the functions wanted, and all others through the same as before."""
        for number in {number for number, _ in self.functions}:
            before, now = dict(self.program.steps[number].taken), dict(steps[number].taken)
            wanted = {operand: Change(1.0, name) for (n, operand), name in self.functions.items() if n == number}
            if now != {**before, **wanted}:
                return False
        return True


def _with(step: ProgramStep, call: int, position: int, argument: ast.Expression) -> ProgramStep:
    """The step with another argument in one of its calls."""
    new = with_arguments(step.calls[call], {position: argument})
    return replace(step, calls=(*step.calls[:call], new, *step.calls[call + 1 :]))


def load_like(program: Program, tensor: Access, rows: Access, name: str, distance: int) -> ProgramStep:
    """A load into `rows`, as some step of the program loads, of elements of a tensor that lie `distance` bytes after
    those of an access. Raises NotApplicable if the program has no load of this form."""
    accelerator = program.facts.accelerator
    wanted = (_form(tensor.spans), _form(rows.spans), accelerator.memory(rows.memory).element)
    for number, step in enumerate(program.steps):
        if step.kind != "load" or step.factor != 1.0 or len(step.calls) != 1:
            continue
        (source,), (target,) = step.reads, step.local(write=True)
        form = (_form(source.spans), _form(target.spans), accelerator.memory(target.memory).element)
        if form == wanted and not target.adds and source.operand and target.operand:
            there = moved(program, {(number, target.operand): (rows.memory, rows.rows[0])})[number]
            return _with(there, *source.operand, program.address(name, tensor.spans[0][1] + distance))
    raise NotApplicable(f"the program has no load like one of {name!r}")


def _form(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """Spans relative to where the first of them starts."""
    row, first, _ = spans[0]
    return tuple((line - row, start - first, end - first) for line, start, end in spans)


def adding_bits(program: Program) -> int:
    """The bits of an address that make a write add to what is there, as the kernel has them elsewhere."""
    for step in program.steps:
        for access in step.local(write=True):
            if access.adds and access.operand is not None:
                call, position = access.operand
                space, given = address_of(program.facts, step.calls[call], position)
                plain = address_in(space, access.memory, access.rows[0])
                return given & ~plain
    raise NotApplicable("the kernel adds to no rows, so that it does not show how")


def scaled(facts: Facts, setting: ast.Call, factor: float) -> ast.Call:
    """The configuration of a move with its scale multiplied."""
    role = role_of(facts, setting)
    assert role is not None
    position = role.position("scale")
    if position is not None:
        given = setting.arguments[position]
        sign = -1.0 if isinstance(given, ast.Unary) and given.operator == "-" else 1.0
        size = given.operand if isinstance(given, ast.Unary) else given
        if not isinstance(size, ast.FloatLiteral | ast.IntLiteral):
            raise NotApplicable(f"the scale of {setting.function} is not a number")
        return with_arguments(setting, {position: float_literal(sign * size.value * factor)})
    for form in facts.machine.roles.values():
        if takes_scale(facts, role, form):
            return ast.Call(form.name, (*setting.arguments, float_literal(factor)))
    raise NotApplicable(f"no form of {setting.function} takes a scale")


def takes_scale(facts: Facts, plain: CallRole, form: CallRole) -> bool:
    """True if a call form does what another one does, with a scale as a further argument in place of 1."""
    if form.instruction != plain.instruction or form.arguments != (*plain.arguments, "scale"):
        return False
    parameter = facts.machine.parameters[form.name, len(form.arguments)][-1]
    rest = {name: value for name, value in plain.fixed.items() if parameter is None or name != parameter.name}
    return parameter is not None and plain.fixed.get(parameter.name) == 1 and rest == dict(form.fixed)

"""The spelling of a kernel's calls in C: in the call forms of the vendor's header, or one function an instruction.

A kernel may call an instruction, or any form that the accelerator's description defines. A form that the header lacks
is expanded into instructions. Each of these is written in the shortest form of the header with the same meaning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from autocomp.errors import KernelError, Place
from autocomp.targets.simulator.isa import algebra, tree
from autocomp.targets.simulator.isa.model import Accelerator, Alias, Instruction, Parameter
from autocomp.targets.simulator.isa.show import show
from autocomp.targets.simulator.kernel import call_forms
from autocomp.targets.simulator.kernel.code.types import NARROW_FLOATS
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.walk import walk

Bound = Mapping[str, ast.Expression]
CallForms = Mapping[str, Mapping[int, Instruction | Alias]]


def header_forms(accelerator: Accelerator) -> dict[str, Alias]:
    """The call forms of the vendor's C header: those whose names begin with `header { prefix: …; }`. A macro has one
    number of arguments: of several forms of a name the first counts."""
    prefix = accelerator.settings.get("header.prefix")
    forms: dict[str, Alias] = {}
    for alias in accelerator.aliases if prefix else ():
        if alias.name.startswith(str(prefix)) and not alias.trace:
            forms.setdefault(alias.name, alias)
    return forms


def issue_name(accelerator: Accelerator, instruction: str) -> str:
    """The C function that issues an instruction, in the header that is made from the description."""
    return f"{accelerator.name}_issue_{instruction}"


def commands_of(form: Alias, known: CallForms) -> list[tuple[str, tuple[tree.Expression, ...]]]:
    """The instructions that a call form expands to, also through other forms."""
    commands = []
    for callee, arguments in form.expansion:
        inner = known[callee][len(arguments)]
        if isinstance(inner, Instruction):
            commands.append((callee, arguments))
        else:
            bound = dict(zip(inner.parameters, arguments, strict=True))
            commands += [(name, tuple(_replaced(a, bound) for a in given)) for name, given in commands_of(inner, known)]
    return commands


def c_number(value: int | float) -> str:
    """A constant as C writes it; large ones in hexadecimal, which makes 32 bits of them unsigned."""
    return repr(value) if isinstance(value, float) or value < 1 << 16 else f"0x{value:X}"


def narrow_types(names: Iterable[str]) -> str:
    """Definitions of those types of tensors that C lacks: numbers in memory, with which only the machine computes."""
    used = set(names)
    return "".join(
        f"#ifndef {kind.name.upper()}  // define it where {kind.name} is a type already\n#define {kind.name.upper()}\n"
        f"typedef struct {{ uint{kind.bits}_t bits; }} {kind.name};\n#endif\n"
        for kind in NARROW_FLOATS
        if kind.name in used
    )


class Forms:
    """The spelling of calls on one accelerator."""

    def __init__(self, accelerator: Accelerator, constants: Mapping[str, int | float]) -> None:
        self._accelerator = accelerator
        self._constants = constants
        self._known = call_forms(accelerator)
        self._header = header_forms(accelerator)

    def knows(self, name: str) -> bool:
        return name in self._known

    def operands(self, call: ast.Call) -> tuple[Parameter | None, ...]:
        """The operand that each parameter of a macro of the header becomes as it is, if it does; none of a function."""
        form = self._header.get(call.function)
        if form is None:
            return (None,) * len(call.arguments)
        parameters: dict[str, Parameter] = {}
        for name, arguments in commands_of(form, self._known):
            instruction = self._accelerator.instruction(name)
            assert instruction is not None  # it is a command
            for parameter, argument in zip(instruction.parameters, arguments, strict=True):
                if isinstance(argument, tree.Name):
                    parameters[argument.name] = parameter
        return tuple(parameters.get(name) for name in form.parameters)

    def fence(self) -> ast.Call:
        """The call that waits for everything. Raises KernelError where the machine has no such instruction."""
        for instruction in self._accelerator.instructions:
            if instruction.words.get("role") == "fence" and not instruction.parameters:
                return self._spelled(instruction, ())
        raise KernelError(f"{self._accelerator.full_name} has no fence, so that a function cannot wait for its result")

    def spelled(self, call: ast.Call) -> tuple[ast.Call, ...]:
        """The same in C, as calls without a result one after the other."""
        form = self._header.get(call.function)
        if form is not None and len(form.parameters) == len(call.arguments):
            return (call,)
        return tuple(self._spelled(*command) for command in self.commands(call))

    def shortest(self, instruction: Instruction, operands: tuple[ast.Expression, ...]) -> ast.Call:
        """The call of an instruction as kernels write it: in the shortest form of the header, or by its own name."""
        spelled = self._spelled(instruction, operands)
        return spelled if self.knows(spelled.function) else ast.Call(instruction.name, operands)

    def commands(self, call: ast.Call) -> list[tuple[Instruction, tuple[ast.Expression, ...]]]:
        """The instructions that a call issues, with their operands. Raises KernelError where an argument with a side
        effect is used more than once."""
        form = self._known[call.function][len(call.arguments)]
        if isinstance(form, Instruction):
            return [(form, call.arguments)]
        bound = dict(zip(form.parameters, call.arguments, strict=True))
        uses = Counter(
            part.name
            for _, arguments in form.expansion
            for argument in arguments
            for part in algebra.walk(argument)
            if isinstance(part, tree.Name)
        )
        for name, argument in bound.items():
            if uses[name] != 1 and has_effect(argument):
                _fail(call, f"{call.function!r} uses {name} {uses[name]} times, and this argument has a side effect")
        return [
            command
            for callee, arguments in form.expansion
            for command in self.commands(ast.Call(callee, tuple(in_c(a, bound) for a in arguments), line=call.line))
        ]

    def _spelled(self, instruction: Instruction, arguments: tuple[ast.Expression, ...]) -> ast.Call:
        spelled: list[tuple[Alias, Bound]] = []
        for form in self._header.values():
            [(callee, pattern), *more] = commands_of(form, self._known)
            bound = self._match(form, pattern, arguments) if callee == instruction.name and not more else None
            if bound is not None:
                spelled.append((form, bound))
        if spelled:
            form, bound = min(spelled, key=lambda candidate: len(candidate[0].parameters))
            return ast.Call(form.name, tuple(bound[name] for name in form.parameters))
        return ast.Call(issue_name(self._accelerator, instruction.name), arguments)

    def _match(
        self, form: Alias, pattern: Sequence[tree.Expression], arguments: Sequence[ast.Expression]
    ) -> Bound | None:
        """The values of the form's parameters if it expands to these arguments, or None."""
        bound: dict[str, ast.Expression] = {}
        for expected, given in zip(pattern, arguments, strict=True):
            if isinstance(expected, tree.Name) and expected.name in form.parameters:
                if bound.setdefault(expected.name, given) != given:
                    return None
            else:
                fixed = algebra.names_in(expected).isdisjoint(form.parameters)
                value = self.value(in_c(expected, {})) if fixed else None
                if value is None or self.value(given) != value:
                    return None
        return bound if len(bound) == len(form.parameters) else None

    def value(self, node: ast.Expression) -> int | float | None:
        """The value of an argument that is a literal or a constant, negated or not; None for any other."""
        if isinstance(node, ast.IntLiteral | ast.FloatLiteral):
            return node.value
        if isinstance(node, ast.Name):
            return self._constants.get(node.name, {"true": 1, "false": 0}.get(node.name))
        if isinstance(node, ast.Unary) and node.operator == "-":
            value = self.value(node.operand)
            return None if value is None else -value
        return None


def in_c(e: tree.Expression, bound: Bound) -> ast.Expression:
    """An expression of a call form in the kernel's syntax. Raises KernelError for a function that C does not have."""
    if isinstance(e, tree.Number):
        sign = e.value < 0
        literal: ast.Expression = (
            ast.FloatLiteral(abs(e.value), single=True) if isinstance(e.value, float) else ast.IntLiteral(abs(e.value))
        )
        return ast.Unary("-", literal) if sign else literal
    if isinstance(e, tree.Name):
        return bound.get(e.name, ast.Name(e.name))
    if isinstance(e, tree.Unary):
        return ast.Unary(e.operator, in_c(e.operand, bound))  # type: ignore[arg-type]
    if isinstance(e, tree.Binary):
        return ast.Binary(e.operator, in_c(e.left, bound), in_c(e.right, bound))
    if isinstance(e, tree.Conditional):
        return ast.Conditional(in_c(e.condition, bound), in_c(e.then, bound), in_c(e.otherwise, bound))
    raise KernelError(f"C has nothing for {show(e)}, which a call form uses")


def has_effect(node: ast.Expression) -> bool:
    """True if evaluating an expression twice would have an effect twice."""
    return any(isinstance(part, ast.Call | ast.Assignment | ast.Increment) for part in walk(node))


def _replaced(e: tree.Expression, bound: Mapping[str, tree.Expression]) -> tree.Expression:
    return algebra.substitute(e, lambda part: bound.get(part.name) if isinstance(part, tree.Name) else None)


def _fail(node: ast.Call, message: str) -> NoReturn:
    raise KernelError(message, place=Place("<kernel>", node.line, max(1, node.column)) if node.line else None)

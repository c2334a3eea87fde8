"""The canonical form of a kernel, and its hash: two kernels with one hash do the same for the same reasons.

Left out are comments, layout, the spelling of literals and types, redundant parentheses and braces, `const`, the names
of helpers, parameters and local variables, and whether a variable is stepped as `i++`, `++i` or `i += 1`. Arithmetic on
literals counts as its result.
"""

from __future__ import annotations

import hashlib
from typing import Any

from autocomp.targets.simulator.kernel.code.types import INT, NAMED
from autocomp.targets.simulator.kernel.syntax import ast


def canonical_hash(kernel: ast.Kernel) -> str:
    """SHA-256 of the canonical form, in hexadecimal."""
    return hashlib.sha256(canonical_form(kernel).encode()).hexdigest()


def canonical_form(kernel: ast.Kernel) -> str:
    """The kernel in prefix notation, with its own names numbered in the order of their declaration."""
    functions = {function.name: f"f{number}" for number, function in enumerate(kernel.functions)}
    shared = _Form(functions)
    outside = [shared.outside(declaration) for declaration in kernel.globals]
    return "\n".join([*outside, *(shared.inner().function(function) for function in kernel.functions)])


class _Form:
    def __init__(self, functions: dict[str, str]) -> None:
        self._functions = functions
        self._scopes: list[dict[str, str]] = [{}]
        self._count = 0

    def inner(self) -> _Form:
        """A form that knows the names from outside of functions."""
        form = _Form(self._functions)
        form._scopes, form._count = [dict(self._scopes[0]), {}], self._count
        return form

    def outside(self, declaration: ast.Declaration) -> str:
        return self._statement(declaration)

    def function(self, function: ast.Function) -> str:
        parameters = [f"{self._declare(p.name)}:{self._type(p.type)}" for p in function.parameters]
        return f"({self._type(function.return_type)} {parameters} {self._block(function.body)})"

    def _declare(self, name: str) -> str:
        self._count += 1
        self._scopes[-1][name] = f"v{self._count}"
        return f"v{self._count}"

    def _name(self, name: str) -> str:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return name

    def _type(self, kind: ast.Type) -> str:
        extents = "".join(f"[{self._expression(extent)}]" for extent in kind.extents)
        return f"{NAMED.get(kind.name, kind.name)}{'*' * kind.pointer}{extents}"

    # --- statements ---

    def _block(self, block: ast.Block | None) -> str:
        if block is None:
            return "{}"
        self._scopes.append({})
        text = "{" + ";".join(filter(None, map(self._statement, block.statements))) + "}"
        self._scopes.pop()
        return text

    def _statement(self, s: Any) -> str:
        kind = type(s)
        if kind is ast.ExpressionStatement:
            return self._effect(s.expression)
        if kind is ast.Declaration:
            return ";".join(self._declarator(s.static, declarator) for declarator in s.declarators)
        if kind is ast.For:
            return self._for(s)
        if kind is ast.If:
            return f"if({self._expression(s.condition)}{self._block(s.then)}{self._block(s.otherwise)})"
        if kind is ast.Block:
            return self._block(s)
        if kind is ast.While:
            return f"while({self._expression(s.condition)}{self._block(s.body)})"
        if kind is ast.DoWhile:
            return f"do({self._block(s.body)}{self._expression(s.condition)})"
        if kind is ast.Return:
            return f"return({self._expression(s.value)})"
        return {ast.Break: "break", ast.Continue: "continue"}.get(kind, "")

    def _declarator(self, static: bool, declarator: ast.Declarator) -> str:
        kind, value = self._type(declarator.type), self._expression(declarator.initializer)
        return f"{'static ' if static else ''}{kind} {self._declare(declarator.name)}={value}"

    def _for(self, loop: ast.For) -> str:
        self._scopes.append({})
        initial = "" if loop.initial is None else self._statement(loop.initial)
        condition = self._expression(loop.condition)
        step = "" if loop.step is None else self._effect(loop.step)
        text = f"for({initial};{condition};{step}{self._block(loop.body)})"
        self._scopes.pop()
        return text

    # --- expressions ---

    def _effect(self, e: ast.Expression) -> str:
        """An expression whose value is not used."""
        if isinstance(e, ast.Increment):
            return f"({e.operator[0]}= {self._expression(e.target)} 1)"
        return self._expression(e)

    def _expression(self, e: Any) -> str:
        kind = type(e)
        constant = _constant(e) if kind is ast.Binary or kind is ast.Unary else None
        if constant is not None:
            return str(constant)
        if kind is ast.IntLiteral:
            wide = (
                "x" if e.value > INT.high and e.text[:1] == "0" else ""
            )  # the base decides the type of a large literal
            return f"{e.value}{e.suffix}{wide}"
        if kind is ast.Name:
            return self._name(e.name)
        if kind is ast.Binary:
            return f"({e.operator} {self._expression(e.left)} {self._expression(e.right)})"
        if kind is ast.Call:
            arguments = " ".join(map(self._expression, e.arguments))
            return f"{self._functions.get(e.function, e.function)}({arguments})"
        if kind is ast.Index:
            return f"{self._expression(e.base)}[{self._expression(e.index)}]"
        if kind is ast.Unary:
            return f"({e.operator} {self._expression(e.operand)})"
        if kind is ast.Assignment:
            return f"({e.operator}= {self._expression(e.target)} {self._expression(e.value)})"
        if kind is ast.Cast:
            return f"(cast {self._type(e.type)} {self._expression(e.operand)})"
        if kind is ast.FloatLiteral:
            return f"{e.value!r}{'f' if e.single else ''}"
        if kind is ast.Increment:
            return f"({'pre' if e.prefix else 'post'}{e.operator} {self._expression(e.target)})"
        if kind is ast.Conditional:
            return f"(? {' '.join(map(self._expression, (e.condition, e.then, e.otherwise)))})"
        if kind is ast.SizeOf:
            return f"(sizeof {self._type(e.operand) if type(e.operand) is ast.Type else self._expression(e.operand)})"
        if kind is ast.InitializerList:
            return f"{{{' '.join(map(self._expression, e.values))}}}"
        return ""


def _constant(e: ast.Expression) -> int | None:
    """The value of arithmetic on literals of type int; None for all else, and where C gives it another type or none."""
    if isinstance(e, ast.IntLiteral):
        return e.value if not e.suffix and e.value <= INT.high else None
    if isinstance(e, ast.Unary) and e.operator in "+-":
        value = _constant(e.operand)
        return -value if value is not None and e.operator == "-" else value
    if not isinstance(e, ast.Binary):
        return None
    left, right = _constant(e.left), _constant(e.right)
    if left is None or right is None:
        return None
    result = _arithmetic(e.operator, left, right)
    return result if result is not None and INT.low <= result <= INT.high else None


def _arithmetic(operator: str, left: int, right: int) -> int | None:
    if operator in ("+", "-", "*"):
        return {"+": left + right, "-": left - right, "*": left * right}[operator]
    if operator in ("/", "%") and left >= 0 and right > 0:
        return left // right if operator == "/" else left % right
    if operator == "<<" and left >= 0 and 0 <= right < 32:
        return left << right
    return None

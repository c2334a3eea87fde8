"""Expressions and statements as text, in the notation of descriptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autocomp.targets.simulator.isa.model import Parameter
from autocomp.targets.simulator.isa.tree import (
    AddressField,
    Assign,
    Await,
    Binary,
    Call,
    Choose,
    Conditional,
    Element,
    Expression,
    For,
    Iterate,
    Let,
    Name,
    Number,
    Position,
    Require,
    StateField,
    Statement,
    Stream,
    StreamStatement,
    Sum,
    Unary,
    When,
)

_LEVEL = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7, "<<": 8, ">>": 8,
    "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip


def show_number(value: int | float) -> str:
    """A number as a description writes it; large bit patterns in hexadecimal."""
    if isinstance(value, int) and value >= 1 << 16:
        return f"0x{value:X}" if value >= 1 << 28 else str(value)
    return repr(value)


def show(expression: Expression, level: int = 0) -> str:
    """The expression, in parentheses where the operator around it binds tighter."""
    if isinstance(expression, Binary):
        own = _LEVEL[expression.operator]
        text = f"{show(expression.left, own)} {expression.operator} {show(expression.right, own + 1)}"
        return f"({text})" if own < level else text
    if isinstance(expression, Conditional):
        parts = (show(expression.condition, 1), show(expression.then), show(expression.otherwise))
        text = f"{parts[0]} ? {parts[1]} : {parts[2]}"
        return f"({text})" if level > 0 else text
    if isinstance(expression, Unary):
        return f"{expression.operator}{show(expression.operand, 11)}"
    if isinstance(expression, Number):
        return show_number(expression.value)
    return _show_reference(expression)


def _show_reference(expression: Expression) -> str:
    if isinstance(expression, Name):
        return expression.name
    if isinstance(expression, AddressField):
        return f"{expression.parameter}.{expression.field}"
    if isinstance(expression, StateField):
        index = "" if expression.index is None else f"[{show(expression.index)}]"
        return f"{expression.state}{index}.{expression.field}"
    if isinstance(expression, Element):
        name = expression.memory if expression.element is None else f"{expression.memory}.{expression.element}"
        return name + "".join(f"[{show(index)}]" for index in expression.indices)
    if isinstance(expression, Position):
        return f"{expression.stream}.{expression.variable}"
    if isinstance(expression, Sum):
        terms = f"{expression.variable} < {show(expression.bound)}: {show(expression.body)}"
        start = "" if expression.start is None else f", {show(expression.start)}"
        return f"{expression.function}({terms}{start})"
    assert isinstance(expression, Call)
    kind = "" if expression.type_argument is None else f"<{expression.type_argument}>"
    return f"{expression.function}{kind}({', '.join(show(a) for a in expression.arguments)})"


def show_streams(streams: Sequence[Stream], indent: str = "") -> Iterator[str]:
    """The streams of an expansion line by line."""
    for stream in streams:
        after = f" after {', '.join(stream.after)}" if stream.after else ""
        yield f"{indent}stream {stream.name} priority {stream.priority}{after} {{"
        yield from _show_stream(stream.body, indent + "  ")
        yield f"{indent}}}"


def _show_stream(statements: Sequence[StreamStatement], indent: str) -> Iterator[str]:
    for statement in statements:
        if isinstance(statement, Let):
            yield f"{indent}let {statement.name} = {show(statement.value)};"
        elif isinstance(statement, Await):
            yield f"{indent}await {show(statement.condition)};"
        elif isinstance(statement, Iterate):
            step = "" if statement.step == Number(1) else f" step {show(statement.step, 8)}"
            yield f"{indent}for {statement.variable} < {show(statement.bound, 8)}{step} {{"
            yield from _show_stream(statement.body, indent + "  ")
            yield f"{indent}}}"
        elif isinstance(statement, Choose):
            yield f"{indent}when {show(statement.condition)} {{"
            yield from _show_stream(statement.then, indent + "  ")
            if statement.otherwise:
                yield f"{indent}}} else {{"
                yield from _show_stream(statement.otherwise, indent + "  ")
            yield f"{indent}}}"
        else:
            yield f"{indent}{statement.instruction}({', '.join(show(a) for a in statement.arguments)});"


def show_statements(statements: Sequence[Statement], indent: str = "") -> Iterator[str]:
    """The statements line by line."""
    for statement in statements:
        if isinstance(statement, Let):
            yield f"{indent}let {statement.name} = {show(statement.value)};"
        elif isinstance(statement, Require):
            yield f'{indent}require {show(statement.condition)} : "{statement.message}";'
        elif isinstance(statement, Assign):
            yield f"{indent}{show(statement.target)} = {show(statement.value)};"
        elif isinstance(statement, For):
            heads = ", ".join(f"{name} < {show(bound, 8)}" for name, bound in statement.variables)
            inner = list(show_statements(statement.body))
            if len(inner) == 1:
                yield f"{indent}for {heads}: {inner[0]}"
                continue
            yield f"{indent}for {heads} {{"
            yield from (f"{indent}  {line}" for line in inner)
            yield f"{indent}}}"
        else:
            yield from _show_when(statement, indent, "")


def _show_when(statement: When, indent: str, before: str) -> Iterator[str]:
    yield f"{indent}{before}when {show(statement.condition)} {{"
    yield from show_statements(statement.then, indent + "  ")
    if len(statement.otherwise) == 1 and isinstance(statement.otherwise[0], When):
        yield from _show_when(statement.otherwise[0], indent, "} else ")
        return
    if statement.otherwise:
        yield f"{indent}}} else {{"
        yield from show_statements(statement.otherwise, indent + "  ")
    yield f"{indent}}}"


def show_pointer(parameter: Parameter) -> str:
    """The kind of a pointer, with its memory where that is not the first."""
    return "DRAM address" + (f" in `{parameter.memory}`" if parameter.memory else "")

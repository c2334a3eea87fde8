"""The canonical spelling of a kernel: four blanks a level, braces everywhere, the fewest parentheses."""

from __future__ import annotations

import json
from collections.abc import Iterator

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.comments import closed
from autocomp.targets.simulator.kernel.syntax.literals import literal_value
from autocomp.targets.simulator.kernel.syntax.reductions import PRECEDENCE

INDENT = "    "

# Binding strengths beyond those of the binary operators, from loose to tight.
_ASSIGNMENT, _CONDITIONAL, _UNARY, _POSTFIX, _PRIMARY = -1, 0, 20, 21, 22


def print_kernel(kernel: ast.Kernel) -> str:
    """The text of a kernel. Parsing it gives an equal kernel if the kernel came from a parse."""
    outside = [f"{_declaration(declaration)};\n" for declaration in kernel.globals]
    functions = ["\n".join(_function(function)) + "\n" for function in kernel.functions]
    return "\n".join(["".join(outside), *functions] if outside else functions)


def print_expression(expression: ast.Expression) -> str:
    """The text of one expression, as part of a statement."""
    return _expression(expression, _ASSIGNMENT)


def print_statement(statement: ast.Statement, indent: int = 0) -> str:
    """The lines of one statement, indented by `indent` levels, without a newline at the end."""
    return "\n".join(_statement(statement, INDENT * indent))


# --- functions and statements ------------------------------------------------------------------------------------


def _function(function: ast.Function) -> Iterator[str]:
    parameters = ", ".join(
        ("const " if p.const else "") + _declared(p.type, p.name, with_base=True) for p in function.parameters
    )
    yield f"{_type(function.return_type)} {function.name}({parameters}) {{"
    yield from _lines(function.body, "")
    yield "}"


def _lines(block: ast.Block, indent: str) -> Iterator[str]:
    for statement in block.statements:
        yield from _statement(statement, indent + INDENT)


def _statement(statement: ast.Statement, indent: str) -> Iterator[str]:
    if isinstance(statement, ast.Declaration):
        yield f"{indent}{_declaration(statement)};"
    elif isinstance(statement, ast.ExpressionStatement):
        yield f"{indent}{print_expression(statement.expression)};"
    elif isinstance(statement, ast.Block):
        yield indent + (f'region("{statement.region}") {{' if statement.region else "{")
        yield from _lines(statement, indent)
        yield indent + "}"
    elif isinstance(statement, ast.If):
        yield from _if(statement, indent)
    elif isinstance(statement, ast.For):
        yield f"{indent}for ({_for_head(statement)}) {{"
        yield from _lines(statement.body, indent)
        yield indent + "}"
    elif isinstance(statement, ast.While):
        yield f"{indent}while ({print_expression(statement.condition)}) {{"
        yield from _lines(statement.body, indent)
        yield indent + "}"
    elif isinstance(statement, ast.DoWhile):
        yield indent + "do {"
        yield from _lines(statement.body, indent)
        yield f"{indent}}} while ({print_expression(statement.condition)});"
    elif isinstance(statement, ast.Return):
        yield f"{indent}return{'' if statement.value is None else ' ' + print_expression(statement.value)};"
    elif isinstance(statement, ast.Comment):
        for line in statement.text.split("\n"):
            yield f"{indent}// {closed(line)}".rstrip()
    else:
        yield f"{indent}{'break' if isinstance(statement, ast.Break) else 'continue'};"


def _if(statement: ast.If, indent: str) -> Iterator[str]:
    head = f"{indent}if ("
    while True:
        yield f"{head}{print_expression(statement.condition)}) {{"
        yield from _lines(statement.then, indent)
        otherwise = statement.otherwise
        if otherwise is None:
            yield indent + "}"
            return
        if len(otherwise.statements) != 1 or not isinstance(otherwise.statements[0], ast.If):
            yield indent + "} else {"
            yield from _lines(otherwise, indent)
            yield indent + "}"
            return
        statement = otherwise.statements[0]
        head = f"{indent}}} else if ("


def _for_head(loop: ast.For) -> str:
    if isinstance(loop.initial, ast.Declaration):
        initial = _declaration(loop.initial)
    else:
        initial = print_expression(loop.initial.expression) if loop.initial is not None else ""
    condition = " " + print_expression(loop.condition) if loop.condition is not None else ""
    step = " " + print_expression(loop.step) if loop.step is not None else ""
    return f"{initial};{condition};{step}"


def _declaration(declaration: ast.Declaration) -> str:
    words = ("static " if declaration.static else "") + ("const " if declaration.const else "")
    parts = []
    for position, declarator in enumerate(declaration.declarators):
        text = _declared(declarator.type, declarator.name, with_base=position == 0)
        if declarator.initializer is not None:
            text += " = " + print_expression(declarator.initializer)
        parts.append(text)
    return words + ", ".join(parts)


def _declared(kind: ast.Type, name: str, *, with_base: bool) -> str:
    extents = "".join(f"[{print_expression(extent)}]" for extent in kind.extents)
    return (kind.name + " " if with_base else "") + "*" * kind.pointer + name + extents


def _type(kind: ast.Type) -> str:
    return kind.name + (" " + "*" * kind.pointer if kind.pointer else "")


# --- expressions -------------------------------------------------------------------------------------------------


def _expression(node: ast.Expression, outer: int) -> str:
    """The text of an expression where anything that binds looser than `outer` needs parentheses."""
    text, strength = _spelling(node)
    return f"({text})" if strength < outer else text


def _spelling(node: ast.Expression) -> tuple[str, int]:
    if isinstance(node, ast.Name):
        return node.name, _PRIMARY
    if isinstance(node, ast.IntLiteral):
        return _integer(node), _PRIMARY if node.value >= 0 else _UNARY
    if isinstance(node, ast.Binary):
        strength = PRECEDENCE[node.operator]
        left = _expression(node.left, strength)
        return f"{left} {node.operator} {_expression(node.right, strength + 1)}", strength
    if isinstance(node, ast.Index):
        return f"{_expression(node.base, _POSTFIX)}[{print_expression(node.index)}]", _POSTFIX
    if isinstance(node, ast.Call):
        return f"{node.function}({', '.join(map(print_expression, node.arguments))})", _POSTFIX
    if isinstance(node, ast.FloatLiteral):
        return _float(node), _PRIMARY if node.value >= 0 else _UNARY
    if isinstance(node, ast.StringLiteral):
        return json.dumps(node.value), _PRIMARY
    if isinstance(node, ast.InitializerList):
        return "{" + ", ".join(map(print_expression, node.values)) + "}", _PRIMARY
    if isinstance(node, ast.Conditional):
        condition, otherwise = _expression(node.condition, 1), _expression(node.otherwise, _CONDITIONAL)
        return f"{condition} ? {print_expression(node.then)} : {otherwise}", _CONDITIONAL
    if isinstance(node, ast.Assignment):
        target, value = _expression(node.target, _UNARY), print_expression(node.value)
        return f"{target} {node.operator}= {value}", _ASSIGNMENT
    return _unary(node)


def _unary(node: ast.Unary | ast.Cast | ast.SizeOf | ast.Increment) -> tuple[str, int]:
    if isinstance(node, ast.Cast):
        return f"({_type(node.type)}){_expression(node.operand, _UNARY)}", _UNARY
    if isinstance(node, ast.SizeOf):
        operand = node.operand
        return f"sizeof({_type(operand) if isinstance(operand, ast.Type) else print_expression(operand)})", _UNARY
    if isinstance(node, ast.Increment):
        if not node.prefix:
            return _expression(node.target, _POSTFIX) + node.operator, _POSTFIX
        target = _expression(node.target, _UNARY)
        return node.operator + (f"({target})" if target.startswith(node.operator[0]) else target), _UNARY
    operand_text = _expression(node.operand, _UNARY)
    if operand_text.startswith(node.operator) and node.operator in "+-&":
        operand_text = f"({operand_text})"
    return node.operator + operand_text, _UNARY


def _integer(node: ast.IntLiteral) -> str:
    """As written if that still is the value, otherwise in decimal."""
    if node.text and node.value >= 0:
        digits = node.text.rstrip("uUlL")
        same_suffix = sorted(node.text[len(digits) :].lower()) == sorted(node.suffix)
        if same_suffix and literal_value(digits) == node.value:
            return node.text
    return f"{node.value}{node.suffix}"


def _float(node: ast.FloatLiteral) -> str:
    if node.text and float(node.text.rstrip("fFlL")) == node.value and (node.text[-1] in "fF") == node.single:
        return node.text
    return repr(node.value) + ("f" if node.single else "")

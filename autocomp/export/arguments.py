"""Arguments of the vendor's macros: a macro puts their text into expressions of 64 bits, and may not parenthesise it.

A local address is 32 bits: one that C computes as a negative `int` would set the bits above. An operator that binds
looser than a shift would fall apart where a macro shifts it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from autocomp.targets.simulator.isa.model import Parameter
from autocomp.targets.simulator.kernel.code.types import NAMED, UINT, Scalar
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.reductions import PRECEDENCE
from autocomp.targets.simulator.kernel.syntax.walk import walk

_ADDRESS, _INTEGER = ast.Type("uint32_t"), ast.Type("int64_t")
_SHIFT = PRECEDENCE["<<"]

Kinds = Iterable[Parameter | None]


@dataclass(frozen=True)
class Variables:
    """Variables of a function by what C does with them: `unsigned` ones of 32 bits, and `wide` ones of 64. A name that
    is declared in several ways is the worst of them."""

    unsigned: frozenset[str]
    wide: frozenset[str]


def variables_of(function: ast.Function) -> Variables:
    unsigned: set[str] = set()
    others: set[str] = set()
    wide: set[str] = set()
    declared = [(d.name, d.type) for d in walk(function.body) if isinstance(d, ast.Declarator)]
    for name, kind in [*declared, *((p.name, p.type) for p in function.parameters)]:
        scalar = NAMED.get(kind.name) if not kind.pointer and not kind.extents else None
        (unsigned if scalar == UINT else others).add(name)
        if isinstance(scalar, Scalar) and scalar.bits == 64:
            wide.add(name)
    return Variables(frozenset(unsigned - others), frozenset(wide))


def guarded(call: ast.Call, kinds: Kinds, variables: Variables) -> ast.Call:
    """The call with casts where the text of an argument would mean something else in a macro. `kinds` are the operands
    that the macro's parameters become, as far as they become one."""
    arguments = []
    for argument, parameter in zip(call.arguments, kinds, strict=True):
        if parameter is None or isinstance(argument, ast.Cast):
            arguments.append(argument)
        elif parameter.kind == "address" and not _is_address(argument, variables):
            arguments.append(ast.Cast(_ADDRESS, argument))
        elif parameter.kind == "integer" and _is_loose(argument):
            arguments.append(ast.Cast(_INTEGER, argument))
        else:
            arguments.append(argument)
    return replace(call, arguments=tuple(arguments))


def _is_address(node: ast.Expression, variables: Variables) -> bool:
    """True if C computes the expression as an unsigned number of 32 bits."""
    if any(isinstance(part, ast.Name) and part.name in variables.wide for part in walk(node)):
        return False
    if isinstance(node, ast.IntLiteral):
        return 0 <= node.value < 1 << 32
    return _is_unsigned(node, variables)


def _is_unsigned(node: ast.Expression, variables: Variables) -> bool:
    if isinstance(node, ast.Name):
        return node.name in variables.unsigned
    if isinstance(node, ast.IntLiteral):
        return 1 << 31 <= node.value < 1 << 32 and node.text[:2].lower() == "0x"
    if isinstance(node, ast.Cast):
        return NAMED.get(node.type.name) == UINT and not node.type.pointer
    if isinstance(node, ast.Conditional):
        return _is_unsigned(node.then, variables) or _is_unsigned(node.otherwise, variables)
    if isinstance(node, ast.Binary) and node.operator in ("+", "-", "*", "|", "&", "^"):
        return _is_unsigned(node.left, variables) or _is_unsigned(node.right, variables)
    return False


def _is_loose(node: ast.Expression) -> bool:
    if isinstance(node, ast.Conditional | ast.Assignment):
        return True
    return isinstance(node, ast.Binary) and PRECEDENCE[node.operator] <= _SHIFT

"""Conversions that C makes in silence, written as casts, and unused names marked: what strict compilers warn of.

A cast has the type that C converts to anyway, so that nothing means anything else. It also sets apart what compilers
want in parentheses, where people confuse the strength of operators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from autocomp.targets.simulator.isa.model import Instruction
from autocomp.targets.simulator.kernel.code.types import (
    BY_ELEMENT,
    DOUBLE,
    FLOAT,
    INT,
    INT64,
    NAMED,
    UINT,
    UINT64,
    Scalar,
    common,
    promote,
)
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.walk import walk
from autocomp.targets.simulator.transforms.syntax.rewrite import map_expressions, rewrite_statements

_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_SUMS = ("+", "-")
# By operator the operators of operands that compilers want in parentheses.
_CONFUSED = {
    "|": ("&", "^", *_SUMS, *_COMPARISONS),
    "^": ("&", *_SUMS, *_COMPARISONS),
    "&": (*_SUMS, *_COMPARISONS),
    "<<": _SUMS,
    ">>": _SUMS,
    "||": ("&&",),
    **dict.fromkeys(_COMPARISONS, _COMPARISONS),
}
_SPELLED = {UINT64: "uint64_t", INT64: "int64_t", INT: "int"}
Signature = tuple[Scalar | None, ...]  # the types of a function's parameters; None: not a number
_Names = Mapping[str, tuple[Scalar, int]]  # the type of a name's elements, and how many subscripts it has


def explicit(
    function: ast.Function,
    constants: Mapping[str, int | float],
    types: Mapping[str, str],
    callees: Mapping[str, Signature],
) -> ast.Function:
    """The function of C with its silent conversions as casts. `constants` are the header's macros, `types` its names of
    element types, and `callees` functions that it may call. Expressions whose types are not known stay."""
    names = dict(_constants(constants)) | _variables(function, types)
    conversions = _Conversions(names, types, callees)
    body = map_expressions(function.body, conversions.of_operands)
    body = rewrite_statements(body, conversions.of_statement(_number(function.return_type, types)))
    return _without_unused(replace(function, body=body))


def signature(function: ast.Function, types: Mapping[str, str]) -> Signature:
    return tuple(_number(parameter.type, types) for parameter in function.parameters)


def signature_of_issue(instruction: Instruction) -> Signature:
    """Of the function that issues an instruction."""
    kinds = {"integer": INT64, "float": FLOAT, "address": UINT, "pointer": None}
    return tuple(kinds[parameter.kind] for parameter in instruction.parameters)


class _Conversions:
    def __init__(self, names: _Names, types: Mapping[str, str], callees: Mapping[str, Signature]) -> None:
        self._names = names
        self._types = types
        self._callees = callees

    def of_operands(self, node: ast.Expression) -> ast.Expression:
        """An expression whose operands have got their casts already."""
        if isinstance(node, ast.Binary):
            return self._of_binary(node)
        if isinstance(node, ast.Conditional):
            kind = self._type(node)
            return replace(node, then=self._to(node.then, kind), otherwise=self._to(node.otherwise, kind))
        if isinstance(node, ast.Assignment):
            return replace(node, value=self._to(node.value, self._assigned(node)))
        if isinstance(node, ast.Call) and node.function in self._callees:
            pairs = zip(node.arguments, self._callees[node.function], strict=True)
            return replace(node, arguments=tuple(self._to(argument, kind) for argument, kind in pairs))
        return node

    def _assigned(self, node: ast.Assignment) -> Scalar | None:
        """The type that C makes of an assignment's value; `x op= y` computes in the common type of both."""
        target = self._type(node.target)
        if not node.operator:
            return target
        return None if node.operator in ("<<", ">>") else _both(common, target, self._type(node.value))

    def of_statement(self, returned: Scalar | None) -> Callable[[ast.Statement, object], ast.Statement | None]:
        def change(statement: ast.Statement, _: object) -> ast.Statement | None:
            if isinstance(statement, ast.Declaration):
                return self._of_declaration(statement)
            if isinstance(statement, ast.For) and isinstance(statement.initial, ast.Declaration):
                return replace(statement, initial=self._of_declaration(statement.initial))
            if isinstance(statement, ast.Return) and statement.value is not None:
                return replace(statement, value=self._to(statement.value, returned))
            return None

        return change

    def _of_declaration(self, declaration: ast.Declaration) -> ast.Declaration:
        declarators = []
        for declarator in declaration.declarators:
            plain = declarator.initializer is not None and not isinstance(declarator.initializer, ast.InitializerList)
            if plain and declarator.initializer is not None:
                declarator = replace(
                    declarator, initializer=self._to(declarator.initializer, _number(declarator.type, self._types))
                )
            declarators.append(declarator)
        return replace(declaration, declarators=tuple(declarators))

    def _of_binary(self, node: ast.Binary) -> ast.Binary:
        left, right = self._type(node.left), self._type(node.right)
        if left is None or right is None:
            return node
        if node.operator in ("&&", "||", "<<", ">>"):
            kinds: tuple[Scalar, Scalar] = promote(left), promote(right)
        else:
            kinds = common(left, right), common(left, right)
        confused = _CONFUSED.get(node.operator, ())
        operands = [
            self._to(operand, kind, apart=isinstance(operand, ast.Binary) and operand.operator in confused)
            for operand, kind in zip((node.left, node.right), kinds, strict=True)
        ]
        return replace(node, left=operands[0], right=operands[1])

    def _to(self, node: ast.Expression, wanted: Scalar | None, *, apart: bool = False) -> ast.Expression:
        """The expression with a cast to the type that C makes of it, where that may change its value or sign, or where
        it is to stand `apart`."""
        present = self._type(node)
        if wanted is None or present is None:
            return node
        if not apart and (_holds(wanted, present) or _is_constant_of(node, wanted)):
            return node
        if isinstance(node, ast.Cast) and _number(node.type, self._types) == wanted:
            return node
        return ast.Cast(ast.Type(_SPELLED.get(wanted, wanted.name)), node)

    def _type(self, node: ast.Expression) -> Scalar | None:
        """The type of a number, as C computes it; None for what is not one, and where it is not known."""
        if isinstance(node, ast.IntLiteral):
            return _of_literal(node)
        if isinstance(node, ast.FloatLiteral):
            return FLOAT if node.single else DOUBLE
        if isinstance(node, ast.Name | ast.Index):
            return self._of_element(node)
        if isinstance(node, ast.Unary):
            return self._of_unary(node)
        if isinstance(node, ast.Cast):
            return _number(node.type, self._types)
        if isinstance(node, ast.SizeOf):
            return UINT64
        if isinstance(node, ast.Assignment | ast.Increment):
            return self._type(node.target)
        if isinstance(node, ast.Conditional):
            return _both(common, self._type(node.then), self._type(node.otherwise))
        return self._of_operator(node) if isinstance(node, ast.Binary) else None

    def _of_operator(self, node: ast.Binary) -> Scalar | None:
        left, right = self._type(node.left), self._type(node.right)
        if node.operator in ("&&", "||", *_COMPARISONS):
            return INT
        if node.operator in ("<<", ">>"):
            return _both(lambda one, _: promote(one), left, right)
        return _both(common, left, right)

    def _of_unary(self, node: ast.Unary) -> Scalar | None:
        if node.operator == "!":
            return INT
        if node.operator == "*":
            return self._of_element(ast.Index(node.operand, ast.IntLiteral(0)))
        kind = self._type(node.operand) if node.operator != "&" else None
        return None if kind is None else promote(kind)

    def _of_element(self, node: ast.Expression) -> Scalar | None:
        subscripts = 0
        while isinstance(node, ast.Index):
            node, subscripts = node.base, subscripts + 1
        kind, depth = self._names.get(node.name, (None, 0)) if isinstance(node, ast.Name) else (None, 0)
        return kind if depth == subscripts else None


def _both(combine: Callable[[Scalar, Scalar], Scalar], left: Scalar | None, right: Scalar | None) -> Scalar | None:
    return None if left is None or right is None else combine(left, right)


def _holds(wanted: Scalar, present: Scalar) -> bool:
    """True if the type has all values of the other."""
    if wanted.floating:
        mantissa = {32: 24, 64: 53}.get(wanted.bits, 0)
        return present.bits <= wanted.bits if present.floating else present.bits <= mantissa
    return not present.floating and wanted.low <= present.low and present.high <= wanted.high


def _is_constant_of(node: ast.Expression, wanted: Scalar) -> bool:
    """True for a whole number within the type."""
    return isinstance(node, ast.IntLiteral) and not wanted.floating and wanted.low <= node.value <= wanted.high


def _of_literal(node: ast.IntLiteral) -> Scalar:
    """The first type of C that has the value; decimal numbers without a suffix are signed."""
    unsigned, decimal = "u" in node.suffix, node.text[:2].lower() not in ("0x", "0b")
    for kind in (INT, UINT, INT64, UINT64):
        wide_enough = kind.bits == 64 or "l" not in node.suffix
        fits_sign = not kind.signed if unsigned else kind.signed or not decimal
        if wide_enough and fits_sign and kind.low <= node.value <= kind.high:
            return kind
    return UINT64


def _constants(constants: Mapping[str, int | float]) -> Iterable[tuple[str, tuple[Scalar, int]]]:
    """The macros of the header; large ones are hexadecimal there."""
    for name, value in constants.items():
        if isinstance(value, float):
            yield name, (DOUBLE, 0)
        else:
            yield name, (_of_literal(ast.IntLiteral(abs(value), "0x" if value > INT.high else "")), 0)


def _variables(function: ast.Function, types: Mapping[str, str]) -> dict[str, tuple[Scalar, int]]:
    """Those of a function; a name that is declared in several ways is not known."""
    uses: dict[str, set[tuple[Scalar | None, int]]] = {}
    declared = [(d.name, d.type) for d in walk(function.body) if isinstance(d, ast.Declarator)]
    for name, kind in [*declared, *((p.name, p.type) for p in function.parameters)]:
        element = _scalar(kind.name, types)
        uses.setdefault(name, set()).add((element, kind.pointer + len(kind.extents)))
    known = {name: next(iter(kinds)) for name, kinds in uses.items() if len(kinds) == 1}
    return {name: (element, depth) for name, (element, depth) in known.items() if element is not None}


def _number(kind: ast.Type, types: Mapping[str, str]) -> Scalar | None:
    return None if kind.pointer or kind.extents else _scalar(kind.name, types)


def _scalar(name: str, types: Mapping[str, str]) -> Scalar | None:
    scalar = BY_ELEMENT.get(types[name]) if name in types else NAMED.get(name)
    return scalar if isinstance(scalar, Scalar) else None


def _without_unused(function: ast.Function) -> ast.Function:
    """The function with each name that it declares and does not use as a statement of its own. Of a name that it
    declares several times some may not be used."""
    declared = Counter(node.name for node in walk(function.body) if isinstance(node, ast.Declarator))
    used = {node.name for node in walk(function.body) if isinstance(node, ast.Name) and declared[node.name] < 2}

    def change(statement: ast.Statement, _: object) -> tuple[ast.Statement, ...] | None:
        if not isinstance(statement, ast.Declaration):
            return None
        unused = [declarator.name for declarator in statement.declarators if declarator.name not in used]
        return (statement, *map(_mentioned, unused)) if unused else None

    body = rewrite_statements(function.body, change)
    unused = [_mentioned(p.name) for p in function.parameters if p.name not in used]
    return replace(function, body=replace(body, statements=(*unused, *body.statements)))


def _mentioned(name: str) -> ast.Statement:
    return ast.ExpressionStatement(ast.Cast(ast.Type("void"), ast.Name(name)))

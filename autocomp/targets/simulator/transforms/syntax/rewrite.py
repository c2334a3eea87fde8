"""Walking and rewriting kernels: every function returns a new tree and leaves the old one alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar, get_args

from autocomp.remember import remembered
from autocomp.targets.simulator.kernel.syntax import ast

_EXPRESSIONS = frozenset(get_args(ast.Expression))
_NODES = _EXPRESSIONS | {*get_args(ast.Statement), ast.Declarator, ast.Type}

Node = TypeVar("Node")
Path = tuple[int, ...]  # child numbers from the entry function's body down to a statement


@cache
def _field_names(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a kind of node that may hold nodes."""
    return tuple(entry.name for entry in fields(kind) if entry.name not in ("line", "text", "name", "operator"))


@remembered
def children(node: Any) -> tuple[Any, ...]:
    """The nodes directly below a node, in source order."""
    nodes: list[Any] = []
    for name in _field_names(node.__class__):
        value = getattr(node, name)
        if value.__class__ is tuple:
            nodes.extend([part for part in value if part.__class__ in _NODES])
        elif value.__class__ in _NODES:
            nodes.append(value)
    return tuple(nodes)


def _but_expressions(node: Any) -> list[Any]:
    """The statements and declarators directly below a node."""
    return [part for part in children(node) if part.__class__ not in _EXPRESSIONS]


def walk(node: Any) -> Iterator[Any]:
    """The node and everything below it, parents first, in source order."""
    pending = [node]
    while pending:
        item = pending.pop()
        yield item
        pending.extend(reversed(children(item)))


def walk_statements(node: Any) -> Iterator[Any]:
    """The same without expressions and what is below them."""
    pending = [node]
    while pending:
        item = pending.pop()
        yield item
        pending.extend(reversed(_but_expressions(item)))


def map_expressions(
    node: Node,
    change: Callable[[ast.Expression], ast.Expression],
    keep: Callable[[Any], bool] = lambda part: False,
) -> Node:
    """The tree with `change` applied to every expression, operands before their operators; parts for which `keep`
    holds are left as they are."""

    def visit(part: Any) -> Any:
        if keep(part):
            return part
        updates: dict[str, Any] = {}
        for name in _field_names(part.__class__):
            value = getattr(part, name)
            if value.__class__ is tuple:
                mapped = tuple([visit(item) if item.__class__ in _NODES else item for item in value])
                if any(new is not old for new, old in zip(mapped, value, strict=True)):
                    updates[name] = mapped
            elif value.__class__ in _NODES:
                new = visit(value)
                if new is not value:
                    updates[name] = new
        result = replace(part, **updates) if updates else part
        return change(result) if result.__class__ in _EXPRESSIONS else result

    mapped: Node = visit(node)
    return mapped


def substitute(node: Node, values: Mapping[str, ast.Expression]) -> Node:
    """The tree with names replaced by expressions. Declared names must not be among them."""
    if values.keys().isdisjoint(names(node)):
        return node

    def change(expression: ast.Expression) -> ast.Expression:
        return values.get(expression.name, expression) if isinstance(expression, ast.Name) else expression

    return map_expressions(node, change, lambda part: values.keys().isdisjoint(names(part)))


def redeclared(statement: ast.Statement, new: Mapping[str, str]) -> ast.Statement:
    """A declaration, or a loop that declares its variable, with other names for what it declares."""
    if isinstance(statement, ast.Declaration):
        return _redeclared(statement, new)
    if isinstance(statement, ast.For) and isinstance(statement.initial, ast.Declaration):
        return replace(statement, initial=_redeclared(statement.initial, new))
    return statement


def _redeclared(declaration: ast.Declaration, new: Mapping[str, str]) -> ast.Declaration:
    return replace(
        declaration, declarators=tuple(replace(d, name=new.get(d.name, d.name)) for d in declaration.declarators)
    )


def renamed(block: ast.Block, new: Mapping[str, str]) -> ast.Block:
    """The block with variables under other names, their declarations included."""
    used = substitute(block, {old: ast.Name(name) for old, name in new.items()})
    return rewrite_statements(used, lambda statement, path: redeclared(statement, new))


@remembered
def names(node: Any) -> frozenset[str]:
    """Every variable that is read or written below the node."""
    own = (node.name,) if isinstance(node, ast.Name) else ()
    return frozenset(own).union(*map(names, children(node)))


@remembered
def declared(node: Any) -> frozenset[str]:
    """Every variable that is declared below the node."""
    own = (node.name,) if isinstance(node, ast.Declarator) else ()
    return frozenset(own).union(*map(declared, _but_expressions(node)))


@remembered
def assigned(node: Any) -> frozenset[str]:
    """Every variable whose value changes below the node after its declaration."""
    changes = isinstance(node, ast.Assignment | ast.Increment) and isinstance(node.target, ast.Name)
    own = (node.target.name,) if changes else ()
    return frozenset(own).union(*map(assigned, children(node)))


@remembered
def shared(node: Any) -> frozenset[str]:
    """Every variable whose address is taken below the node."""
    taken = isinstance(node, ast.Unary) and node.operator == "&" and isinstance(node.operand, ast.Name)
    own = (node.operand.name,) if taken else ()
    return frozenset(own).union(*map(shared, children(node)))


@remembered
def leaves_early(node: Any) -> bool:
    """True if control may leave the node other than at its end."""
    return isinstance(node, ast.Break | ast.Continue | ast.Return) or any(map(leaves_early, _but_expressions(node)))


@remembered
def called(node: Any) -> frozenset[str]:
    """Every function that is called below the node."""
    own = (node.function,) if isinstance(node, ast.Call) else ()
    return frozenset(own).union(*map(called, children(node)))


def all_names(kernel: ast.Kernel) -> frozenset[str]:
    """Names that a new variable must not take."""
    every: set[str] = set(kernel.constants)
    for function in kernel.functions:
        every.add(function.name)
        every.update(parameter.name for parameter in function.parameters)
        every |= names(function.body) | declared(function.body) | called(function.body)
    return frozenset(every)


def fresh(wanted: str, taken: Iterable[str]) -> str:
    """`wanted`, or `wanted` with the lowest number that makes it new."""
    used = set(taken)
    if wanted not in used:
        return wanted
    number = 2
    while f"{wanted}{number}" in used:
        number += 1
    return f"{wanted}{number}"


def call_of(statement: ast.Statement) -> ast.Call | None:
    """The call that a statement consists of, or None."""
    if isinstance(statement, ast.ExpressionStatement) and isinstance(statement.expression, ast.Call):
        return statement.expression
    return None


def with_arguments(call: ast.Call, arguments: Mapping[int, ast.Expression]) -> ast.Call:
    """The call with other arguments in some positions."""
    return replace(call, arguments=tuple(arguments.get(n, given) for n, given in enumerate(call.arguments)))


def blocks(statement: ast.Statement) -> tuple[ast.Block, ...]:
    """The blocks that a statement holds directly."""
    if isinstance(statement, ast.Block):
        return (statement,)
    if isinstance(statement, ast.If):
        return (statement.then,) if statement.otherwise is None else (statement.then, statement.otherwise)
    if isinstance(statement, ast.For | ast.While | ast.DoWhile):
        return (statement.body,)
    return ()


def with_blocks(statement: ast.Statement, new: tuple[ast.Block, ...]) -> ast.Statement:
    """The statement with its blocks exchanged; `new` is as long as `blocks(statement)`."""
    if all(a is b for a, b in zip(new, blocks(statement), strict=True)):
        return statement
    if isinstance(statement, ast.Block):
        return new[0]
    if isinstance(statement, ast.If):
        return replace(statement, then=new[0], otherwise=new[1] if len(new) > 1 else None)
    if isinstance(statement, ast.For | ast.While | ast.DoWhile):
        return replace(statement, body=new[0])
    return statement


def with_statements(block: ast.Block, new: tuple[ast.Statement, ...]) -> ast.Block:
    """The block with other statements; the block itself if they are the same."""
    if len(new) == len(block.statements) and all(a is b for a, b in zip(new, block.statements, strict=True)):
        return block
    return ast.Block(new)


Rewriter = Callable[[ast.Statement, Path], "ast.Statement | tuple[ast.Statement, ...] | None"]


def rewrite_statements(block: ast.Block, change: Rewriter, path: Path = ()) -> ast.Block:
    """The block with statements replaced, inner ones first.

    `change(statement, path)` returns a statement, several (possibly none), or None to keep it. A path numbers the
    statements from the outside in; the second block of an `if` counts on from where the first one ends.
    """
    result: list[ast.Statement] = []
    for number, statement in enumerate(block.statements):
        here = (*path, number)
        inner: list[ast.Block] = []
        offset = 0
        for held in blocks(statement):
            inner.append(_rewrite_from(held, change, here, offset))
            offset += len(held.statements)
        kept = with_blocks(statement, tuple(inner))
        new = change(kept, here)
        result.extend((kept,) if new is None else new if isinstance(new, tuple) else (new,))
    return with_statements(block, tuple(result))


def _rewrite_from(block: ast.Block, change: Rewriter, path: Path, offset: int) -> ast.Block:
    if offset == 0:
        return rewrite_statements(block, change, path)
    return rewrite_statements(block, lambda s, p: change(s, _shift(p, len(path), offset)), path)


def _shift(path: Path, depth: int, offset: int) -> Path:
    return (*path[:depth], path[depth] + offset, *path[depth + 1 :])


def replace_at(block: ast.Block, path: Path, new: ast.Statement | tuple[ast.Statement, ...]) -> ast.Block:
    """The block with the statement at `path` replaced."""
    return rewrite_statements(block, lambda statement, here: new if here == path else None)


def statement_at(block: ast.Block, path: Path) -> ast.Statement:
    """The statement at `path`."""
    statements: tuple[ast.Statement, ...] = block.statements
    for number in path[:-1]:
        statements = tuple(s for held in blocks(statements[number]) for s in held.statements)
    return statements[path[-1]]


def with_body(kernel: ast.Kernel, body: ast.Block) -> ast.Kernel:
    """The kernel with another body of its entry function, detached from its old text."""
    entry = replace(kernel.entry, body=body)
    return replace(kernel, functions=(*kernel.functions[:-1], entry), source="")

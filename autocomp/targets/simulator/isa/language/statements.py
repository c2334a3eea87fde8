"""From syntax to statements of an instruction's body."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from lark import Token

from autocomp.targets.simulator.isa.language.expressions import build, build_int, check_free, fail, is_tree, reference
from autocomp.targets.simulator.isa.language.scope import Function, Scope
from autocomp.targets.simulator.isa.language.syntax import SyntaxTree
from autocomp.targets.simulator.isa.tree import (
    Assign,
    Element,
    Expression,
    For,
    Let,
    Number,
    Require,
    StateField,
    Statement,
    When,
)

_KIND = {"int": "an integer", "float": "a float"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
MAX_LOOPS = 6  # loop variables in one nest, sums included


def text_of(node: SyntaxTree) -> str:
    """The text of adjacent strings, joined by spaces where a string does not end in one."""
    parts = [_ESCAPE.sub(_escaped, str(token)[1:-1].replace("\t", " ")) for token in node.children]
    return " ".join(part.strip() for part in parts).strip()


def _escaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]


def doc_text(nodes: Sequence[SyntaxTree]) -> str:
    """The text of the `doc` items among some nodes."""
    return " ".join(text_of(cast(SyntaxTree, node.children[0])) for node in nodes if is_tree(node, "doc"))


def names_of(node: SyntaxTree) -> tuple[str, ...]:
    """The words of a list of names."""
    return tuple(str(token) for token in node.children)


def build_function(scope: Scope, node: SyntaxTree, local: bool) -> tuple[str, Function]:
    """A function's name and meaning from `let f(x) = …` or `function f(x) = …`."""
    token, parameters, body = node.children
    names = names_of(cast(SyntaxTree, parameters))
    if len(set(names)) != len(names):
        fail(scope, node, f"{token} has two parameters of one name")
    if str(token) in scope.functions or scope.taken(str(token)):
        fail(scope, cast(Token, token), f"{str(token)!r} is already defined", "choose another name")
    return str(token), Function(names, cast(SyntaxTree, body), scope if local else None)


def build_block(scope: Scope, nodes: Sequence[SyntaxTree], loops: int = 0) -> tuple[Statement, ...]:
    """The statements of a block; a let is visible from the next statement to the block's end."""
    statements, _ = build_sequence(scope, nodes, loops)
    return statements


def build_sequence(scope: Scope, nodes: Sequence[SyntaxTree], loops: int = 0) -> tuple[tuple[Statement, ...], Scope]:
    """The statements and the scope after them."""
    statements: list[Statement] = []
    for node in nodes:
        named = (str(node.children[0]),) if is_tree(node, "let") or is_tree(node, "let_function") else ()
        with scope.source.collect(*named):
            statement, scope = _one(scope, node, loops)
            statements.extend(statement)
    return tuple(statements), scope


def _one(scope: Scope, node: SyntaxTree, loops: int) -> tuple[tuple[Statement, ...], Scope]:
    """The statements of a node, and the scope after it."""
    if is_tree(node, "require"):
        requirement = build_require(scope, node)
        holds = isinstance(requirement.condition, Number) and requirement.condition.value
        return (() if holds else (requirement,)), scope
    if is_tree(node, "let"):
        token = cast(Token, node.children[0])
        check_free(scope, token)
        value = build(scope, cast(SyntaxTree, node.children[1]))
        if isinstance(value.expression, Number):
            return (), scope.bind(str(token), value)
        return (Let(str(token), value.expression),), scope.bind_variable(str(token), value.kind)
    if is_tree(node, "let_function"):
        name, function = build_function(scope, node, local=True)
        return (), scope.define(name, function)
    if is_tree(node, "when"):
        return _when(scope, node, loops), scope
    return (_statement(scope, node, loops),), scope


def _statement(scope: Scope, node: SyntaxTree, loops: int) -> Statement:
    data = str(node.data)
    if data in ("for_loop", "repeat"):
        return _loop(scope, node, loops)
    return _assign(scope, node, loops)


def build_require(scope: Scope, node: SyntaxTree) -> Require:
    """A condition and the message for when it does not hold."""
    condition, text = cast(list[SyntaxTree], node.children)
    return Require(build_int(scope, condition), text_of(text), scope.source.of(node))


def _loop(scope: Scope, node: SyntaxTree, loops: int) -> For:
    ordered = is_tree(node, "repeat")
    if ordered and scope.parallel:
        fail(scope, node, "a repeat cannot be inside a for", "values of a for are computed before any is stored")
    variables: list[tuple[str, Expression]] = []
    *heads, body = cast(list[SyntaxTree], node.children)
    for head in heads:
        token, bound = head.children
        variables.append((str(token), build_int(scope, cast(SyntaxTree, bound))))
        check_free(scope, cast(Token, token))
        scope = scope.bind_variable(str(token))
    if loops + len(variables) > MAX_LOOPS:
        fail(scope, node, f"more than {MAX_LOOPS} loops are nested")
    scope = replace(scope, parallel=scope.parallel or not ordered)
    nodes = cast(list[SyntaxTree], body.children) if is_tree(body, "block") else [body]
    for inner in nodes:
        if is_tree(inner, "require"):
            fail(scope, inner, "a requirement cannot be inside a loop", "state it before the loop")
    return For(tuple(variables), build_block(scope, nodes, loops + len(variables)), ordered)


def _when(scope: Scope, node: SyntaxTree, loops: int) -> tuple[Statement, ...]:
    """The statement, or the statements of the side that parameters alone decide for: the other need not make sense."""
    condition_node, then, *otherwise = cast(list[SyntaxTree], node.children)
    other = otherwise[0] if otherwise else None
    then_nodes = cast(list[SyntaxTree], then.children)
    other_nodes: list[SyntaxTree] = []
    if other is not None:
        other_nodes = cast(list[SyntaxTree], other.children) if is_tree(other, "block") else [other]
    condition = build_int(scope, condition_node)
    if isinstance(condition, Number):
        return build_block(scope, then_nodes if condition.value else other_nodes, loops)
    return (When(condition, build_block(scope, then_nodes, loops), build_block(scope, other_nodes, loops)),)


def _assign(scope: Scope, node: SyntaxTree, loops: int) -> Assign:
    target_node, value_node = cast(list[SyntaxTree], node.children)
    target = reference(scope, target_node)
    if not isinstance(target.expression, Element | StateField):
        fail(scope, target_node, "only memory, registers, DRAM and state can be assigned to")
    if isinstance(target.expression, StateField) and loops:
        fail(scope, node, "state cannot be assigned in a loop")
    value = build(scope, value_node)
    expression = value.expression
    if value.kind == "int" and target.kind == "float" and isinstance(expression, Number):
        expression = Number(float(expression.value))
    elif value.kind != target.kind:
        hint = "float(x) converts an integer" if target.kind == "float" else "round(x) converts a float"
        fail(
            scope,
            value_node,
            f"{_KIND[value.kind]} is assigned to {_KIND[target.kind]}",
            hint,
        )
    return Assign(target.expression, expression, scope.source.of(node))

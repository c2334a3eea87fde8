"""From syntax to the streams of commands that an instruction of an expander unit expands to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from lark import Token

from autocomp.targets.simulator.isa.language.expressions import (
    build,
    build_int,
    check_free,
    evaluate_int,
    fail,
    is_tree,
    unknown,
)
from autocomp.targets.simulator.isa.language.scope import Scope
from autocomp.targets.simulator.isa.language.statements import build_function, names_of
from autocomp.targets.simulator.isa.language.syntax import SyntaxTree
from autocomp.targets.simulator.isa.model import Instruction, Parameter
from autocomp.targets.simulator.isa.tree import (
    Await,
    Choose,
    Emit,
    Expression,
    Iterate,
    Let,
    Number,
    Stream,
    StreamStatement,
)

MAX_STREAMS = 16
MAX_LOOPS = 10  # loop variables around a command

Known = Mapping[str, Instruction]


def build_streams(scope: Scope, node: SyntaxTree, known: Known) -> tuple[Stream, ...]:
    """The streams of an `expand { }`; `known` are the instructions that they may send."""
    nodes = cast(list[SyntaxTree], node.children)
    names = [str(stream.children[0]) for stream in nodes]
    for stream in nodes:
        if names.count(str(stream.children[0])) > 1:
            fail(scope, stream, f"stream {stream.children[0]} is declared twice")
    if len(nodes) > MAX_STREAMS:
        fail(scope, node, f"more than {MAX_STREAMS} streams")
    variables = {name: _variables(scope, stream, ()) for name, stream in zip(names, nodes, strict=True)}
    streams = tuple(_Builder(variables, known).stream(scope, stream) for stream in nodes)
    _check_order(scope, nodes, streams)
    return streams


def _check_order(scope: Scope, nodes: Sequence[SyntaxTree], streams: Sequence[Stream]) -> None:
    """Streams that start after each other never start."""
    starting: set[str] = set()
    waiting = {stream.name: node for stream, node in zip(streams, nodes, strict=True)}
    while free := [s.name for s in streams if s.name in waiting and starting.issuperset(s.after)]:
        starting.update(free)
        for name in free:
            del waiting[name]
    if waiting:
        fail(scope, next(iter(waiting.values())), f"{', '.join(waiting)} never start: `after` goes in a circle")


def _variables(scope: Scope, node: SyntaxTree, outer: tuple[str, ...]) -> tuple[str, ...]:
    """The loop variables of a stream by their depth; nests side by side use the same ones in the same order."""
    if is_tree(node, "stream_for"):
        heads = cast(list[SyntaxTree], [child for child in node.children if is_tree(child, "stream_variable")])
        outer += tuple(str(head.children[0]) for head in heads)
    longest = outer
    for child in node.children:
        if is_tree(child, "stream_for") or is_tree(child, "stream_when") or is_tree(child, "stream_block"):
            inner = _variables(scope, cast(SyntaxTree, child), outer)
            if inner[: len(longest)] != longest[: len(inner)]:
                fail(scope, cast(SyntaxTree, child), "the loops of a stream use the same variables in the same order")
            longest = max(longest, inner, key=len)
    return longest


class _Builder:
    def __init__(self, variables: Mapping[str, tuple[str, ...]], known: Known) -> None:
        self._variables = variables
        self._known = known

    def stream(self, scope: Scope, node: SyntaxTree) -> Stream:
        name, priority, *rest = node.children
        after: tuple[str, ...] = ()
        if len(rest) > 1:
            after = names_of(cast(SyntaxTree, rest[0]))
            for token in cast(list[Token], cast(SyntaxTree, rest[0]).children):
                others = [other for other in self._variables if other != str(name)]
                if str(token) not in others:
                    unknown(scope, token, "other stream", str(token), others)
        body = self._block(scope, cast(SyntaxTree, rest[-1]).children, 0)
        return Stream(str(name), evaluate_int(scope, cast(SyntaxTree, priority), 0, 1000), after, body)

    def _block(self, scope: Scope, nodes: Sequence[object], loops: int) -> tuple[StreamStatement, ...]:
        statements: list[StreamStatement] = []
        for node in cast(list[SyntaxTree], nodes):
            data = str(node.data)
            if data == "let":
                token = cast(Token, node.children[0])
                check_free(scope, token)
                value = build(scope, cast(SyntaxTree, node.children[1]))
                statements.append(Let(str(token), value.expression))
                scope = scope.bind_variable(str(token), value.kind)
            elif data == "let_function":
                scope = scope.define(*build_function(scope, node, local=True))
            elif data == "stream_for":
                statements.append(self._loop(scope, node, loops))
            elif data == "stream_when":
                statements.append(self._choice(scope, node, loops))
            elif data == "await":
                inner = replace(scope, streams=self._variables)
                statements.append(Await(build_int(inner, cast(SyntaxTree, node.children[0]))))
            else:
                statements.append(self._emit(scope, cast(SyntaxTree, node.children[0])))
        return tuple(statements)

    def _loop(self, scope: Scope, node: SyntaxTree, loops: int) -> Iterate:
        *heads, body = cast(list[SyntaxTree], node.children)
        parts: list[tuple[str, Expression, Expression]] = []
        for head in heads:
            token, bound, *step = head.children
            check_free(scope, cast(Token, token))
            steps = build_int(scope, cast(SyntaxTree, step[0])) if step else Number(1)
            parts.append((str(token), build_int(scope, cast(SyntaxTree, bound)), steps))
            scope = scope.bind_variable(str(token))
        if loops + len(parts) > MAX_LOOPS:
            fail(scope, node, f"more than {MAX_LOOPS} loops are nested")
        statements = self._block(scope, body.children if is_tree(body, "stream_block") else [body], loops + len(parts))
        for variable, bound_expression, step_expression in reversed(parts):
            statements = (Iterate(variable, bound_expression, step_expression, statements),)
        return cast(Iterate, statements[0])

    def _choice(self, scope: Scope, node: SyntaxTree, loops: int) -> Choose:
        condition, then, *otherwise = cast(list[SyntaxTree], node.children)
        other: Sequence[object] = []
        if otherwise:
            other = otherwise[0].children if is_tree(otherwise[0], "stream_block") else otherwise
        return Choose(
            build_int(scope, condition),
            self._block(scope, then.children, loops),
            self._block(scope, other, loops),
        )

    def _emit(self, scope: Scope, call: SyntaxTree) -> Emit:
        token, *arguments = call.children
        instruction = self._known.get(str(token))
        if instruction is None:
            unknown(scope, cast(Token, token), "instruction declared before", str(token), list(self._known))
        if instruction.streams or instruction.unit is None:
            fail(scope, call, f"{token} cannot be sent by a stream", "only a command of a unit, and no expansion")
        if len(arguments) != len(instruction.parameters):
            fail(scope, call, f"{token} needs {len(instruction.parameters)} arguments, {len(arguments)} given")
        return Emit(
            str(token),
            tuple(
                _argument(scope, cast(SyntaxTree, node), parameter)
                for node, parameter in zip(arguments, instruction.parameters, strict=True)
            ),
        )


def _argument(scope: Scope, node: SyntaxTree, parameter: Parameter) -> Expression:
    value = build(scope, node)
    if parameter.kind == "float":
        if value.kind == "int" and isinstance(value.expression, Number):
            return Number(float(value.expression.value))
        if value.kind == "int":
            fail(scope, node, f"{parameter.name} is a float", "float(x) converts an integer")
    elif value.kind == "float":
        fail(scope, node, f"{parameter.name} is an integer", "round(x) converts a float")
    return value.expression

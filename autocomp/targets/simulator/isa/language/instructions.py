"""From syntax to instructions, call forms and idioms."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from lark import Token

from autocomp.targets.simulator.isa.language.encoding import build_encoding
from autocomp.targets.simulator.isa.language.expressions import build, evaluate_int, fail, is_tree, unknown
from autocomp.targets.simulator.isa.language.scope import Scope, Value
from autocomp.targets.simulator.isa.language.statements import (
    build_block,
    build_require,
    build_sequence,
    names_of,
    text_of,
)
from autocomp.targets.simulator.isa.language.streams import build_streams
from autocomp.targets.simulator.isa.language.syntax import FollowUpError, SyntaxTree
from autocomp.targets.simulator.isa.model import Alias, EncodedField, Idiom, Instruction, Parameter, Procedure, Track
from autocomp.targets.simulator.isa.tree import Expression, Name, Statement, Stream

MAX_PARAMETERS = 64
STATED = ("rows", "columns", "depth", "peak")  # of a contraction


def build_instruction(
    scope: Scope,
    node: SyntaxTree,
    units: Sequence[str],
    known: Mapping[str, Instruction],
    settings: Mapping[str, int | float | str],
) -> Instruction:
    """One instruction: operands, requirements, semantics, timing, bits; `known` are those declared before."""
    token, parameter_list, *rest = node.children
    unit = str(rest[0]) if rest and isinstance(rest[0], Token) else None
    with scope.source.collect():
        if unit is not None and unit not in units:
            unknown(scope, cast(Token, rest[0]), "unit", unit, units)
    items = cast(list[SyntaxTree], rest[1:] if unit is not None else rest)
    parameters = _parameters(scope, cast(SyntaxTree, parameter_list))
    if len(parameters) < len(cast(SyntaxTree, parameter_list).children):
        scope.source.lose(str(token))
    inner = replace(scope, parameters={p.name: p for p in parameters})
    body: list[Statement] = []
    timing: dict[str, Expression] = {}
    words: dict[str, str] = {}
    streams: tuple[Stream, ...] = ()
    tracks: tuple[Track, ...] = ()
    encoding: tuple[EncodedField, ...] = ()
    implied: Mapping[str, str] = {}
    contraction: dict[str, int] = {}
    docs = []
    sent = any(is_tree(item, "sent") for item in items)
    for item in items:
        if is_tree(item, "sent"):
            continue
        with scope.source.collect():
            if is_tree(item, "doc"):
                docs.append(text_of(cast(SyntaxTree, item.children[0])))
            elif is_tree(item, "timing"):
                _timing(inner, item, timing, words)
            elif is_tree(item, "tracks"):
                tracks += tuple(_track(inner, cast(SyntaxTree, part)) for part in item.children)
            elif is_tree(item, "expand"):
                streams += build_streams(inner, item, known)
            elif is_tree(item, "encoding"):
                if encoding:
                    fail(scope, item, f"{token} has two encodings")
                encoding, implied = build_encoding(inner, item, parameters, settings)
            elif is_tree(item, "contraction"):
                _contraction(scope, item, contraction)
            elif is_tree(item, "semantics"):
                block = cast(SyntaxTree, item.children[0])
                body.extend(build_block(inner, cast(list[SyntaxTree], block.children)))
            else:
                statements, inner = build_sequence(inner, [item])
                body.extend(statements)
    place = scope.source.of(cast(Token, token))
    return Instruction(
        str(token),
        parameters,
        unit,
        tuple(body),
        timing,
        words,
        " ".join(docs),
        place,
        streams,
        tracks,
        encoding,
        implied,
        contraction,
        sent,
    )


def _parameters(scope: Scope, node: SyntaxTree) -> tuple[Parameter, ...]:
    parameters: list[Parameter] = []
    for item in cast(list[SyntaxTree], node.children):
        token, kind, *doc = item.children
        with scope.source.collect(str(token)):
            taken = scope.taken(str(token))
            if taken is not None or str(token) in [p.name for p in parameters]:
                what = taken or "a parameter of this instruction"
                fail(scope, cast(Token, token), f"{str(token)!r} is already {what}", "choose another name")
            text = str(doc[0])[1:-1] if doc else ""
            parameters.append(replace(_kind(scope, str(token), cast(SyntaxTree, kind)), doc=text))
    if len(parameters) > MAX_PARAMETERS:
        fail(scope, node, f"more than {MAX_PARAMETERS} parameters")
    return tuple(parameters)


def _kind(scope: Scope, name: str, node: SyntaxTree) -> Parameter:
    data = str(node.data)
    if data == "floating":
        return Parameter(name, "float")
    if data == "pointer":
        memory = cast(Token, node.children[0])
        known = [m.name for m in scope.memories.values() if m.kind == "dram"]
        if str(memory) not in known:
            unknown(scope, memory, "DRAM memory", str(memory), known)
        return Parameter(name, "pointer", memory="" if str(memory) == known[0] else str(memory))
    if data == "address_of":
        space = cast(Token, node.children[0])
        if str(space) not in scope.spaces:
            unknown(scope, space, "kind of operand", str(space), ["int", "float", *scope.spaces])
        return Parameter(name, "address", space=str(space))
    low = high = None
    names: tuple[str, ...] = ()
    for part in cast(list[SyntaxTree], node.children):
        if is_tree(part, "range"):
            low, high = (evaluate_int(scope, cast(SyntaxTree, bound)) for bound in part.children)
            if low > high:
                fail(scope, part, f"the range {low}..{high} is empty")
        else:
            names = names_of(part)
            for word in cast(list[Token], part.children):
                if str(word) not in scope.constants:
                    unknown(scope, word, "constant", str(word), list(scope.constants))
    beyond: tuple[str, ...] = ()
    if low is not None and high is not None:
        beyond = tuple(name for name in names if not low <= scope.constants[name] <= high)
    choices = tuple(name for name in names if name not in beyond)
    return Parameter(name, "integer", low=low, high=high, choices=choices, beyond=beyond)


def _timing(scope: Scope, node: SyntaxTree, timing: dict[str, Expression], words: dict[str, str]) -> None:
    for item in cast(list[SyntaxTree], node.children):
        with scope.source.collect():
            key, value = str(item.children[0]), cast(SyntaxTree, item.children[1])
            if key in timing or key in words:
                fail(scope, item, f"{key!r} is set twice")
            if is_tree(value, "name") and scope.lookup(str(value.children[0])) is None:
                words[key] = str(value.children[0])
            else:
                timing[key] = build(scope, value).expression


def _contraction(scope: Scope, node: SyntaxTree, stated: dict[str, int]) -> None:
    """Sizes of a contraction's largest tile, and its multiply-accumulates a cycle."""
    for item in cast(list[SyntaxTree], node.children):
        with scope.source.collect():
            key = cast(Token, item.children[0])
            if str(key) not in STATED:
                unknown(scope, key, "size of a contraction", str(key), STATED)
            if str(key) in stated:
                fail(scope, item, f"{str(key)!r} is stated twice")
            stated[str(key)] = evaluate_int(scope, cast(SyntaxTree, item.children[1]), 1, 1 << 40)


def _track(scope: Scope, node: SyntaxTree) -> Track:
    direction, memory, first, rows, *guard = node.children
    if direction not in ("read", "write"):
        unknown(scope, cast(Token, direction), "direction", str(direction), ["read", "write"])
    local = [name for name, space in scope.memories.items() if space.kind == "local"]
    if str(memory) not in local:
        unknown(scope, cast(Token, memory), "local memory", str(memory), local)
    built = [build(scope, cast(SyntaxTree, part)).expression for part in (first, rows, *guard)]
    return Track(direction == "write", str(memory), built[0], built[1], built[2] if guard else None)


def build_alias(scope: Scope, node: SyntaxTree, known: Mapping[str, Sequence[int]]) -> Alias:
    """A call form; `known` maps each instruction and earlier form to the argument counts that it takes."""
    token, parameter_list, expansion = node.children
    parameters = names_of(cast(SyntaxTree, parameter_list))
    if len(set(parameters)) != len(parameters):
        fail(scope, node, f"{token} has two parameters of one name")
    calls: list[tuple[str, tuple[Expression, ...]]] = []
    doc = ""
    for call in cast(list[SyntaxTree], cast(SyntaxTree, expansion).children):
        if is_tree(call, "note"):
            doc = text_of(cast(SyntaxTree, call.children[0]))
        else:
            calls.append(_call_form(scope, call, parameters, known))
    return Alias(
        str(token), parameters, tuple(calls), is_tree(node, "trace_alias"), doc, scope.source.of(cast(Token, token))
    )


def _call_form(
    scope: Scope, call: SyntaxTree, parameters: Sequence[str], known: Mapping[str, Sequence[int]]
) -> tuple[str, tuple[Expression, ...]]:
    name = cast(Token, call.children[0])
    if str(name) not in known:
        unknown(scope, name, "instruction or call form", str(name), list(known))
    if len(call.children) - 1 not in known[str(name)]:
        if scope.source.is_missing(str(name)):
            raise FollowUpError(f"{name} has lost parameters", place=scope.source.of(call))
        wanted = " or ".join(str(count) for count in known[str(name)])
        fail(
            scope, call, f"{name} takes {wanted} argument{'s' if wanted != '1' else ''}, {len(call.children) - 1} given"
        )
    inner = scope
    for parameter in parameters:  # their kinds follow from the instruction that they are passed to
        inner = inner.bind(parameter, Value(Name(parameter), "int"))
    return str(name), tuple(build(inner, cast(SyntaxTree, argument)).expression for argument in call.children[1:])


def with_parameters(scope: Scope, text: str) -> Scope:
    """A scope with the parameters of the function that a text defines."""
    for parameter in re.findall(r"(\w+)\s*(?:\[[^\]]*\]\s*)*[,)]", text.partition("{")[0]):
        scope = scope.bind(parameter, Value(Name(parameter), "int"))
    return scope


def build_procedure(scope: Scope, node: SyntaxTree) -> Procedure:
    """A function in the kernel dialect; what it says is checked where kernels are."""
    token, *items = node.children
    template, rest = cast(Token, items[-1]), cast(list[SyntaxTree], items[:-1])
    docs = [item for item in rest if is_tree(item, "doc")]
    doc = text_of(cast(SyntaxTree, docs[0].children[0])) if docs else ""
    text = str(template)[3:-3]
    if not text.strip():
        fail(scope, token, f"procedure {token} defines nothing")
    inner = with_parameters(scope, text)
    requirements = tuple(build_require(inner, item) for item in rest if is_tree(item, "require"))
    said = [text_of(cast(SyntaxTree, item.children[0])) for item in rest if is_tree(item, "said")]
    return Procedure(str(token), text, doc, requirements, scope.source.of(template), " ".join(said))


def build_idiom(scope: Scope, node: SyntaxTree) -> Idiom:
    """A recipe in the kernel dialect with `$name` holes."""
    token, parameter_list, *rest = node.children
    docs = [item for item in rest if is_tree(item, "doc")]
    doc = text_of(cast(SyntaxTree, cast(SyntaxTree, docs[0]).children[0])) if docs else ""
    text = textwrap.dedent(str(rest[-1])[3:-3]).strip("\n")
    place = scope.source.of(cast(Token, token))
    return Idiom(str(token), names_of(cast(SyntaxTree, parameter_list)), text.strip(), doc, place)

"""From syntax to address spaces: how an integer operand names a row of a local memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

from lark import Token

from autocomp.targets.simulator.isa.language.expressions import evaluate, evaluate_int, fail, is_tree, unknown
from autocomp.targets.simulator.isa.language.scope import Scope
from autocomp.targets.simulator.isa.language.statements import doc_text, text_of
from autocomp.targets.simulator.isa.language.syntax import SyntaxTree
from autocomp.targets.simulator.isa.model import AddressSpace


def build_address(scope: Scope, node: SyntaxTree) -> AddressSpace:
    """The address space of `address NAME { … }`; it has a row field and selects at least one memory."""
    token = cast(Token, node.children[0])
    items = list(_items(scope, cast(list[SyntaxTree], node.children[1:])))
    space = AddressSpace(str(token), (), None, (), doc=doc_text(items), place=scope.source.of(token))
    for item in items:
        space = _with_item(scope, space, item)
    if "row" not in [f for f, _, _ in space.fields]:
        fail(scope, token, f"address {token} needs a field named row")
    if not space.memories:
        fail(scope, token, f"address {token} selects no memory", "add `memory NAME when FIELD == VALUE;`")
    return space


def _items(scope: Scope, nodes: Sequence[SyntaxTree]) -> Iterator[SyntaxTree]:
    """The items of an address, those under a condition only where it holds."""
    for node in nodes:
        if is_tree(node, "address_condition"):
            condition, *items = cast(list[SyntaxTree], node.children)
            if evaluate(scope, condition):
                yield from _items(scope, items)
        else:
            yield node


def _with_item(scope: Scope, space: AddressSpace, item: SyntaxTree) -> AddressSpace:
    data, parts = str(item.data), item.children
    if data == "bit_field":
        bits = [evaluate_int(scope, cast(SyntaxTree, part), 0, 63) for part in parts[1:]]
        high, low = bits[0], bits[-1]
        if high < low:
            fail(scope, item, f"field {parts[0]}: found bits {high}..{low}, expected the high bit first: {low}..{high}")
        return replace(space, fields=(*space.fields, (str(parts[0]), high, low)))
    if data == "none_value":
        return replace(space, none=evaluate_int(scope, cast(SyntaxTree, parts[0]), 0))
    if data == "selected_memory":
        return replace(space, memories=(*space.memories, _selection(scope, space, item)))
    text = text_of(item) if data == "text_none" else str(parts[0])[1:-1]
    if data == "text_none":
        return replace(space, text_none=text)
    if data == "text_memory":
        memory = cast(Token, parts[1])
        if str(memory) not in [m for m, _, _ in space.memories]:
            unknown(scope, memory, "memory of this address", str(memory), [m for m, _, _ in space.memories])
        return replace(space, text_names=(*space.text_names, (text, str(memory))))
    if data == "text_flag":
        _bits(scope, space, cast(Token, parts[1]))
        return replace(space, text_flags=(*space.text_flags, (text, str(parts[1]))))
    return space


def _bits(scope: Scope, space: AddressSpace, token: Token) -> tuple[int, int]:
    bits = next(((high, low) for name, high, low in space.fields if name == str(token)), None)
    if bits is None:
        unknown(scope, token, f"field of address {space.name}", str(token), [f for f, _, _ in space.fields])
    return bits


def _selection(scope: Scope, space: AddressSpace, item: SyntaxTree) -> tuple[str, int, int]:
    memory = cast(Token, item.children[0])
    known = [m.name for m in scope.memories.values() if m.kind == "local" and not m.shown]
    if str(memory) not in known:
        unknown(scope, memory, "local memory", str(memory), known)
    if len(item.children) == 1:
        return str(memory), 0, 0
    high, low = _bits(scope, space, cast(Token, item.children[1]))
    value = evaluate_int(scope, cast(SyntaxTree, item.children[2]), 0, (1 << (high - low + 1)) - 1)
    return str(memory), ((1 << (high - low + 1)) - 1) << low, value << low

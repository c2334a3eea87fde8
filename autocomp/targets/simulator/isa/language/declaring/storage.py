"""Memories, registers and views of them; addresses; state."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, cast

from lark import Token

from autocomp.targets.simulator.isa.language.addresses import build_address
from autocomp.targets.simulator.isa.language.declaring.draft import Draft, Setting, settings_of
from autocomp.targets.simulator.isa.language.expressions import (
    check_free,
    element_type,
    evaluate,
    evaluate_int,
    fail,
    is_tree,
    unknown,
)
from autocomp.targets.simulator.isa.language.statements import doc_text
from autocomp.targets.simulator.isa.language.syntax import SyntaxTree
from autocomp.targets.simulator.isa.model import Memory, StateRecord
from autocomp.targets.simulator.isa.tree import ElementType, element_bits, is_float

MAX_ROWS = 1 << 24


def declare_memory(draft: Draft, node: SyntaxTree) -> None:
    token = cast(Token, node.children[0])
    nodes = cast(list[SyntaxTree], node.children[1:])
    check_free(draft.scope, token)
    settings = settings_of(draft, nodes, f"memory {token}")
    kind: Literal["dram", "local", "register"] = "register" if is_tree(node, "register") else "local"
    if settings.get("kind") == "dram" and kind == "local":
        kind = "dram"
    elif "kind" in settings:
        fail(draft.scope, token, f"memory {token}: unknown kind {settings['kind']!r}; the only kind to state is dram")
    rows, cols, element = (0, 0, "u8") if kind == "dram" else _shape(draft, token, nodes, settings)
    banks = settings.get("banks", 1)
    if not isinstance(banks, int) or banks < 1 or (kind == "local" and rows % banks):
        fail(draft.scope, token, f"memory {token}: {rows} rows cannot be split into {banks} equal banks")
    rest = {k: v for k, v in settings.items() if k not in ("kind", "rows", "banks")}
    place = draft.scope.source.of(token)
    memory = Memory(str(token), kind, rows, cols, cast(ElementType, element), banks, rest, doc_text(nodes), place)
    draft.scope = replace(draft.scope, memories={**draft.scope.memories, memory.name: memory})


def declare_view(draft: Draft, node: SyntaxTree) -> None:
    token, shown_token, *items = cast(list[Token], node.children)
    nodes = cast(list[SyntaxTree], items)
    check_free(draft.scope, token)
    known = [m.name for m in draft.scope.memories.values() if m.kind != "dram" and not m.shown]
    if str(shown_token) not in known:
        unknown(draft.scope, shown_token, "memory or register", str(shown_token), known)
    shown = draft.scope.memories[str(shown_token)]
    row = next((item for item in nodes if is_tree(item, "row_shape")), None)
    if row is None:
        fail(draft.scope, token, f"{token} needs `row: TYPE[N];`")
    element = element_type(draft.scope, cast(Token, row.children[0]))
    cols = evaluate_int(draft.scope, cast(SyntaxTree, row.children[1]), 1, 1 << 16)
    bits, shown_bits = element_bits(element), element_bits(shown.element)
    if bits < shown_bits or shown_bits < 8:
        hint = "declare the memory with the smaller elements, and the view with the larger ones"
        fail(draft.scope, token, f"{token} shows {shown.element} as {element}, which is smaller", hint)
    if cols * bits != shown.cols * shown_bits:
        held = shown.cols * shown_bits
        fail(draft.scope, token, f"a row of {token} has {cols * bits} bits, one of {shown.name} {held}")
    memory = replace(
        shown,
        name=str(token),
        cols=cols,
        element=element,
        settings={},
        doc=doc_text(nodes),
        place=draft.scope.source.of(token),
        shown=shown.name,
    )
    draft.scope = replace(draft.scope, memories={**draft.scope.memories, memory.name: memory})


def _shape(draft: Draft, token: Token, nodes: list[SyntaxTree], settings: dict[str, Setting]) -> tuple[int, int, str]:
    row = next((node for node in nodes if is_tree(node, "row_shape")), None)
    rows = settings.get("rows")
    if isinstance(rows, str):
        unknown(draft.scope, token, "constant", rows, list(draft.scope.constants))
    if row is None or not isinstance(rows, int):
        hint = None if {row, rows} != {None} else "main memory is the one that says `kind: dram;`"
        fail(draft.scope, token, f"{token} needs `rows: N;` and `row: TYPE[N];`", hint)
    if not 1 <= rows <= MAX_ROWS:
        fail(draft.scope, token, f"{token} has {rows} rows; expected 1 to {MAX_ROWS}")
    element = element_type(draft.scope, cast(Token, row.children[0]))
    return rows, evaluate_int(draft.scope, cast(SyntaxTree, row.children[1]), 1, 1 << 16), element


def declare_address(draft: Draft, node: SyntaxTree) -> None:
    token = cast(Token, node.children[0])
    if str(token) in draft.scope.spaces:
        fail(draft.scope, token, f"address {token} is declared twice")
    space = build_address(draft.scope, node)
    draft.scope = replace(draft.scope, spaces={**draft.scope.spaces, space.name: space})


def declare_state(draft: Draft, node: SyntaxTree) -> None:
    token = cast(Token, node.children[0])
    check_free(draft.scope, token)
    nodes = cast(list[SyntaxTree], node.children[1:])
    indexed = not (nodes and (is_tree(nodes[0], "state_field") or is_tree(nodes[0], "doc"))) and bool(nodes)
    count = evaluate_int(draft.scope, nodes[0], 1, 1024) if indexed else 0
    fields: list[tuple[str, ElementType, int | float]] = []
    for item in nodes[1:] if indexed else nodes:
        if is_tree(item, "state_field"):
            element = element_type(draft.scope, cast(Token, item.children[1]))
            if element in ("f16", "bf16", "f8e5m2", "f8e4m3"):
                hint = "floats of state are f32; convert<…>(x) rounds"
                fail(draft.scope, item, f"{item.children[0]} is of type {element}", hint)
            initial = evaluate(draft.scope, cast(SyntaxTree, item.children[2])) if len(item.children) > 2 else 0
            if not is_float(element) and not isinstance(initial, int):
                fail(draft.scope, item, f"{item.children[0]} is an integer; {initial} is not")
            if str(item.children[0]) in [f[0] for f in fields]:
                fail(draft.scope, item, f"{token} has two fields named {item.children[0]}")
            fields.append((str(item.children[0]), element, float(initial) if is_float(element) else initial))
    if not fields:
        fail(draft.scope, token, f"state {token} has no fields")
    record = StateRecord(str(token), count, tuple(fields), doc_text(nodes))
    draft.scope = replace(draft.scope, states={**draft.scope.states, record.name: record})

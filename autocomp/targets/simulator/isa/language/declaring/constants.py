"""Parameters, constants, types and functions; area and energy; what parameters must fulfil."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

from lark import Token

from autocomp.errors import IsaError
from autocomp.targets.simulator.isa.formats import to_binary32
from autocomp.targets.simulator.isa.language.declaring.draft import Draft
from autocomp.targets.simulator.isa.language.expressions import check_free, element_type, evaluate, fail, is_tree
from autocomp.targets.simulator.isa.language.statements import build_function, doc_text, text_of
from autocomp.targets.simulator.isa.language.syntax import RequirementError, SyntaxTree
from autocomp.targets.simulator.isa.tree import ElementType


def declare_doc(draft: Draft, node: SyntaxTree) -> None:
    draft.docs.append(doc_text([node]))


def _new_constant(draft: Draft, node: SyntaxTree, value: int | float) -> None:
    token = cast(Token, node.children[0])
    check_free(draft.scope, token)
    draft.scope = replace(draft.scope, constants={**draft.scope.constants, str(token): value})
    for note in node.children[2:]:
        if is_tree(note, "note"):
            draft.notes[str(token)] = text_of(cast(SyntaxTree, cast(SyntaxTree, note).children[0]))


def declare_param(draft: Draft, node: SyntaxTree) -> None:
    name, default_node = str(node.children[0]), cast(SyntaxTree, node.children[1])
    default = evaluate(draft.scope, default_node)
    value = draft.overrides.get(name, default)
    if isinstance(default, int) and not (isinstance(value, int) or float(value).is_integer()):
        raise IsaError(f"parameter {name} is an integer; {value} is not", hint=f"its default is {default}", place=None)
    value = int(value) if isinstance(default, int) else to_binary32(float(value))
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise IsaError(f"parameter {name}: {value} does not fit 64 bits")
    draft.parameters[name] = value
    _unknown(draft, node, default)
    _new_constant(draft, node, value)


def _unknown(draft: Draft, node: SyntaxTree, default: int | float) -> None:
    """The range of a parameter that its author does not know, which holds its default."""
    for stated in node.children[2:]:
        if is_tree(stated, "unknown"):
            low, high = (evaluate(draft.scope, cast(SyntaxTree, end)) for end in cast(SyntaxTree, stated).children)
            if not low <= default <= high:
                fail(draft.scope, node, f"the default {default} is not within the unknown range {low}..{high}")
            draft.unknowns[str(node.children[0])] = (low, high)


def declare_const(draft: Draft, node: SyntaxTree) -> None:
    _new_constant(draft, node, evaluate(draft.scope, cast(SyntaxTree, node.children[1])))


def declare_area(draft: Draft, node: SyntaxTree) -> None:
    if draft.area is not None:
        fail(draft.scope, node, "the area is stated twice")
    draft.area = evaluate(draft.scope, cast(SyntaxTree, node.children[0]))
    if not 0 < draft.area < math.inf:
        fail(draft.scope, node, f"the area is {draft.area}; it must be a positive number")
    if len(node.children) > 1:
        draft.area_note = text_of(cast(SyntaxTree, cast(SyntaxTree, node.children[1]).children[0]))


def declare_energy(draft: Draft, node: SyntaxTree) -> None:
    nodes = cast(list[SyntaxTree], node.children)
    draft.energy_doc = " ".join(filter(None, [draft.energy_doc, doc_text(nodes)]))
    for item in nodes:
        if not is_tree(item, "energy_entry"):
            continue
        names = [str(child) for child in item.children if isinstance(child, Token)]
        stated, rest = ".".join(names), cast(list[SyntaxTree], item.children[len(names) :])
        value = float(f"{evaluate(draft.scope, rest[0]):.7g}")  # constants are binary32
        if not 0 <= value < math.inf:
            fail(draft.scope, item, f"{stated} is {value}; energies are numbers that are not negative")
        both = [f"{names[0]}.read", f"{names[0]}.write"]
        for key in both if names[1:] == ["byte"] else [stated]:
            if key in draft.energy:
                fail(draft.scope, item, f"{key!r} is stated twice")
            draft.energy[key], draft.energy_places[key] = value, draft.scope.source.of(item)
            if len(rest) > 1:
                draft.energy_notes[key] = text_of(cast(SyntaxTree, rest[1].children[0]))


def declare_type_name(draft: Draft, node: SyntaxTree) -> None:
    name, element = node.children
    if is_tree(element, "type_choice"):
        condition, then, otherwise = cast(SyntaxTree, element).children
        element = then if evaluate(draft.scope, cast(SyntaxTree, condition)) else otherwise
    types: dict[str, ElementType] = {**draft.scope.types, str(name): element_type(draft.scope, cast(Token, element))}
    draft.scope = replace(draft.scope, types=types)


def declare_require(draft: Draft, node: SyntaxTree) -> None:
    condition, text = cast(list[SyntaxTree], node.children)
    if not evaluate(draft.scope, condition):
        values = ", ".join(f"{k} = {v}" for k, v in draft.parameters.items())
        hint = f"the parameters are {values}" if values else None
        raise RequirementError(text_of(text), place=draft.scope.source.of(node), hint=hint)


def declare_function(draft: Draft, node: SyntaxTree) -> None:
    name, function = build_function(draft.scope, node, local=False)
    draft.scope = draft.scope.define(name, function)

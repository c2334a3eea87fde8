"""The calls of kernels: instructions, aliases, procedures; idioms."""

from __future__ import annotations

from typing import cast

from lark import Token

from autocomp.targets.simulator.isa.language.declaring.draft import Draft
from autocomp.targets.simulator.isa.language.expressions import fail
from autocomp.targets.simulator.isa.language.instructions import (
    build_alias,
    build_idiom,
    build_instruction,
    build_procedure,
)
from autocomp.targets.simulator.isa.language.syntax import SyntaxTree


def declare_instruction(draft: Draft, node: SyntaxTree) -> None:
    token = cast(Token, node.children[0])
    if str(token) in draft.instructions:
        fail(draft.scope, token, f"instruction {token} is declared twice")
    if str(token) in draft.procedures:
        fail(draft.scope, token, f"{token} is already a procedure")
    draft.instructions[str(token)] = build_instruction(
        draft.scope, node, list(draft.units), draft.instructions, draft.settings
    )


def declare_alias(draft: Draft, node: SyntaxTree) -> None:
    known = {i.name: [len(i.parameters)] for i in draft.instructions.values()}
    for alias in draft.aliases:
        if not alias.trace:
            known.setdefault(alias.name, []).append(len(alias.parameters))
    alias = build_alias(draft.scope, node, known)
    clash = [
        a
        for a in draft.aliases
        if (a.name, a.trace, len(a.parameters)) == (alias.name, alias.trace, len(alias.parameters))
    ]
    if clash or (not alias.trace and alias.name in {**draft.instructions, **draft.procedures}):
        fail(draft.scope, node, f"{alias.name} with {len(alias.parameters)} arguments is already defined")
    draft.aliases.append(alias)


def declare_idiom(draft: Draft, node: SyntaxTree) -> None:
    idiom = build_idiom(draft.scope, node)
    if idiom.name in draft.idioms:
        fail(draft.scope, node, f"idiom {idiom.name} is declared twice")
    draft.idioms[idiom.name] = idiom


def declare_procedure(draft: Draft, node: SyntaxTree) -> None:
    procedure = build_procedure(draft.scope, node)
    if procedure.name in draft.procedures or _is_callable(draft, procedure.name):
        fail(draft.scope, node, f"{procedure.name} is already defined")
    draft.procedures[procedure.name] = procedure


def _is_callable(draft: Draft, name: str) -> bool:
    return name in draft.instructions or any(alias.name == name and not alias.trace for alias in draft.aliases)

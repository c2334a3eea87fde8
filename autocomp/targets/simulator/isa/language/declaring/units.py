"""Units, and sections of settings."""

from __future__ import annotations

from typing import cast

from lark import Token

from autocomp.targets.simulator.isa.language.declaring.draft import Draft, settings_of
from autocomp.targets.simulator.isa.language.expressions import fail
from autocomp.targets.simulator.isa.language.statements import doc_text
from autocomp.targets.simulator.isa.language.syntax import SyntaxTree
from autocomp.targets.simulator.isa.model import Unit


def declare_section(draft: Draft, node: SyntaxTree) -> None:
    name, *items = cast(list[SyntaxTree], node.children)
    for key, value in settings_of(draft, items, str(name)).items():
        if f"{name}.{key}" in draft.settings:
            fail(draft.scope, node, f"'{name}.{key}' is set twice")
        draft.settings[f"{name}.{key}"] = value


def declare_unit(draft: Draft, node: SyntaxTree) -> None:
    token, *items = node.children
    nodes = cast(list[SyntaxTree], items)
    if str(token) in draft.units:
        fail(draft.scope, cast(Token, token), f"unit {token} is declared twice")
    draft.units[str(token)] = Unit(
        str(token),
        settings_of(draft, nodes, f"unit {token}"),
        doc_text(nodes),
        draft.scope.source.of(cast(Token, token)),
    )

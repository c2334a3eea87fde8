"""Named sets of parameter values: `configuration NAME { doc "…"; PARAMETER = value; }`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from lark import Token

from autocomp.data import closest
from autocomp.errors import IsaError
from autocomp.targets.simulator.isa.language.expressions import evaluate, fail, is_tree, unknown
from autocomp.targets.simulator.isa.language.scope import Scope
from autocomp.targets.simulator.isa.language.statements import doc_text
from autocomp.targets.simulator.isa.language.syntax import SyntaxTree
from autocomp.targets.simulator.isa.model import Configuration


def build_configurations(scope: Scope, nodes: Sequence[SyntaxTree]) -> tuple[Configuration, ...]:
    """The configurations among the items of a description. Values are made of numbers alone."""
    configurations: dict[str, Configuration] = {}
    for node in nodes:
        if is_tree(node, "configuration"):
            configuration = _build(scope, node)
            if configuration.name in configurations:
                fail(scope, node, f"configuration {configuration.name} is declared twice")
            configurations[configuration.name] = configuration
    return tuple(configurations.values())


def _build(scope: Scope, node: SyntaxTree) -> Configuration:
    token, *items = node.children
    values: dict[str, int | float] = {}
    for name, value in _presets(node):
        if str(name) in values:
            fail(scope, name, f"{name} is set twice")
        values[str(name)] = evaluate(scope, value)
    return Configuration(str(token), values, doc_text(cast(list[SyntaxTree], items)))


def _presets(node: SyntaxTree) -> list[tuple[Token, SyntaxTree]]:
    presets = [cast(SyntaxTree, item) for item in node.children if is_tree(item, "preset")]
    return [(cast(Token, preset.children[0]), cast(SyntaxTree, preset.children[1])) for preset in presets]


def check_presets(scope: Scope, nodes: Sequence[SyntaxTree], parameters: Sequence[str]) -> None:
    """Raise an IsaError where any configuration sets what is not a parameter."""
    for node in nodes:
        if is_tree(node, "configuration"):
            for name, _ in _presets(node):
                if str(name) not in parameters:
                    unknown(scope, name, "parameter", str(name), parameters)


def select(configurations: Sequence[Configuration], name: str, source_name: str) -> Mapping[str, int | float]:
    """The values of the configuration of a name, of none for the empty name."""
    if not name:
        return {}
    chosen = next((c for c in configurations if c.name == name), None)
    if chosen is None:
        names = [c.name for c in configurations]
        guess = closest(name, names)
        hint = (f"did you mean {guess!r}? " if guess else "") + f"configurations: {', '.join(names) or 'none'}"
        raise IsaError(f"{source_name} has no configuration named {name!r}", hint=hint)
    return chosen.values

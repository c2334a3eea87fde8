"""The declarations of an accelerator met so far, and the settings of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from autocomp.errors import Place
from autocomp.targets.simulator.isa.language.expressions import evaluate, fail, is_tree
from autocomp.targets.simulator.isa.language.scope import Scope
from autocomp.targets.simulator.isa.language.syntax import SyntaxTree
from autocomp.targets.simulator.isa.model import Alias, Idiom, Instruction, Library, Procedure, Unit

Setting = int | float | str


@dataclass
class Draft:
    """The declarations met so far, in the order of the text."""

    scope: Scope
    overrides: Mapping[str, int | float]  # what wins over the parameters' defaults
    docs: list[str] = field(default_factory=list)
    parameters: dict[str, int | float] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    unknowns: dict[str, tuple[int | float, int | float]] = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)
    settings: dict[str, Setting] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)  # of settings, by "unit load.entries", "host.issue"
    instructions: dict[str, Instruction] = field(default_factory=dict)
    aliases: list[Alias] = field(default_factory=list)
    idioms: dict[str, Idiom] = field(default_factory=dict)
    area: int | float | None = None
    area_note: str = ""
    energy: dict[str, float] = field(default_factory=dict)
    energy_doc: str = ""
    energy_notes: dict[str, str] = field(default_factory=dict)
    energy_places: dict[str, Place] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)  # calls that these parameters rule out -> the condition
    procedures: dict[str, Procedure] = field(default_factory=dict)
    library: Library = field(default_factory=Library)


def _setting(draft: Draft, node: SyntaxTree) -> tuple[str, Setting]:
    """A key and its value: a constant expression, or a word."""
    key, value_node = str(node.children[0]), cast(SyntaxTree, node.children[1])
    if is_tree(value_node, "name") and str(value_node.children[0]) not in draft.scope.constants:
        return key, str(value_node.children[0])
    return key, evaluate(draft.scope, value_node)


def settings_of(draft: Draft, nodes: list[SyntaxTree], where: str) -> dict[str, Setting]:
    settings: dict[str, Setting] = {}
    for node in nodes:
        if is_tree(node, "setting"):
            key, value = _setting(draft, node)
            if key in settings:
                fail(draft.scope, node, f"{key!r} is set twice")
            settings[key] = value
            draft.places[f"{where}.{key}"] = draft.scope.source.of(node)
    return settings

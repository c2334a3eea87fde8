"""From a syntax tree to the model of an accelerator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import cast

from lark import Token

from autocomp.data import closest
from autocomp.errors import IsaError
from autocomp.targets.simulator.isa.energy import check_energy
from autocomp.targets.simulator.isa.identity import identified
from autocomp.targets.simulator.isa.language.configurations import build_configurations, check_presets, select
from autocomp.targets.simulator.isa.language.declaring.calls import (
    declare_alias,
    declare_idiom,
    declare_instruction,
    declare_procedure,
)
from autocomp.targets.simulator.isa.language.declaring.constants import (
    declare_area,
    declare_const,
    declare_doc,
    declare_energy,
    declare_function,
    declare_param,
    declare_require,
    declare_type_name,
)
from autocomp.targets.simulator.isa.language.declaring.draft import Draft
from autocomp.targets.simulator.isa.language.declaring.storage import (
    declare_address,
    declare_memory,
    declare_state,
    declare_view,
)
from autocomp.targets.simulator.isa.language.declaring.units import declare_section, declare_unit
from autocomp.targets.simulator.isa.language.expressions import build_int, evaluate, fail, is_tree
from autocomp.targets.simulator.isa.language.instructions import with_parameters
from autocomp.targets.simulator.isa.language.scope import Scope
from autocomp.targets.simulator.isa.language.settings import check_timing
from autocomp.targets.simulator.isa.language.syntax import Source, SyntaxTree, parse_syntax
from autocomp.targets.simulator.isa.main_memory import check_main_memory
from autocomp.targets.simulator.isa.model import Accelerator, Library, Otherwise

_Overrides = tuple[tuple[str, int | float], ...]
MAX_BYTES = 1 << 30  # of all local memories and registers together
MOST_KEPT = 24  # accelerators, which never change, that a process keeps beside those in use


def parse(
    text: str, source_name: str = "<text>", overrides: Mapping[str, int | float] | None = None, configuration: str = ""
) -> Accelerator:
    """The accelerator that a description declares, in one of its configurations and with parameters overridden by name.

    Raises IsaError, with the places, for all that does not parse or check, and for a configuration or overrides of
    parameters that the description does not have.
    """
    chosen = tuple(sorted((overrides or {}).items()))
    return _parsed(text, source_name, chosen, tuple(type(value) for _, value in chosen), configuration)


@lru_cache(maxsize=MOST_KEPT)
def _parsed(
    text: str, source_name: str, overrides: _Overrides, types: tuple[type, ...], configuration: str
) -> Accelerator:
    """As `parse`. Of equal overrides, `types` tells 1 from 1.0 and from True."""
    source = Source(text, source_name)
    tree = parse_syntax(source)
    name_token, *items = tree.children
    nodes = cast(list[SyntaxTree], items)
    configurations = build_configurations(Scope(source), nodes)
    selected = select(configurations, configuration, source_name)
    draft = Draft(Scope(source), {**selected, **dict(overrides)})
    _declare(draft, nodes)
    with source.collect():
        check_presets(draft.scope, nodes, list(draft.parameters))
    source.fail()
    _check_overrides(draft, source_name)
    accelerator = _finish(draft, cast(Token, name_token), text, source_name)
    return replace(accelerator, configurations=configurations, configuration=configuration)


def _declare(draft: Draft, nodes: Sequence[SyntaxTree]) -> None:
    for node in nodes:
        if is_tree(node, "conditional"):
            condition, *items = cast(list[SyntaxTree], node.children)
            holds: int | float = 1
            with draft.scope.source.collect():
                holds = evaluate(draft.scope, condition)
            if holds:
                _declare(draft, items)
            else:
                text = draft.scope.source.text_of(condition)
                calls = [item for item in items if is_tree(item, "instruction") or is_tree(item, "alias")]
                draft.absent.update({str(call.children[0]): text for call in calls})
        elif not is_tree(node, "configuration"):
            with draft.scope.source.collect(str(node.children[0]) if node.children else ""):
                _DECLARE[str(node.data)](draft, node)


def _check_overrides(draft: Draft, source_name: str) -> None:
    for name in draft.overrides:
        if name not in draft.parameters:
            guess = closest(name, list(draft.parameters))
            known = ", ".join(draft.parameters) or "none"
            hint = f"did you mean {guess!r}?" if guess else f"parameters: {known}"
            raise IsaError(f"{source_name} has no parameter named {name!r}", hint=hint)


def _finish(draft: Draft, name: Token, text: str, source_name: str) -> Accelerator:
    scope = draft.scope
    if not any(m.kind == "dram" for m in scope.memories.values()):
        fail(scope, name, "an accelerator needs a memory with `kind: dram;`")
    if not draft.instructions:
        fail(scope, name, f"{name} declares no instruction")
    stored = sum(m.rows * m.row_bytes for m in scope.memories.values() if not m.shown)
    if stored > MAX_BYTES:
        fail(scope, name, f"the local memories hold {stored:,} bytes together, more than {MAX_BYTES:,}")
    accelerator = Accelerator(
        name=str(name),
        doc=" ".join(draft.docs),
        parameters=draft.parameters,
        constants=dict(scope.constants),
        types=dict(scope.types),
        memories=tuple(scope.memories.values()),
        spaces=tuple(scope.spaces.values()),
        states=tuple(scope.states.values()),
        units=tuple(draft.units.values()),
        instructions=tuple(draft.instructions.values()),
        aliases=tuple(draft.aliases),
        idioms=tuple(draft.idioms.values()),
        settings=draft.settings,
        source=text,
        digest="",
        machine_digest="",
        path=source_name,
        notes=draft.notes,
        unknowns=draft.unknowns,
        absent=draft.absent,
        area=draft.area,
        area_note=draft.area_note,
        energy=draft.energy,
        energy_doc=draft.energy_doc,
        energy_notes=draft.energy_notes,
        procedures=tuple(draft.procedures.values()),
        library=draft.library,
    )
    check_timing(accelerator, draft.places)
    check_main_memory(accelerator, draft.places)
    check_energy(accelerator, draft.energy_places)
    return identified(accelerator)


def _library(draft: Draft, node: SyntaxTree) -> None:
    """Headers by name and what they declare, kept apart from the machine's own declarations."""
    if draft.library.headers:
        fail(draft.scope, node, "a description has one library")
    headers = [str(child)[1:-1] for child in node.children if isinstance(child, Token)]
    inner = replace(draft, docs=[], procedures=dict(draft.procedures))
    otherwise: dict[str, Otherwise] = {}
    for item in node.children:
        if isinstance(item, Token):
            continue
        if is_tree(item, "otherwise"):
            name, other, condition = item.children
            if str(name) not in inner.procedures or str(other) not in inner.procedures:
                fail(draft.scope, item, f"{name} and {other} must be procedures")
            bound = with_parameters(inner.scope, inner.procedures[str(name)].text)
            otherwise[str(name)] = Otherwise(str(other), build_int(bound, cast(SyntaxTree, condition)))
        else:
            _DECLARE[str(item.data)](inner, item)
    outer = draft.scope
    draft.library = Library(
        tuple(headers),
        " ".join(inner.docs),
        {name: value for name, value in inner.scope.constants.items() if name not in outer.constants},
        {name: kind for name, kind in inner.scope.types.items() if name not in outer.types},
        tuple(p for name, p in inner.procedures.items() if name not in draft.procedures),
        otherwise,
    )


_DECLARE: dict[str, Callable[[Draft, SyntaxTree], None]] = {
    "doc": declare_doc,
    "param": declare_param,
    "const": declare_const,
    "area": declare_area,
    "energy": declare_energy,
    "type_name": declare_type_name,
    "require": declare_require,
    "function": declare_function,
    "memory": declare_memory,
    "register": declare_memory,
    "view": declare_view,
    "address": declare_address,
    "state": declare_state,
    "unit": declare_unit,
    "section": declare_section,
    "instruction": declare_instruction,
    "alias": declare_alias,
    "trace_alias": declare_alias,
    "idiom": declare_idiom,
    "procedure": declare_procedure,
    "library": _library,
}

"""From a syntax tree to the model of an accelerator."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from lark import Token

from autocomp.data import closest
from autocomp.errors import IsaError, Place
from autocomp.targets.simulator.isa.addresses import build_address
from autocomp.targets.simulator.isa.configurations import build_configurations, check_presets, select
from autocomp.targets.simulator.isa.energy import check_energy
from autocomp.targets.simulator.isa.expressions import (
    build_int,
    check_free,
    element_type,
    evaluate,
    evaluate_int,
    fail,
    is_tree,
    unknown,
)
from autocomp.targets.simulator.isa.formats import to_binary32
from autocomp.targets.simulator.isa.identity import meaning_digest
from autocomp.targets.simulator.isa.instructions import (
    build_alias,
    build_idiom,
    build_instruction,
    build_procedure,
    with_parameters,
)
from autocomp.targets.simulator.isa.model import (
    Accelerator,
    Alias,
    Idiom,
    Instruction,
    Library,
    Memory,
    Otherwise,
    Procedure,
    StateRecord,
    Unit,
)
from autocomp.targets.simulator.isa.scope import Scope
from autocomp.targets.simulator.isa.statements import build_function, doc_text, text_of
from autocomp.targets.simulator.isa.syntax import RequirementError, Source, SyntaxTree, parse_syntax
from autocomp.targets.simulator.isa.timing import check_timing
from autocomp.targets.simulator.isa.tree import ElementType, element_bits, is_float

MAX_ROWS = 1 << 24
MAX_BYTES = 1 << 30  # of all local memories and registers together

Setting = int | float | str


@dataclass
class _Draft:
    """The declarations met so far, in the order of the text."""

    scope: Scope
    overrides: Mapping[str, int | float]  # what wins over the parameters' defaults
    docs: list[str] = field(default_factory=list)
    parameters: dict[str, int | float] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
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


def parse(
    text: str, source_name: str = "<text>", overrides: Mapping[str, int | float] | None = None, configuration: str = ""
) -> Accelerator:
    """The accelerator that a description declares, in one of its configurations and with parameters overridden by name.

    Raises IsaError, with the places, for all that does not parse or check, and for a configuration or overrides of
    parameters that the description does not have.
    """
    source = Source(text, source_name)
    tree = parse_syntax(source)
    name_token, *items = tree.children
    nodes = cast(list[SyntaxTree], items)
    configurations = build_configurations(Scope(source), nodes)
    selected = select(configurations, configuration, source_name)
    draft = _Draft(Scope(source), {**selected, **(overrides or {})})
    _declare(draft, nodes)
    with source.collect():
        check_presets(draft.scope, nodes, list(draft.parameters))
    source.fail()
    _check_overrides(draft, source_name)
    accelerator = _finish(draft, cast(Token, name_token), text, source_name)
    return replace(accelerator, configurations=configurations, configuration=configuration)


def _declare(draft: _Draft, nodes: Sequence[SyntaxTree]) -> None:
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


def _check_overrides(draft: _Draft, source_name: str) -> None:
    for name in draft.overrides:
        if name not in draft.parameters:
            guess = closest(name, list(draft.parameters))
            known = ", ".join(draft.parameters) or "none"
            hint = f"did you mean {guess!r}?" if guess else f"parameters: {known}"
            raise IsaError(f"{source_name} has no parameter named {name!r}", hint=hint)


def _finish(draft: _Draft, name: Token, text: str, source_name: str) -> Accelerator:
    scope = draft.scope
    if sum(m.kind == "dram" for m in scope.memories.values()) != 1:
        fail(scope, name, "an accelerator needs exactly one memory with `kind: dram;`")
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
        path=source_name,
        notes=draft.notes,
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
    check_energy(accelerator, draft.energy_places)
    return replace(accelerator, digest=meaning_digest(accelerator))


# --- constants and types -----------------------------------------------------------------------------------------


def _doc(draft: _Draft, node: SyntaxTree) -> None:
    draft.docs.append(doc_text([node]))


def _new_constant(draft: _Draft, node: SyntaxTree, value: int | float) -> None:
    token = cast(Token, node.children[0])
    check_free(draft.scope, token)
    draft.scope = replace(draft.scope, constants={**draft.scope.constants, str(token): value})
    if len(node.children) > 2:
        note = cast(SyntaxTree, node.children[2])
        draft.notes[str(token)] = text_of(cast(SyntaxTree, note.children[0]))


def _param(draft: _Draft, node: SyntaxTree) -> None:
    name, default_node = str(node.children[0]), cast(SyntaxTree, node.children[1])
    default = evaluate(draft.scope, default_node)
    value = draft.overrides.get(name, default)
    if isinstance(default, int) and not (isinstance(value, int) or float(value).is_integer()):
        raise IsaError(f"parameter {name} is an integer; {value} is not", hint=f"its default is {default}", place=None)
    value = int(value) if isinstance(default, int) else to_binary32(float(value))
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise IsaError(f"parameter {name}: {value} does not fit 64 bits")
    draft.parameters[name] = value
    _new_constant(draft, node, value)


def _const(draft: _Draft, node: SyntaxTree) -> None:
    _new_constant(draft, node, evaluate(draft.scope, cast(SyntaxTree, node.children[1])))


def _area(draft: _Draft, node: SyntaxTree) -> None:
    if draft.area is not None:
        fail(draft.scope, node, "the area is stated twice")
    draft.area = evaluate(draft.scope, cast(SyntaxTree, node.children[0]))
    if not 0 < draft.area < math.inf:
        fail(draft.scope, node, f"the area is {draft.area}; it must be a positive number")
    if len(node.children) > 1:
        draft.area_note = text_of(cast(SyntaxTree, cast(SyntaxTree, node.children[1]).children[0]))


def _energy(draft: _Draft, node: SyntaxTree) -> None:
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


def _type_name(draft: _Draft, node: SyntaxTree) -> None:
    name, element = node.children
    if is_tree(element, "type_choice"):
        condition, then, otherwise = cast(SyntaxTree, element).children
        element = then if evaluate(draft.scope, cast(SyntaxTree, condition)) else otherwise
    types: dict[str, ElementType] = {**draft.scope.types, str(name): element_type(draft.scope, cast(Token, element))}
    draft.scope = replace(draft.scope, types=types)


def _require(draft: _Draft, node: SyntaxTree) -> None:
    condition, text = cast(list[SyntaxTree], node.children)
    if not evaluate(draft.scope, condition):
        values = ", ".join(f"{k} = {v}" for k, v in draft.parameters.items())
        hint = f"the parameters are {values}" if values else None
        raise RequirementError(text_of(text), place=draft.scope.source.of(node), hint=hint)


def _function(draft: _Draft, node: SyntaxTree) -> None:
    name, function = build_function(draft.scope, node, local=False)
    draft.scope = draft.scope.define(name, function)


# --- settings ----------------------------------------------------------------------------------------------------


def _setting(draft: _Draft, node: SyntaxTree) -> tuple[str, Setting]:
    """A key and its value: a constant expression, or a word."""
    key, value_node = str(node.children[0]), cast(SyntaxTree, node.children[1])
    if is_tree(value_node, "name") and str(value_node.children[0]) not in draft.scope.constants:
        return key, str(value_node.children[0])
    return key, evaluate(draft.scope, value_node)


def _settings(draft: _Draft, nodes: list[SyntaxTree], where: str) -> dict[str, Setting]:
    settings: dict[str, Setting] = {}
    for node in nodes:
        if is_tree(node, "setting"):
            key, value = _setting(draft, node)
            if key in settings:
                fail(draft.scope, node, f"{key!r} is set twice")
            settings[key] = value
            draft.places[f"{where}.{key}"] = draft.scope.source.of(node)
    return settings


def _section(draft: _Draft, node: SyntaxTree) -> None:
    name, *items = cast(list[SyntaxTree], node.children)
    for key, value in _settings(draft, items, str(name)).items():
        if f"{name}.{key}" in draft.settings:
            fail(draft.scope, node, f"'{name}.{key}' is set twice")
        draft.settings[f"{name}.{key}"] = value


def _unit(draft: _Draft, node: SyntaxTree) -> None:
    token, *items = node.children
    nodes = cast(list[SyntaxTree], items)
    if str(token) in draft.units:
        fail(draft.scope, cast(Token, token), f"unit {token} is declared twice")
    draft.units[str(token)] = Unit(
        str(token), _settings(draft, nodes, f"unit {token}"), doc_text(nodes), draft.scope.source.of(cast(Token, token))
    )


# --- memories, addresses, state ----------------------------------------------------------------------------------


def _memory(draft: _Draft, node: SyntaxTree) -> None:
    token = cast(Token, node.children[0])
    nodes = cast(list[SyntaxTree], node.children[1:])
    check_free(draft.scope, token)
    settings = _settings(draft, nodes, f"memory {token}")
    kind: Literal["dram", "local", "register"] = "register" if is_tree(node, "register") else "local"
    if settings.get("kind") == "dram" and kind == "local":
        kind = "dram"
    elif "kind" in settings:
        fail(draft.scope, token, f"memory {token}: the only kind to be named is dram, not {settings['kind']!r}")
    rows, cols, element = (0, 0, "u8") if kind == "dram" else _shape(draft, token, nodes, settings)
    banks = settings.get("banks", 1)
    if not isinstance(banks, int) or banks < 1 or (kind == "local" and rows % banks):
        fail(draft.scope, token, f"memory {token}: {rows} rows cannot be split into {banks} equal banks")
    rest = {k: v for k, v in settings.items() if k not in ("kind", "rows", "banks")}
    place = draft.scope.source.of(token)
    memory = Memory(str(token), kind, rows, cols, cast(ElementType, element), banks, rest, doc_text(nodes), place)
    draft.scope = replace(draft.scope, memories={**draft.scope.memories, memory.name: memory})


def _view(draft: _Draft, node: SyntaxTree) -> None:
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


def _shape(draft: _Draft, token: Token, nodes: list[SyntaxTree], settings: dict[str, Setting]) -> tuple[int, int, str]:
    row = next((node for node in nodes if is_tree(node, "row_shape")), None)
    rows = settings.get("rows")
    if row is None or not isinstance(rows, int):
        fail(draft.scope, token, f"{token} needs `rows: N;` and `row: TYPE[N];`")
    if not 1 <= rows <= MAX_ROWS:
        fail(draft.scope, token, f"{token} has {rows} rows; 1 to {MAX_ROWS} are possible")
    element = element_type(draft.scope, cast(Token, row.children[0]))
    return rows, evaluate_int(draft.scope, cast(SyntaxTree, row.children[1]), 1, 1 << 16), element


def _address(draft: _Draft, node: SyntaxTree) -> None:
    token = cast(Token, node.children[0])
    if str(token) in draft.scope.spaces:
        fail(draft.scope, token, f"address {token} is declared twice")
    space = build_address(draft.scope, node)
    draft.scope = replace(draft.scope, spaces={**draft.scope.spaces, space.name: space})


def _state(draft: _Draft, node: SyntaxTree) -> None:
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


# --- instructions ------------------------------------------------------------------------------------------------


def _instruction(draft: _Draft, node: SyntaxTree) -> None:
    token = cast(Token, node.children[0])
    if str(token) in draft.instructions:
        fail(draft.scope, token, f"instruction {token} is declared twice")
    if str(token) in draft.procedures:
        fail(draft.scope, token, f"{token} is already a procedure")
    draft.instructions[str(token)] = build_instruction(
        draft.scope, node, list(draft.units), draft.instructions, draft.settings
    )


def _alias(draft: _Draft, node: SyntaxTree) -> None:
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


def _idiom(draft: _Draft, node: SyntaxTree) -> None:
    idiom = build_idiom(draft.scope, node)
    if idiom.name in draft.idioms:
        fail(draft.scope, node, f"idiom {idiom.name} is declared twice")
    draft.idioms[idiom.name] = idiom


def _procedure(draft: _Draft, node: SyntaxTree) -> None:
    procedure = build_procedure(draft.scope, node)
    if procedure.name in draft.procedures or _is_callable(draft, procedure.name):
        fail(draft.scope, node, f"{procedure.name} is already defined")
    draft.procedures[procedure.name] = procedure


def _library(draft: _Draft, node: SyntaxTree) -> None:
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


def _is_callable(draft: _Draft, name: str) -> bool:
    return name in draft.instructions or any(alias.name == name and not alias.trace for alias in draft.aliases)


_DECLARE: dict[str, Callable[[_Draft, SyntaxTree], None]] = {
    "doc": _doc,
    "param": _param,
    "const": _const,
    "area": _area,
    "energy": _energy,
    "type_name": _type_name,
    "require": _require,
    "function": _function,
    "memory": _memory,
    "register": _memory,
    "view": _view,
    "address": _address,
    "state": _state,
    "unit": _unit,
    "section": _section,
    "instruction": _instruction,
    "alias": _alias,
    "trace_alias": _alias,
    "idiom": _idiom,
    "procedure": _procedure,
    "library": _library,
}

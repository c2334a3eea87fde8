"""Reference pages made from the code are what the code says now; `pytest --update-golden` rewrites them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autocomp.cli.folding import flag_of
from autocomp.data import data_dir
from autocomp.search import Options
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.timing import KINDS, ROLES, reference_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "isa-timing.md"
INTRODUCTION = """# Timing settings of the ISA language

Keys stand in the blocks `unit NAME { … }`, `memory NAME { … }`, `host { … }`, `front { … }`, `semaphores { … }`,
`hazards { … }`, and in an
instruction's `timing { … }`, where values are expressions over operands and state. Any other key is an error.
[How the simulator counts cycles](../explanation/simulator.md) tells what the mechanisms do.
"""
BLOCKS = ("unit", "memory", "host", "front", "semaphores", "hazards", "timing")
MACHINES = ("amx", "neuroncore", "rvv", "tpu_v1", "vta")


def page() -> str:
    lines = [INTRODUCTION, "## Kinds of unit\n", "| kind | mechanism |", "|---|---|"]
    lines += [f"| `{kind}` | {meaning} |" for kind, meaning in KINDS.items()]
    lines += ["", "## Roles of instructions\n", "| role | meaning |", "|---|---|"]
    lines += [f"| `{role}` | {meaning} |" for role, meaning in ROLES.items()]
    rows = list(reference_table())
    for where in BLOCKS:
        lines += ["", f"## `{where}`\n", "| key | meaning | default |", "|---|---|---|"]
        lines += [f"| `{key}` | {meaning} | {default} |" for place, key, meaning, default in rows if place == where]
    return "\n".join(lines) + "\n"


def test_the_timing_reference_lists_every_key(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.write_text(page())
    assert PAGE.read_text() == page()


SEARCH_OPTIONS = PAGE.parent / "search-options.md"
SEARCH_INTRODUCTION = """# Options of a search

One model, `autocomp.Options`, holds them for programs, for the command line and for the run folder. A program writes
`autocomp.Options(beam=4, evaluations=30)`, the command `--beam 4 --evaluations 30`, and `config.json` keeps them under
`options` by their fields. A wrong name or value is an error that names it. [Strategies](strategies.md) says what an
option does in each strategy.

| field | option | type | default | bounds | meaning |
|---|---|---|---|---|---|
"""


def search_options_page() -> str:
    fields = Options.model_json_schema()["properties"]
    return SEARCH_INTRODUCTION + "".join(_option_row(name, field) for name, field in fields.items())


def _option_row(name: str, field: dict[str, Any]) -> str:
    kind = next((one for one in field.get("anyOf", ()) if one["type"] != "null"), field)
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    bounds = ", ".join(f"{sign} {kind[key]:,}" for key, sign in signs.items() if key in kind)
    most = f"≤ {kind['maxItems']} of them" if "maxItems" in kind else ""
    default = "" if field["default"] is None else f"`{json.dumps(field['default'])}`"
    flag = flag_of(Options, name).name
    return f"| `{name}` | `{flag}` | {kind['type']} | {default} | {bounds or most} | {field['description']} |\n"


def test_the_page_of_search_options_is_their_model(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        SEARCH_OPTIONS.write_text(search_options_page())
    assert SEARCH_OPTIONS.read_text() == search_options_page()


def machine_page(name: str) -> str:
    """The comment before the description in its file, with its sources, then the reference page."""
    text = (data_dir("isa") / f"{name}.isa").read_text()
    comments = [line[2:].strip() for line in text.partition("accelerator ")[0].splitlines()]
    title, _, rest = isa.reference(isa.load(name), markdown=True).partition("\n")
    return f"{title}\n\n" + "\n".join(comments) + f"\n{rest}\n"


@pytest.mark.parametrize("name", MACHINES)
def test_the_page_of_a_machine_is_its_description(name: str, request: pytest.FixtureRequest) -> None:
    path = PAGE.parent / "machines" / f"{name}.md"
    if request.config.getoption("--update-golden"):
        path.write_text(machine_page(name))
    assert path.read_text() == machine_page(name)

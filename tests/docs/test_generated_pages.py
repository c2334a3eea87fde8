"""Reference pages made from the code are what the code says now; `pytest --update-golden` rewrites them."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp.targets.simulator.isa.timing import KINDS, ROLES, reference_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "isa-timing.md"
INTRODUCTION = """# Timing settings of the ISA language

Keys stand in the blocks `unit NAME { … }`, `memory NAME { … }`, `host { … }`, `front { … }`, `hazards { … }`, and in an
instruction's `timing { … }`, where values are expressions over operands and state. Any other key is an error.
[How the simulator counts cycles](../explanation/simulator.md) tells what the mechanisms do.
"""
BLOCKS = ("unit", "memory", "host", "front", "hazards", "timing")


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

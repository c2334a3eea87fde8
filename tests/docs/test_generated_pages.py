"""Reference pages made from the code are what the code says now; `pytest --update-golden` rewrites them."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp.data import data_dir
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


def machine_page(name: str) -> str:
    """What the file says before the description, with its sources, then the reference page."""
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

"""The output of `isa check --explain`: tables of facts that a description's reader cannot see in it."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

from autocomp.report import make_console
from autocomp.report.grid import Grid, figure, name, words
from autocomp.targets.simulator.isa.derived.explain import Explanation


def explanation_document(explanation: Explanation) -> dict[str, Any]:
    """The same as plain data."""
    document = asdict(explanation)
    for form in document["forms"]:
        form["operands"] = [{"name": name, "role": role} for name, role in form["operands"]]
    return document


def print_explanation(explanation: Explanation, plain: bool) -> None:
    """Roles of call forms, contractions with tiles and rates, and what is missing."""
    console = make_console(sys.stdout, plain)
    sides = [words(heading) for heading in ("operands", "reads", "writes")]
    forms = Grid("Roles", name("call"), name("kind"), name("unit"), *sides)
    for form in explanation.forms:
        operands = ", ".join(f"{operand}: {role}" for operand, role in form.operands)
        forms.add(form.name, form.kind, form.unit, operands, ", ".join(form.reads), ", ".join(form.writes))
    console.print(forms)
    tiles = Grid(
        "Contractions",
        name("instruction"),
        name("unit"),
        figure("rows x columns x depth"),
        figure("products a cycle"),
        name(""),
    )
    for item in explanation.contractions:
        tile = f"unknown {item.unknown}" if item.tile is None else " x ".join(map(str, item.tile))
        rate = "unknown" if item.rate is None else str(item.rate)
        tiles.add(item.instruction, item.unit or "", tile, rate, "stated" if item.stated else "derived")
    console.print(tiles)
    console.print(f"peak: {explanation.peak or 'unknown: no'} multiply-accumulates a cycle bound a workload")
    for sentence in explanation.missing:
        console.print(f"missing: {sentence}")

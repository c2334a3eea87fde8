"""Evaluations as plain JSON documents, and back. The per-command record is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autocomp.targets.simulator.evaluate.model import Bound, Evaluation, LineCycles, StageVerdict


def evaluation_to_json(evaluation: Evaluation) -> dict[str, Any]:
    """A document of dictionaries, lists, numbers and strings only; `correct` and `ratio` are for readers."""
    return {
        "correct": evaluation.correct,
        "stages": [
            {
                "stage": verdict.stage,
                "status": verdict.status,
                "message": verdict.message,
                "line": verdict.line,
                "seconds": verdict.seconds,
            }
            for verdict in evaluation.stages
        ],
        "cycles": evaluation.cycles,
        "bound": {
            "cycles": evaluation.bound.cycles,
            "compute_cycles": evaluation.bound.compute_cycles,
            "memory_cycles": evaluation.bound.memory_cycles,
            "explanation": evaluation.bound.explanation,
        },
        "ratio": evaluation.ratio,
        "utilisation": evaluation.utilisation,
        "commands": evaluation.commands,
        "steps": evaluation.steps,
        "unit_cycles": {unit: dict(causes) for unit, causes in evaluation.unit_cycles.items()},
        "memory_rows": {memory: list(rows) for memory, rows in evaluation.memory_rows.items()},
        "dram_bytes": list(evaluation.dram_bytes),
        "lines": [
            {
                "line": entry.line,
                "text": entry.text,
                "commands": entry.commands,
                "wait_cycles": entry.wait_cycles,
                "causes": dict(entry.causes),
            }
            for entry in evaluation.lines
        ],
        "seconds": evaluation.seconds,
    }


def evaluation_from_json(document: Mapping[str, Any]) -> Evaluation:
    """The evaluation that `evaluation_to_json` wrote. Raises KeyError or TypeError for any other document."""
    read, written = document["dram_bytes"]
    return Evaluation(
        stages=tuple(StageVerdict(**verdict) for verdict in document["stages"]),
        cycles=document["cycles"],
        bound=Bound(**document["bound"]),
        utilisation=document["utilisation"],
        commands=document["commands"],
        steps=document["steps"],
        unit_cycles=document["unit_cycles"],
        memory_rows={memory: (rows[0], rows[1]) for memory, rows in document["memory_rows"].items()},
        dram_bytes=(read, written),
        lines=tuple(LineCycles(**entry) for entry in document["lines"]),
        seconds=document["seconds"],
    )

"""The costs of a run's models: by model, by phase and by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from autocomp.report.grid import Grid, figure, name
from autocomp.report.runs.run import RunView

NAMES = ("requests", "prompt_tokens", "prompt_cached", "completion_tokens", "reasoning", "money")
Key = tuple[str, str, int]  # model, phase, step


def costs_table(view: RunView) -> Grid | None:
    """A row for each model and phase; None where no model was paid."""
    rows = _grouped(view, lambda key: key[:2])
    if not rows:
        return None
    headings = ("requests", "prompt", "of it cached", "answers", "thoughts", "money")
    grid = Grid("What the models cost", name("model"), name("phase"), *map(figure, headings))
    for (model, phase), amounts in sorted(rows.items()):
        counts = [f"{int(amounts[kind]):,}" for kind in NAMES[:-1]]
        grid.add(model or "-", phase, *counts, f"{amounts['money']:.4g}" if amounts["money"] else "-")
    return grid


def costs_document(view: RunView) -> dict[str, list[dict[str, Any]]]:
    """The same for programs, and for each step."""
    by_model = _grouped(view, lambda key: (key[0],))
    by_phase = _grouped(view, lambda key: (key[1],))
    by_step = _grouped(view, lambda key: (key[2],))
    return {
        "models": [{"model": key[0], **_figures(amounts)} for key, amounts in sorted(by_model.items())],
        "phases": [{"phase": key[0], **_figures(amounts)} for key, amounts in sorted(by_phase.items())],
        "steps": [{"step": key[0], **_figures(amounts)} for key, amounts in sorted(by_step.items())],
    }


def _grouped(view: RunView, group: Callable[[Key], tuple[Any, ...]]) -> dict[tuple[Any, ...], Counter[str]]:
    groups: dict[tuple[Any, ...], Counter[str]] = {}
    for (model, phase, step, kind), amount in view.costs.items():
        groups.setdefault(group((model, phase, step)), Counter())[kind] += amount
    return groups


def _figures(amounts: Counter[str]) -> dict[str, Any]:
    return {name: amounts[name] for name in NAMES}

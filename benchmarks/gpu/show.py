"""The table as Markdown, from the documents of its rows."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from benchmarks.gpu.rows import ROWS

COLUMNS = ("eager", "fused", "compile", "compile max", "AutoKernel", "ours")


def table(folder: Path) -> str:
    """One line a row: times in microseconds with half of the 95 % interval, and ours against the best of the others."""
    lines = [f"| operation | {' | '.join(COLUMNS)} | best of others / ours |", "|---|" + "---:|" * (len(COLUMNS) + 1)]
    ratios = []
    for known in ROWS:
        path = folder / f"{known.name}.row.json"
        if not path.is_file():
            continue
        document = json.loads(path.read_text(encoding="utf-8"))
        columns = document["columns"]
        others = [entry["us"] for column, entry in columns.items() if column != "ours"]
        ratio = min(others) / columns["ours"]["us"] if others and "ours" in columns else None
        ratios += [ratio] if ratio else []
        cells = [_cell(columns.get(column)) for column in COLUMNS]
        lines.append(f"| {known.name} | {' | '.join(cells)} | {'' if ratio is None else f'{ratio:.3f}'} |")
    if ratios:
        mean = math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))
        lines.append(f"\nGeometric mean of {len(ratios)} rows: {mean:.3f}")
    return "\n".join(lines)


def _cell(entry: dict[str, Any] | None) -> str:
    return "" if entry is None else f"{entry['us']:.1f} ± {entry['spread']:.1f}"

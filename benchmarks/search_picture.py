"""Draws the end of a search as an SVG for the README: python -m benchmarks.search_picture RUN OUT.svg COMMAND"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from autocomp.report import RunView
from autocomp.report.runs.search import lineage_table
from autocomp.report.terminal import percent

# The picture must not fetch fonts when it is looked at.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace("Fira Code", "ui-monospace")


def draw(run: Path, target: Path, command: str) -> None:
    view = RunView.of(run / "events.jsonl")
    console = Console(record=True, width=118, file=io.StringIO(), force_terminal=True, highlight=False)
    best = view.lineage()[-1]
    console.print(f"$ {command}", style="bold")
    console.print(lineage_table(view))
    naive = view.naive or 0
    console.print(
        f"{naive:,} -> {best['value']:,} cycles ({naive / best['value']:.1f}x faster); bound {view.bound:,}, "
        f"{percent(best['ratio'])} of it"
    )
    console.print(f"{view.evaluations} evaluations, no key, no network", style="dim")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(console.export_svg(title="autocomp", code_format=FORMAT))


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])

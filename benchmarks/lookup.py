"""The time of a look-up in a library of 10,000 records: exact, nearest, and where nothing agrees.

Times are of the processor, so that others at work on the machine do not count.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from autocomp.schedules import Entry, Library, Match, Stored

RECORDS = 10_000
LOOK_UPS = 2_000
SIZES = [16 * n for n in range(1, 257)]
SCALES = [round(0.001 * n, 3) for n in range(1, 1001)]
USUAL = {"bias": "none", "activation": "none", "scale": 1.0}
COLUMNS = ("look-up", "found", "median us", "99th percentile us", "slowest us")
Ask = Callable[[], Match | None]


def library(generator: random.Random) -> tuple[Library, list[Entry]]:
    """GEMMs of random sizes, with or without bias and RELU, half of them scaled by one of a thousand factors."""
    entries = []
    for number in range(RECORDS):
        options: dict[str, Any] = {
            "bias": generator.choice(["none", "row", "full"]),
            "activation": generator.choice(["none", "relu"]),
            "scale": generator.choice([1.0, generator.choice(SCALES)]),
        }
        dims = {name: generator.choice(SIZES) for name in "IJK"}
        machine: dict[str, int | float] = {"DIM": generator.choice([16, 32]), "MEM_LATENCY": 40}
        entries.append(
            Entry(
                path=f"{number}.yaml",
                sha256="",
                target="simulator:machine",
                parameters=machine,
                operation="gemm",
                dims=dims,
                options=options,
                usual=[name for name, value in USUAL.items() if options[name] == value],
                value=1000,
                unit="cycles",
                direction="lower",
                ratio=0.9,
                identity=f"record {number}",
            )
        )
    return Library(Stored(Path("/library"), entry) for entry in entries), entries


def questions(known: Library, entries: list[Entry], generator: random.Random) -> Mapping[str, Callable[[], Ask]]:
    """The questions that compilers ask, by the name of the row; each call makes another question."""

    def ask(shape: Mapping[str, int], options: Mapping[str, Any], parameters: Mapping[str, int | float]) -> Ask:
        return lambda: known.lookup("gemm", shape, "machine", options=options, parameters=parameters)

    def shape() -> dict[str, int]:
        return {name: generator.randint(1, 5000) for name in "IJK"}

    def exact() -> Ask:
        entry = generator.choice(entries)
        return ask(entry.dims, entry.options, entry.parameters)

    def like() -> Ask:
        entry = generator.choice(entries)
        return ask(shape(), entry.options, entry.parameters)

    return {
        "exact": exact,
        "nearest, all stated": like,
        "nearest, one option": lambda: ask(shape(), {"bias": "row"}, {}),
        "nearest, no option": lambda: ask(shape(), {}, {}),
        "nearest, a rare option": lambda: ask(shape(), {"scale": generator.choice(SCALES)}, {}),
        "no record agrees": lambda: ask(shape(), {"bias": "row", "scale": 1.0, "activation": "gelu"}, {}),
        "no record has both": lambda: ask(shape(), {"bias": "row"}, {"DIM": 64}),
    }


def microseconds(ask: Ask) -> tuple[float, bool]:
    started = time.thread_time()
    match = ask()
    return 1e6 * (time.thread_time() - started), match is not None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one object on standard output")
    as_json = parser.parse_args().json
    generator = random.Random(0)
    known, entries = library(generator)
    rows = []
    for name, question in questions(known, entries, generator).items():
        measured = [microseconds(question()) for _ in range(LOOK_UPS)]
        times = sorted(time for time, _ in measured)
        share = sum(share_of_time for _, share_of_time in measured) / LOOK_UPS
        rows.append((name, share, times[LOOK_UPS // 2], times[LOOK_UPS * 99 // 100], times[-1]))
    if as_json:
        print(json.dumps({"records": RECORDS, "look_ups": [dict(zip(COLUMNS, row, strict=True)) for row in rows]}))
        return 0
    table = Table(title=f"{LOOK_UPS:,} look-ups of each kind among {RECORDS:,} records")
    for position, heading in enumerate(COLUMNS):
        table.add_column(heading, justify="right" if position else "left")
    for row in rows:
        table.add_row(row[0], f"{row[1]:.0%}", *(f"{value:.0f}" for value in row[2:]))
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The order that hardware keeps, pair by pair: two commands that share rows or bytes, on the RTL and in program order.

    python -m benchmarks.ordering [--programs N] [--hazard NAME] [--out FILE]

Programs are drawn for each pair of commands and each hazard. The later command reads or writes what the earlier one
writes, or writes what it reads. Pairs are drawn as well that add in, or move to, different banks. Drawn are
sizes, the part that both share, commands in front and in between that keep units busy, and memory latencies of 20, 40
and 120 cycles.

A program of which one byte differs from program order proves that the hardware does not order the pair. The race
detector must refuse each such program. `--out` keeps the counts as CSV. It needs the RTL model that `autocomp rtl
build` has made for gemmini.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from autocomp.simulator import _core

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.fidelity import LATENCY
from autocomp.targets.simulator.rtl.laboratory import Laboratory, laboratory
from autocomp.targets.simulator.rtl.machine import RtlMachine, most_cycles
from autocomp.targets.simulator.rtl.model.build import model_of

DIM = 16
LATENCIES = (20, 40, 120)
ACC, SUM, FULL, NONE = 0x80000000, 0xC0000000, 0xA0000000, 0xFFFFFFFF  # an address in the accumulator; added; as sums
SHARED, SPARE = 64, 1024  # rows of both memories: those in question, and others' from here on
LEFT, RIGHT = 4096, 8192  # rows with operands, in banks of their own
OTHER_BANK = 512  # rows of the accumulator from a row to the same one of its other bank
SCRATCH = 256  # rows of the accumulator for results that show what a product has read
LOAD, EXECUTE, STORE = "load", "execute", "store"


@dataclass(frozen=True)
class Actor:
    """A command, or a pair of preload and compute, that reads or writes `rows` rows from `row` on.

    `does` is r, w or, for what it adds to, rw.
    """

    name: str
    memory: str
    unit: str
    does: str
    lines: Callable[[int, int], Sequence[str]]


def _pair(left: int, right: int, result: int, rows: int = DIM, depth: int = DIM) -> Sequence[str]:
    return (
        f"preload({right:#x}, {result:#x}, 16, {depth}, 16, {rows});",
        f"compute(1, {left:#x}, {NONE:#x}, {depth}, {rows}, 16, {rows});",
    )


ACTORS = (
    Actor("move in", "scratchpad", LOAD, "w", lambda r, n: [f"move_in(0, &b[768], {r:#x}, 16, {n});"]),
    Actor("zeros", "scratchpad", LOAD, "w", lambda r, n: [f"move_in(0, NULL, {r:#x}, 16, {n});"]),
    Actor("result", "scratchpad", EXECUTE, "w", lambda r, n: _pair(LEFT, RIGHT, r, n)),
    Actor("left operand", "scratchpad", EXECUTE, "r", lambda r, n: _pair(r, RIGHT, ACC | SCRATCH, n)),
    Actor("preloaded", "scratchpad", EXECUTE, "r", lambda r, n: _pair(LEFT, r, ACC | SCRATCH, depth=n)),
    Actor("move out", "scratchpad", STORE, "r", lambda r, n: [f"move_out(&c[0], {r:#x}, 16, {n});"]),
    Actor("move in", "accumulator", LOAD, "w", lambda r, n: [f"move_in(1, &b[2048], {ACC | r:#x}, 16, {n});"]),
    Actor("zeros", "accumulator", LOAD, "w", lambda r, n: [f"move_in(1, NULL, {ACC | r:#x}, 16, {n});"]),
    Actor("added move", "accumulator", LOAD, "rw", lambda r, n: [f"move_in(1, &b[2048], {SUM | r:#x}, 16, {n});"]),
    Actor("result", "accumulator", EXECUTE, "w", lambda r, n: _pair(LEFT, RIGHT, ACC | r, n)),
    Actor("added result", "accumulator", EXECUTE, "rw", lambda r, n: _pair(LEFT, RIGHT, SUM | r, n)),
    Actor("move out", "accumulator", STORE, "r", lambda r, n: [f"move_out(&c[0], {FULL | r:#x}, 16, {n});"]),
    Actor("move in", "main memory", LOAD, "r", lambda r, n: [f"move_in(0, &d[{r * DIM}], {SPARE:#x}, 16, {n});"]),
    Actor("move out", "main memory", STORE, "w", lambda r, n: [f"move_out(&d[{r * DIM}], {LEFT:#x}, 16, {n});"]),
)
ELEMENTS = "move_in(2, &b[2050], {:#x}, 32, {});"
ADDING = (
    *(actor for actor in ACTORS if actor.does == "rw"),
    Actor("added zeros", "accumulator", LOAD, "rw", lambda r, n: [f"move_in(1, NULL, {SUM | r:#x}, 16, {n});"]),
    Actor("added elements", "accumulator", LOAD, "rw", lambda r, n: [ELEMENTS.format(SUM | r, n)]),
)
MOVING = (
    *(actor for actor in ACTORS if (actor.memory, actor.unit, actor.does) == ("accumulator", LOAD, "w")),
    Actor("elements", "accumulator", LOAD, "w", lambda r, n: [ELEMENTS.format(ACC | r, n)]),
)
ELSEWHERE = {"adds in another bank": ADDING, "writes another bank": MOVING}
HAZARDS = {
    ("w", "r"): "reads what was written",
    ("r", "w"): "writes what was read",
    ("w", "w"): "writes what was written",
}
SETUP = (
    "configure_execute(1, 0, 0, 1.0f, 1, 1, 0, 0, 0);",
    "configure_load(0, 16, 1.0f, 0, 16, 1);",
    "configure_load(1, 64, 1.0f, 0, 16, 1);",
    "configure_load(2, 32, 1.0f, 1, 16, 1);",
)
BYTES, SUMS = 16, 64  # bytes between rows of results in main memory, as elements and as sums


def _stores(apart: int) -> str:
    return f"configure_store({apart}, 0, 1.0f, 0, 0, 0, 0, 0, 0, 0, 0, 0);"


def _filler(unit: str, number: int) -> Sequence[str]:
    """Work of a unit that shares nothing with the pair."""
    row = SPARE + 64 + number * DIM
    if unit == LOAD:
        return [f"move_in(0, &a[{number * 256 % 4096}], {row:#x}, 16, 16);"]
    return (
        _pair(LEFT, RIGHT, ACC | 512)
        if unit == EXECUTE
        else [f"move_out(&c[{4096 + number % 12 * 256}], {LEFT:#x}, 16, 16);"]
    )


def program(earlier: Actor, later: Actor, hazard: str, draw: random.Random) -> list[str]:
    """One program in which both use some of the same rows; of a pair that uses different banks, the same ones of
    either."""
    bank = OTHER_BANK if hazard in ELSEWHERE else 0
    first, second = (draw.choice((DIM, draw.randint(1, DIM))) for _ in range(2))
    apart = draw.choice((0, 0, draw.randint(1 - second, first - 1)))
    lines = [*SETUP, _stores(BYTES)]
    for block in range(6):  # known contents: of operands, and of all rows in question
        lines.append(f"move_in(0, &a[{block * 256}], {SHARED - 32 + block * DIM:#x}, 16, 16);")
        for start in {0, bank}:
            row = start + SHARED - 32 + block * DIM
            lines.append(f"move_in(1, &a[{block * 1024}], {ACC | row:#x}, 16, 16);")
    for offset, row in ((0, LEFT), (256, RIGHT), (512, SPARE)):
        lines.append(f"move_in(0, &b[{offset}], {row:#x}, 16, 16);")
    lines += [
        f"move_in(1, &b[1024], {ACC | SCRATCH:#x}, 16, 16);",
        "fence();",
        _stores(_apart(earlier, later)),
        "fence();",
    ]
    for number in range(draw.choice((0, 1, 3, 6, 12))):
        lines += _filler(draw.choice((earlier.unit, LOAD, EXECUTE, STORE)), number)
    lines += earlier.lines(SHARED, first)
    for number in range(draw.choice((0, 0, 0, 1, 2))):
        lines += _filler(draw.choice((LOAD, EXECUTE, STORE)), 12 + number)
    lines += [*later.lines(bank + SHARED + apart, second), "fence();", _stores(BYTES)]
    lines += [f"move_out(&d[{6144 + n * 256}], {SHARED - 16 + n * DIM:#x}, 16, 16);" for n in range(3)]
    lines += [f"move_out(&d[{6912}], {SPARE:#x}, 16, 16);", "fence();", _stores(SUMS)]
    rows = [SHARED - 16, SHARED, SHARED + 16, bank + SHARED if bank else SCRATCH]
    lines += [f"move_out(&d[{2048 + n * 1024}], {FULL | row:#x}, 16, 16);" for n, row in enumerate(rows)]
    return lines


def _apart(earlier: Actor, later: Actor) -> int:
    sums = any(actor.memory == "accumulator" and actor.unit == STORE for actor in (earlier, later))
    return SUMS if sums else BYTES


def pairs() -> Iterator[tuple[Actor, Actor, str]]:
    """All pairs with a hazard, and its name; pairs that use different banks."""
    for earlier in ACTORS:
        for later in ACTORS:
            if earlier.memory != later.memory:
                continue
            for (first, second), name in HAZARDS.items():
                if first in earlier.does and second in later.does:
                    yield earlier, later, name
                    break
    for name, actors in ELSEWHERE.items():
        yield from ((earlier, later, name) for earlier in actors for later in actors)


@dataclass
class Row:
    """The programs of one pair: `differ` did not give the bytes of program order, `refused` are those that the race
    detector refuses, and `missed` those that differ and are not refused. `stopped` did not come to an end."""

    memory: str
    earlier: str
    later: str
    hazard: str
    programs: int = 0
    differ: int = 0
    refused: int = 0
    missed: int = 0
    stopped: int = 0


class Bench:
    """The RTL and the simulator, at several memory latencies."""

    def __init__(self) -> None:
        model = model_of("gemmini")
        self.at: list[tuple[Laboratory, RtlMachine]] = []
        for latency in LATENCIES:
            lab = laboratory(isa.load("gemmini", {LATENCY: latency}))
            self.at.append((lab, RtlMachine(lab.accelerator, lab.tables, model)))

    def run(self, commands: Sequence[str], number: int) -> Counter[str]:
        """The counts of one program; nothing for one that the machine forbids whatever the order."""
        lab, hardware = self.at[number % len(self.at)]
        result = lab.run(commands)
        if result.error is not None:
            raise RuntimeError(f"{result.error.message} in\n" + "\n".join(commands))
        assert isinstance(result.trace, _core.Trace)
        assert result.timing is not None
        measured = hardware.run(result.trace, lab.tensors, most_cycles(result.timing.cycles))
        refused = bool(result.violations)
        if measured.run.status != "done":
            return Counter(programs=1, stopped=1, refused=refused)
        differs = any((measured.outputs[name] != expected).any() for name, expected in result.outputs.items())
        return Counter(programs=1, differ=differs, refused=refused, missed=differs and not refused)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=18, help="of each pair and hazard")
    parser.add_argument("--hazard", choices=(*HAZARDS.values(), *ELSEWHERE), help="only pairs of this one")
    parser.add_argument("--out", type=Path, help="CSV file for the counts")
    parser.add_argument("--show", action="store_true", help="print the first program that the race detector misses")
    given = parser.parse_args()
    bench, rows, shown = Bench(), [], False
    for earlier, later, hazard in pairs():
        if given.hazard not in (None, hazard):
            continue
        draw = random.Random(f"{earlier.memory}{earlier.name}{later.name}{hazard}")
        row = Row(earlier.memory, earlier.name, later.name, hazard)
        for number in range(given.programs):
            commands = program(earlier, later, hazard, draw)
            counts = bench.run(commands, number)
            if counts["missed"] and given.show and not shown:
                shown = True
                print("\n".join(commands))
            for name, count in counts.items():
                setattr(row, name, getattr(row, name) + count)
        rows.append(row)
        print(
            f"{row.memory:12} {row.earlier:14} {row.later:14} {row.hazard:24} {row.programs:4} programs "
            f"{row.differ:4} differ {row.refused:4} refused {row.missed:3} missed"
            + (f" {row.stopped} stopped" if row.stopped else ""),
            flush=True,
        )
    missed = sum(row.missed for row in rows)
    print(
        f"{sum(row.programs for row in rows)} programs of {len(rows)} pairs, {missed} that differ and are not refused"
    )
    if given.out:
        with given.out.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([field.name for field in fields(Row)])
            writer.writerows([[getattr(row, field.name) for field in fields(Row)] for row in rows])


if __name__ == "__main__":
    main()

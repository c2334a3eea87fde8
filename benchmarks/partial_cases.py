"""Adds measured cases of mechanisms crossed with partial sizes: `python -m benchmarks.partial_cases`.

Each case is a short trace of one mechanism (moves of ragged rows, pairs of partial tiles in the same and in different
banks, pooled images, overlap, dependences), with sizes, places, strides and memory latencies drawn by its number. It
runs on the RTL model that `autocomp rtl build` has made for gemmini; cases that are there are measured anew.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.fidelity import LATENCY, trace_path
from autocomp.targets.simulator.rtl.build import model_of
from autocomp.targets.simulator.rtl.machine import RtlMachine
from autocomp.targets.simulator.trace import parse_trace

FOLDER = Path(__file__).parent / "rtl"
MARK = "partial"  # in the names of these cases
MOST_CYCLES = 200_000
BANK, ACC_BANK, DIM = 4096, 512, 16  # rows of a scratchpad bank and of an accumulator bank; side of the array
COUNTS = {"a": 170, "b": 130, "c": 70, "d": 150, "e": 70, "f": 60}  # cases of each group
NO_POOL: Mapping[str, int] = dict.fromkeys(
    ("pool_stride", "pool_size", "pool_out_dim", "porows", "pocols", "orows", "ocols", "upad", "lpad"), 0
)


@dataclass
class Author:
    """Writes one trace: configurations, then a fence, then what is measured."""

    draw: random.Random
    setup: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join([*self.setup, "fence", *self.body, ""])

    def size(self, most: int = DIM) -> int:
        """From 1 to `most`, the ends often."""
        return self.draw.choice((most, most - 1 or 1, self.draw.randint(1, most), self.draw.randint(1, most)))

    def address(self, number: int) -> int:
        """Of a tensor of its own, at any alignment."""
        return 0x80000000 + number * 0x100000 + self.draw.choice((0, 0, 3, 8, 16, 48, self.draw.randrange(4096)))

    def config_ex(self, dataflow: str, a_transpose: int = 0, b_transpose: int = 0) -> None:
        self.setup.append(
            f"config_ex dataflow={dataflow} act=0 shift=0 acc_scale=1 a_stride=1 c_stride=1 a_transpose={a_transpose} "
            f"b_transpose={b_transpose} set_only_strides=0"
        )

    def config_ld(self, number: int, stride: int, scale: float = 1.0, shrunk: int = 0) -> None:
        self.setup.append(
            f"config_ld id={number} stride={stride} scale={scale:g} shrunk={shrunk} block_stride=16 pixel_repeats=1"
        )

    def config_st(self, stride: int, pool: Mapping[str, int] = NO_POOL) -> None:
        pooling = " ".join(f"{name}={value}" for name, value in pool.items())
        self.setup.append(f"config_st stride={stride} act={self.draw.randint(0, 1)} acc_scale=1 {pooling}")

    def move(self, name: str, address: int, local: str, cols: int, rows: int) -> None:
        self.body.append(f"{name} dram={address:#x} local={local} cols={cols} rows={rows}")

    def pair(self, a: int, b: int | None, c: str, rows: int, depth: int, cols: int, d: int | None = None) -> None:
        """Weight-stationary: rows x depth times depth x cols."""
        self.body.append(f"preload bd={place(b)} c={c} bd_cols={cols} bd_rows={depth} c_cols={cols} c_rows={rows}")
        kind = "accumulated" if b is None else "preloaded"
        self.body.append(
            f"compute_{kind} a=sp:{a} bd={place(d)} a_cols={depth} a_rows={rows} bd_cols={cols} bd_rows={rows}"
        )


def place(row: int | None) -> str:
    return "garbage" if row is None else f"sp:{row}"


def moves_in(a: Author) -> str:
    stride = a.draw.choice((64, 100, 768, 1000, a.draw.randint(1, 300)))
    kind = a.draw.choice(("spad", "spad", "scaled", "sums", "shrunk"))
    a.config_ld(0, stride, 0.5 if kind == "scaled" else 1.0, int(kind == "shrunk"))
    target, most = ("sp", 64) if kind in ("spad", "scaled") else ("acc", 16 if kind == "sums" else 64)
    cols, rows = a.size(most), a.size()
    for n in range(count := a.draw.choice((1, 2, 4, 8))):
        a.move("mvin", a.address(n), f"{target}:{n * 64}", cols, rows)
    return f"{count} moves in of {rows} rows x {cols} columns, stride {stride}, {kind}"


def pairs(a: Author) -> str:
    a.config_ex("WS")
    left, depth, cols = a.size(), a.size(), a.size()
    same = a.draw.choice((True, False))
    bias = a.draw.choice((None, None, BANK * 2))
    for n in range(count := a.draw.choice((2, 4, 8, 16))):
        b = None if n and a.draw.random() < 0.25 else (0 if same else BANK) + 2048 + n * 16
        acc = "+acc" if a.draw.random() < 0.5 else ""
        a.pair(n * 16, b, f"acc:{n * 16 % ACC_BANK}{acc}", left, depth, cols, None if bias is None else bias + n * 16)
    banks = "the same bank" if same else "different banks"
    return f"{count} pairs of {left} x {depth} x {cols}, operands in {banks}{'' if bias is None else ', with D'}"


def chains(a: Author) -> str:
    a_transpose, b_transpose = a.draw.choice(((0, 0), (1, 0), (1, 1)))
    a.config_ex("OS", a_transpose, b_transpose)
    rows, depth, cols = a.size(), a.size(), a.size()
    bank = a.draw.choice((0, BANK))
    length = a.draw.choice((1, 2, 4))
    for chain in range(count := a.draw.choice((1, 2, 4))):
        for n in range(length):
            c = f"acc:{chain * 16}" if n == length - 1 else "garbage"
            a.body.append(f"preload bd=garbage c={c} bd_cols={cols} bd_rows={rows} c_cols={cols} c_rows={rows}")
            kind = "accumulated" if n else "preloaded"
            a.body.append(
                f"compute_{kind} a=sp:{n * 16} bd=sp:{bank + 1024 + n * 16} a_cols={depth} a_rows={rows} "
                f"bd_cols={cols} bd_rows={depth}"
            )
    turned = f"transposed {a_transpose}{b_transpose}"
    return f"{count} output-stationary chains of {length}, {rows} x {depth} x {cols}, {turned}"


def moves_out(a: Author) -> str:
    stride = a.draw.choice((64, 100, 768, 1000, a.draw.randint(64, 300)))
    kind = a.draw.choice(("spad", "acc", "full", "pooled"))
    count = a.draw.choice((1, 2, 4, 8))
    if kind == "pooled":
        window, step, pad = a.draw.randint(1, 3), a.draw.randint(1, 3), a.draw.randint(0, 1)
        out = a.draw.randint(1, 4)
        side = max(1, (out - 1) * step + window - pad)
        a.config_st(stride, dict(zip(NO_POOL, (step, window, out, out, out, side, side, pad, pad), strict=True)))
        cols = a.size()
        for n in range(count):
            a.move("mvout", a.address(n), f"acc:{n % 4 * 128}", cols, 0)
        return f"{count} moves out of {out} x {out} maxima of {window} x {window}, {cols} columns, {pad} of padding"
    a.config_st(stride)
    cols, rows = a.size(16 if kind == "full" else 64), a.size()
    target = "sp" if kind == "spad" else "acc"
    for n in range(count):
        a.move("mvout", a.address(n), f"{target}:{n * 64}{'+full' if kind == 'full' else ''}", cols, rows)
    return f"{count} moves out of {rows} rows x {cols} columns, stride {stride}, {kind}"


def overlaps(a: Author) -> str:
    """Moves in, pairs and moves out that have nothing to do with each other."""
    a.config_ex("WS")
    a.config_ld(0, a.draw.choice((64, 100, 768)), a.draw.choice((1.0, 1.0, 0.5)))
    a.config_st(a.draw.choice((64, 100, 768)))
    cols, rows, depth, wide = a.size(64), a.size(), a.size(), a.size(64)
    base = a.draw.choice((0, BANK))
    for n in range(count := a.draw.choice((2, 4, 8))):
        a.move("mvin", a.address(n), f"sp:{base + 2048 + n * 64}", cols, rows)
        a.pair(n * 16, BANK * 2 + n * 16, f"acc:{n * 16}", rows, depth, DIM)
        a.move("mvout", a.address(16 + n), f"acc:{ACC_BANK + n % 4 * 64}", wide, rows)
    return f"{count} moves in of {rows} x {cols}, pairs of depth {depth} and moves out of {wide} columns side by side"


def dependences(a: Author) -> str:
    """Move in, multiply, move out, each from what the one before has written."""
    a.config_ex("WS")
    a.config_ld(0, a.draw.choice((16, 100, 768)))
    a.config_st(a.draw.choice((16, 100, 768)))
    rows, depth, cols = a.size(), a.size(), a.size()
    b_bank = a.draw.choice((0, BANK))
    again = a.draw.choice((0, 16))
    for n in range(count := a.draw.choice((1, 2, 4))):
        left, right = n * again, b_bank + 1024 + n * again
        a.move("mvin", a.address(n), f"sp:{left}", depth, rows)
        a.move("mvin", a.address(8 + n), f"sp:{right}", cols, depth)
        a.pair(left, right, f"acc:{n * again}", rows, depth, cols)
        a.move("mvout", a.address(16 + n), f"acc:{n * again}", cols, rows)
    return f"{count} tiles of {rows} x {depth} x {cols}, rows {'of their own' if again else 'used again'}"


WRITERS: Mapping[str, Callable[[Author], str]] = {
    "a": moves_in,
    "b": pairs,
    "c": chains,
    "d": moves_out,
    "e": overlaps,
    "f": dependences,
}


def cases() -> Iterator[tuple[str, str, str, int, str]]:
    """Name, group, description, memory latency and trace of each case."""
    for group, count in COUNTS.items():
        for number in range(count):
            author = Author(random.Random(f"{group}{number}"))
            latency = (20, 40, 120)[number % 3]
            description = WRITERS[group](author)
            yield f"{group}_{MARK}_{number:03}_l{latency}", group, f"({group}) {description}", latency, author.text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    folder = parser.parse_args().folder
    model = model_of("gemmini")
    machines: dict[int, RtlMachine] = {}
    rows = []
    for name, group, description, latency, text in cases():
        if latency not in machines:
            machine = isa.load("gemmini", {LATENCY: latency})
            machines[latency] = RtlMachine(machine, isa.lower(machine), model)
        rtl = machines[latency]
        trace = parse_trace(text, name, rtl.accelerator, rtl.tables)
        run = rtl.run(trace.trace, None, MOST_CYCLES).run
        if run.status != "done":
            print(f"{name}: {run.message or 'still busy at the limit'}: {description}")
            continue
        commands = sum(line != "fence" for line in text.split("fence\n", 1)[1].splitlines())
        rows.append((name, group, description, commands, latency, run.segment_cycles[-1]))
        trace_path(folder, name).write_bytes(gzip.compress(f"# {description}\n{text}".encode(), mtime=0))
    table = folder / "cycles.csv"
    with table.open(encoding="utf-8", newline="") as file:
        head, *old = list(csv.reader(file))
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([head, *(row for row in old if f"_{MARK}_" not in row[0]), *rows])
    print(f"{len(rows)} cases measured")


if __name__ == "__main__":
    main()

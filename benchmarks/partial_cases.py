"""Adds measured cases of mechanisms crossed with partial sizes: `python -m benchmarks.partial_cases`.

Each case is a short trace of one mechanism: moves of ragged rows, pairs of partial tiles in the same and in different
banks, pooled images, overlap, dependences, or hardware loops. Its number determines its sizes, places, strides and
memory latencies. It runs on the RTL model that `autocomp rtl build` has made for gemmini; existing cases are measured
anew.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.fidelity import LATENCY, trace_path
from autocomp.targets.simulator.rtl.machine import RtlMachine
from autocomp.targets.simulator.rtl.model.build import model_of
from autocomp.targets.simulator.trace import parse_trace

FOLDER = Path(__file__).parent / "rtl"
MARK = "partial"  # in the names of these cases
MOST_CYCLES = 200_000
BANK, ACC_BANK, DIM = 4096, 512, 16  # rows of a scratchpad bank and of an accumulator bank; side of the array
# Cases of each mechanism; its first letter is the group.
COUNTS = {
    "a": 190,
    "b": 150,
    "c": 80,
    "d": 170,
    "e": 100,
    "emeet": 40,
    "f": 90,
    "fsums": 40,
    "i": 80,
    "iturned": 40,
    "isums": 30,
}
NO_POOL: Mapping[str, int] = dict.fromkeys(
    ("pool_stride", "pool_size", "pool_out_dim", "porows", "pocols", "orows", "ocols", "upad", "lpad"), 0
)


@dataclass
class Author:
    """Writes one trace: configurations, then a fence, then what is measured."""

    draw: random.Random
    setup: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    convolved: int = 0  # the stride of the hardware loops over convolutions, which is configured once

    @property
    def text(self) -> str:
        return "\n".join([*self.setup, "fence", *self.body, ""])

    def size(self, most: int = DIM) -> int:
        """From 1 to `most`, the ends often."""
        return self.draw.choice((most, most - 1 or 1, self.draw.randint(1, most), self.draw.randint(1, most)))

    def address(self, number: int) -> int:
        """Of a tensor of its own, at any alignment."""
        return 0x80000000 + number * 0x100000 + self.draw.choice((0, 0, 3, 8, 16, 48, self.draw.randrange(4096)))

    def config_ex(self, dataflow: str, a_transpose: int = 0, b_transpose: int = 0, a_stride: int = 1) -> None:
        self.setup.append(
            f"config_ex dataflow={dataflow} act=0 shift=0 acc_scale=1 a_stride={a_stride} c_stride=1 "
            f"a_transpose={a_transpose} b_transpose={b_transpose} set_only_strides=0"
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


def completions(a: Author) -> str:
    """Short moves that complete while configurations of the array do, and a move in that waits for one of them."""
    a.config_ld(0, a.draw.choice((16, 30, 100)))
    a.config_st(a.draw.choice((8, 16, 100)))
    sizes = [a.draw.randint(1, 7) for _ in range(a.draw.choice((2, 3, 4)))]
    outward = a.draw.choice((True, True, False))
    for n, rows in enumerate(sizes):
        target = f"acc:{n * 16}" if outward and a.draw.random() < 0.5 else f"sp:{n * 16}"
        a.move("mvout" if outward else "mvin", a.address(n), target, a.draw.randint(1, 6), rows)
    for _ in range(count := a.draw.choice((2, 3, 4, 6))):
        stride = a.draw.randint(1, 20)
        a.body.append(
            f"config_ex dataflow=OS act=0 shift=0 acc_scale=1 a_stride={stride} c_stride=1 a_transpose=0 b_transpose=0 "
            "set_only_strides=0"
        )
    a.move("mvin", a.address(8), f"sp:{a.draw.randrange(len(sizes)) * 16}", a.size(), DIM)
    a.move("mvout", a.address(9), f"acc:{ACC_BANK}", 3, a.size())
    moves = f"moves {'out' if outward else 'in'} of {', '.join(map(str, sizes))} rows"
    return f"{moves} that complete beside {count} configurations of the array"


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


def shared_sums(a: Author) -> str:
    """Moves in and products by turns that add in one bank of the accumulator, to the same rows or to others."""
    a.config_ex("WS")
    kind = a.draw.choice(("bytes", "bytes, scaled", "sums"))
    a.config_ld(0, a.draw.choice((64, 100, 768)), 0.5 if kind == "bytes, scaled" else 1.0, int(kind != "sums"))
    rows, depth, cols = a.size(), a.size(), a.size()
    beside = a.draw.choice((0, 0, 16, 128))
    first = a.draw.choice((0, 1))
    for n in range(count := a.draw.choice((1, 2, 4, 8))):
        for turn in range(2):
            if (turn + first) % 2:
                a.pair(n * 16, BANK + n * 16, f"acc:{n % 4 * 16}+acc", rows, depth, cols)
            else:
                a.move("mvin", a.address(n), f"acc:{n % 4 * 16 + beside}+acc", cols, rows)
    where = f"rows that are {beside} further" if beside else "the same rows"
    return f"{count} products of {rows} x {depth} x {cols}, and moves of {kind} that add to {where}"


def loops(a: Author) -> str:
    """One to three hardware loops, the later ones loading while the earlier ones compute."""
    a.config_st(a.draw.choice((17, 64, 100)))
    write: Callable[[Author, int], str] = a.draw.choice((matmul_loop, convolution_loop))
    parts = [write(a, n) for n in range(a.draw.choice((1, 2, 3)))]
    return f"{len(parts)} loops: {', '.join(parts)}"


def matmul_loop(a: Author, n: int) -> str:
    if n == 0:
        a.config_ex("WS")
        for number in range(3):
            a.config_ld(number, a.draw.choice((64, 70, 100)), 1.0, int(number == 2))
    tiles = [a.draw.randint(1, 3) for _ in "IJK"]
    pads = [a.draw.choice((0, a.draw.randint(0, DIM - 1))) for _ in "IJK"]
    bias = a.draw.choice((0, a.address(8 + n)))
    _bounds(a, tiles, pads)
    a.body += [
        f"loop_ws_config_addrs_ab A={a.address(n)} B={a.address(4 + n)}",
        f"loop_ws_config_addrs_dc D={bias} C={a.address(12 + n)}",
        "loop_ws_config_strides_ab A_stride=64 B_stride=64",
        "loop_ws_config_strides_dc D_stride=64 C_stride=64",
        "loop_ws ex_accumulate=0 full_c=0 low_d=1 act=0 b_spad_id=0 a_spad_id=0 a_transpose=0 b_transpose=0 "
        "is_resadd=0",
    ]
    sizes = " x ".join(str(count * DIM - pad) for count, pad in zip(tiles, pads, strict=True))
    return f"a product of {sizes}{', with a bias' if bias else ''}"


def turned_loops(a: Author) -> str:
    """One to three hardware loops with an operand that is stored transposed, sums that stay, and raw results."""
    a_transpose, b_transpose = a.draw.choice(((0, 1), (1, 0)))
    a.config_ex("WS", a_transpose, b_transpose)
    for number in range(3):
        a.config_ld(number, a.draw.choice((64, 70, 256)))
    a.config_st(256)
    parts = []
    for n in range(count := a.draw.choice((1, 2, 3))):
        tiles = [a.draw.randint(1, 3) for _ in "IJK"]
        pads = [a.draw.randint(0, DIM - 1) for _ in "IJK"]
        _bounds(a, tiles, pads)
        bias, result = a.draw.choice((0, a.address(8 + n))), a.draw.choice((0, a.address(12 + n)))
        a.body += [
            f"loop_ws_config_addrs_ab A={a.address(n)} B={a.address(4 + n)}",
            f"loop_ws_config_addrs_dc D={bias} C={result}",
            "loop_ws_config_strides_ab A_stride=64 B_stride=64",
            "loop_ws_config_strides_dc D_stride=64 C_stride=64",
            f"loop_ws ex_accumulate={int(n > 0 or bias > 0)} full_c=1 low_d=0 act=0 b_spad_id=0 a_spad_id=0 "
            f"a_transpose={a_transpose} b_transpose={b_transpose} is_resadd=0",
        ]
        parts.append(" x ".join(str(count * DIM - pad) for count, pad in zip(tiles, pads, strict=True)))
    return f"{count} loops with {'B' if b_transpose else 'A'} transposed: {', '.join(parts)}"


def sums_of_matrices(a: Author) -> str:
    """One to three hardware loops that add two matrices."""
    for number in range(2):
        a.config_ld(number, a.draw.choice((64, 70, 256)), a.draw.choice((1.0, 0.5)), 1)
    a.config_st(a.draw.choice((64, 70, 256)))
    parts = []
    for n in range(count := a.draw.choice((1, 2, 3))):
        tiles = [a.draw.randint(1, 5), a.draw.randint(1, 5), 0]
        pads = [a.draw.randint(0, DIM - 1), a.draw.randint(0, DIM - 1), 0]
        _bounds(a, tiles, pads)
        a.body += [
            f"loop_ws_config_addrs_ab A={a.address(n)} B={a.address(4 + n)}",
            f"loop_ws_config_addrs_dc D=0 C={a.address(12 + n)}",
            "loop_ws_config_strides_ab A_stride=64 B_stride=64",
            "loop_ws_config_strides_dc D_stride=64 C_stride=64",
            "loop_ws ex_accumulate=0 full_c=0 low_d=0 act=0 b_spad_id=0 a_spad_id=0 a_transpose=0 b_transpose=0 "
            "is_resadd=1",
        ]
        parts.append(" x ".join(str(count * DIM - pad) for count, pad in zip(tiles[:2], pads[:2], strict=True)))
    return f"{count} sums of matrices: {', '.join(parts)}"


def _bounds(a: Author, tiles: Sequence[int], pads: Sequence[int]) -> None:
    bounds = " ".join(f"{name}={value}" for name, value in zip("IJK", tiles, strict=True))
    missing = " ".join(f"pad_{name}={value}" for name, value in zip("IJK", pads, strict=True))
    a.body.append(f"loop_ws_config_bounds {bounds} {missing}")


def convolution_loop(a: Author, n: int) -> str:
    if n == 0:
        a.convolved = a.draw.choice((1, 2))
        a.config_ex("WS", a_stride=a.convolved)
    stride = a.convolved
    side, images = a.draw.choice((1, 2, 3)), a.draw.choice((1, 1, 2))
    rows, channels, filters = a.draw.randint(1, 6), a.draw.choice((1, 3, 16, 17, 35)), a.draw.choice((1, 7, 16, 17, 33))
    cols = a.draw.choice((rows, a.draw.randint(1, 18)))
    high, wide = (rows - 1) * stride + side, (cols - 1) * stride + side
    extent, out = max(high, wide), max(rows, cols)
    beside = a.draw.choice((1, max(1, min(DIM // channels, side)))) if channels <= DIM else 1
    bias, pad = a.draw.choice((0, 1)), a.draw.randint(0, side - 1)
    a.body += [
        f"loop_conv_ws_config_1 batch_size={images} in_row_dim={extent} in_col_dim={extent} in_channels={channels} "
        f"out_channels={filters} out_row_dim={out} out_col_dim={out} pool_out_row_dim={out} pool_out_col_dim={out} "
        f"stride={stride} padding=0",
        f"loop_conv_ws_config_2 kernel_dim={side} pool_size=0 pool_stride=0 pool_padding=0 batches={images} "
        f"porows={rows} pocols={cols} pochs={filters}",
        f"loop_conv_ws_config_3 krows={side} kcols={side} kchs={channels} lpad={pad} rpad=0 upad={pad} dpad=0 plpad=0",
        f"loop_conv_ws_config_4 orows={rows} prpad=0 pupad=0 pdpad=0 kernel_dilation=1 in_stride={channels} "
        f"weight_stride={filters} out_stride={filters} ocols={cols}",
        f"loop_conv_ws_config_5 filters={a.address(n)} output={a.address(12 + n)}",
        f"loop_conv_ws_config_6 bias={a.address(8 + n)} input={a.address(4 + n)}",
        f"loop_conv_ws_run no_bias={1 - bias} no_pool=1 downsample=0 wrot180=0 input_dilated=0 act=0 "
        "trans_output_1203=0 trans_weight_1203=0 trans_weight_0132=0 trans_input_3120=0 "
        f"max_pixels_per_row={beside} dw=0 a_spad_id=0 b_spad_id=0",
    ]
    taps = f"{side} x {side} x {channels}"
    return f"{images} x {rows} x {cols} x {filters} from {taps}, stride {stride}, {beside} pixels a row"


WRITERS: Mapping[str, Callable[[Author], str]] = {
    "a": moves_in,
    "b": pairs,
    "c": chains,
    "d": moves_out,
    "e": overlaps,
    "emeet": completions,
    "f": dependences,
    "fsums": shared_sums,
    "i": loops,
    "iturned": turned_loops,
    "isums": sums_of_matrices,
}


def cases() -> Iterator[tuple[str, str, str, int, str]]:
    """Name, group, description, memory latency and trace of each case."""
    for name, count in COUNTS.items():
        group = name[0]
        for number in range(count):
            author = Author(random.Random(f"{name}{number}"))
            latency = (20, 40, 120)[number % 3]
            description = WRITERS[name](author)
            case = f"{group}_{name[1:]}{'_' * (len(name) > 1)}{MARK}_{number:03}_l{latency}"
            yield case, group, f"({group}) {description}", latency, author.text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument(
        "--groups",
        default="".join(dict.fromkeys(n[0] for n in COUNTS)),
        help="measure these groups only (default: all)",
    )
    arguments = parser.parse_args()
    folder, groups = arguments.folder, arguments.groups
    model = model_of("gemmini")
    machines: dict[int, RtlMachine] = {}
    rows = []
    for name, group, description, latency, text in cases():
        if group not in groups:
            continue
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
        writer.writerows([head, *(row for row in old if f"_{MARK}_" not in row[0] or row[1] not in groups), *rows])
    print(f"{len(rows)} cases measured")


if __name__ == "__main__":
    main()

"""AMX tiles in NumPy, from the Software Developer's Manual."""

from __future__ import annotations

import numpy as np

from tests.machines.models.arithmetic import Bytes, Floats, Memory, canonical, chain, from_bfloat16

SIZES: dict[str, int] = {}
TILES, ROWS, ROW_BYTES = 8, 16, 64
BYTES = 1 << 14
DUMP = BYTES - TILES * ROWS * ROW_BYTES
Call = tuple[str, tuple[float, ...]]


class Model:
    """Tiles as bytes; each instruction sees them as it needs."""

    def __init__(self, memory: Bytes) -> None:
        self.dram = Memory(memory)
        self.tiles = np.zeros((TILES, ROWS, ROW_BYTES), np.uint8)
        self.rows, self.width = [ROWS] * TILES, [ROW_BYTES] * TILES

    def execute(self, name: str, arguments: tuple[float, ...]) -> None:
        if name != "fence":
            getattr(self, name)(*arguments)

    def tile_configure(self, t: int, rows: int, width: int) -> None:
        self.rows[t], self.width[t] = rows, width

    def tileloadd(self, t: int, src: int, stride: int) -> None:
        tile = t // ROWS
        self.tiles[tile] = 0
        for r in range(self.rows[tile]):
            self.tiles[tile, r, : self.width[tile]] = self.dram.read(src + r * stride, self.width[tile], "u1")

    def tilezero(self, t: int) -> None:
        self.tiles[t // ROWS] = 0

    def tilestored(self, dst: int, stride: int, t: int) -> None:
        tile = t // ROWS
        for r in range(self.rows[tile]):
            self.dram.write(dst + r * stride, self.tiles[tile, r, : self.width[tile]])

    def tdpbssd(self, c: int, a: int, b: int) -> None:
        self._multiply(c, a, b, "i1")

    def tdpbusd(self, c: int, a: int, b: int) -> None:
        self._multiply(c, a, b, "u1")

    def _multiply(self, c: int, a: int, b: int, left: str) -> None:
        c, a, b = c // ROWS, a // ROWS, b // ROWS
        m, n, k = self.rows[c], self.width[c] // 4, self.width[a]
        x = self.tiles[a, :m, :k].view(left).astype(np.int32)
        packed = self.tiles[b, : k // 4, : 4 * n].view("i1").astype(np.int32)
        y = packed.reshape(k // 4, n, 4).transpose(0, 2, 1).reshape(k, n)
        sums = self.tiles[c].view(np.int32)
        sums[:m, :n] += x @ y

    def tdpbf16ps(self, c: int, a: int, b: int) -> None:
        c, a, b = c // ROWS, a // ROWS, b // ROWS
        m, n, pairs = self.rows[c], self.width[c] // 4, self.rows[b]
        x = from_bfloat16(self.tiles[a].view(np.uint16)[:m, : 2 * pairs])
        y = from_bfloat16(self.tiles[b].view(np.uint16)[:pairs, : 2 * n])
        zeros: Floats = np.zeros((m, n), np.float32)
        halves = [chain(np.ascontiguousarray(x[:, h::2]), np.ascontiguousarray(y[:, h::2]), zeros) for h in (0, 1)]
        sums = self.tiles[c].view(np.float32)
        with np.errstate(all="ignore"):
            sums[:m, :n] = canonical(sums[:m, :n] + canonical(halves[0] + halves[1]))


def memory(random: np.random.Generator) -> Bytes:
    """Bytes that are small numbers as bfloat16 and binary32 too, so that sums stay numbers."""
    contents = random.integers(0, 256, BYTES).astype(np.uint8)
    halves = contents.view(np.uint16)
    halves[:] = (halves & 0x80FF) | (random.integers(0x38, 0x44, halves.shape) << 8).astype(np.uint16)
    return contents


def prepare(contents: Bytes) -> Bytes:
    return contents


def pointer(offset: int) -> int:
    return (1 << 48) | offset


def program(random: np.random.Generator) -> list[Call]:
    """Turns of loads, products and stores with tiles of new sizes; then whole tiles leave."""
    calls: list[Call] = [("tileloadd", (ROWS * t, pointer(1024 * t), 64)) for t in range(TILES)]
    for _ in range(int(random.integers(1, 8))):
        c, a, b = (int(t) for t in random.permutation(TILES)[:3])
        m, n, quads = (int(size) for size in random.integers(1, 17, 3))
        calls += [
            ("tile_configure", (c, m, 4 * n)),
            ("tile_configure", (a, m, 4 * quads)),
            ("tile_configure", (b, quads, 4 * n)),
        ]
        for t in (c, a, b):
            if random.integers(2):
                calls.append(
                    (
                        "tileloadd",
                        (ROWS * t, pointer(2 * int(random.integers(0, 1024))), int(random.choice([64, 66, 130, 0]))),
                    )
                )
        if random.integers(4) == 0:
            calls.append(("tilezero", (ROWS * c,)))
        product = str(random.choice(["tdpbssd", "tdpbusd", "tdpbf16ps"]))
        calls.append((product, (ROWS * c, ROWS * a, ROWS * b)))
        if random.integers(2):
            calls.append(
                (
                    "tilestored",
                    (pointer(4096 + 2 * int(random.integers(0, 1024))), int(random.choice([64, 70, 100])), ROWS * c),
                )
            )
    for t in range(TILES):
        calls += [("tile_configure", (t, ROWS, ROW_BYTES)), ("tilestored", (pointer(DUMP + 1024 * t), 64, ROWS * t))]
    return [*calls, ("fence", ())]

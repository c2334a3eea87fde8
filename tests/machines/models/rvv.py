"""A vector unit in NumPy, from the vector extension's specification: groups of registers as one long vector."""

from __future__ import annotations

import numpy as np

from tests.machines.models.arithmetic import Bytes, Floats, Memory, canonical, fma

SIZES = {"VLEN": 256, "DLEN": 128}
LANES, VLMAX = 8, 64
BYTES = 1 << 13
DUMP = BYTES - 4 * 32 * LANES
Call = tuple[str, tuple[float, ...]]


class Model:
    """One method an instruction; registers as one array, of which a group is a part."""

    def __init__(self, memory: Bytes) -> None:
        self.dram = Memory(memory)
        self.v: Floats = np.zeros(32 * LANES, np.float32)
        self.f: Floats = np.zeros(32, np.float32)

    def execute(self, name: str, arguments: tuple[float, ...]) -> None:
        if name != "fence":
            getattr(self, name)(*arguments)

    def _group(self, register: int, vl: int) -> Floats:
        return self.v[register * LANES : register * LANES + vl]

    def vle32(self, vd: int, src: int, vl: int) -> None:
        self._group(vd, vl)[:] = self.dram.read(src, vl, "f4")

    def vlse32(self, vd: int, src: int, stride: int, vl: int) -> None:
        self._group(vd, vl)[:] = [self.dram.read(src + j * stride, 1, "f4")[0] for j in range(vl)]

    def flw(self, fd: int, src: int) -> None:
        self.f[fd] = self.dram.read(src, 1, "f4")[0]

    def vfmv_v_f(self, vd: int, value: float, vl: int) -> None:
        self._group(vd, vl)[:] = np.float32(value)

    def vfmacc_vf(self, vd: int, fs: int, vs: int, vl: int) -> None:
        self._group(vd, vl)[:] = canonical(fma(self.f[fs], self._group(vs, vl), self._group(vd, vl)))

    def vfmul_vf(self, vd: int, fs: int, vs: int, vl: int) -> None:
        with np.errstate(all="ignore"):
            self._group(vd, vl)[:] = canonical(self.f[fs] * self._group(vs, vl))

    def vfadd_vv(self, vd: int, vs: int, vt: int, vl: int) -> None:
        with np.errstate(all="ignore"):
            self._group(vd, vl)[:] = canonical(self._group(vs, vl) + self._group(vt, vl))

    def vfmax_vf(self, vd: int, vs: int, by: float, vl: int) -> None:
        values = self._group(vs, vl)
        self._group(vd, vl)[:] = np.where(values > np.float32(by), values, np.float32(by))

    def vse32(self, dst: int, vs: int, vl: int) -> None:
        self.dram.write(dst, self._group(vs, vl))


def memory(random: np.random.Generator) -> Bytes:
    return random.normal(0, 3, BYTES // 4).astype(np.float32).view(np.uint8)


def prepare(contents: Bytes) -> Bytes:
    return contents


def pointer(offset: int) -> int:
    return (1 << 48) | offset


def program(random: np.random.Generator) -> list[Call]:
    """Registers are filled, some instructions follow, and all registers leave."""

    def address() -> int:
        return pointer(4 * int(random.integers(0, 1000)))

    calls: list[Call] = [("vle32", (8 * g, pointer(256 * g), VLMAX)) for g in range(4)]
    calls += [("flw", (r, pointer(4 * r + 1024))) for r in range(32)]
    for _ in range(int(random.integers(1, 30))):
        vl = int(random.integers(1, VLMAX + 1))
        group = -(-vl // LANES)
        vd, vs, vt = (int(random.integers(0, 33 - group)) for _ in range(3))
        if vs != vd and abs(vs - vd) < group:
            vs = vd  # groups that overlap in part are reserved
        if vt != vd and abs(vt - vd) < group:
            vt = vd
        scalar, value = int(random.integers(0, 32)), float(np.float32(random.normal()))
        calls.append(
            [
                ("vle32", (vd, address(), vl)),
                ("vlse32", (vd, address(), int(random.choice([0, 4, 8, 36])), vl)),
                ("flw", (scalar, address())),
                ("vfmv_v_f", (vd, value, vl)),
                ("vfmacc_vf", (vd, scalar, vs, vl)),
                ("vfmul_vf", (vd, scalar, vs, vl)),
                ("vfadd_vv", (vd, vs, vt, vl)),
                ("vfmax_vf", (vd, vs, value, vl)),
                ("vse32", (address(), vs, vl)),
            ][int(random.integers(0, 9))]
        )
    return [*calls, *(("vse32", (pointer(DUMP + 256 * g), 8 * g, VLMAX)) for g in range(4)), ("fence", ())]

"""The work of one round of each innermost loop, read from Triton's GPU dialect: operations on tensor cores, and bytes
that copies bring into shared memory."""

from __future__ import annotations

import re
from math import prod

from autocomp.targets.triton.recorder.marks import bodies

_SHAPED = re.compile(r"(?:memdesc|tensor|-> )<((?:\d+x)+)(f\d+\w*|bf16|i\d+)")
_DOT = ("ttng.warp_group_dot ", "tt.dot ")
_COPY = ("ttng.async_tma_copy_global_to_local", "ttg.async_copy_global_to_local")


def work_of_loops(ttgir: str) -> dict[str, dict[str, int]]:
    """By the number of the loop, as marks have it: `operations` on tensor cores of one round, the `bits` of their
    operands, and `bytes` copied into shared memory."""
    lines = ttgir.splitlines()
    totals: dict[str, dict[str, int]] = {}
    for number, (first, last, loop) in enumerate(bodies(lines)):
        work = {"operations": 0, "bits": 0, "bytes": 0}
        for line in lines[first:last] if loop else ():
            shapes = [([int(n) for n in dims.split("x")[:-1]], _bits(kind)) for dims, kind in _SHAPED.findall(line)]
            if any(name in line for name in _DOT) and len(shapes) >= 2:
                (left, bits), (right, _) = shapes[0], shapes[1]
                work["operations"] += 2 * prod(left) * right[-1]
                work["bits"] = max(work["bits"], bits)
            elif any(name in line for name in _COPY) and shapes:
                dims, bits = shapes[-1]
                work["bytes"] += prod(dims) * bits // 8
        if any(work.values()):
            totals[str(number)] = work
    return totals


def _bits(kind: str) -> int:
    match = re.search(r"\d+", kind)
    return int(match[0]) if match else 0

"""The work of one round of each innermost loop, read from Triton's GPU dialect: operations on tensor cores, and bytes
that copies bring into shared memory."""

from __future__ import annotations

import re
from math import prod

from autocomp.targets.triton.recorder.marks import bodies

_SHAPED = re.compile(r"(?:memdesc|tensor|-> )<((?:\d+x)+)(f\d+\w*|bf16|i\d+)")
_BARRIERS = re.compile(r"ttg\.local_alloc.*memdesc<(\d+)x1xi64")
_DOT = ("ttng.warp_group_dot ", "tt.dot ")
_COPY = ("ttng.async_tma_copy_global_to_local", "ttg.async_copy_global_to_local")


def work_of_loops(ttgir: str) -> dict[str, dict[str, int]]:
    """The work of one round, by the number of the loop as marks have it: `operations` on tensor cores and in how many
    `products`, the `bits` of their operands, and `bytes` copied into shared memory. `sums` and `functions` count those
    of tensors in registers."""
    lines = ttgir.splitlines()
    totals: dict[str, dict[str, int]] = {}
    for number, (first, last, loop) in enumerate(bodies(lines)):
        work = {"operations": 0, "products": 0, "bits": 0, "bytes": 0, "sums": 0, "functions": 0}
        for line in lines[first:last] if loop else ():
            shapes = [([int(n) for n in dims.split("x")[:-1]], _bits(kind)) for dims, kind in _SHAPED.findall(line)]
            if any(name in line for name in _DOT) and len(shapes) >= 2:
                (left, bits), (right, _) = shapes[0], shapes[1]
                work["operations"] += 2 * prod(left) * right[-1]
                work["products"] += 1
                work["bits"] = max(work["bits"], bits)
            elif any(name in line for name in _COPY) and shapes:
                dims, bits = shapes[-1]
                work["bytes"] += prod(dims) * bits // 8
            elif "tensor<" in line:
                work["sums"] += "arith.addf" in line
                work["functions"] += "= math." in line
        if work["operations"] or work["bytes"]:
            totals[str(number)] = work
    return totals


def depth_of(ttgir: str) -> int:
    """The stages of shared memory that warps hand to each other: the length of the longest row of barriers."""
    return max((int(rows) for rows in _BARRIERS.findall(ttgir)), default=0)


def _bits(kind: str) -> int:
    match = re.search(r"\d+", kind)
    return int(match[0]) if match else 0

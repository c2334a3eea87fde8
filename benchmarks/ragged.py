"""Operations whose extents need not divide an array of 16 x 16: what real networks are full of, and partial tiles.

`shapes` are sixty, the same for everybody. GEMMs cross bias, activation, scale and size; convolutions have stride,
padding, pooling, 1 x 1 filters or one filter a channel. `drawn` are as many as asked for, of a seed: small operations
with whatever a workload file can say, each on a machine whose memory is near or far. `gemms` are of given sizes.
"""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from autocomp.errors import ConfigError
from autocomp.workload import Workload, parse

SEED = 16
SIDE = 16  # of the array; no extent is a multiple of it
SIZES = {"small": (1, 40), "medium": (17, 130), "large": (65, 300)}  # of each of I, J and K
FILTERS = ("plain", "strided", "padded", "pooled", "pointwise", "depthwise")
EACH = 4  # convolutions of each kind
LATENCIES = (1, 5, 20, 40, 80, 120, 300)
SCALES = (1.0, 0.0078125, 0.3, -0.5, 2.0)
KINDS = ("gemm", "conv2d", "grouped", "pooled")


def shapes(overrides: Mapping[str, int | float] | None = None) -> tuple[Workload, ...]:
    """The operations, GEMMs first; names say what they are. `overrides` are parameters of the machine."""
    numbers = random.Random(SEED)
    return tuple(
        parse(yaml.safe_dump({"accelerator": "gemmini", **document}), Path(f"{name}.yaml"), overrides)
        for name, document in (*_gemms(numbers), *_convolutions(numbers))
    )


def gemms(sizes: Sequence[str], overrides: Mapping[str, int | float] | None = None) -> tuple[Workload, ...]:
    """GEMMs with a row bias, ReLU and a scale, of sizes such as 35x140x250: rows, columns, depth."""
    every = {"operation": "gemm", "accelerator": "gemmini", "bias": "row", "activation": "relu", "scale": 0.0078125}
    dims = (dict(zip("IJK", map(int, size.split("x")), strict=True)) for size in sizes)
    documents = zip(sizes, (yaml.safe_dump({**every, "dims": each}) for each in dims), strict=True)
    return tuple(parse(text, Path(f"gemm_{size}.yaml"), overrides) for size, text in documents)


def drawn(count: int, seed: int) -> Iterator[Workload]:
    """Random small operations; those that no workload file may state are drawn again."""
    number = seed
    for _ in range(count):
        while True:
            numbers = random.Random(number)
            number += 1
            kind = numbers.choice(KINDS)
            document = _gemm(numbers) if kind == "gemm" else _conv2d(numbers, kind)
            document |= {"accelerator": "gemmini", "set": {"MEM_LATENCY": numbers.choice(LATENCIES)}}
            try:
                yield parse(yaml.safe_dump(document), Path(f"{kind}_{number - 1}.yaml"))
                break
            except ConfigError:
                continue


def spread(shares: Mapping[str, float]) -> str:
    """The median of shares, and the least one."""
    least = min(shares, key=lambda name: shares[name])
    return f"{statistics.median(shares.values()):.1%} in the median, {shares[least]:.1%} at least ({least})"


def by_kind(shares: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    """A table of the shares of both bounds, by the workload's name, of the kinds of operations in `shapes`."""
    yield "| operations | of the bound, in the median | least | of tiled kernels, in the median | least |"
    yield "|---|---:|---:|---:|---:|"
    for kind, names in (*_kinds().items(), ("all", list(shares))):
        found = [shares[name] for name in names if name in shares]
        if found:
            cells = [f"{pick(each):.1%}" for each in zip(*found, strict=True) for pick in (statistics.median, min)]
            yield f"| {kind} | {' | '.join(cells)} |"


def _kinds() -> Mapping[str, list[str]]:
    names = [workload.name for workload in shapes()]
    gemm = [name for name in names if name.startswith("gemm")]
    each = len(gemm) // len(SIZES)
    sizes = {
        f"{each} GEMMs with extents of {low} to {high}": gemm[number * each : (number + 1) * each]
        for number, (low, high) in enumerate(SIZES.values())
    }
    return sizes | {f"convolutions, {kind}": [n for n in names if n.startswith(kind + "_")] for kind in FILTERS}


def _gemm(numbers: random.Random) -> dict[str, Any]:
    dims = {letter: numbers.randint(1, numbers.choice((20, 70, 150))) for letter in "IJK"}
    document = {"operation": "gemm", "dims": dims, **_common(numbers), "bias": numbers.choice(("none", "row", "full"))}
    document |= {f"transpose_{operand}": numbers.random() < 0.3 for operand in "ab"}
    if numbers.random() < 0.15:
        document |= {"result": "int32", "scale": 1.0, "activation": "none"}
    return document


def _conv2d(numbers: random.Random, kind: str) -> dict[str, Any]:
    rows, cols = (numbers.choice((1, 2, 3, 3, 5)) for _ in range(2))
    groups = numbers.choice((2, 3, 8)) if kind == "grouped" else 1
    channels, filters = (groups * numbers.randint(1, 40 // groups) for _ in range(2))
    dims = {"N": numbers.choice((1, 1, 2)), "H": numbers.randint(5, 14), "W": numbers.randint(5, 20)}
    dims |= {"C": channels, "K": numbers.choice((channels, filters)), "R": rows, "S": cols}
    document: dict[str, Any] = {"operation": "conv2d", "dims": dims, "groups": groups, **_common(numbers)}
    document |= {"bias": numbers.choice(("none", "row")), "stride": numbers.choice((1, 1, 2, [1, 2], [2, 1]))}
    document["padding"] = numbers.choice((0, 1, 2, [0, 0, 1, 1], [1, 0, 2, 1]))
    document["dilation"] = numbers.choice((1, 1, 1, 2, [1, 2]))
    if kind == "pooled":
        sizes = ({"size": 2, "stride": 2}, {"size": 3, "stride": 2, "padding": 1}, {"size": 2, "stride": 1})
        document["pool"] = numbers.choice(sizes)
    return document


def _common(numbers: random.Random) -> dict[str, Any]:
    return {"activation": numbers.choice(("none", "relu")), "scale": numbers.choice(SCALES)}


def _gemms(numbers: random.Random) -> Iterator[tuple[str, Mapping[str, Any]]]:
    crossed = itertools.product(SIZES.values(), ("none", "row", "full"), ("none", "relu"), (1.0, 0.0078125))
    for (low, high), bias, activation, scale in crossed:
        dims = {letter: _extent(numbers, low, high) for letter in "IJK"}
        name = "_".join(
            ["gemm", "x".join(map(str, dims.values())), bias, activation, "scaled" if scale != 1 else "one"]
        )
        yield (
            name,
            {"operation": "gemm", "dims": dims, "bias": bias, "activation": activation, "scale": scale},
        )


def _convolutions(numbers: random.Random) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for kind, number in itertools.product(FILTERS, range(EACH)):
        side = 1 if kind == "pointwise" else numbers.choice((2, 3, 5))
        channels = _extent(numbers, 3, 70)
        dims = {
            "N": numbers.choice((1, 1, 2)),
            "H": _extent(numbers, 9, 30),
            "W": _extent(numbers, 9, 30),
            "C": channels,
            "K": channels if kind == "depthwise" else _extent(numbers, 3, 70),
            "R": side,
            "S": side,
        }
        document: dict[str, Any] = {"operation": "conv2d", "dims": dims, "bias": numbers.choice(("none", "row"))}
        document |= {"activation": numbers.choice(("none", "relu")), "scale": 0.0078125}
        if kind == "strided":
            document |= {"stride": 2, "padding": numbers.choice((0, 1))}
        elif kind == "padded":
            document |= {"padding": numbers.choice((1, 2))}
        elif kind == "pooled":
            document |= {"pool": numbers.choice(({"size": 2, "stride": 2}, {"size": 3, "stride": 2, "padding": 1}))}
        elif kind == "depthwise":
            document |= {"groups": channels, "padding": side // 2}
        sizes = "x".join(str(dims[letter]) for letter in "HWCKR")
        yield f"{kind}_{number}_{sizes}", document


def _extent(numbers: random.Random, low: int, high: int) -> int:
    return numbers.choice([extent for extent in range(low, high + 1) if extent % SIDE])

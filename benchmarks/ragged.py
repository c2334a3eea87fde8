"""Sixty operations whose extents do not divide an array of 16 x 16: what real networks are full of, and partial tiles.

GEMMs cross bias, activation, scale and size; convolutions have stride, padding, pooling, 1 x 1 filters or one filter a
channel. The draw is seeded, so that everybody has the same shapes.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from autocomp.workload import Workload, parse

SEED = 16
SIDE = 16  # of the array; no extent is a multiple of it
SIZES = {"small": (1, 40), "medium": (17, 130), "large": (65, 300)}  # of each of I, J and K
FILTERS = ("plain", "strided", "padded", "pooled", "pointwise", "depthwise")
EACH = 4  # convolutions of each kind


def shapes(overrides: Mapping[str, int | float] | None = None) -> tuple[Workload, ...]:
    """The operations, GEMMs first; names say what they are. `overrides` are parameters of the machine."""
    numbers = random.Random(SEED)
    return tuple(
        parse(yaml.safe_dump({"accelerator": "gemmini", **document}), Path(f"{name}.yaml"), overrides)
        for name, document in (*_gemms(numbers), *_convolutions(numbers))
    )


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

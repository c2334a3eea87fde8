"""Layers one after the other, against one kernel for all of them.

    python -m benchmarks.chains [--evaluations 24] [NAME...]

Each layer gets its best kernel: the library's, or what a search of as many evaluations finds. Their cycles added up are
those layer by layer. The kernels' texts, one after the other with what lies between in DRAM, are then the start of one
more search, for the whole chain. It may load a layer's weights during the layer before, drop what is moved twice, and
keep results in local memory where the machine can compute on them there. Prints both, and the bytes that cross the bus.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import autocomp
from autocomp.search import Options
from autocomp.workload import Workload, as_trusted

SATURATED = "np.clip(np.rint(({total}).astype(np.float32) * np.float32({scale})), -128, 127).astype(np.int8)"
WIDE = {"int8": "np.int64", "float32": "np.float64"}


@dataclass(frozen=True)
class Layer:
    """A multiplication. `operands` and `result` are the chain's names of its tensors; a third operand is added."""

    operands: tuple[str, ...]
    result: str
    sizes: tuple[int, int, int]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Chain:
    accelerator: str
    dtype: str
    layers: tuple[Layer, ...]


def _int8(*layers: Layer) -> Chain:
    return Chain("gemmini", "int8", layers)


FIRST = {"activation": "relu", "scale": 0.01}
CHAINS = {
    "two_layers": _int8(
        Layer(("X", "W1"), "H", (64, 64, 64), FIRST), Layer(("H", "W2"), "Y", (64, 64, 64), {"scale": 0.02})
    ),
    "ragged_layers": _int8(
        Layer(("X", "W1", "b1"), "H", (20, 48, 36), {**FIRST, "bias": "row"}),
        Layer(("H", "W2", "b2"), "Y", (20, 10, 48), {"scale": 0.02, "bias": "row"}),
    ),
    "residual_block": _int8(  # the block's input is added to the sums of its second layer
        Layer(("X", "W1"), "H", (64, 64, 64), FIRST),
        Layer(("H", "W2", "R"), "Y", (64, 64, 64), {"scale": 0.02, "bias": "full"}),
    ),
    "float_layers": Chain(
        "gemmini:fp32",
        "float32",
        (
            Layer(("X", "W1", "b1"), "H", (8, 16, 12), {"activation": "relu", "bias": "row"}),
            Layer(("H", "W2"), "Y", (8, 8, 16), {}),
        ),
    ),
}


def layer_workload(chain: Chain, layer: Layer) -> Workload:
    sizes = dict(zip("IJK", layer.sizes, strict=True))
    keys = {"operation": "gemm", "accelerator": chain.accelerator, "dtype": chain.dtype, "dims": sizes}
    return autocomp.load_workload({**keys, **layer.options})


def whole_workload(chain: Chain, kernels: list[str], folder: Path) -> Workload:
    """The chain as an operation of its own, written to a folder, which starts from the layers' kernels."""
    workloads = [layer_workload(chain, layer) for layer in chain.layers]
    named = [
        (name, tensor)
        for layer, workload in zip(chain.layers, workloads, strict=True)
        for name, tensor in zip((*layer.operands, layer.result), workload.tensors, strict=True)
    ]
    between = [layer.result for layer in chain.layers[:-1]]
    tensors = {name: tensor for name, tensor in named if name not in between}
    bodies = []
    for layer, workload, kernel in zip(chain.layers, workloads, kernels, strict=True):
        body = kernel[kernel.index("{", kernel.index("void solution(")) + 1 : kernel.rindex("}")]
        names = dict(zip((t.name for t in workload.tensors), (*layer.operands, layer.result), strict=True))
        bodies.append("{" + re.sub(rf"\b({'|'.join(names)})\b", lambda word, names=names: names[word[0]], body) + "}")
    held = {name: tensor for name, tensor in named if name in between}
    c_types = {"int8": "int8_t", "int32": "int32_t", "float32": "float"}

    def declared(name: str, tensor: Any) -> str:
        return f"{c_types[tensor.dtype]} {name}{''.join(f'[{extent}]' for extent in tensor.shape)}"

    head = ", ".join(declared(name, tensor) for name, tensor in tensors.items())
    arrays = "".join(f"static {declared(name, tensor)};\n" for name, tensor in held.items())
    (folder / "chain.c").write_text(f"void solution({head}) {{\n{arrays}{''.join(bodies)}}}\n", encoding="utf-8")
    (folder / "chain.py").write_text(reference(chain, tuple(tensors)), encoding="utf-8")
    document: dict[str, Any] = {
        "operation": "custom",
        "accelerator": chain.accelerator,
        "tensors": [
            {"name": name, "dtype": tensor.dtype, "shape": list(tensor.shape), "role": tensor.role}
            for name, tensor in tensors.items()
        ],
        "reference": "chain.py:chain",
        "kernel": "chain.c",
        "multiply_accumulates": sum(layer.sizes[0] * layer.sizes[1] * layer.sizes[2] for layer in chain.layers),
    }
    if chain.dtype == "float32":
        document["tolerance"] = {"relative": 1e-5, "absolute": 1e-4}
    (folder / "chain.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    return as_trusted(autocomp.load_workload(folder / "chain.yaml"), True)


def reference(chain: Chain, arguments: tuple[str, ...]) -> str:
    """The chain in NumPy. Sums of int8 wrap at 32 bits; then come ReLU, scale, rounding and saturation."""
    wide, lines = WIDE[chain.dtype], []
    for layer in chain.layers:
        left, right, *added = layer.operands
        total = " + ".join([f"{left}.astype({wide}) @ {right}", *added])
        total = f"({total}).astype(np.int32)" if chain.dtype == "int8" else total
        if layer.options.get("activation") == "relu":
            total = f"np.maximum({total}, 0)"
        value = SATURATED.format(total=total, scale=layer.options["scale"]) if chain.dtype == "int8" else total
        lines.append(f"    {layer.result} = {value}\n")
    result = chain.layers[-1].result
    inputs = ", ".join(name for name in arguments if name != result)
    return f"import numpy as np\n\n\ndef chain({inputs}):\n{''.join(lines)}    return {{'{result}': {result}}}\n"


def measure(name: str, evaluations: int) -> str:
    """A row of the table."""
    chain = CHAINS[name]
    layers = [
        autocomp.lookup_or_adapt(layer_workload(chain, layer), evaluations=evaluations, keep=False)
        for layer in chain.layers
    ]
    apart = sum(answer.record.result.value for answer in layers)
    with tempfile.TemporaryDirectory() as place:
        workload = whole_workload(chain, [answer.kernel for answer in layers], Path(place))
        result = autocomp.search(workload, options=Options(evaluations=evaluations), run=Path(place) / "run")
    moved = result.evaluation.evidence.figures
    crossing = moved["dram_bytes_read"] + moved["dram_bytes_written"]
    cells = [name, f"{apart:,}", f"{result.naive:,}", f"{result.best:,}", f"{apart / result.best:.2f}", f"{crossing:,}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a chain; without any, all of them")
    parser.add_argument("--evaluations", type=int, default=24, help="of each search")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in CHAINS]:
        parser.error(f"no chain {unknown[0]!r}: there are {', '.join(CHAINS)}")
    print("| chain | layer by layer | kernels in a row | one kernel | gain | bytes moved |")
    print("|---|---:|---:|---:|---:|---:|")
    for name in arguments.names or CHAINS:
        print(measure(name, arguments.evaluations), flush=True)


if __name__ == "__main__":
    main()

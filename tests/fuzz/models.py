"""Readers of models in ONNX and StableHLO, of archives of samples, and of traces."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from autocomp.targets.simulator import isa

MODULES = Path(__file__).parents[1] / "models" / "stablehlo"


def honest_models() -> list[bytes]:
    from onnx import TensorProto, helper

    def info(name: str, *shape: int) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    def constant(name: str, *shape: int) -> Any:
        return helper.make_tensor(name, TensorProto.FLOAT, shape, [0.5] * int(np.prod(shape)))

    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "g", "h"], ["y"], transB=1),
        helper.make_node("Softmax", ["y"], ["z"]),
    ]
    constants = [constant("w", 4, 3, 3, 3), constant("b", 4), constant("g", 5, 4), constant("h", 5)]
    graph = helper.make_graph(nodes, "net", [info("x", 1, 3, 8, 8)], [info("z", 1, 5)], constants)
    data: bytes = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString()
    return [data]


def honest_modules() -> list[bytes]:
    """StableHLO modules as JAX writes them."""
    return [file.read_bytes() for file in sorted(MODULES.glob("*.mlir"))]


def read_model(path: Path) -> None:
    from autocomp.models import import_model
    from autocomp.models.quantise import random_samples

    import_model(path)
    random_samples(path, 0)


def read_module(path: Path) -> None:
    from autocomp.models import import_model

    import_model(path)


def honest_samples() -> list[bytes]:
    plain, packed = io.BytesIO(), io.BytesIO()
    np.savez(plain, x=np.zeros((2, 3), np.float32), y=np.arange(2))
    np.savez_compressed(packed, x=np.ones((4, 30)), y=np.array([[1], [2], [3], [4]], np.int8))
    return [plain.getvalue(), packed.getvalue()]


def read_samples(path: Path) -> None:
    from autocomp.models.quantise import read_samples

    read_samples(path)


@cache
def tiny() -> tuple[isa.Accelerator, isa.MachineTables]:
    machine = isa.load("tiny")
    return machine, isa.lower(machine)

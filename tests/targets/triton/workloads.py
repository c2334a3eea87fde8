"""A small workload of each operation."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from autocomp import workload as workloads
from autocomp.workload import Workload

SIZES = {
    "matmul": {"M": 256, "N": 256, "K": 256},
    "scaled_matmul": {"M": 256, "N": 256, "K": 256},
    "softmax": {"rows": 64, "cols": 512},
    "layernorm": {"rows": 64, "cols": 512},
    "rmsnorm": {"rows": 64, "cols": 512},
    "sum": {"rows": 64, "cols": 512},
    "cross_entropy": {"rows": 64, "classes": 1000},
    "attention": {"batch": 1, "heads": 2, "length": 256, "width": 64},
    "rotary": {"batch": 1, "heads": 2, "length": 64, "width": 64},
    "fused_mlp": {"tokens": 128, "width": 256, "hidden": 384},
}


def load(operation: str, **changes: object) -> Workload:
    """The workload of an operation at a small size, with some keys of its file changed."""
    document = {"operation": operation, "target": "triton", "dims": SIZES[operation], **changes}
    if operation == "scaled_matmul":
        document.setdefault("dtype", "float8_e4m3")
    with TemporaryDirectory() as folder:
        path = Path(folder, f"{operation}.yaml")
        path.write_text(yaml.safe_dump(document), encoding="utf-8")
        return workloads.load(path)

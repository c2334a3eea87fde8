"""The rows of the table: operations at the sizes that others state figures for."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from autocomp import workload as workloads
from autocomp.workload import Workload


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    operation: str
    dims: Mapping[str, int]
    dtype: str = "float16"
    options: Mapping[str, Any] = field(default_factory=dict)

    def workload(self) -> Workload:
        """The row as a workload: 16-bit floats must hold in both types."""
        dtypes = ["float16", "bfloat16"] if self.dtype == "float16" else [self.dtype]
        if self.operation == "scaled_matmul":
            dtypes = [self.dtype]
        document = {
            "name": self.name,
            "operation": self.operation,
            "target": "triton",
            "dims": dict(self.dims),
            "dtype": self.dtype,
            "dtypes": dtypes,
            "options": dict(self.options),
        }
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{self.name}.yaml"
            path.write_text(yaml.safe_dump(document), encoding="utf-8")
            return workloads.load(path)


def _square(size: int) -> Mapping[str, int]:
    return {"M": size, "N": size, "K": size}


def _rows(operation: str, rows: int, cols: int) -> Row:
    return Row(f"{operation}_{rows}x{cols}", operation, {"rows": rows, "cols": cols})


SCALED = (
    (1024, 1536, 7168),
    (1024, 4608, 7168),
    (6144, 1536, 7168),
    (6144, 4608, 7168),
    (1024, 7168, 256),
    (6144, 7168, 256),
)
ROWS = (
    Row("attention_2x32x4096x128", "attention", {"batch": 2, "heads": 32, "length": 4096, "width": 128}),
    Row("fused_mlp_2048x2048x5504", "fused_mlp", {"tokens": 2048, "width": 2048, "hidden": 5504}),
    *(Row(f"matmul_{size}", "matmul", _square(size)) for size in (4096, 8192, 2048)),
    Row("cross_entropy_4096x32000", "cross_entropy", {"rows": 4096, "classes": 32000}),
    _rows("softmax", 4096, 4096),
    _rows("layernorm", 8192, 4096),
    _rows("rmsnorm", 8192, 4096),
    _rows("sum", 8192, 8192),
    Row("rotary_2x32x2048x128", "rotary", {"batch": 2, "heads": 32, "length": 2048, "width": 128}),
    Row("cross_entropy_8192x32000", "cross_entropy", {"rows": 8192, "classes": 32000}),
    _rows("softmax", 8192, 8192),
    _rows("layernorm", 8192, 8192),
    _rows("rmsnorm", 8192, 8192),
    _rows("sum", 16384, 4096),
    *(
        Row(f"scaled_matmul_{m}x{n}x{k}", "scaled_matmul", {"M": m, "N": n, "K": k}, "float8_e4m3")
        for m, n, k in SCALED
    ),
)


def row(name: str) -> Row:
    return next(known for known in ROWS if known.name == name)

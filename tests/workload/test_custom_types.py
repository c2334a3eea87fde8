"""An operation of a user's own may have tensors of every type that arrays of C have, on simulated machines too."""

from __future__ import annotations

from pathlib import Path

import pytest

import autocomp
from autocomp.workload.datatypes import DATA_TYPES
from autocomp.workload.model import Workload

IN_C = {"float32": "float", "float64": "double"}
TYPES = [name for name, known in DATA_TYPES.items() if known.bits >= 8]


@pytest.fixture
def doubling(dtype: str, tmp_path: Path) -> Workload:
    """z = x + x of eight elements, computed by the host."""
    (tmp_path / "double.py").write_text("def double(x):\n    return x + x\n")
    (tmp_path / "double.c").write_text(kernel(dtype, "+"))
    file = tmp_path / "double.yaml"
    file.write_text(
        "operation: custom\naccelerator: gemmini\nhost: compute\n"
        "reference: double.py:double\nkernel: double.c\ntensors:\n"
        f"  - {{name: x, dtype: {dtype}, shape: [8], role: input, range: [0, 60]}}\n"
        f"  - {{name: z, dtype: {dtype}, shape: [8], role: output}}\n"
    )
    return autocomp.load_workload(file, trust=True)


def kernel(dtype: str, operator: str) -> str:
    c = IN_C.get(dtype, f"{dtype}_t")
    return f"void solution({c} x[8], {c} z[8]) {{ for (int i = 0; i < 8; i++) z[i] = x[i] {operator} x[i]; }}"


@pytest.mark.parametrize("dtype", TYPES)
def test_kernels_are_judged_in_every_type(doubling: Workload, dtype: str) -> None:
    assert autocomp.evaluate(kernel(dtype, "+"), doubling).correct
    assert not autocomp.evaluate(kernel(dtype, "*"), doubling).correct


@pytest.mark.parametrize("dtype", ["int4"])
def test_elements_of_four_bits_are_refused(dtype: str, request: pytest.FixtureRequest) -> None:
    with pytest.raises(autocomp.AutocompError, match="found 'int4', expected one of"):
        request.getfixturevalue("doubling")

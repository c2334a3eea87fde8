"""An exported kernel on a bare RISC-V core under QEMU, where the compiler and the emulator are installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import autocomp
from autocomp import workload as workloads
from autocomp.errors import ConfigError
from autocomp.export.host import random_array
from tests.integrations.loading import load

example = load("bare_metal", "bare_metal")
installed = all(map(shutil.which, (example.COMPILER, example.EMULATOR)))
GEMM = (
    "operation: gemm\naccelerator: gemmini\ndims: {I: 37, J: 20, K: 53}\nscale: 0.0123\nbias: row\nactivation: relu\n"
)
CONVOLUTION = """\
operation: conv2d
accelerator: gemmini
dims: {N: 1, H: 9, W: 7, C: 5, K: 19, R: 3, S: 3}
stride: 2
padding: 1
bias: row
scale: 0.25
"""


@pytest.mark.skipif(not installed, reason="no compiler or emulator for RISC-V")
@pytest.mark.parametrize("text", [GEMM, CONVOLUTION], ids=["gemm", "conv2d"])
def test_a_kernel_on_bare_metal_computes_what_it_computes_here(text: str) -> None:
    answer = autocomp.lookup_or_adapt(workloads.parse(text, Path("layer.yaml")), evaluations=2, keep=False)
    generator = np.random.default_rng(3)
    arrays = {tensor.name: random_array(tensor, generator) for tensor in answer.workload.tensors}
    found, commands = example.run(answer, arrays)
    assert commands > 0
    for name, expected in answer.run(arrays).items():
        assert found[name].tobytes() == expected.tobytes()


def test_a_tool_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigError, match="riscv64-unknown-elf-gcc is not installed"):
        example.run(None, {})

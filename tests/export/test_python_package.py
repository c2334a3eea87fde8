"""GPU kernels exported as a Python package: chosen by data types, device and sizes. Needs neither PyTorch nor a GPU."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from autocomp.cli.entry import autocomp
from autocomp.errors import ConfigError
from autocomp.export.python_package import package_files
from autocomp.schedules.measured import operation_of
from autocomp.schedules.record import RecordedTarget, ScheduleRecord
from autocomp.schedules.store import Store
from tests.schedules.test_store import make
from tests.targets.triton.workloads import load

KERNEL = "CALLS = []\n\n\ndef solution(*tensors):\n    CALLS.append(tensors)\n"


@dataclass
class Tensor:
    shape: Sequence[int]
    dtype: str = "torch.float16"
    device: Any = field(default_factory=lambda: SimpleNamespace(type="cpu"))
    contiguous: bool = True

    def is_contiguous(self) -> bool:
        return self.contiguous


def record(dims: Mapping[str, int], machine: str = "cpu", operation: str = "softmax", **changes: Any) -> ScheduleRecord:
    target = RecordedTarget(kind="triton", name=machine, parameters={}, digest="d")
    described = operation_of(load(operation, dims=dict(dims), **changes))
    return make().model_copy(update={"target": target, "operation": described, "kernel": KERNEL})


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModuleType]:
    """Exports records, and imports what was written."""

    def imported(*records: ScheduleRecord) -> ModuleType:
        folder = tmp_path / "kernels_for_gpus"
        folder.mkdir()
        for name, text in package_files(records).items():
            (folder / name).write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        for name in [name for name in sys.modules if name.startswith("kernels_for_gpus")]:
            monkeypatch.delitem(sys.modules, name)
        return importlib.import_module("kernels_for_gpus")

    return imported


def called() -> list[str]:
    """The sizes in the names of the modules whose kernels ran."""
    modules = [m for name, m in sys.modules.items() if name.startswith("kernels_for_gpus.") and getattr(m, "CALLS", [])]
    return [module.__name__.split("softmax_")[1].rsplit("_", 1)[0] for module in modules]


SMALL, LARGE = {"rows": 64, "cols": 512}, {"rows": 4096, "cols": 4096}


def test_the_kernel_of_the_nearest_sizes_runs(package: Callable[..., ModuleType]) -> None:
    module = package(record(SMALL), record(LARGE))
    module.softmax(Tensor((100, 600)), Tensor((100, 600)))
    assert called() == ["cols512_rows64_cpu"]


def test_a_kernel_for_the_device_goes_first(package: Callable[..., ModuleType]) -> None:
    module = package(record(SMALL, "nvidia-h200"), record(LARGE, "cpu"))
    module.softmax(Tensor((64, 512)), Tensor((64, 512)))
    assert called() == ["cols4096_rows4096_cpu"]


def test_every_data_type_that_was_judged_is_accepted_and_no_other(package: Callable[..., ModuleType]) -> None:
    module = package(record(SMALL, dtypes=["float16", "bfloat16"]))
    module.softmax(Tensor((64, 512), "torch.bfloat16"), Tensor((64, 512), "torch.bfloat16"))
    assert called()
    with pytest.raises(TypeError, match="known: bfloat16, bfloat16; float16, float16"):
        module.softmax(Tensor((64, 512), "torch.float32"), Tensor((64, 512), "torch.float32"))


def test_a_tensor_that_is_not_contiguous_is_refused(package: Callable[..., ModuleType]) -> None:
    module = package(record(SMALL))
    with pytest.raises(ValueError, match="contiguous"):
        module.softmax(Tensor((64, 512), contiguous=False), Tensor((64, 512)))


def test_options_that_change_the_result_have_a_function_of_their_own(package: Callable[..., ModuleType]) -> None:
    sizes = {"M": 256, "N": 256, "K": 256}
    plain = record(sizes, operation="matmul")
    module = package(plain, record(sizes, operation="matmul", options={"activation": "silu"}))
    assert module.__all__ == ["matmul", "matmul_activation_silu"]


def test_a_kernel_of_an_accelerator_is_refused() -> None:
    with pytest.raises(ConfigError, match="not for a GPU"):
        package_files([record(SMALL), make()])


def test_the_command_writes_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOCOMP_SCHEDULES", str(tmp_path / "store"))
    path, _ = Store(tmp_path / "store").put(record(SMALL))
    result = CliRunner().invoke(autocomp, ["export", path.name, "--output", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "4 files" in result.output
    assert "def softmax(x, y):" in (tmp_path / "out" / "softmax.py").read_text(encoding="utf-8")

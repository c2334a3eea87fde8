"""Judgements on a pretended device: needs torch and triton, no GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = [pytest.mark.triton, pytest.mark.filterwarnings("ignore")]
torch = pytest.importorskip("torch", reason="the extra `triton` is not installed")

from autocomp.targets.triton.start import starting_kernel  # noqa: E402
from autocomp.targets.triton.worker import referee  # noqa: E402
from autocomp.targets.triton.worker.cases import Task  # noqa: E402

SMALL = {"operation": "softmax", "dims": {"rows": 6, "cols": 40}, "dtype": "float16"}


def start() -> str:
    return starting_kernel("softmax", SMALL["dims"], {})


def judge(kernel: str, phases: tuple[str, ...] = ("screen", "prove")) -> dict[str, object]:
    from tests.targets.triton.pretended import pretended_device

    with pretended_device() as device:
        return device.judge(Task.of(SMALL), kernel, phases, seed=1)


def test_a_right_kernel_passes_all_stages_and_is_timed() -> None:
    found = judge(start())
    assert [(s["stage"], s["status"]) for s in found["stages"]] == [
        (name, "passed") for name in ("compile", "smoke", "timing", "sizes", "values", "determinism")
    ]
    assert found["measurement"]["value"] == pytest.approx(5.0)


def test_kernels_are_measured_side_by_side() -> None:
    from tests.targets.triton.pretended import pretended_device

    with pretended_device() as device:
        found = device.beside(Task.of(SMALL), [start(), start()], seed=3, rounds=2)
    assert all(m is not None and len(m["samples"]) == 10 for m in found)


def test_judgements_divide_the_memory_by_the_size_of_their_tensors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(referee.torch.cuda, "mem_get_info", lambda device: (0, 64 << 30))
    monkeypatch.setattr(referee.tempfile, "gettempdir", lambda: str(tmp_path))
    device = referee.Referee("cuda:0")
    with device._slots(1 << 30), device._slots(1 << 30):
        assert device._try("memory-0") is None
        assert device._try("memory-2") is not None
    with device._slots(60 << 30):  # more than there is: all of it
        assert all(device._try(f"memory-{slot}") is None for slot in range(5))

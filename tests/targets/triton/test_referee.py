"""Judgements on a pretended device: needs torch and triton, no GPU."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import pytest

pytestmark = [pytest.mark.triton, pytest.mark.filterwarnings("ignore")]
torch = pytest.importorskip("torch", reason="the extra `triton` is not installed")

from autocomp.targets.triton.start import starting_kernel  # noqa: E402
from autocomp.targets.triton.worker.cases import Task  # noqa: E402
from autocomp.targets.triton.worker.memory import Arena, attach  # noqa: E402
from autocomp.targets.triton.worker.turns import Turns  # noqa: E402

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


def test_a_kernel_must_be_as_fast_on_inputs_that_it_has_not_seen() -> None:
    from autocomp.targets.triton.worker.unseen import faster_on_seen

    slow, mixed = iter([90.0, 80.0, 95.0]), iter([90.0, 52.0])
    assert faster_on_seen(50.0, lambda: next(mixed)) is None
    assert "50.0 us on inputs that it had seen, 80.0 us on others" in (faster_on_seen(50.0, lambda: next(slow)) or "")
    with mock.patch("autocomp.targets.triton.worker.referee.faster_on_seen", lambda usual, once: f"{once():.1f} us"):
        timing = judge(start(), ("screen",))["stages"][-1]
    assert (timing["stage"], timing["status"], timing["message"]) == ("timing", "failed", "5.0 us")


def test_kernels_are_measured_side_by_side() -> None:
    from tests.targets.triton.pretended import pretended_device

    with pretended_device() as device:
        found = device.beside(Task.of(SMALL), [start(), start()], seed=3, rounds=2)
    assert all(m is not None and len(m["samples"]) == 10 for m in found)


def test_judgements_divide_the_memory_by_the_size_of_their_tensors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (0, 64 << 30))
    monkeypatch.setenv("AUTOCOMP_CACHE", str(tmp_path))
    device = Turns("cuda:0")

    def free(slot: int) -> bool:
        with ExitStack() as held:
            return device._taken(slot, held)

    with device.room(1 << 30), device.room(1 << 30):
        assert not free(0)
        assert free(2)
    with device.room(60 << 30):  # more than there is: all of it
        assert not any(free(slot) for slot in range(5))


def test_tensors_on_a_cpu_leave_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that is killed removes nothing."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    arena = Arena("cpu")
    shared = arena.tensor((3, 5), "float32")
    assert list(tmp_path.iterdir()) == []
    reader = f"import torch; torch.from_file({shared.handle['file']!r}, shared=True, size=1 << 14).fill_(1.0)"
    subprocess.run([sys.executable, "-c", reader], check=True)
    assert bool((attach(shared.handle) == 1.0).all())
    arena.close()

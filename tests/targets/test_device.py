"""A device that an evaluation claims is its own until it is done, across processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from autocomp.targets.device import claimed

ATTEMPT = """
import sys
from filelock import Timeout
import filelock
class Impatient(filelock.FileLock):
    def acquire(self, *args, **kwargs):
        return super().acquire(timeout=0)
import autocomp.targets.device as device
device.FileLock = Impatient
try:
    with device.claimed(sys.argv[1]):
        print("held")
except Timeout:
    print("taken")
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOCOMP_CACHE", str(tmp_path))


def attempt(device: str) -> str:
    """The answer of another process that tries to get the device at once."""
    return subprocess.run([sys.executable, "-c", ATTEMPT, device], capture_output=True, text=True).stdout.strip()


def test_another_process_cannot_have_a_device_that_is_held() -> None:
    with claimed("host/gpu0"):
        assert attempt("host/gpu0") == "taken"
    assert attempt("host/gpu0") == "held"


def test_other_devices_are_free() -> None:
    with claimed("host/gpu0"):
        assert attempt("host/gpu1") == "held"


def test_nothing_is_held_where_an_evaluation_claims_no_device() -> None:
    with claimed(None), claimed(None):
        pass

"""What all tests share: golden files, and folders of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Golden = Callable[..., None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files instead of comparing")


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test, nor a command it starts, writes into the user's schedule store or answer cache, or reads the user's
    keyring."""
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    monkeypatch.setenv("AUTOCOMP_SCHEDULES", str(tmp_path / "schedule-store"))
    monkeypatch.setenv("AUTOCOMP_CACHE", str(tmp_path / "answer-cache"))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """`golden(text)` compares with `golden/<test name>.txt` beside the test's file; `name=` overrides the file name."""
    folder = Path(request.path).parent / "golden"
    update = bool(request.config.getoption("--update-golden"))

    def check(text: str, name: str | None = None) -> None:
        path = folder / (name or f"{request.node.name}.txt")
        if update:
            folder.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.is_file(), f"{path} is missing: run pytest with --update-golden, and review what it writes"
        assert text == path.read_text(encoding="utf-8"), f"{path} differs: --update-golden if the change is meant"

    return check

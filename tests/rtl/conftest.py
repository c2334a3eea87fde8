"""Models of small designs, built once; kept below build/, as they follow from the content of their sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp.targets.simulator.rtl.model.build import RtlModel, build

ROOT = Path(__file__).resolve().parents[2]
COPIER = Path(__file__).parent / "copier"
MODELS = ROOT / "build" / "rtl-models"


@pytest.fixture
def rtl_cache(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Models are kept from one session to the next."""
    monkeypatch.setenv("AUTOCOMP_CACHE", str(MODELS))
    return MODELS


@pytest.fixture
def copier(rtl_cache: Path) -> RtlModel:
    return build(COPIER, "Copier")


@pytest.fixture
def quad(rtl_cache: Path) -> RtlModel:
    """The design of our own in simulator/rtl."""
    return build(ROOT / "simulator" / "rtl", "accelerator")

"""Native machines live as long as the tests that share them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .machines import machine


@pytest.fixture(scope="session", autouse=True)
def _forget_machines() -> Iterator[None]:
    yield
    machine.cache_clear()

"""Targets are found by the names of entry points."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from autocomp.errors import ConfigError
from autocomp.targets import registry


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, EntryPoint]:
    """The installed entry points, for a test to add to."""
    found: dict[str, EntryPoint] = {}
    monkeypatch.setattr(registry, "_found", lambda: found)
    return found


def add(installed: dict[str, EntryPoint], name: str, value: str) -> None:
    installed[name] = EntryPoint(name, value, registry.GROUP)


def test_an_unknown_kind_is_an_error_with_the_nearest_name(installed: dict[str, EntryPoint]) -> None:
    add(installed, "triton", "somewhere:Triton")
    with pytest.raises(ConfigError, match="unknown kind of target 'tritn'") as error:
        registry.load_target("tritn:h200")
    assert error.value.hint == "did you mean 'triton'? installed: triton"


def test_a_machine_without_its_kind_is_an_error_that_says_how_to_name_it(installed: dict[str, EntryPoint]) -> None:
    add(installed, "triton", "somewhere:Triton")
    with pytest.raises(ConfigError, match="unknown kind of target 'gemmini'") as error:
        registry.load_target("gemmini")
    assert error.value.hint == "if it is a machine, write KIND:gemmini; installed kinds: triton"


def test_a_package_that_cannot_be_imported_is_named(installed: dict[str, EntryPoint]) -> None:
    add(installed, "broken", "no_such_package:Target")
    with pytest.raises(ConfigError, match=r"'broken' \(no_such_package:Target\) cannot be imported"):
        registry.load_target("broken")


def test_an_entry_point_that_names_no_target_is_refused(installed: dict[str, EntryPoint]) -> None:
    add(installed, "odd", "json:dumps")
    with pytest.raises(ConfigError, match="not a Target class"):
        registry.kind_of("odd")

"""Keys of the events in a run's log."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocomp.search.log.keys import PARTS, form_of, is_key, key_of

PACKAGE = Path(__file__).resolve().parents[2] / "autocomp"
KINDS = st.sampled_from(sorted(PARTS))


@given(KINDS, st.data())
def test_a_key_is_one_of_its_kind_alone(kind: str, data: st.DataObject) -> None:
    parts = [data.draw(st.integers(0, 10**6)) for _ in PARTS[kind]]
    key = key_of(kind, *parts)
    assert [other for other in PARTS if is_key(other, key)] == [kind]


@pytest.mark.parametrize(
    ("kind", "key"), [("plan", "plan"), ("plan", "plan/3"), ("plan", "plan/3/"), ("stop", "stop/1"), ("step", "plan/1")]
)
def test_other_keys_are_refused(kind: str, key: str) -> None:
    assert not is_key(kind, key)


def test_a_name_may_hold_slashes() -> None:
    assert is_key("condition", key_of("condition", "a/b"))


def test_wrong_parts_are_refused() -> None:
    with pytest.raises(ValueError, match="has the parts"):
        key_of("plan", 3)


def test_the_form_of_a_kind_is_told() -> None:
    assert form_of("plan") == "plan/<step>/<parent>"
    assert form_of("stop") == "stop"


def test_keys_are_made_in_one_place() -> None:
    made = re.compile(rf'f"({"|".join(PARTS)})/\{{')
    places = [path for path in PACKAGE.rglob("*.py") if made.search(path.read_text())]
    assert places == [PACKAGE / "search" / "strategies" / "random.py"]  # the name of a random draw, not of an event

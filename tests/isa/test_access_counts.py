"""Accesses as a published model counts them."""

from __future__ import annotations

import pytest

from benchmarks.published_energy import TIMELOOP, counted

HANDED_ON = TIMELOOP["outputs.fill"]  # finished sums: a store of ours reads them, where Timeloop counts a fill


@pytest.mark.parametrize("generic", [False, True])
def test_a_mapping_has_the_accesses_that_timeloop_publishes_for_it(generic: bool) -> None:
    published = {**TIMELOOP, "outputs.read": TIMELOOP["outputs.read"] + HANDED_ON}
    del published["outputs.fill"]
    assert counted(generic) == published

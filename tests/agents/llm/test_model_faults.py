"""The result of a search with an endpoint that fails, measured as the guide shows it."""

from __future__ import annotations

import pytest

from benchmarks.model_faults import FAULTS, searched

WORKLOAD, EVALUATIONS = "tiny_gemm", 4


@pytest.mark.long
def test_faults_of_an_endpoint_do_not_change_what_a_search_finds() -> None:
    sound = searched(FAULTS["none"], WORKLOAD, EVALUATIONS)
    for fault in ("503", "refusal"):
        served, outcome = searched(FAULTS[fault], WORKLOAD, EVALUATIONS)
        assert served.faults > 0
        assert (outcome.best, outcome.evaluations) == (sound[1].best, sound[1].evaluations)

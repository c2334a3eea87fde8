"""The kernel that a search keeps after a confirmation on the hardware."""

from __future__ import annotations

import pytest

from autocomp.cli.confirm import Confirmed, conclusion, kept
from autocomp.search.candidate import CORRECT, Candidate
from autocomp.targets.simulator.rtl.evaluator import Confirmation


def confirmed(*verdicts: tuple[str, int | None]) -> tuple[Confirmed, ...]:
    """Candidates 1, 2, … with the status and the measured cycles of each."""
    return tuple(
        Confirmed(Candidate(number, 1, 0, None, f"k{number}", f"h{number}", CORRECT), Confirmation(*verdict))
        for number, verdict in enumerate(((s, "as it is", c) for s, c in verdicts), 1)
    )


@pytest.mark.parametrize(
    ("verdicts", "expected", "words"),
    [
        ([("passed", 100), ("passed", 110)], 1, "right and the fastest there too"),
        ([("passed", 100), ("passed", 100)], 1, "right and the fastest there too"),
        ([("passed", 100), ("failed", None), ("passed", 90)], 3, "candidate 3 is kept, with 90 cycles"),
        ([("failed", None), ("passed", 120), ("passed", 110)], 3, "refutes the simulator's best: as it is"),
        ([("failed", None), ("failed", None)], None, "no kernel is kept"),
        ([("failed", None), ("skipped", None)], None, "no kernel is kept"),
        ([("skipped", None), ("passed", 110)], 1, "NOT confirmed: as it is"),
    ],
)
def test_the_fastest_on_the_hardware_is_kept(
    verdicts: list[tuple[str, int | None]], expected: int | None, words: str
) -> None:
    found = confirmed(*verdicts)
    chosen = kept(found)
    assert (None if chosen is None else chosen.id) == expected
    assert words in conclusion(found)

"""The reference page and the rules in words follow from the description."""

from __future__ import annotations

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.model import Accelerator


def test_page(golden, small: Accelerator) -> None:  # type: ignore[no-untyped-def]
    golden(isa.reference(small, markdown=True), "reference.md")


def test_plain_page_has_no_marks(systolic: Accelerator) -> None:
    page = isa.reference(systolic)
    assert "`" not in page
    assert "#" not in page
    for instruction in systolic.instructions:
        assert instruction.name in page


def test_rules(golden, systolic: Accelerator, small: Accelerator) -> None:  # type: ignore[no-untyped-def]
    golden("\n".join([*isa.rules(systolic), "", *isa.rules(small), ""]), "rules.txt")

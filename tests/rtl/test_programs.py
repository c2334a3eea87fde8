"""Random programs follow from a description alone, and shrinking leaves what matters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocomp.errors import ConfigError
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.rtl.differential import shrink
from autocomp.targets.simulator.rtl.laboratory import laboratory
from autocomp.targets.simulator.rtl.programs import random_program

from .conftest import COPIER


def test_a_random_program_is_legal_and_the_same_for_the_same_seed() -> None:
    lab = laboratory(isa.load("quad"))
    commands = random_program(lab, 3, 16)
    assert commands == random_program(lab, 3, 16)
    assert {"compute", "move_in", "preload"} <= {command.partition("(")[0] for command in commands}
    result = lab.legal(commands)
    assert result is not None
    assert result.command_count <= 16 + 1  # and a fence


def test_a_machine_without_idioms_gets_random_programs_too() -> None:
    lab = laboratory(isa.load(COPIER / "copier.isa"))
    commands = random_program(lab, 1, 8)
    assert "copy" in {command.partition("(")[0] for command in commands}
    assert lab.legal(commands) is not None


@given(st.lists(st.integers(0, 9), max_size=40), st.sets(st.integers(0, 9), max_size=3))
def test_shrinking_leaves_one_of_each_that_is_needed(commands: list[int], needed: set[int]) -> None:
    def fails(part: Sequence[str]) -> bool:
        return needed <= {int(command) for command in part}

    texts = [str(command) for command in commands]
    if not fails(texts):
        return
    assert sorted(map(int, shrink(texts, fails))) == sorted(needed)


def test_shrinking_keeps_pairs_together() -> None:
    def fails(part: Sequence[str]) -> bool:
        pairs = Counter(part)
        return pairs["open"] == pairs["close"] >= 2  # as with commands that a machine allows in pairs only

    assert shrink(["open", "other", "close", "open", "close", "open", "close"], fails).count("open") <= 3


def test_a_program_written_down_is_as_legal_as_its_commands() -> None:
    """Its last store has arrived when it returns."""
    lab = laboratory(isa.load("gemmini"))
    commands = ["configure_store(16, 0, 1.0f, 0, 0, 0, 0, 0, 0, 0, 0, 0);", "configure_load(0, 16, 1.0f, 0, 16, 1);"]
    commands += ["move_in(0, &a[0], 0x0, 16, 16);", "move_out(&b[0], 0x0, 16, 16);"]
    written, run = lab.run_text(lab.text(commands)), lab.run(commands)
    assert not written.violations
    assert written.timing is not None
    assert run.timing is not None
    assert written.timing.cycles == run.timing.cycles


def test_a_program_with_other_tensors_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"must have the parameters \(int8_t a\[8192\]"):
        laboratory(isa.load("gemmini")).run_text("void solution(int8_t A[4]) { fence(); }")

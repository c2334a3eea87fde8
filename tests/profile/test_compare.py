"""A comparison of two kernels leaves no cycle of their difference unexplained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.profile import Profile, profile_kernel
from autocomp.targets.simulator.profile.compare import compare
from autocomp.workload import Workload, parse

MACHINE = isa.load("gemmini")
HEAD = "void solution(int8_t A[16][16], int8_t B[16][16], int8_t C[16][16]) {"
LOAD = "config_ld(16, 1.0f, 16, 0); mvin(C, 32, 16, 16);"
statements = st.lists(st.sampled_from(["mvin(A, 0, 16, 16);", "mvin(B, 16, 16, 16);", "fence();", ""]), max_size=8)


def workload() -> Workload:
    return parse("operation: gemm\naccelerator: gemmini\ndtype: int8\ndims: {I: 16, J: 16, K: 16}\n", Path("w.yaml"))


def profile_of(*body: str) -> Profile:
    return profile_kernel("\n".join([HEAD, LOAD, *body, "fence();", "}"]), workload(), MACHINE)


@settings(max_examples=8, deadline=None)
@given(first=statements, second=statements)
def test_causes_and_lines_each_add_up_to_the_difference(first: list[str], second: list[str]) -> None:
    found = compare(profile_of(*first), profile_of(*second))
    assert sum(change.change for change in found.causes) == found.change
    assert sum(change.change for change in found.lines) == found.change


def test_a_kernel_does_not_differ_from_itself() -> None:
    one = profile_of("mvin(A, 0, 16, 16);")
    found = compare(one, one)
    assert (found.causes, found.lines, found.parts) == ((), (), ())
    assert found.words == (f"both take {one.cycles:,} cycles",)


def test_lines_of_one_kernel_only_have_no_number_in_the_other() -> None:
    found = compare(profile_of(), profile_of("mvin(A, 0, 16, 16);"))
    added = next(change for change in found.lines if change.text.startswith("mvin"))
    assert (added.first, added.second, added.before) == (None, 3, 0)
    assert any("A moves 0 -> 256 bytes" in sentence for sentence in found.words)


@pytest.mark.parametrize("pair", [("mvin(A, 0, 16, 16);", "fence();"), ("fence();", "mvin(A, 0, 16, 16);")])
def test_the_words_name_the_faster_kernel(pair: tuple[str, str]) -> None:
    found = compare(*(profile_of(statement) for statement in pair))
    assert ("faster" if found.after < found.before else "slower") in found.words[0]
    assert json.loads(json.dumps(found.to_json()))["change"] == found.change


def test_loops_and_regions_are_compared_with_all_inside() -> None:
    turns = "for (int i = 0; i < {}; i++) {{"
    moved = ["mvin(A, 0, 16, 16);"]
    first = profile_of('region("moving") {', turns.format(2), *moved, "}", "}")
    found = compare(first, profile_of("// region: moving", turns.format(2), *moved, *moved, "}", "// end region"))
    assert {(part.kind, part.name): (part.first, part.second) for part in found.parts} == {
        ("loop", turns.format(2).removesuffix(" {")): ((4, 6), (4, 7)),
        ("region", "moving"): ((3, 7), (3, 8)),
    }
    assert all(part.change > 0 for part in found.parts)

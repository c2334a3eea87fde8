"""The machine in a prompt: complete for whom writes kernels, and short."""

from __future__ import annotations

import re

import pytest

from autocomp.agents.llm.endpoints.tokens import estimate_tokens
from autocomp.data import data_dir
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.guide import brief, timing_page, used_instructions
from autocomp.targets.simulator.guide.semantics import LONGEST
from autocomp.targets.simulator.isa.rules import requirements

MACHINES = sorted(file.stem for file in data_dir("isa").glob("*.isa"))


def test_a_page_of_a_small_machine(golden) -> None:  # type: ignore[no-untyped-def]
    machine = isa.load("tiny", {}, ())
    golden(brief(machine, used_instructions(machine, (), ()), (), "gemm"), "brief.md")


def test_a_page_for_a_kernel_is_half_of_the_whole() -> None:
    machine = isa.load("gemmini", {}, ())
    page = brief(machine, used_instructions(machine, ("mvin", "mvout", "compute_preloaded"), ()), (), "gemm")
    whole = isa.reference(machine, markdown=True) + timing_page(machine)
    assert estimate_tokens(page) < 0.5 * estimate_tokens(whole)


@pytest.mark.parametrize("name", MACHINES)
def test_every_instruction_has_its_meaning_ranges_and_rules(name: str) -> None:
    machine = isa.load(name, {}, ())
    names = [item.name for item in machine.instructions]
    page = brief(machine, names, names, "gemm")
    for instruction in machine.instructions:
        assert instruction.doc in page
        for parameter in instruction.parameters:
            assert f"`{parameter.name}`" in page
        for rule in requirements(instruction.body):
            assert rule[1:].rstrip(".") in page


def test_no_formula_is_longer_than_a_reader_can_follow() -> None:
    machine = isa.load("gemmini", {}, ())
    page = brief(machine, used_instructions(machine, ("mvout",), ()), ("mvout", "configure_store"), "gemm")
    code = re.findall(r"```\n(.*?)```", page, re.DOTALL)
    assert max(len(line) for block in code for line in block.splitlines()) < LONGEST + 100
    assert "when pooling { ... }" in page


def test_what_a_kernel_does_not_need_is_left_out() -> None:
    machine = isa.load("gemmini", {}, ())
    only = used_instructions(machine, ("mvin",), ())
    page = brief(machine, only, ("mvin",), "conv2d")
    assert "## move_in(" in page
    assert "## loop_ws_run(" not in page
    assert "A fast conv2d" in page
    assert "A fast gemm" not in page


def test_names_that_a_kernel_uses_are_explained() -> None:
    machine = isa.load("gemmini", {}, ())
    only = used_instructions(machine, ("gemmini_extended_mvin",), ())
    page = brief(machine, only, ("gemmini_extended_mvin",), "gemm")
    assert "`gemmini_extended_mvin`, the same with id = 0" in page
    assert "gemmini_extended_mvin2(" not in page


def test_units_that_procedures_reach_through_others_are_described() -> None:
    machine = isa.load("gemmini", {}, ())
    page = brief(machine, used_instructions(machine, ("tiled_matmul_auto",), ()), ("tiled_matmul_auto",), "gemm")
    assert "- `unroller` (expander):" in page
    assert "- `convolver` (expander):" not in page


def test_constants_that_a_kernel_uses_are_told() -> None:
    machine = isa.load("amx", {}, ())
    only = used_instructions(machine, ("tilezero",), ())
    assert "`ROWS` = 16" not in brief(machine, only, ("tilezero",), "gemm")
    assert "`ROWS` = 16" in brief(machine, only, ("tilezero",), "gemm", ("tilezero(2 * ROWS);",))

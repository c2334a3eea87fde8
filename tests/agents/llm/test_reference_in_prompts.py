"""A prompt explains what its kernel and its options need of a machine, and only names the rest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from autocomp import workload
from autocomp.agents.llm.prompts import Asked, Phase, render_prompt
from autocomp.targets.menu_file import load
from autocomp.targets.planning import Context, Plan
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.guide import used_instructions
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.target import SimulatorTarget

from .conftest import an_evaluation


@pytest.fixture(scope="module")
def naive() -> Context:
    small = workload.parse("operation: gemm\naccelerator: gemmini\ndims: {I: 33, J: 20, K: 70}\n", Path("small.yaml"))
    accelerator = isa.load(small.accelerator)
    text = starting_kernel(small, accelerator)
    return Context(SimulatorTarget(accelerator), small, text, an_evaluation(), (), load(["general"]), Random(1))


def test_what_a_kernel_issues_comes_with_what_configures_it(naive: Context) -> None:
    needed = used_instructions(naive.target.accelerator, ("mvin", "compute_preloaded"), ())
    assert {"move_in", "preload", "compute", "move_out"} <= needed
    assert {"configure_load", "configure_execute", "configure_store", "fence"} <= needed


def test_hardware_loops_are_left_out_for_a_kernel_without_them(naive: Context) -> None:
    text = render_prompt("plan", naive)[1].content
    assert "## loop_ws_run(" not in text
    assert "Left out are 14 instructions" in text
    assert "tiled_matmul_auto" not in text


def test_hardware_loops_are_explained_to_a_kernel_that_uses_them(naive: Context) -> None:
    bounds = "loop_ws_config_bounds(1, 1, 1, 0, 0, 0); "
    run = "loop_ws_run(false, false, false, 0, 0, 0, false, false, false, 0);"
    text = render_prompt("plan", replace(naive, kernel=f"void solution() {{ {bounds} {run} }}"))[1].content
    assert "## loop_ws_run(" in text
    assert "## loop_ws_config_addrs_ab(" in text
    assert "Sends, in place of itself:" in text
    assert "## loop_conv_ws_run(" not in text


def test_no_formula_for_pooling_is_in_the_prompt_of_a_gemm(naive: Context) -> None:
    text = render_prompt("plan", naive)[1].content
    assert max(map(len, text.splitlines())) < 1500
    assert "pool_size > 1" not in text


def test_all_phases_begin_with_the_same_text(naive: Context) -> None:
    def beginning(phase: Phase) -> str:
        system, user = render_prompt(phase, naive, Asked(plan=Plan("tile", "Tile.")))[:2]
        return system.content + user.content.split("# The kernel to")[0]

    assert beginning("plan") == beginning("structured") == beginning("code") == beginning("edit") == beginning("design")


def test_what_the_host_may_do_is_as_the_workload_says(naive: Context) -> None:
    computing = replace(naive, workload=replace(naive.workload, host="compute"))
    assert "may neither read nor write elements" in render_prompt("plan", naive)[0].content
    assert "may read and write elements" in render_prompt("plan", computing)[0].content


def test_the_entry_function_has_the_name_that_its_file_gives_it(naive: Context) -> None:
    renamed = replace(naive, kernel=naive.kernel.replace("solution(", "multiply("))
    text = render_prompt("single", renamed, Asked(plan=Plan("", "Tile.")))[1].content
    assert "Keep the signature `void multiply(" in text
    assert "```c\nvoid multiply(" in text.split("# Your task")[1]

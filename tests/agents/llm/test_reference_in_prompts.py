"""A prompt explains what its kernel and its options need of a machine, and only names the rest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from autocomp import workload
from autocomp.agents.llm.prompts import render_prompt
from autocomp.targets.menu_file import load
from autocomp.targets.planning import Context
from autocomp.targets.protocol import Focus
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.knowledge import used_instructions
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
    needed = used_instructions(naive.target.accelerator, Focus((naive.kernel,)))
    assert {"move_in", "preload", "compute", "move_out"} <= needed
    assert {"configure_load", "configure_execute", "configure_store", "fence"} <= needed


def test_hardware_loops_are_only_named_to_a_kernel_without_them(naive: Context) -> None:
    text = render_prompt("plan", naive)[1].content
    assert "### loop_ws_run(" not in text
    assert "- `loop_ws_run(" in text
    assert "- loop_ws_run:" not in text  # among the rules
    assert "tiled_matmul_auto" not in text


def test_hardware_loops_are_explained_to_a_kernel_that_uses_them(naive: Context) -> None:
    bounds = "loop_ws_config_bounds(1, 1, 1, 0, 0, 0); "
    run = "loop_ws_run(false, false, false, 0, 0, 0, false, false, false, 0);"
    text = render_prompt("plan", replace(naive, kernel=f"void solution() {{ {bounds} {run} }}"))[1].content
    assert "### loop_ws_run(" in text
    assert "### loop_ws_config_addrs_ab(" in text
    assert "- loop_ws_run:" in text
    assert "### loop_conv_ws_run(" not in text

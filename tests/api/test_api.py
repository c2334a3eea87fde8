"""`import autocomp` is enough to load, judge, search, continue and look up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import autocomp
from autocomp.errors import ConfigError

SMALL = autocomp.Options(evaluations=6)
WORKLOAD = "tiny_gemm"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> autocomp.Result:
    return autocomp.search(WORKLOAD, options=SMALL, run=str(tmp_path_factory.mktemp("api") / "run"))


def test_a_search_improves_the_starting_kernel_and_says_how(result: autocomp.Result) -> None:
    assert result.best < result.naive
    assert result.speed_up == result.naive / result.best
    assert result.lineage[-1].value == result.best
    assert result.bound is not None
    assert result.bound <= result.best
    assert result.evaluation.correct


def test_its_kernel_is_judged_as_the_search_judged_it(result: autocomp.Result) -> None:
    evaluation = autocomp.evaluate(result.kernel, WORKLOAD)
    assert evaluation.correct
    assert evaluation.value == result.best
    wrong = autocomp.evaluate(result.kernel.replace("{", "{ nothing;", 1), autocomp.load_workload(WORKLOAD))
    assert wrong.failure is not None
    assert wrong.failure.stage == "check"


def test_a_kernel_in_a_file_is_profiled(result: autocomp.Result) -> None:
    found = autocomp.profile(result.run / "best.c", WORKLOAD, "simulator:tiny")
    assert found.cycles == result.best
    assert sum(segment.cycles for segment in found.path) == found.cycles


def test_a_finished_run_is_resumed_to_its_own_result(result: autocomp.Result) -> None:
    again = autocomp.resume(result.run)
    assert (again.best, again.kernel, again.lineage) == (result.best, result.kernel, result.lineage)


def test_a_result_shows_itself_in_a_notebook(result: autocomp.Result) -> None:
    page = result._repr_html_()
    assert f"{result.best:,} cycles" in page
    assert all(step.option in page for step in result.lineage if step.option)
    assert page.count("<table>") == page.count("</table>") == 2


def test_parameters_of_the_machine_can_be_set() -> None:
    workload = autocomp.load_workload(WORKLOAD, parameters={"MEM_LATENCY": 99})
    assert autocomp.load_target(workload).parameters["MEM_LATENCY"] == 99
    assert autocomp.load_target("simulator:tiny", parameters={"MEM_LATENCY": 7}).parameters["MEM_LATENCY"] == 7
    with pytest.raises(ConfigError, match="unknown kind of target"):
        autocomp.load_target("simulater:tiny")


def test_a_workload_may_be_stated_by_the_keys_of_a_file() -> None:
    keys = {"operation": "gemm", "accelerator": "tiny", "dims": {"I": np.int64(5), "J": 6, "K": 7}, "scale": 0.0123}
    workload = autocomp.load_workload(keys, parameters={"MEM_LATENCY": 9})
    assert (workload.name, workload.dims) == ("gemm_I5_J6_K7", {"I": 5, "J": 6, "K": 7})
    assert workload.overrides == {"MEM_LATENCY": 9}
    with pytest.raises(ConfigError, match=r"gemm_I5_J6_K7.yaml:9:2\n(.*\n)+key 'scale': found \[0.1, 0.2\], expected"):
        autocomp.load_workload({**keys, "scale": [0.1, 0.2]})
    with pytest.raises(ConfigError, match="holds what no file can say"):
        autocomp.load_workload({**keys, "scale": object()})


def test_the_names_are_those_of_the_api_module_and_documented() -> None:
    from autocomp import api

    assert autocomp.__all__ == api.__all__
    assert all(getattr(autocomp, name).__doc__ for name in autocomp.__all__)
    page = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "python.md").read_text()
    assert all(f"`{name}" in page or f"autocomp.{name}" in page for name in autocomp.__all__)


LAZY = """
import sys, autocomp
assert not {"numpy", "pydantic", "autocomp.api"} & set(sys.modules), "imported too early"
import autocomp.cli.entry  # the start of every command, its help and its completion
assert not {"numpy", "rich", "openai"} & set(sys.modules), "imported too early"
import autocomp.search
from autocomp.search import Options
assert callable(autocomp.search) and autocomp.Options is Options
"""


def test_nothing_is_imported_before_it_is_used_and_search_stays_the_function() -> None:
    done = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_name_of_a_file_is_not_taken_for_the_text_of_a_kernel() -> None:
    with pytest.raises(autocomp.AutocompError, match=r"'kernel\.c' is not the text of a kernel"):
        autocomp.evaluate("kernel.c", "tiny_gemm")

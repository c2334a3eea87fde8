"""A search on a device, with a worker that pretends to have one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from autocomp.agents.config import Agents
from autocomp.cli.entry import autocomp
from autocomp.errors import ConfigError, DeviceError
from autocomp.search import Options, SearchResult
from autocomp.search.log.snapshot import Request, create
from autocomp.search.session import Means, run_session
from autocomp.targets import menu_file
from autocomp.targets.registry import load_target
from autocomp.targets.triton.connection import Host, pool_of
from autocomp.targets.triton.target import TritonTarget
from tests.targets.triton.workloads import load

WORKER = Path(__file__).parent / "fake_worker.py"


@pytest.fixture
def device(tmp_path: Path) -> Iterator[TritonTarget]:
    file = tmp_path / "device.yaml"
    file.write_text(yaml.safe_dump({"command": [sys.executable, str(WORKER)]}), encoding="utf-8")
    target = load_target(f"triton:{file}", trust=True)
    assert isinstance(target, TritonTarget)
    yield target
    pool_of(target.host).close()


def search(target: TritonTarget, folder: Path, evaluations: int = 12, threads: int = 2) -> SearchResult:
    options = Options(evaluations=evaluations, plans_per_parent=6, beam=2, dropout=0.0)
    request = Request(load("softmax"), target, menu_file.load(["triton"]), Agents(), options, "beam")
    run = create(folder / "run", request, datetime(2026, 1, 1, tzinfo=timezone.utc))
    return run_session(request, run, Means(executor=f"threads:{threads}", cache=False))


def test_a_search_finds_a_faster_kernel_and_says_how(device: TritonTarget, tmp_path: Path) -> None:
    result = search(device, tmp_path)
    assert result.best.value < 0.5 * result.naive.value
    assert [step.plan.option for step in result.history.lineage(result.best)]


def test_a_lost_worker_loses_no_result(device: TritonTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    undisturbed = search(device, tmp_path / "undisturbed", threads=1)  # kernels that tie go in order of completion
    fault = tmp_path / "fault"
    monkeypatch.setenv("AUTOCOMP_FAKE_WORKER", str(fault))
    fault.write_text("die 2", encoding="utf-8")
    again = Host((*device.host.command, "again"), device.host.python)
    again.allow("a test")
    other = TritonTarget(device.name, again, device.greeting, device.peaks)
    result = search(other, tmp_path / "disturbed", threads=1)
    assert not fault.exists()
    assert result.evaluations == undisturbed.evaluations
    assert result.best.kernel == undisturbed.best.kernel


def test_a_device_survives_a_snapshot(device: TritonTarget) -> None:
    assert TritonTarget.restore(device.snapshot()) == device


def test_a_wrong_kernel_fails_at_the_stage_that_saw_it(device: TritonTarget) -> None:
    workload = load("softmax")
    kernel = device.starting_kernel(workload)
    evaluation = device.evaluator(workload).evaluate(f"# wrong on purpose\n{kernel}")
    assert evaluation.failure is not None
    assert evaluation.failure.stage == "smoke"
    assert evaluation.measurement is None


def test_a_time_beyond_the_roofline_is_no_record(device: TritonTarget) -> None:
    large = load("matmul", dims={"M": 16384, "N": 16384, "K": 16384})
    evaluation = device.evaluator(large).evaluate(device.starting_kernel(large), ("screen",))
    assert evaluation.failure is not None
    assert "beyond the device's roofline" in evaluation.failure.message


def test_a_worker_that_cannot_start_names_its_command(tmp_path: Path) -> None:
    file = tmp_path / "device.yaml"
    file.write_text("command: [no-such-program-here]", encoding="utf-8")
    with pytest.raises(ConfigError, match="no-such-program-here"):
        load_target(f"triton:{file}", trust=True)


def test_a_worker_that_ends_is_an_error_of_the_device(tmp_path: Path) -> None:
    file = tmp_path / "device.yaml"
    file.write_text(yaml.safe_dump({"command": [sys.executable, "-c", "raise SystemExit('no CUDA')"]}))
    with pytest.raises(DeviceError, match="the worker did not start: no CUDA"):
        load_target(f"triton:{file}", trust=True)


def test_a_probe_measures_what_a_device_reaches(device: TritonTarget) -> None:
    found = device.probe()
    assert device.peaks is not None
    assert found["bandwidth"] == device.peaks.bandwidth
    assert found["name"] == device.greeting["name"]


def test_a_simulated_machine_has_nothing_to_probe() -> None:
    result = CliRunner().invoke(autocomp, ["target", "probe", "simulator:tiny"])
    assert result.exit_code == ConfigError.exit_code
    assert "nothing to measure" in result.output


def test_an_unknown_device_is_refused_with_the_forms_that_there_are() -> None:
    with pytest.raises(ConfigError, match="no device named 'h2000'"):
        load_target("triton:h2000")

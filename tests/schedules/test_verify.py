"""The validity of records, as `autocomp schedules verify` reports it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from autocomp import workload
from autocomp.cli.entry import autocomp
from autocomp.schedules.index import read_index
from autocomp.schedules.measured import figures, machine_of, operation_of
from autocomp.schedules.record import ScheduleRecord, from_yaml, to_yaml
from autocomp.schedules.store import Store
from autocomp.schedules.verify import verify
from autocomp.targets.registry import load_target
from autocomp.workload.model import Workload

from .test_store import make, no_warning

NOW = datetime(2026, 3, 1)
PROBLEMS = {
    "gemm": "operation: gemm\naccelerator: tiny\ndims: {I: 5, J: 9, K: 6}\nbias: row\ntranspose_b: true\n",
    "conv2d": "operation: conv2d\naccelerator: gemmini\ndims: {N: 1, H: 7, W: 5, C: 3, K: 4, R: 3, S: 2}\n"
    "stride: 2\npadding: 1\npool: {size: 2, stride: 1}\n",
    "float": "operation: gemm\naccelerator: 'gemmini:fp32'\ndims: {I: 5, J: 7, K: 3}\ndtype: float32\n",
}


def record_for(problem: Workload) -> ScheduleRecord:
    """A true record, of the problem's naive kernel."""
    machine = load_target(problem.target, problem.overrides)
    kernel = machine.starting_kernel(problem)
    evaluation = machine.evaluator(problem).evaluate(kernel)
    assert evaluation.value is not None
    changes = {
        "target": machine_of(machine),
        "operation": operation_of(problem),
        "result": figures(evaluation, evaluation.value),
        "kernel": kernel,
    }
    return make().model_copy(update=changes)


@pytest.fixture(scope="module")
def true_record() -> ScheduleRecord:
    return record_for(workload.parse(PROBLEMS["gemm"], Path("x.yaml"), {"MEM_LATENCY": 9}))


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("AUTOCOMP_SCHEDULES", str(tmp_path / "store"))
    return lambda *arguments: CliRunner().invoke(autocomp, ["schedules", *map(str, arguments)])


def stale(record: ScheduleRecord) -> ScheduleRecord:
    """As if it had been made on another description of the machine, on which the kernel took longer."""
    machine = record.target.model_copy(update={"digest": "of before"})
    result = record.result.model_copy(update={"value": record.result.value + 10, "naive": 9999})
    return record.model_copy(update={"target": machine, "result": result})


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
def test_a_true_record_holds(tmp_path: Path, problem: str) -> None:
    path, _ = Store(tmp_path).put(record_for(workload.parse(problem, Path("x.yaml"))))
    assert verify(path, NOW).outcome == "holds"


def test_a_users_own_operation_is_verified_with_the_workload_that_defines_it(tmp_path: Path) -> None:
    path, _ = Store(tmp_path / "store").put(record_for(workload.load("tiny_add")))
    assert verify(path, NOW).outcome == "holds"
    (tmp_path / "tiny_add.yaml").write_text(
        "operation: custom\naccelerator: tiny\ntensors: [{name: A, dtype: int8, shape: [4], role: output}]\n"
        "reference: other.py:f\nkernel: other.c\n"
    )
    (tmp_path / "other.py").write_text("def f(): ...\n")
    (tmp_path / "other.c").write_text("void solution(int8_t A[4]) {\n}\n")
    found = verify(path, NOW, [tmp_path])
    assert (found.outcome, "another definition" in found.message) == ("unknown", True)


def test_a_claim_that_is_not_true_is_found_though_its_digest_is_right(
    true_record: ScheduleRecord, tmp_path: Path
) -> None:
    result = true_record.result.model_copy(update={"value": true_record.result.value - 1})
    path, _ = Store(tmp_path).put(true_record.model_copy(update={"result": result}))
    found = verify(path, NOW)
    assert found.outcome == "changed"
    assert found.message.startswith("cycles")


def test_a_kernel_that_is_wrong_fails_whatever_the_record_says(true_record: ScheduleRecord, tmp_path: Path) -> None:
    head, _, _ = true_record.kernel.partition("{")
    path, _ = Store(tmp_path).put(true_record.model_copy(update={"kernel": head + "{\n}\n"}))
    assert verify(path, NOW).outcome == "wrong"


def test_a_machine_that_is_not_there_is_said(true_record: ScheduleRecord, tmp_path: Path) -> None:
    machine = true_record.target.model_copy(update={"name": "nowhere"})
    path, _ = Store(tmp_path).put(true_record.model_copy(update={"target": machine}))
    found = verify(path, NOW)
    assert (found.outcome, "nowhere" in found.message) == ("unknown", True)


def test_renewing_writes_the_figures_and_the_description_of_now(
    true_record: ScheduleRecord, tmp_path: Path, command: Callable[..., Result]
) -> None:
    store = Store(tmp_path / "store")
    path, _ = store.put(stale(true_record))
    before = command("verify")
    assert before.exit_code == 6
    assert "the machine is described otherwise" in before.output
    assert "cycles" in before.output
    assert json.loads(command("verify", "--renew", "--json").output)[0]["outcome"] == "renewed"
    renewed = from_yaml(path.read_text(), str(path))
    assert renewed.target == true_record.target
    assert renewed.result == true_record.result
    assert renewed.plans[-1].value == true_record.result.value
    assert command("verify", path.name).output.startswith("holds")
    assert [entry.value for entry in store.entries(no_warning)] == [true_record.result.value]


def test_a_record_of_a_machine_that_has_got_a_parameter_is_renewed_under_its_new_name(
    true_record: ScheduleRecord, tmp_path: Path, command: Callable[..., Result]
) -> None:
    store = Store(tmp_path / "store")
    fewer = {name: value for name, value in true_record.target.parameters.items() if name != "SEMAPHORES"}
    machine = true_record.target.model_copy(update={"parameters": fewer, "digest": "of before"})
    old, _ = store.put(true_record.model_copy(update={"target": machine}))
    assert command("verify", "--renew").exit_code == 0
    assert store.files() == [old.parent / true_record.file_name] != [old]
    assert read_index(store.root) == store.entries(no_warning)


def test_corrupt_and_tampered_files_are_named_and_left_as_they_are(
    true_record: ScheduleRecord, tmp_path: Path, command: Callable[..., Result]
) -> None:
    path, _ = Store(tmp_path / "store").put(true_record)
    forged = to_yaml(true_record).replace(f"value: {true_record.result.value}", "value: 7")
    (path.parent / "forged.yaml").write_text(forged)
    (path.parent / "torn.yaml").write_bytes(path.read_bytes()[:200] + b"\xff")
    done = command("verify", "--renew")
    assert done.exit_code == 6
    assert "1 of 3 schedules hold" in done.output
    for name in ("forged.yaml", "torn.yaml"):
        assert f"corrupt  {path.parent / name}" in done.output
    assert (path.parent / "forged.yaml").read_text() == forged

"""Kernels judged by a worker on Triton's interpreter: needs torch and triton, no GPU."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.triton, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("torch", reason="the extra `triton` is not installed")
pytest.importorskip("triton", reason="the extra `triton` is not installed")

from autocomp.errors import ConfigError  # noqa: E402
from autocomp.targets.evaluation import Evaluation  # noqa: E402
from autocomp.targets.triton.connection import pool_of  # noqa: E402
from autocomp.targets.triton.language import parse  # noqa: E402
from autocomp.targets.triton.routes import routes  # noqa: E402
from autocomp.targets.triton.target import TritonTarget  # noqa: E402
from autocomp.targets.triton.transformations import SEQUENCE, Device, applied  # noqa: E402
from autocomp.targets.triton.worker.candidate import TextLoader  # noqa: E402
from autocomp.workload.tensor import OPERATIONS  # noqa: E402
from tests.targets.triton.corpus import Cheat, cheats  # noqa: E402
from tests.targets.triton.workloads import load  # noqa: E402

PLAIN = Device(capability=(0, 0))  # routes without what the interpreter does not have


@pytest.fixture(scope="module")
def interpreter() -> Iterator[TritonTarget]:
    target = TritonTarget.load("cpu", {}, ())
    yield target
    pool_of(target.host).close()


def judge(target: TritonTarget, operation: str, kernel: str, **changes: object) -> Evaluation:
    return target.evaluator(load(operation, **changes)).evaluate(kernel, seed=1)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_a_generated_kernel_holds(interpreter: TritonTarget, name: str) -> None:
    found = judge(interpreter, name, interpreter.starting_kernel(load(name)))
    assert found.failure is None
    assert found.measurement is None


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_the_first_route_keeps_the_result(interpreter: TritonTarget, name: str) -> None:
    workload = load(name)
    start = parse(interpreter.starting_kernel(workload))
    route = routes(start, PLAIN.setting(workload))[0]
    changed = applied(start, SEQUENCE, {"steps": [list(step) for step in route.steps]})
    assert judge(interpreter, name, changed.text).failure is None


def test_small_tiles_finish_the_last_wave(interpreter: TritonTarget) -> None:
    """Of 5 x 5 tiles four make a wave: one is left, in the corner of the result."""
    workload = load("matmul", dims={"M": 300, "N": 300, "K": 64})
    steps = [
        ["group_programs", {"kernel": "matmul_kernel", "group": 2}],
        ["finish_wave", {"kernel": "matmul_kernel", "programs": 4, "rows": 2, "columns": 2}],
        ["persistent", {"kernel": "matmul_kernel", "programs": 2}],
    ]
    changed = applied(parse(interpreter.starting_kernel(workload)), SEQUENCE, {"steps": steps})
    assert "matmul_kernel_rest" in parse(changed.text).kernels
    assert interpreter.evaluator(workload).evaluate(changed.text, seed=1).failure is None


@pytest.mark.parametrize("cheat", [c for c in cheats() if c.stage != "check"], ids=lambda cheat: cheat.name)
def test_the_judge_refuses_a_cheat_with_its_reason(interpreter: TritonTarget, cheat: Cheat) -> None:
    found = judge(interpreter, cheat.operation, cheat.text, dims={"rows": 16, "cols": 1000}, dtype=cheat.dtype)
    assert found.failure is not None
    assert found.failure.stage == cheat.stage
    assert cheat.reason in found.failure.message


def test_the_judge_lets_the_host_compute_where_the_workload_does(interpreter: TritonTarget) -> None:
    start = interpreter.starting_kernel(load("softmax"))
    kernel = start.replace("def solution(x, y):\n", "def solution(x, y):\n    x = x.clone()\n")
    assert kernel != start
    assert judge(interpreter, "softmax", kernel, host="compute").failure is None
    refused = judge(interpreter, "softmax", kernel).failure
    assert refused is not None
    assert refused.stage == "check"
    with pytest.raises(ConfigError, match="host: data_dependent"):
        judge(interpreter, "softmax", kernel, host="data_dependent")


def test_a_candidate_needs_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def solution(x):\n    return x\n"
    spec = importlib.util.spec_from_loader("candidate", TextLoader(text))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "candidate", module)
    TextLoader(text).exec_module(module)
    assert inspect.getsource(module.solution) == text
    assert not Path(inspect.getfile(module.solution)).exists()

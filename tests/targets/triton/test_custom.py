"""Operations that a user defines in PyTorch, on Triton's interpreter: needs torch and triton, no GPU."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = [pytest.mark.triton, pytest.mark.filterwarnings("ignore")]
torch = pytest.importorskip("torch", reason="the extra `triton` is not installed")
pytest.importorskip("triton", reason="the extra `triton` is not installed")

from autocomp import load_workload  # noqa: E402
from autocomp.errors import ConfigError, TrustError  # noqa: E402
from autocomp.targets.triton.connection import pool_of  # noqa: E402
from autocomp.targets.triton.evaluator import task_of  # noqa: E402
from autocomp.targets.triton.start.traced import moments, operands, parts, tile  # noqa: E402
from autocomp.targets.triton.target import TritonTarget  # noqa: E402
from autocomp.targets.triton.worker import parts as parts_of_batches  # noqa: E402
from autocomp.targets.triton.worker import rounding  # noqa: E402
from autocomp.targets.triton.worker.custom import CustomOperation, custom_operation, describe  # noqa: E402
from autocomp.targets.triton.worker.trace import Rounded, traced  # noqa: E402
from autocomp.workload import Workload  # noqa: E402
from tests.targets.triton.problems import MODULES, module_text  # noqa: E402

FUNCTION = """
import torch


def swish(x, weight):
    return x * torch.sigmoid(x * weight)
"""
FILE = """
operation: custom
target: triton
reference: swish.py:swish
tensors:
  - {name: x, dtype: DTYPE, shape: [7, 33], role: input}
  - {name: weight, dtype: DTYPE, shape: [33], role: input}
  - {name: y, dtype: DTYPE, shape: [7, 33], role: output}
"""


@pytest.fixture(scope="module")
def interpreter() -> Iterator[TritonTarget]:
    target = TritonTarget.load("cpu", {}, ())
    yield target
    pool_of(target.host).close()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of KernelBench with problems of our own."""
    folder = tmp_path / "KernelBench" / "level1"
    folder.mkdir(parents=True)
    for number, name in enumerate(MODULES, 1):
        (folder / f"{number}_{name}.py").write_text(module_text(name), encoding="utf-8")
    monkeypatch.setenv("AUTOCOMP_KERNELBENCH", str(tmp_path))
    monkeypatch.setenv("AUTOCOMP_CONFIG", str(tmp_path / "config"))
    return folder


def problem(name: str) -> Workload:
    return load_workload(f"kernelbench:level1/{list(MODULES).index(name) + 1}", trust=True)


@pytest.mark.parametrize("name", MODULES)
def test_a_problem_starts_from_a_kernel_that_holds(interpreter: TritonTarget, checkout: Path, name: str) -> None:
    workload = problem(name)
    kernel = interpreter.starting_kernel(workload)
    assert interpreter.evaluator(workload).evaluate(kernel, seed=1).failure is None


@pytest.mark.parametrize(
    ("name", "part", "limits", "text"),
    [
        pytest.param(
            "product",
            operands,
            {"LEAST_WORK": 1, "LEAST_REUSE": 1},
            "pack_kernel",
            id="operands in another order are copied",
        ),
        pytest.param(
            "product",
            operands,
            {"SPLIT_DEPTH": 1, "FILLED": 3},
            "torch.empty((10, 17, 20)",
            id="long sums of a few tiles are split",
        ),
        pytest.param(
            "row_norm", parts, {"LONG_ROW": 1}, "torch.empty((6, 2)", id="a few long rows are reduced in parts"
        ),
        pytest.param(
            "columns",
            parts,
            {"LONG_COLUMN": 1, "LEAST_COLUMN": 1},
            "torch.empty((4, 5, 37)",
            id="a few long columns are reduced in parts",
        ),
        pytest.param("scores", tile, {"MANY_HELD": 1}, "ROWS=128", id="a program has several short rows"),
        pytest.param(
            "columns", tile, {"LONGEST_HELD": 1, "HELD": 64}, "COLUMNS=32", id="a few results have narrow tiles"
        ),
        pytest.param("grouped", moments, {"LEAST": 1}, "means = ", id="groups are made of the moments of blocks"),
        pytest.param("spread out", moments, {"LEAST": 1}, "means = ", id="so are they of a transposed convolution"),
        pytest.param("pooled away", moments, {"LEAST": 1}, "means = ", id="what is only summed is not stored"),
    ],
)
def test_kernels_that_pay_only_at_size_hold(
    interpreter: TritonTarget,
    checkout: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    part: ModuleType,
    limits: dict[str, int],
    text: str,
) -> None:
    for limit, value in limits.items():
        monkeypatch.setattr(part, limit, value)
    workload = problem(name)
    kernel = interpreter.starting_kernel(workload)
    assert text in kernel
    assert interpreter.evaluator(workload).evaluate(kernel, seed=1).failure is None


def test_a_problem_names_its_parameters_as_inputs(checkout: Path) -> None:
    workload = problem("convolved")
    assert [tensor.name for tensor in workload.tensors] == [
        "x",
        "conv_weight",
        "conv_bias",
        "norm_weight",
        "norm_bias",
        "out",
    ]
    assert workload.outputs[0].shape == (2, 8, 6, 5)


def test_the_rounding_of_each_operand_is_seen_in_the_results_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of random operands few elements lie in the middle between two numbers, and of small ones none."""

    def library(x: Any, w: Any, *how: Any) -> Any:
        rounded = rounding.ROUNDINGS["even"](x), rounding.ROUNDINGS["zero"](w)
        return torch.ops.aten.convolution.default(*rounded, *how)

    how = ((1, 1), (0, 0), (1, 1), False, (0, 0), 1)
    monkeypatch.setattr(rounding, "by_library", library)
    found = [rounding.rounding_of(((2, 3, 8, 8), (4, 3, 3, 3)), operand, how, "cpu") for operand in range(2)]
    assert found == ["even", "zero"]


def test_operands_of_convolutions_are_rounded_where_the_workload_allows_it(
    interpreter: TritonTarget, checkout: Path
) -> None:
    """PyTorch rounds them by default, so that problems of KernelBench allow it. Others ask for float32, of which tensor
    cores multiply two parts."""
    allowed = problem("convolved")
    exact = replace(allowed, options={"ranges": {}})
    rounded = interpreter.starting_kernel(allowed)
    assert "_low" not in rounded
    assert "_low" in interpreter.starting_kernel(exact)
    failure = interpreter.evaluator(exact).evaluate(rounded, seed=1).failure
    assert failure is not None
    assert failure.stage == "smoke"


def test_roundings_of_operands_that_results_share_stay_in_their_mean(checkout: Path) -> None:
    """All pixels are made with the same filters. Operands rounded to bfloat16 miss the bound."""
    operation = custom_operation(json.dumps(task_of(problem("averaged"))["custom"]))
    given = operation.draw("random", 1, "cpu")
    exact = {name: tensor.double() for name, tensor in given.items()}
    expected = operation.expected(None, exact, {}, "float32", {})["out"]

    def missed(unit: int) -> int:
        bits = {name: (tensor.view(torch.int32) + unit // 2) & -unit for name, tensor in given.items()}
        rounded = {name: one.view(torch.float32).double() for name, one in bits.items()}
        out = operation.problem.run(*({**rounded, "conv_bias": exact["conv_bias"]}[o.name] for o in operation.given))
        return int((abs(out - expected.value) > expected.tolerance).sum())

    assert missed(1 << 13) == 0
    assert missed(1 << 16) > 0


BATCH = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv1d(8, 16, 3)

    def forward(self, x):
        x = self.c(x)
        RESULT


def get_inputs():
    return [torch.rand(18, 8, 24)]
"""


def operation_of(result: str) -> CustomOperation:
    text = BATCH.replace("RESULT", result)
    return custom_operation(json.dumps({**describe(text, "Model"), "reference": text, "name": "Model"}))


def test_the_bound_reaches_past_where_a_function_bends() -> None:
    """As far as roundings may: results just in front of the bend may be past it."""
    plain, bent = operation_of("return x"), operation_of("return torch.nn.functional.relu_(x)")
    given = plain.draw("random", 1, "cpu")
    assert given is not None
    whole, cut = plain.expected_of(given)["out"], bent.expected_of(given)["out"]
    own = 0.7 * whole.tolerance  # the rest is the mean over all elements
    near = (whole.value < 0) & (whole.value > -own)
    assert int(near.sum()) > 5
    assert bool((cut.tolerance >= own + whole.value)[near].all())


@pytest.mark.parametrize(
    ("result", "apart"),
    [
        ("return torch.tanh(x).mean((1, 2))", True),
        ("return x.softmax(0)", False),
        ("return x.flip(0)", False),
        ("return nn.functional.batch_norm(x, None, None, training=True)", False),
        ("return x.sum(0)", False),
    ],
)
def test_a_batch_is_evaluated_in_parts_where_rows_are_apart(
    monkeypatch: pytest.MonkeyPatch, result: str, apart: bool
) -> None:
    operation = operation_of(result)
    given = operation.draw("random", 1, "cpu")
    assert given is not None
    whole = operation.expected_of(given)["out"].value
    monkeypatch.setattr(parts_of_batches, "PART_BYTES", 4000)
    in_parts = operation.expected_of(given)["out"].value
    assert torch.allclose(in_parts, whole, rtol=1e-12, atol=0.0)
    assert (len(operation.reference.graphs) > 1) == apart


def test_a_kernel_that_leaves_out_a_parameter_is_refused(interpreter: TritonTarget, checkout: Path) -> None:
    workload = problem("row_norm")
    kernel = interpreter.starting_kernel(workload).replace("* norm_weight", "* 1.0")
    assert interpreter.evaluator(workload).evaluate(kernel, seed=1).failure is not None


def test_running_products_are_judged_on_factors_whose_products_stay_in_range(checkout: Path) -> None:
    operation = custom_operation(json.dumps(task_of(problem("multiplied"))["custom"]))
    random, wide = (operation.draw(kind, 1, "cpu")["x"].double().cumprod(1)[:, -1] for kind in ("random", "wide"))
    assert bool((random < 1e-60).all())  # nothing, in float32
    assert bool(((wide > 0.1) & (wide < 10.0)).all())


def test_a_problem_runs_nothing_that_was_not_trusted(checkout: Path) -> None:
    with pytest.raises(TrustError, match="--trust"):
        load_workload("kernelbench:level1/1")


def test_a_problem_that_is_not_there_says_where_it_was_looked_for(checkout: Path) -> None:
    with pytest.raises(ConfigError, match="no problem 99 of level1"):
        load_workload("kernelbench:level1/99", trust=True)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_function_of_tensors_is_an_operation(interpreter: TritonTarget, tmp_path: Path, dtype: str) -> None:
    (tmp_path / "swish.py").write_text(FUNCTION, encoding="utf-8")
    file = tmp_path / "swish.yaml"
    file.write_text(FILE.replace("DTYPE", dtype), encoding="utf-8")
    workload = load_workload(file, trust=True)
    kernel = interpreter.starting_kernel(workload)
    judge = interpreter.evaluator(workload)
    assert judge.evaluate(kernel, seed=1).failure is None
    coarse = kernel.replace("tl.exp(", "(1.0 + 0.01) * tl.exp(")
    assert judge.evaluate(coarse, seed=1).failure is not None


@pytest.mark.parametrize(
    ("result", "tensors"),
    [
        (
            "torch.clamp((a.int() @ b.int().t()) // 16, -128, 127).to(torch.int8)",
            {"a": ("int8", [37, 1500]), "b": ("int8", [19, 1500]), "out": ("int8", [37, 19])},
        ),
        ("(a >> 1) & 15", {"a": ("int8", [7, 33]), "out": ("int8", [7, 33])}),
        ("a.amax(-1)", {"a": ("int8", [7, 33]), "out": ("int8", [7])}),
        ("a.amin(0)", {"a": ("int8", [7, 33]), "out": ("int8", [33])}),
        (
            "torch.softmax((a - a.mean(-1, keepdim=True)) * b, -1)",
            {"a": ("bfloat16", [5, 131]), "b": ("bfloat16", [131]), "out": ("bfloat16", [5, 131])},
        ),
        (
            "torch.nn.functional.gelu(a @ b)",
            {"a": ("bfloat16", [37, 51]), "b": ("bfloat16", [51, 19]), "out": ("bfloat16", [37, 19])},
        ),
    ],
    ids=[
        "product of bytes, rounded down",
        "shifted bytes",
        "largest byte of a row",
        "least of a column",
        "weighted softmax",
        "bfloat16",
    ],
)
def test_functions_of_narrow_types_start_at_sizes_that_no_tile_divides(
    interpreter: TritonTarget, tmp_path: Path, result: str, tensors: dict[str, tuple[str, list[int]]]
) -> None:
    inputs = ", ".join(name for name in tensors if name != "out")
    (tmp_path / "own.py").write_text(f"import torch\n\n\ndef own({inputs}):\n    return {result}\n", encoding="utf-8")
    described = [
        {"name": name, "dtype": dtype, "shape": shape, "role": "output" if name == "out" else "input"}
        | ({"range": [-127, 127]} if dtype == "int8" and name != "out" else {})
        for name, (dtype, shape) in tensors.items()
    ]
    document = {"operation": "custom", "target": "triton", "reference": "own.py:own", "tensors": described}
    (tmp_path / "own.yaml").write_text(json.dumps(document), encoding="utf-8")
    workload = load_workload(tmp_path / "own.yaml", trust=True)
    kernel = interpreter.starting_kernel(workload)
    assert interpreter.evaluator(workload).evaluate(kernel, seed=1).failure is None


@pytest.mark.parametrize("largest", [127, 2**31 - 1], ids=["exact in float64", "on the host"])
def test_products_of_integers_that_a_device_lacks_are_exact(monkeypatch: pytest.MonkeyPatch, largest: int) -> None:
    calls, call = [0], torch.fx.Interpreter.call_function

    def lacking(self: torch.fx.Interpreter, target: Any, args: Any, kwargs: Any) -> Any:
        calls[0] += 1
        if calls[0] == 1:
            raise NotImplementedError("\"addmm_cuda\" not implemented for 'Int'")
        return call(self, target, args, kwargs)

    monkeypatch.setattr(torch.fx.Interpreter, "call_function", lacking)
    a, b = (torch.randint(-largest, largest, shape, dtype=torch.int32) for shape in ((5, 40), (40, 6)))
    assert torch.equal(Rounded(traced(torch.mm, [a, b]), a.device).run(a, b), a @ b)

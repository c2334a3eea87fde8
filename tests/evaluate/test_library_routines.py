"""The vendor library's routines, as procedures of the description: right on any shape, with the measured commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, run_program
from hypothesis import Phase, assume, example, given, settings
from hypothesis import strategies as st

from autocomp.errors import KernelError
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.program import run_file
from autocomp.targets.simulator.trace import read_trace
from autocomp.workload import Workload, parse

TRACES = Path(__file__).parents[2] / "benchmarks" / "rtl" / "traces"
MACHINE = isa.load("gemmini")
BASES = (0x80100000, 0x80800000, 0x81000000)  # of A, B and C in the traces

options = st.fixed_dictionaries(
    {
        "bias": st.sampled_from(["none", "row", "full"]),
        "activation": st.sampled_from(["none", "relu"]),
        "scale": st.sampled_from([1.0, 0.125, 0.01, -0.5]),
        "transposed": st.sampled_from(["none", "A", "B"]),
    }
)


def gemm(dims: tuple[int, int, int], chosen: dict[str, Any]) -> Workload:
    i, j, k = dims
    text = f"operation: gemm\naccelerator: gemmini\ndims: {{I: {i}, J: {j}, K: {k}}}\n"
    text += "".join(f"{key}: {chosen[key]}\n" for key in ("bias", "activation", "scale"))
    text += "".join(f"transpose_{o.lower()}: {str(chosen['transposed'] == o).lower()}\n" for o in "AB")
    return parse(text, Path("w.yaml"))


def tiled_matmul_auto(workload: Workload, kind: str = "WS") -> str:
    """A kernel that is one call."""
    i, j, k = (workload.dims[letter] for letter in "IJK")
    chosen, shapes = workload.options, {tensor.name: tensor.shape for tensor in workload.tensors}
    bias = "NULL" if chosen["bias"] == "none" else "bias"
    activation = "RELU" if chosen["activation"] == "relu" else "NO_ACTIVATION"
    flags = [chosen["bias"] == "row", chosen["transpose_a"], chosen["transpose_b"], False, False]
    tensors = ", ".join(f"{t.dtype}_t {t.name}{''.join(f'[{n}]' for n in t.shape)}" for t in workload.tensors)
    return (
        f"void solution({tensors}) {{ tiled_matmul_auto({i}, {j}, {k}, A, B, {bias}, C, {shapes['A'][1]}, "
        f"{shapes['B'][1]}, {j}, {j}, 1.0f, 1.0f, 1.0f, {activation}, {chosen['scale']}, 0, "
        f"{', '.join(str(flag).lower() for flag in flags)}, 0, {kind}); }}"
    )


@settings(max_examples=25, deadline=None)
@given(dims=st.tuples(st.integers(1, 130), st.integers(1, 130), st.integers(1, 130)), chosen=options)
def test_tiled_matmul_auto_on_any_shape(dims: tuple[int, int, int], chosen: dict[str, Any]) -> None:
    workload = gemm(dims, chosen)
    evaluation = SimulatorEvaluator(MACHINE, workload).evaluate(tiled_matmul_auto(workload))
    assert evaluation.correct, evaluation.failure


PLAIN = {"bias": "none", "activation": "none", "scale": 0.002, "transposed": "none"}


@pytest.mark.parametrize("depth", [1000, 1700])
def test_sums_deeper_than_one_hardware_loop_are_continued(depth: int) -> None:
    workload = gemm((90, 100, depth), {**PLAIN, "bias": "full"})
    evaluation = SimulatorEvaluator(MACHINE, workload).evaluate(tiled_matmul_auto(workload))
    assert evaluation.correct, evaluation.failure


def test_a_host_that_takes_time_for_its_code_takes_some_for_a_routine() -> None:
    workload = gemm((17, 33, 65), PLAIN)
    ideal, slow = (SimulatorEvaluator(isa.load("gemmini", {"HOST": host}), workload) for host in (0, 1))
    before, after = (evaluator.evaluate(tiled_matmul_auto(workload)) for evaluator in (ideal, slow))
    assert after.correct, after.failure
    assert (after.value or 0) > (before.value or 0)


@pytest.mark.parametrize("size", [128, 256])
def test_its_commands_are_those_of_the_measured_run(size: int) -> None:
    workload = gemm((size, size, size), PLAIN)
    tables = isa.lower(MACHINE)
    program = kernel.link(kernel.compile(kernel.parse(tiled_matmul_auto(workload)), MACHINE), tables)
    tensors = {t.name: np.zeros(t.shape, t.dtype) for t in workload.tensors}
    result = run_program(tables.machine, program, tensors, SimulationOptions(timing=False, record_trace=True))
    assert result.trace is not None
    measured = read_trace(TRACES / f"i_loopws_auto_{size}.txt.gz", MACHINE, tables)
    assert not measured.unsupported
    fence = tables.instructions["fence"]

    def commands(trace: Any, addresses: bool) -> list[tuple[int, list[Any]]]:
        rows = [(number, list(arguments)) for number, arguments, *_ in trace.commands(tables.machine)]
        return [(number, [plain(x, addresses) for x in arguments]) for number, arguments in rows if number != fence]

    def plain(argument: Any, addresses: bool) -> Any:
        """Pointers as addresses of the traces."""
        if isinstance(argument, float) or argument < 1 << 48:
            return argument
        offset = argument & (1 << 48) - 1
        return offset if addresses else BASES[(argument >> 48) - 1] + offset

    assert commands(result.trace, False) == commands(measured.trace, True)


@pytest.mark.parametrize("kind", ["OS", "CPU"])
def test_other_kinds_are_refused_where_they_are_called(kind: str) -> None:
    with pytest.raises(KernelError, match="'tiled_matmul_auto': only WS is there"):
        kernel.compile(kernel.parse(tiled_matmul_auto(gemm((4, 4, 4), PLAIN), kind)), MACHINE)


convolutions = st.fixed_dictionaries(
    {
        "dims": st.fixed_dictionaries(
            {
                "N": st.integers(1, 2),
                "H": st.integers(1, 12),
                "W": st.integers(1, 20),
                "C": st.integers(1, 40),
                "K": st.integers(1, 40),
                "R": st.integers(1, 4),
            }
        ),
        "stride": st.integers(1, 3),
        "padding": st.integers(0, 2),
        "dilation": st.integers(1, 2),
        "bias": st.sampled_from(["none", "row"]),
        "activation": st.sampled_from(["none", "relu"]),
        "scale": st.sampled_from([1.0, 0.01, -0.5]),
        "pool": st.sampled_from([None, (2, 2, 0), (3, 2, 1), (2, 1, 0)]),
    }
)


def reach(chosen: dict[str, Any]) -> int:
    return int(chosen["dilation"] * (chosen["dims"]["R"] - 1) + 1)


def results(chosen: dict[str, Any], letter: str) -> int:
    """Rows (H) or columns (W) before pooling."""
    return int((chosen["dims"][letter] + 2 * chosen["padding"] - reach(chosen)) // chosen["stride"] + 1)


def has_results(chosen: dict[str, Any]) -> bool:
    size, _, padding = chosen["pool"] or (1, 1, 0)
    return all(
        chosen["dims"][letter] + 2 * chosen["padding"] >= reach(chosen)
        and results(chosen, letter) + 2 * padding >= size
        for letter in "HW"
    )


def conv(chosen: dict[str, Any]) -> Workload:
    sizes = {**chosen["dims"], "S": chosen["dims"]["R"]}
    text = f"operation: conv2d\naccelerator: gemmini\ndims: {sizes}\n".replace("'", "")
    text += "".join(f"{k}: {chosen[k]}\n" for k in ("stride", "padding", "dilation", "bias", "activation", "scale"))
    if chosen["pool"]:
        text += "pool: {{size: {}, stride: {}, padding: {}}}\n".format(*chosen["pool"])
    return parse(text, Path("w.yaml"))


def tiled_conv_auto(chosen: dict[str, Any], workload: Workload, kind: str = "WS", flags: str = "0, 0, 0, 0, 0") -> str:
    """A kernel that is one call."""
    n, h, w, c, k, r = (chosen["dims"][letter] for letter in "NHWCKR")
    first, second, *rest = workload.tensors
    bias = "NULL" if chosen["bias"] == "none" else rest[0].name
    activation = "RELU" if chosen["activation"] == "relu" else "NO_ACTIVATION"
    pool = ", ".join(str(x) for x in chosen["pool"] or (0, 0, 0))
    tensors = ", ".join(f"{t.dtype}_t {t.name}{''.join(f'[{x}]' for x in t.shape)}" for t in workload.tensors)
    return (
        f"void solution({tensors}) {{ tiled_conv_auto({n}, {h}, {w}, {c}, {k}, {results(chosen, 'H')}, "
        f"{results(chosen, 'W')}, {chosen['stride']}, 1, {chosen['dilation']}, {chosen['padding']}, {r}, {flags}, "
        f"{first.name}, {second.name}, {bias}, {rest[-1].name}, {activation}, {chosen['scale']}, {pool}, {kind}); }}"
    )


SMALL = {"dims": dict.fromkeys("NHWCKR", 2), "stride": 1, "padding": 1, "dilation": 1, "pool": None, **PLAIN}
NARROW = SMALL | {"dims": {"N": 1, "H": 1, "W": 1, "C": 8, "K": 2, "R": 3}}


@settings(max_examples=12, deadline=None)
@given(chosen=convolutions.filter(has_results))
@example(NARROW)  # two pixels would fit in a row; then computes do not wait for the last one
def test_tiled_conv_auto_on_any_shape(chosen: dict[str, Any]) -> None:
    workload = conv(chosen)
    evaluation = SimulatorEvaluator(MACHINE, workload).evaluate(tiled_conv_auto(chosen, workload))
    assert evaluation.correct, evaluation.failure


@pytest.mark.parametrize(
    ("flags", "kind", "message"),
    [
        ("0, 0, 0, 0, 0", "CPU", "only WS is there"),
        ("1, 0, 0, 0, 0", "WS", "rotated"),
        ("0, 1, 0, 0, 0", "WS", "transp"),
    ],
)
def test_convolutions_of_other_kinds_are_refused_where_they_are_called(flags: str, kind: str, message: str) -> None:
    text = tiled_conv_auto(SMALL, conv(SMALL), kind, flags)
    with pytest.raises(KernelError, match=f"'tiled_conv_auto': .*{message}"):
        kernel.compile(kernel.parse(text), MACHINE)


convolutions = st.fixed_dictionaries(
    {
        "batch": st.integers(1, 3),
        "rows": st.integers(2, 6),
        "cols": st.integers(2, 20),
        "channels": st.sampled_from([1, 3, 17]),
        "filters": st.sampled_from([2, 18]),
        "stride": st.integers(1, 2),
        "input_dilation": st.integers(1, 3),
        "kernel_dilation": st.integers(1, 2),
        "padding": st.integers(0, 2),
        "taps": st.integers(1, 2),
        "rotated": st.booleans(),
        "transposed": st.sampled_from(["none", "output_1203", "input_3120", "weight_1203", "weight_0132"]),
    }
)


@settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(chosen=convolutions)
def test_convolutions_that_the_hardware_loop_lacks_are_those_of_the_host(chosen: dict[str, Any]) -> None:
    batch, channels, filters, stride, padding, taps = (
        chosen[name] for name in ("batch", "channels", "filters", "stride", "padding", "taps")
    )
    rows, cols, wider, dilation = (chosen[name] for name in ("rows", "cols", "input_dilation", "kernel_dilation"))
    out_rows, out_cols = (
        ((extent - 1) * wider + 2 * padding - dilation * (taps - 1)) // stride + 1 for extent in (rows, cols)
    )
    assume(min(out_rows, out_cols) >= 1)
    names = ("output_1203", "input_3120", "weight_1203", "weight_0132")
    flags = ", ".join(str(flag).lower() for flag in (chosen["rotated"], *(chosen["transposed"] == n for n in names)))
    sizes = f"{batch}, {rows}, {cols}, {channels}, {filters}, {out_rows}, {out_cols}, {stride}, {wider}, {dilation}"
    results = batch * out_rows * out_cols * filters
    call = f"tiled_conv_auto({sizes}, {padding}, {taps}, {flags}, input, weights, bias, %s, RELU, 0.125f, 0, 0, 0, %s);"
    text = f"""
    int main() {{
        static elem_t input[{batch * rows * cols * channels}];
        static elem_t weights[{taps * taps * channels * filters}];
        static acc_t bias[{filters}];
        static elem_t expected[{results}];
        static elem_t found[{results}];
        for (int n = 0; n < {batch * rows * cols * channels}; n++) input[n] = n * 37 % 11 - 5;
        for (int n = 0; n < {taps * taps * channels * filters}; n++) weights[n] = n * 53 % 13 - 6;
        for (int n = 0; n < {filters}; n++) bias[n] = n * 29 % 200 - 50;
        {call % ("expected", "CPU")}
        {call % ("found", "WS")}
        for (int n = 0; n < {results}; n++) if (expected[n] != found[n]) exit(1);
        exit(0);
    }}"""
    ended = run_file(text, "conv.c", MACHINE, {})
    assert (ended.error, ended.exit_code) == (None, 0)

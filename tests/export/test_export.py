"""Exported kernels: C with the kernel's meaning, for the vendor's header, checked by compiling and running it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner

from autocomp import workload
from autocomp.cli.entry import autocomp
from autocomp.data import data_dir
from autocomp.errors import CandidateFailure, ConfigError, KernelError
from autocomp.export import Export, Schedule, check_export, export_files, of_kernel
from autocomp.export import blocks as export_blocks
from autocomp.export.any_size import made
from autocomp.export.blocks import cuts, worth
from autocomp.export.dispatch import dispatches
from autocomp.export.host import Host, compile_library
from autocomp.schedules.record import ScheduleRecord, from_yaml
from autocomp.schedules.store import Store
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa import Accelerator
from autocomp.targets.simulator.start.library import library_kernel
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.target import SimulatorTarget
from autocomp.workload import TensorSpec, Workload

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "docs" / "reference" / "export.schema.json"
GOLDEN = Path(__file__).parent / "golden"
MACHINE = isa.load("gemmini")
GEMM = """
operation: gemm
accelerator: gemmini
dims: {I: 20, J: 37, K: 50}
bias: row
activation: relu
scale: 0.05
transpose_b: true
"""
STRICT = ("-Wextra", "-Wconversion", "-Wmissing-prototypes", "-Werror", "-fsyntax-only")
SQUARE = "{N: 1, H: 8, W: 8, C: 4, K: 4, R: 3, S: 3}"
CONVOLUTION = """
operation: conv2d
accelerator: gemmini
dims: {N: 1, H: 9, W: 7, C: 5, K: 19, R: 3, S: 3}
stride: 2
padding: 1
bias: row
scale: 0.25
"""
LIBRARY_CONVOLUTION = """
void solution(int8_t inp[1][9][7][5], int8_t weights[3][3][5][19], int32_t bias[1][19], int8_t output[1][5][4][19]) {
    tiled_conv_auto(1, 9, 7, 5, 19, 5, 4, 2, 1, 1, 1, 3, false, false, false, false, false, inp, weights, bias, output,
                    NO_ACTIVATION, 0.25, 0, 0, 0, WS);
}
"""
ADDER = """
accelerator adder {
  memory dram { kind: dram; }
  memory rows { rows: 8; row: i8[4]; }
  address row_address { field row = 2..0; memory rows; }
  encoding { code: 2; dram: 64; place: 8; }
  instruction load(src: dram*, dst: row_address) {
    semantics { for c < 4: rows[dst.row][c] = src.i8[c]; }
    encoding { code = 1; dram = src; place[2..0] = dst; }
  }
  instruction add(x: row_address, by: int -8..7) {
    semantics { for c < 4: rows[x.row][c] = saturate<i8>(rows[x.row][c] + by); }
    encoding { code = 2; place[2..0] = x; place[7..4] = by; }
  }
  instruction store(dst: dram*, src: row_address) {
    semantics { for c < 4: dst.i8[c] = rows[src.row][c]; }
    encoding { code = 3; dram = dst; place[2..0] = src; }
  }
  instruction fence() { timing { role: fence; } }
}
"""
TILES = (TensorSpec("x", "int8", (16, 16), "input"), TensorSpec("y", "int8", (16, 16), "output"))
PAIR = (TensorSpec("x", "int8", (2, 4), "input"), TensorSpec("y", "int8", (2, 4), "output"))


def parsed(text: str) -> Workload:
    return workload.parse(text, Path("w.yaml"))


def schedule(kernel: str, tensors: Sequence[TensorSpec] = PAIR, **constants: int) -> Schedule:
    return Schedule("shift", constants, {}, tuple(tensors), constants, kernel, "kernel.c", 10, 5)


def adder() -> Accelerator:
    return isa.parse(ADDER, "adder.isa")


def proved(schedules: list[Schedule], machine: Accelerator) -> dict[str, str]:
    """The files, which a strict compiler accepts and which compute the same."""
    files = export_files(schedules, machine, None)
    check_export(schedules, files, machine)
    with TemporaryDirectory() as name:
        for file, text in files.items():
            (Path(name) / file).parent.mkdir(exist_ok=True)
            (Path(name) / file).write_text(text)
        sources, host = sorted(Path(name).glob("*.c")), Path(name) / "host"
        compile_library(sources, [Path(name), host], Path(name) / "strict.so", STRICT)
    return files


def test_kernels_of_the_systolic_array_compute_in_c_what_they_compute_here() -> None:
    plain, wide = parsed(GEMM), parsed(GEMM.replace("I: 20", "I: 40"))
    convolution, high = parsed(CONVOLUTION), parsed(CONVOLUTION.replace("H: 9", "H: 10"))
    call = library_kernel(wide, MACHINE)
    assert call is not None
    schedules = [
        of_kernel(starting_kernel(plain, MACHINE), "naive", plain, SimulatorTarget(MACHINE)),
        of_kernel(starting_kernel(high, MACHINE), "naive convolution", high, SimulatorTarget(MACHINE)),
        of_kernel(call, "hardware loop", wide, SimulatorTarget(MACHINE)),
        of_kernel(LIBRARY_CONVOLUTION, "hardware loop over a convolution", convolution, SimulatorTarget(MACHINE)),
    ]
    files = proved(schedules, MACHINE)
    source = files["gemm_I20_J37_K50_activation_relu_bias_row_scale_transpose_b_true.c"]
    assert "bool transpose" not in source
    assert "0.05" not in source
    body = source[source.index("static void solution") : source.index("\n}\n")]
    assert {name for name in re.findall(r"\b(\w+)\(", body) if not name.startswith("gemmini_")} == {"solution"}


@pytest.mark.parametrize("accelerator", ["gemmini", "tiny", "tpu_v1"])
def test_the_dispatch_falls_back_on_a_kernel_of_any_size_and_stride(accelerator: str) -> None:
    machine = isa.load(accelerator)
    plain = parsed(f"{{operation: gemm, accelerator: {accelerator}, dims: {{I: 8, J: 8, K: 8}}}}")
    schedules = [of_kernel(starting_kernel(plain, machine), "naive", plain, SimulatorTarget(machine))]
    files = _exported(schedules, machine)
    assert "    return gemm_any(I, J, K, A, K, B, J, C, J);" in files["dispatch.c"]
    assert json.loads(files["export.json"])["fallbacks"]["gemm"]["strided"] == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("accelerator", "options", "refused"),
    [
        (
            "gemmini",
            "stride: 2\npadding: 1\nbias: row\nscale: 0.05",
            "stride_output > 1048576 || H + 2 < 1 * (R - 1) + 1 || ",
        ),
        pytest.param("gemmini", "pool: {size: 2, stride: 2}", "S > 1048576 || S != R || H + ", marks=pytest.mark.long),
        pytest.param(
            *("gemmini", "groups: 4\npadding: 1", "stride_output > 1048576 || C % 4 != 0 || K % 4 != 0 || H + "),
            marks=pytest.mark.long,
        ),
        ("tiny", "padding: 1\ndilation: 2", "stride_inp > 2147483647 / N / H / W || "),
    ],
    ids=["plain", "pooled", "grouped", "without a routine of the vendor's"],
)
def test_the_dispatch_falls_back_on_a_convolution_of_any_size(accelerator: str, options: str, refused: str) -> None:
    machine = isa.load(accelerator)
    plain = parsed(f"operation: conv2d\naccelerator: {accelerator}\ndims: {SQUARE}\n{options}\n")
    schedule = of_kernel(starting_kernel(plain, machine), "naive", plain, SimulatorTarget(machine))
    files = _exported([schedule], machine)
    tensors = "inp, weights, " if "pool" in options else "inp, C, weights, K, "  # only the vendor's routine pools
    assert f"    return {schedule.family}_any(N, H, W, C, K, R, S, {tensors}" in files["dispatch.c"]
    assert refused in files[f"{schedule.family}_any.c"]


def test_without_a_kernel_of_any_size_the_dispatch_says_why() -> None:
    machine = isa.load("gemmini")
    options = "groups: 4\npool: {size: 2, stride: 2}"
    plain = parsed(f"operation: conv2d\naccelerator: gemmini\ndims: {SQUARE}\n{options}\n")
    schedule = of_kernel(starting_kernel(plain, machine), "naive", plain, SimulatorTarget(machine))
    files = export_files([schedule], machine, None)
    reason = "the routine of gemmini that convolves and pools with any size has no groups, and no sides that differ"
    assert f"    // No kernel for other sizes: {reason}.\n    return -1;" in files["dispatch.c"]
    assert [f["reason"] for f in json.loads(files["export.json"])["fallbacks"].values()] == [reason]


def test_sizes_between_those_of_kernels_are_cut_into_blocks() -> None:
    schedules = []
    for rows, cycles in ((4, 10), (12, 20)):
        workload_ = parsed(f"{{operation: gemm, accelerator: gemmini, bias: full, dims: {{I: {rows}, J: 8, K: 9}}}}")
        kernel = of_kernel(starting_kernel(workload_, MACHINE), "naive", workload_, SimulatorTarget(MACHINE))
        schedules.append(replace(kernel, cycles=cycles))
    files = proved(schedules, MACHINE)
    assert "if (I >= 4 && J == 8 && K == 9) {" in files["dispatch.c"]
    assert "gemm_I12_J8_K9_bias_full(A + done * 9, B, bias + done * 8, C + done * 8);" in files["dispatch.c"]
    (operation,) = dispatches(schedules, MACHINE)
    for rows in range(4, 40):
        calls = operation.calls({"I": rows, "J": 8, "K": 9})
        done = [row for call in calls for row in range(call.first, call.first + call.dims["I"])]
        assert set(done) == set(range(rows))
    assert [call.schedule for call in operation.calls({"I": 4, "J": 8, "K": 10})] == [None]


def test_kernels_are_chosen_nearly_as_if_all_sizes_were_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    workload_ = parsed("{operation: gemm, accelerator: gemmini, dims: {I: 49, J: 8, K: 9}}")
    kernel = of_kernel(starting_kernel(workload_, MACHINE), "naive", workload_, SimulatorTarget(MACHINE))
    cycles = [1000 + 900 * -(-rows // 16) for rows in range(49 * 8 + 1)]  # a step for each row of tiles
    monkeypatch.setattr(export_blocks, "any_size_cycles", lambda _, dims, __: cycles[dims["I"]])
    ((whole,),) = cuts([replace(kernel, cycles=3100)], MACHINE)
    chosen = worth(whole, made(kernel, MACHINE), MACHINE)
    best = [0]
    for size in range(1, 200):
        best.append(min(cycles[size], 3100 + best[max(0, size - 49)]))
    calls = [call for size in range(49, 200) for call in chosen.calls(size)]
    spent = sum(3100 if call.schedule else cycles[call.dims["I"]] for call in calls)
    assert spent < 1.01 * sum(best[49:200])


def test_what_a_machine_forbids_without_a_fence_is_right_after_a_wait() -> None:
    workload_ = parsed("{operation: gemm, accelerator: gemmini, dims: {I: 4, J: 16, K: 16}}")
    kernel = """void solution(int8_t A[4][16], int8_t B[16][16], int8_t C[4][16]) {
    for (int time = 0; time < 2; time++) {
        config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
        config_ld(16, 1.0f, 16, 0);
        config_ld(16, 1.0f, 16, 1);
        config_st(16);
        mvin(A, 0, 16, 4);
        mvin2(B, 4096, 16, 16);
        preload(4096, 0x80000000, 16, 16, 16, 4);
        compute_preloaded(0, 0xffffffff, 16, 4, 16, 16);
        mvout(C, 0x80000000, 16, 4);
        fence();
    }
}"""
    machine = isa.load("gemmini")
    proved([of_kernel(kernel, "twice", workload_, SimulatorTarget(machine))], machine)


def test_images_are_computed_one_after_the_other_by_a_kernel_of_one() -> None:
    plain = parsed(
        f"operation: conv2d\naccelerator: gemmini\ndims: {SQUARE}\ngroups: 4\npool: {{size: 2, stride: 2}}\n"
    )
    schedule = of_kernel(starting_kernel(plain, MACHINE), "naive", plain, SimulatorTarget(MACHINE))
    (operation,) = dispatches([schedule], MACHINE)
    assert isinstance(operation.fallback, str)
    calls = operation.calls({**schedule.dims, "N": 3})
    assert [(call.schedule, call.first) for call in calls] == [(schedule, 0), (schedule, 1), (schedule, 2)]
    assert operation.calls({**schedule.dims, "H": 9}) == ()
    proved([schedule], MACHINE)


def _exported(schedules: list[Schedule], machine: Accelerator) -> dict[str, str]:
    """The files, compared with the simulator where commands have an encoding."""
    encoded = any(instruction.encoding for instruction in machine.instructions)
    return proved(schedules, machine) if encoded else export_files(schedules, machine, None)


def test_a_kernel_with_the_host_in_the_loop_takes_turns_with_it() -> None:
    forward = workload.load("tinympc_forward")
    machine = isa.load(forward.accelerator, forward.overrides)
    proved([of_kernel(starting_kernel(forward, machine), "forward", forward, SimulatorTarget(machine))], machine)


def test_the_text_of_an_export(request: pytest.FixtureRequest) -> None:
    plain = parsed(GEMM)
    only = of_kernel(starting_kernel(plain, MACHINE), "naive", plain, SimulatorTarget(MACHINE))
    files = export_files([only], MACHINE, "include/gemmini.h")
    for name, golden in ((f"{only.function}.c", "kernel.c"), ("kernels.h", "kernels.h"), ("dispatch.c", "dispatch.c")):
        text = re.sub(r"// \d+ cycles.*", "// … cycles", files[name])
        if request.config.getoption("--update-golden"):
            (GOLDEN / golden).write_text(text)
        assert text == (GOLDEN / golden).read_text()


@pytest.mark.parametrize(
    ("accelerator", "options"),
    [
        ("quad", "dims: {I: 9, J: 6, K: 10}\nbias: row\nactivation: relu"),
        ("tiny", "dims: {I: 9, J: 6, K: 10}\nbias: row"),
        ("tpu_v1", "dims: {I: 9, J: 6, K: 10}"),
        ("vta", "dims: {I: 16, J: 16, K: 16}\nlayout: {B: J/16 K/16 J%16 K%16}"),
        ("neuroncore", "dims: {I: 9, J: 6, K: 10}\ndtype: bfloat16\ntranspose_a: true"),
        ("amx", "dims: {I: 16, J: 16, K: 64}\nresult: int32\nlayout: {B: K/4 J K%4}"),
        ("rvv", "dims: {I: 4, J: 8, K: 4}\ndtype: float32"),
    ],
)
def test_every_shipped_machine_computes_in_c_what_it_computes_here(accelerator: str, options: str) -> None:
    machine, small = isa.load(accelerator), parsed(f"operation: gemm\naccelerator: {accelerator}\n{options}")
    proved([of_kernel(starting_kernel(small, machine), "naive", small, SimulatorTarget(machine))], machine)


def test_a_machine_without_a_vendors_header_has_a_function_for_each_instruction() -> None:
    kernel = "void solution(int8_t x[2][4], int8_t y[2][4]) { load(x[1], 3); add(3, -8); store(&y[0][0], 3); }"
    files = proved([schedule(kernel)], adder())
    assert "adder_issue_add(3, -8);" in files["shift.c"]


@pytest.mark.parametrize(
    "kernel",
    [
        # what the dialect calls when it is called again
        "{ static int n = 3; static int8_t t[4] = {1, 2}; load(x, 0); add(0, n); store(y, 0); n++; fence(); t[0]++; }",
        # a name of the machine as a variable, in the outermost block and in a loop
        "{ int STEPS = 1; for (int STEPS = 0; STEPS < 2; STEPS++) { load(x[STEPS], STEPS); store(y[STEPS], 0); } }",
        # an array of the kernel's own, which the machine reads and writes
        "{ int8_t t[2][4]; load(x, 1); store(t[1], 1); fence(); for (int i = 0; i < 4; i++) y[0][i] = t[1][i] + 1; }",
        "{ static int8_t t[2][4]; add(0, 1); store(t[1], 0); fence(); t[0][0]++; load(t, 0); store(y, 0); }",
        "{ for (int i = 0; i < 2; i++) { const int8_t t[4] = {1, 2, 3, 4}; load(t, i); store(y[i], i); } }",
        # a name of the workload decides
        "{\n#ifdef STEPS\nload(x, 0);\n#else\nload(x[1], 0);\n#endif\nstore(y, 0); }",
        # a choice between two commands
        "{ x[0][0] > 0 ? load(x, 0) : load(x[1], 0); store(y, 0); }",
        # pointers change their type on the way to a helper, and a return comes before the end
        "{ both(x, y); if (x[0][0] == 99) return; add(0, 1); store(y[1] + 1 - 1, 0); }",
    ],
)
def test_what_the_dialect_means_by_itself_is_written_out_for_c(kernel: str) -> None:
    helper = "void both(int8_t* from, int8_t* to) { load(from + 4, 0); store(to, 0); fence(); }\n"
    text = f"{helper}void solution(int8_t x[2][4], int8_t y[2][4]) {kernel}"
    proved([schedule(text, STEPS=2)], adder())


def test_large_arrays_of_a_kernel_do_not_lie_on_the_stack() -> None:
    """Eight megabytes are what a thread usually has."""
    kernel = "{ static int8_t t[16][1024][1024]; load(x, 0); store(t[15], 0); fence(); load(t[15], 1); store(y, 1); }"
    proved([schedule(f"void solution(int8_t x[2][4], int8_t y[2][4]) {kernel}")], adder())


def test_arguments_of_macros_are_cast_where_their_text_would_mean_something_else() -> None:
    kernel = """void solution(int8_t x[16][16], int8_t y[16][16]) {
    const uint32_t row = 16;
    int last = 1 << 31;
    size_t far = 32;
    for (int i = 0; i < 2; i++) {
        mvin(x, row + i * 16, 16, i == 0 ? 16 : 8);
        mvin(x, far, 8, 16);
        mvout(y, last, 16, 16);
        mvout(y, i == 0 ? row : row | 0x40000000, 16, 4 + 4 * i);
    }
}
"""
    source = export_files([schedule(kernel, tensors=TILES)], MACHINE, None)["shift.c"]
    assert "mvin(x, row + (uint32_t)(i * 16), 16, (int64_t)(i == 0 ? 16 : 8));" in source
    assert "mvin(x, (uint32_t)far, 8, 16);" in source
    assert "mvout(y, (uint32_t)last);" in source
    assert "mvout(y, i == 0 ? row : row | 0x40000000, 16, 4 + 4 * i);" in source


def test_what_c_converts_in_silence_is_a_cast() -> None:
    kernel = """void solution(int8_t x[16][16], int8_t y[16][16]) {
    const uint32_t row = 16;
    const int unused = 1;
    const size_t far = 64;
    for (int i = 0; i < 2; i++) {
        const int last = far / 16 - i;
        x[i][0] = y[0][0] + last;
        x[i][1] /= last + 300;
        mvin(x, row + i | 0x40000000, i < 1 || last > 2 && i > row ? 16 : 8, 16);
    }
}
"""
    source = export_files([schedule(kernel, tensors=TILES)], MACHINE, None)["shift.c"]
    assert "(void)unused;" in source
    assert "const int last = (int)(far / 16 - (uint64_t)i);" in source
    assert "x[i][0] = (int8_t)(y[0][0] + last);" in source
    assert "x[i][1] /= last + 300;" in source
    assert "mvin(x, (uint32_t)(row + (uint32_t)i) | 0x40000000, " in source
    assert "(int64_t)(i < 1 || (int)(last > 2 && (uint32_t)i > row) ? 16 : 8)" in source


def test_what_c_cannot_say_is_refused_with_its_line() -> None:
    loop = "for (int i = 0; i < 2; i++) {\n  static int n = 0; n++;\n }"
    kernel = f"void solution(int8_t x[2][4], int8_t y[2][4]) {{\n {loop}\n}}"
    with pytest.raises(KernelError, match=r"kernel\.c:3:1[\s\S]*starts afresh"):
        export_files([schedule(kernel)], adder(), None)


def test_a_dispatch_function_has_a_kernel_for_its_sizes_and_for_no_others(tmp_path: Path) -> None:
    kernel = "void solution(int8_t x[2][4], int8_t y[2][4]) { load(x, 0); add(0, N); store(y, 0); }"
    files = export_files([schedule(kernel, N=3), schedule(kernel, N=5)], adder(), None)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    compile_library(sorted(tmp_path.rglob("*.c")), [tmp_path, tmp_path / "host"], tmp_path / "all.so")
    host = Host(tmp_path / "all.so", adder())
    memory = {"x": np.full((2, 4), 10, np.int8), "y": np.zeros((2, 4), np.int8)}
    assert host.call("shift", PAIR, memory, (5,)) == 0
    assert memory["y"].tolist() == [[15] * 4, [0] * 4]
    assert host.call("shift", PAIR, memory, (4,)) == -1


def test_c_that_computes_something_else_is_found() -> None:
    kernel = "void solution(int8_t x[2][4], int8_t y[2][4]) { load(x, 0); add(0, 1); store(y, 0); }"
    files = export_files([schedule(kernel)], adder(), None)
    files["shift.c"] = files["shift.c"].replace("add(0, 1)", "add(0, 2)")
    with pytest.raises(CandidateFailure, match=r"shift\(\) of kernel\.c computes something else"):
        check_export([schedule(kernel)], files, adder())


def test_kernels_of_one_name_are_refused() -> None:
    kernel = "void solution(int8_t x[2][4], int8_t y[2][4]) { fence(); }"
    with pytest.raises(ConfigError, match=r"would both become shift\(\)"):
        export_files([schedule(kernel), schedule(kernel)], adder(), None)


def test_the_published_schema_is_that_of_the_models_and_holds(request: pytest.FixtureRequest) -> None:
    published = json.dumps(Export.model_json_schema(), indent=2) + "\n"
    if request.config.getoption("--update-golden"):
        SCHEMA.write_text(published)
    assert SCHEMA.read_text() == published
    kernel = "void solution(int8_t x[2][4], int8_t y[2][4]) { fence(); }"
    document = json.loads(export_files([schedule(kernel)], adder(), None)["export.json"])
    schema = json.loads(published)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "kernels": [{}]}, schema)


def test_of_two_schedules_of_an_operation_the_one_for_the_present_machine_is_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = next(data_dir("schedules").glob("gemmini/gemm/I100_J70_K30-*.yaml"))
    record = from_yaml(shipped.read_text(), str(shipped))

    def put(folder: str, cycles: int, digest: str, **parameters: float) -> str:
        machine = {"kind": "simulator", "name": "gemmini", "parameters": parameters, "digest": digest}
        changed = {"target": machine, "result": {**record.result.model_dump(), "value": cycles}}
        path, _ = Store(tmp_path / folder).put(ScheduleRecord.model_validate({**record.model_dump(), **changed}))
        return path.name

    old = put("store", 100, "an earlier description", DIM=16)
    present = put("store", 2000, MACHINE.digest, **MACHINE.parameters)
    monkeypatch.setenv("AUTOCOMP_SCHEDULES", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(autocomp, ["export", "--accelerator", "gemmini", "--json"])
    assert done.exit_code == 0, done.output
    assert f"{old} is left out: {present}" in done.stderr
    assert json.loads((tmp_path / "export" / "export.json").read_text())["kernels"][0]["cycles"] == 2000


def test_the_command_exports_a_schedule_and_a_users_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.yaml").write_text(GEMM)
    (tmp_path / "kernel.c").write_text(starting_kernel(parsed(GEMM), MACHINE))
    own = ["export", "kernel.c", "--workload", "w.yaml", "--header", "include/gemmini.h", "--check", "--json"]
    done = CliRunner().invoke(autocomp, own)
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert {"kernels.h", "dispatch.c", "export.json", "host/include/gemmini.h"} <= set(document["files"])
    assert all((tmp_path / "export" / name).is_file() for name in document["files"])
    wrong = CliRunner().invoke(autocomp, ["export", "kernel.c", "--workload", "gemm_512"])
    assert wrong.exit_code == 6
    assert "is not exported" in wrong.stderr
    assert CliRunner().invoke(autocomp, ["export"]).exit_code == 2


@pytest.mark.parametrize(
    ("kernel", "good", "bad", "found"),
    [
        ("{ int n = 0; load(x, 0); if (n == 0) add(0, 1); store(y, 0); }", "n = 0;", "n;", "something else in C"),
        (
            "{ int8_t t[4] = {1, 2}; int i = 4; load(x, 0); add(0, t[i - 4]); store(y, 0); }",
            "t[i - 4]",
            "t[i]",
            "index 4",
        ),
    ],
)
def test_what_c_does_not_define_fails_the_check(kernel: str, good: str, bad: str, found: str) -> None:
    plan = schedule(f"void solution(int8_t x[2][4], int8_t y[2][4]) {kernel}")
    files = export_files([plan], adder(), None)
    assert good in files["shift.c"]
    files["shift.c"] = files["shift.c"].replace(good, bad)
    with pytest.raises(CandidateFailure, match=found):
        check_export([plan], files, adder())


def test_a_kernel_that_reads_what_has_no_value_is_refused_by_the_check() -> None:
    plan = schedule("void solution(int8_t x[2][4], int8_t y[2][4]) { uint32_t row; load(x, row & 7); store(y, 0); }")
    with pytest.raises(KernelError, match="'row' is read before it has a value"):
        check_export([plan], export_files([plan], adder(), None), adder())

"""Typical mistakes and their messages, in one golden file: what was given, where, what was expected, what to do."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from autocomp.data import data_dir

Command = Callable[..., Result]
Golden = Callable[..., None]

GEMM = "operation: gemm\naccelerator: gemmini\ndims: {I: 16, J: 16, K: 16}\n"
KERNEL = """void solution(int8_t A[16][16], int8_t B[16][16], int8_t C[16][16]) {{
    {}
    fence();
}}
"""
MACHINE = """accelerator toy {{
  param DIM = 4;
  memory dram {{ kind: dram; bus: 8; latency: 4; }}
  {}
}}
"""
WORKLOADS = {
    "right": GEMM,
    "empty": "",
    "list": "- gemm\n",
    "tab": "operation:\tgemm\n\taccelerator: gemmini\n",
    "unclosed": "operation: gemm\ndims: {I: 4, J: 4\n",
    "twice": GEMM + "operation: conv2d\n",
    "no_operation": "accelerator: gemmini\ndims: {I: 4}\n",
    "wrong_operation": GEMM.replace("gemm\n", "gemn\n", 1),
    "wrong_machine": GEMM.replace("gemmini", "gemini"),
    "no_machine": GEMM.replace("accelerator: gemmini\n", ""),
    "missing_dimension": GEMM.replace(", K: 16", ""),
    "extra_dimension": GEMM.replace("K: 16", "K: 16, L: 2"),
    "zero_dimension": GEMM.replace("J: 16", "J: 0"),
    "text_dimension": GEMM.replace("J: 16", "J: wide"),
    "unknown_key": GEMM + "activations: relu\n",
    "wrong_activation": GEMM + "activation: rely\n",
    "wrong_dtype": GEMM + "dtype: int7\n",
    "missing_kernel": GEMM + "kernel: nowhere.c\n",
    "no_reference": "operation: custom\naccelerator: gemmini\ntensors: {A: {shape: [4], dtype: int8}}\n",
}
STATEMENTS = {
    "semicolon": "mvin(A, 0, 16, 16)",
    "unknown_call": "mwin(A, 0, 16, 16);",
    "too_few_operands": "mvin(A, 0);",
    "operand_range": "mvin(A, 0, 99, 16);",
    "unknown_name": "mvin(X, 0, 16, 16);",
    "division": "int x = 1 / 0; mvin(A, x, 16, 16);",
    "outside": "mvin(&A[16][0], 0, 16, 16);",
    "endless": "for (int i = 0; i >= 0; i = i) { mvin(A, 0, 16, 16); }",
    "system": 'system("ls");',
    "include": "#include <stdio.h>\n    mvin(A, 0, 16, 16);",
    "pointer": "int8_t *p = malloc(4);",
    "host_arithmetic": "C[0][0] = A[0][0];",
    "nothing": "",
}
DECLARATIONS = {
    "unknown_block": "memori spad { rows: 4; }",
    "unknown_kind": "unit load { kind: sytolic; }",
    "unknown_setting": "unit load { kind: serial; cue: 4; }",
    "no_rows": "memory spad { row: i8[DIM]; }",
    "no_brace": "unit load { kind: serial;",
    "twice": "unit load { kind: serial; } unit load { kind: serial; }",
}
MENUS = {"no_title": "options:\n  - id: tile\n", "wrong_name": "options:\n  - id: 7\n    title: x\n    guidance: y\n"}

VARYING = (
    (r"known: \w.*", "known: ..."),  # grows with what ships
    (r"installed: .*", "installed: ..."),
    (r"the parameters are .*", "the parameters are ..."),
    (r"isa:\d+:\d+", "isa:LINE:COLUMN"),
    (r"python[\d.]+", "python"),
)
SEARCHES = [f"search {name}.yaml" for name in WORKLOADS if name != "right"]
RUNS = [f"run {name}.c --workload right.yaml --judge-seed 1" for name in STATEMENTS]
CHECKS = [f"isa check {name}.isa" for name in DECLARATIONS]
OTHERS = [
    "serch right.yaml",
    "search",
    "search gemm_51",
    "search folder",
    "search ~nobody/here",
    "search right.yaml --evaluation 5",
    "search right.yaml --evaluations none",
    "search right.yaml --evaluations 0",
    "search right.yaml --dropout 2",
    "search right.yaml --strategy bean",
    "search right.yaml --executor fleet",
    "search right.yaml --executor processes:many",
    "search right.yaml --executor dask://nowhere",
    "search right.yaml --menu gem",
    "search right.yaml --menu no_title.yaml",
    "search right.yaml --menu wrong_name.yaml",
    "search right.yaml --set DIM",
    "search right.yaml --set DIN=32",
    "search right.yaml --set DIM=17",
    "search right.yaml --planner-model gpt",
    "search right.yaml --planner-model openai:gpt",
    "search right.yaml --agent magic",
    "search right.yaml --agents right.yaml",
    "search right.yaml --target fpga:gemmini",
    "search right.yaml --run-dir right.yaml",
    "search right.yaml right.yaml --evaluations 1",
    "search right.yaml --confirm rtl",
    "resume folder",
    "resume nowhere",
    "report right.yaml",
    "runs show folder",
    "runs list --dir nowhere",
    "run nowhere.c --workload right.yaml",
    "run nothing.c",
    "run nothing.c --workload right.yaml --evaluator rtl",
    "compare - - --workload right.yaml",
    "compare nothing.c semicolon.c --workload right.yaml",
    "profile nothing.c --workload gemm_512",
    "prompt nothing.c --workload right.yaml --phase plans",
    "explore right.yaml --sweep DIM",
    "explore right.yaml --sweep DIN=4,8",
    "explore right.yaml --sweep DIM=4 --set DIM=8",
    "explore right.yaml --sweep DIM=0",
    "explore right.yaml --sweep DIM=4,x",
    "isa show gemini",
    "isa check nowhere.isa",
    "simulate folder",
    "simulate right.yaml",
    "simulate empty.yaml",
    "isa check empty.yaml",
    "isa show folder",
    "run folder --workload right.yaml",
    "run right.yaml --workload right.yaml",
    "profile nowhere.c --workload right.yaml",
    "model folder --accelerator gemmini",
    "model empty.yaml --accelerator gemmini",
    "search right.yaml --menu folder",
    "search right.yaml --agents folder",
    "search right.yaml --seconds nan",
    "search right.yaml --path right.yaml",
    "runs track folder --to csv",
    "runs compare folder folder",
    "menu show empty.yaml",
    "mcp empty.yaml",
    "schedules verify empty.yaml",
    "schedules show nowhere",
    "schedules merge folder right.yaml",
    "export",
    "export nowhere",
    "export I512_J512_K512 --accelerator gemmini",
    "export nothing.c",
    "export folder",
    "model right.yaml --accelerator gemmini",
    "fidelity nowhere",
    "rtl build folder --top Top",
]


@pytest.fixture
def files(autocomp: Command) -> None:
    Path("folder").mkdir()
    for name, text in WORKLOADS.items():
        Path(f"{name}.yaml").write_text(text)
    for name, text in STATEMENTS.items():
        Path(f"{name}.c").write_text(KERNEL.format(text))
    for name, text in DECLARATIONS.items():
        Path(f"{name}.isa").write_text(MACHINE.format(text))
    for name, text in MENUS.items():
        Path(f"{name}.yaml").write_text(text)


@pytest.mark.usefixtures("files")
def test_typical_mistakes_have_messages_that_help(autocomp: Command, golden: Golden) -> None:
    shown = []
    for command in [*SEARCHES, *OTHERS, *RUNS, *CHECKS]:
        result = autocomp(*command.split())
        text = result.stderr or result.stdout
        for pattern, fixed in (*VARYING, (str(Path.cwd()), "/folder"), (str(data_dir("isa")), "/isa")):
            text = re.sub(pattern, fixed, text)
        shown.append(f"$ autocomp {command}\n{text}exit code {result.exit_code}\n")
        shutil.rmtree("runs", ignore_errors=True)
    golden("\n".join(shown), "mistakes.txt")

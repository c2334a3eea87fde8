"""A program whose own code may only control the machine: it touches no element of a tensor, and reads nothing that the
machine wrote, whatever way it takes to the address."""

from __future__ import annotations

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, SimulationResult, run_program

from autocomp.targets.simulator import isa, kernel

MACHINE = isa.load("gemmini:fp32")
TABLES = isa.lower(MACHINE)
MOVE = "config_ld(16, 1.0f, 4, 0); config_st(16); mvin(A, 0, 4, 4);"


def execute(body: str, helpers: str = "") -> SimulationResult:
    text = f"{helpers} void solution(float A[4][4], float B[4][4]) {{ {MOVE} {body} }}"
    program = kernel.link(kernel.compile(kernel.parse(text), MACHINE), TABLES)
    tensors = {"A": np.ones((4, 4), np.float32), "B": np.ones((4, 4), np.float32)}
    return run_program(TABLES.machine, program, tensors, SimulationOptions(discipline=True, host_data=False))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("float x = A[1][2];", "reads A[1][2]"),
        ("B[3][0] = 1.0f;", "writes B[3][0]"),
        ("B[0][0] += 0.0f;", "reads B[0][0]"),
        ("int n = 0; if (A[0][0] > 0.0f) n = 1;", "reads A[0][0]"),
        ("float* p = A[0]; p += 5; float x = *p;", "reads A[1][1]"),
        ("uint64_t p = (uint64_t)&A[1][0]; float x = *(float*)(p + 4);", "reads A[1][1]"),
        ("int64_t x = *(int64_t*)A;", "reads A[0][0]"),
        ("add_matrix(A, A, B, 1, 1);", "reads A[0][0]"),
        ("static float own[4]; negate_matrix(own, B, 1, 1);", "writes B[0][0]"),
        ("get(A[2]);", "reads A[2][3]"),
    ],
)
def test_an_element_of_a_tensor_is_out_of_reach(body: str, message: str) -> None:
    error = execute(body, "float get(float* row) { return row[3]; }").error
    assert error is not None
    assert error.kind == "host"
    assert message in error.message


@pytest.mark.parametrize(
    "body",
    [
        "static float own[4][4]; mvout(own, 0, 4, 4); fence(); float x = own[1][1];",
        "static float own[4][4]; mvout(own, 0, 4, 4); fence(); negate_matrix(own, own, 1, 1);",
        "static float own[4][4]; mvout(own, 0, 4, 4); fence(); int n = 0; while (n < (int)own[3][3]) n++;",
    ],
)
def test_what_the_machine_wrote_is_out_of_reach(body: str) -> None:
    kinds = [violation.kind for violation in execute(body).violations]
    assert "host" in kinds


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < 4; i++) mvout(&B[i][0], i, 4, 1);",
        "uint64_t p = (uint64_t)&B[0][0]; mvout(p + 16, 0, 4, 1);",
        "int32_t rows[2] = {3, 1}; for (int i = 0; i < 2; i++) mvout(B[rows[i]], i, 4, 1);",
        "static float own[4][4]; mvout(own, 0, 4, 4); fence(); mvin(own, 8, 4, 4); mvout(B, 8, 4, 4);",
        "static float own[4] = {1.0f, 2.0f}; own[3] = 4.0f; mvin(own, 8, 4, 1); mvout(B, 8, 4, 1);",
        "static float own[4]; mvout(own, 0, 4, 1); fence(); own[2] = 1.0f; float x = own[2]; mvin(own, 8, 4, 1);",
    ],
)
def test_control_addresses_and_tables_of_the_kernel_are_free(body: str) -> None:
    run = execute(body)
    assert run.error is None, run.error
    assert run.violations == ()


def test_the_machine_reads_no_array_of_the_kernel_that_nothing_wrote() -> None:
    violations = execute("float own[4]; own[0] = 1.0f; mvin(own, 8, 1, 1); mvin(own, 9, 2, 1);").violations
    assert [(v.kind, "own[1]" in v.message) for v in violations] == [("uninitialised-read", True)]


def test_an_input_is_not_written() -> None:
    text = f"void solution(float A[4][4], float B[4][4]) {{ {MOVE} mvout(A, 0, 4, 4); mvout(B, 0, 4, 4); fence(); }}"
    program = kernel.link(kernel.compile(kernel.parse(text), MACHINE), TABLES)
    tensors = {"A": np.ones((4, 4), np.float32), "B": np.ones((4, 4), np.float32)}
    run = run_program(TABLES.machine, program, tensors, SimulationOptions(discipline=True, inputs=["A"], outputs=["B"]))
    assert [violation.kind for violation in run.violations] == ["input-written"]


def test_a_run_may_begin_on_a_machine_that_was_used_before() -> None:
    """The move out is configured, and its row written, by the first run alone."""
    moved = f"if (B[3][3] > 5.0f) {{ {MOVE} }} mvout(B, 0, 4, 3);"
    text = f"void solution(float A[4][4], float B[4][4]) {{ {moved} }}"
    program = kernel.link(kernel.compile(kernel.parse(text), MACHINE), TABLES)
    new = {"A": np.ones((4, 4), np.float32), "B": np.ones((4, 4), np.float32)}
    used = {"A": np.full((4, 4), 7, np.float32), "B": np.full((4, 4), 9, np.float32)}
    alone = run_program(TABLES.machine, program, new, SimulationOptions())
    assert "need config_st" in (alone.error.message if alone.error else "")
    after = run_program(TABLES.machine, program, new, SimulationOptions(), before=used)
    assert after.error is None
    assert after.outputs["B"].tolist() == [[7.0] * 4] * 3 + [[1.0] * 4]
    assert after.command_count == 1
    assert used["B"][0][0] == 9


def test_the_stream_of_commands_has_a_hash() -> None:
    def stream(body: str) -> int:
        return execute(body).stream

    assert stream("mvout(B, 0, 4, 4);") == stream("int n = 4; mvout(B[0], 0, n, n);")
    others = ["mvout(B, 0, 4, 3);", "mvout(B, 0, 3, 4);", "mvout(B, 1, 4, 4);", "fence(); mvout(B, 0, 4, 4);", ""]
    assert len({stream(body) for body in ["mvout(B, 0, 4, 4);", *others]}) == 1 + len(others)

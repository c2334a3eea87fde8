"""Reading a variable or an array of the kernel that has no value ends the run, with its name and line, wherever C
leaves it undefined; nothing else does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, SimulationResult, run_program

from autocomp.targets.simulator import kernel
from tests.kernel.conftest import accelerator, tables


def execute(body: str, helpers: str = "", flag: int = 0, outputs: Sequence[str] = ()) -> SimulationResult:
    """A kernel whose parameter `in` holds `flag`, watched by the memory discipline."""
    text = f"{helpers}\nvoid solution(int32_t in[1], int32_t out[4]) {{\n{body}\n}}"
    program = kernel.link(kernel.compile(kernel.parse(text), accelerator()), tables())
    tensors = {"in": np.full(1, flag, np.int32), "out": np.zeros(4, np.int32)}
    return run_program(
        tables().machine, program, tensors, SimulationOptions(timing=False, discipline=True, outputs=outputs)
    )


@pytest.mark.parametrize(
    "body",
    [
        "int row;\nout[0] = row;",
        "int row;\nout[0] = row + 1;",
        "int row;\nrow += 1; out[0] = row;",
        "int row;\nrow++; out[0] = row;",
        "int row;\nout[0] = row++;",
        "int row; if (in[0]) row = 3;\nout[0] = row;",
        "int row; if (in[0]) row = 3; else if (in[0] > 1) row = 4;\nout[0] = row;",
        "int row; for (int i = 0; i < in[0]; i++) row = i;\nout[0] = row;",
        "int row; while (in[0]) { row = 2; }\nout[0] = row;",
        "int row; int x = in[0] && (row = 2);\nout[0] = row;",
        "int row; int x = in[0] ? (row = 2) : 1;\nout[0] = row;",
        "for (int i = 0; i < 2; i++) { int row; if (i == 2) row = 1;\nout[i] = row; }",
        "for (int i = 0; i < 2; i++) { int row; if (i > 0) {\nout[i] = row; } row = 7; }",
        "int row; for (int i = 0; i < 3; i++) { if (in[0] == 0) continue; row = i; }\nout[0] = row;",
        "int32_t* row;\nout[0] = row[0];",
        "const int row;\nout[0] = row;",
        "float row;\nout[0] = (int)row;",
        "{ int row; row = 1; } int row;\nout[0] = row;",
    ],
)
def test_a_variable_without_a_value_is_named(body: str) -> None:
    error = execute(body).error
    assert error is not None
    assert (error.kind, error.message) == ("undefined", "'row' is read before it has a value")
    assert error.line == 2 + 1 + body[: body.index("\n")].count("\n") + 1


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("int row; row = 3; out[0] = row;", 3),
        ("int row, col; row = col = 3; out[0] = row + col;", 6),
        ("int row; if (in[0]) row = 3; else row = 4; out[0] = row;", 4),
        ("int row; if (in[0]) out[0] = row; else out[0] = 5;", 5),
        ("int row; for (row = 0; row < 3; row++) { } out[0] = row;", 3),
        ("int row; for (int i = 0; i < 3; i++) { if (i == 0) row = 5; else row += i; } out[0] = row;", 8),
        ("int row; do { row = 9; } while (in[0]); out[0] = row;", 9),
        ("int row; while (true) { row = 4; break; } out[0] = row;", 4),
        ("int row; out[0] = sizeof(row);", 4),
        ("int row; int x = (row = 2) && in[0]; out[0] = row + x;", 2),
        ("static int row; row += 2; out[0] = row;", 2),
        ("int row; int* p = &out[0]; row = *p; out[0] = row + 1;", 1),
    ],
)
def test_what_has_a_value_on_the_way_taken_is_read(body: str, result: int) -> None:
    run = execute(body)
    assert run.error is None, run.error
    assert run.outputs["out"][0] == result


def test_a_helper_that_ends_without_its_result_is_named() -> None:
    helper = "int pick(int x) { if (x > 0) return 5; }"
    error = execute("out[0] = pick(in[0]);", helper).error
    assert error is not None
    assert error.message == "'pick' ends without a value to return"
    assert execute("out[0] = pick(in[0]);", helper, flag=1).outputs["out"][0] == 5


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("int32_t own[4]; own[1] = 2; out[0] = own[0];", "own[0]"),
        ("for (int i = 0; i < 2; i++) { int32_t own[4]; if (i == 0) own[0] = 1; out[i] = own[0]; }", "own[0]"),
    ],
)
def test_an_array_of_the_kernel_that_nothing_wrote_is_an_uninitialised_read(body: str, place: str) -> None:
    violations = execute(body).violations
    assert [v.kind for v in violations] == ["uninitialised-read"]
    assert place in violations[0].message


@pytest.mark.parametrize(
    "body",
    [
        "static int32_t own[4]; out[0] = own[3];",
        "int32_t own[4] = {1}; out[0] = own[3];",
        "int32_t own[4]; for (int i = 0; i < 4; i++) own[i] = i; out[0] = own[3];",
        "for (int i = 0; i < 2; i++) { int32_t own[2] = {i, i}; out[i] = own[1]; }",
    ],
)
def test_an_array_with_contents_is_read(body: str) -> None:
    assert execute(body).violations == ()


def test_an_output_is_not_read_before_it_is_written() -> None:
    violations = execute("out[0] = 1; out[1] = out[0]; out[2] = out[3];", outputs=["out"]).violations
    assert [v.kind for v in violations] == ["uninitialised-read", "unwritten-output"]
    assert "out[3]" in violations[0].message

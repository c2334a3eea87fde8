"""Procedures: functions in the kernel dialect that the machine's description defines and kernels call."""

from __future__ import annotations

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, run_program

from autocomp.errors import AutocompError, IsaError, KernelError
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.isa import Accelerator

SCALE_ROWS = """
  procedure rows_of {
    doc "Rows from `start` on that fit into one move.";
    ```
    size_t rows_of(size_t start, size_t rows) { return rows - start < DIM ? rows - start : DIM; }
    ```
  }
  procedure copy_rows {
    doc "Copies rows of DIM elements; null where there is nothing to copy.";
    ```
    void copy_rows(elem_t* to, const elem_t* from, size_t rows) {
        if (to == NULL || from == NULL) return;
        config(DIM);
        for (size_t i = 0; i < rows; i += DIM) {
            move_in(from + i * DIM, 0, DIM, rows_of(i, rows));
            move_out((elem_t*)(to + i * DIM), 0, DIM, rows_of(i, rows));
        }
    }
    ```
  }
"""
COPY = "void solution(int8_t A[10][4], int8_t B[10][4]) {\n  copy_rows(B, &A[0][0], 10);\n}"


def with_procedures(base: Accelerator, text: str) -> Accelerator:
    return isa.parse(base.source.rstrip().removesuffix("}") + text + "}", "bench.isa")


def outcome(accelerator: Accelerator, text: str, **options: bool):  # type: ignore[no-untyped-def]
    tables = isa.lower(accelerator)
    program = kernel.link(kernel.compile(kernel.parse(text), accelerator), tables)
    tensors = {"A": np.arange(40, dtype=np.int8).reshape(10, 4), "B": np.zeros((10, 4), np.int8)}
    return run_program(tables.machine, program, tensors, SimulationOptions(**options))


def test_a_procedure_takes_pointers_and_calls_instructions_and_other_procedures(accelerator: Accelerator) -> None:
    result = outcome(with_procedures(accelerator, SCALE_ROWS), COPY, timing=False)
    assert result.error is None
    np.testing.assert_array_equal(result.outputs["B"], np.arange(40, dtype=np.int8).reshape(10, 4))


def test_null_is_a_pointer_that_a_procedure_can_test(accelerator: Accelerator) -> None:
    result = outcome(with_procedures(accelerator, SCALE_ROWS), COPY.replace("&A[0][0]", "NULL"), timing=False)
    assert result.error is None
    assert not result.outputs["B"].any()


def test_commands_of_a_procedure_count_for_the_line_that_calls_it(accelerator: Accelerator) -> None:
    machine = with_procedures(accelerator, SCALE_ROWS)
    result = outcome(machine, COPY, timing=False, record_trace=True)
    assert result.trace is not None
    commands = result.trace.commands(isa.lower(machine).machine)
    assert len(commands) == 7
    assert {line for *_, line in commands} == {2}


def test_an_error_inside_a_procedure_names_the_line_that_calls_it(accelerator: Accelerator) -> None:
    result = outcome(with_procedures(accelerator, SCALE_ROWS), COPY.replace(", 10);", ", 11);"), timing=False)
    assert result.error is not None
    assert result.error.line == 2
    assert "move_in" in result.error.message


def test_a_function_of_the_kernel_wins_over_a_procedure_but_not_inside_procedures(accelerator: Accelerator) -> None:
    machine = with_procedures(accelerator, SCALE_ROWS)
    text = COPY.replace("copy_rows(B", "int rows_of_all = rows_of(3); copy_rows(B").replace("10);", "rows_of_all);")
    result = outcome(machine, f"int rows_of(int n) {{ return n - 1; }}\n{text}", timing=False)
    assert result.error is None
    assert result.outputs["B"].any(axis=1).tolist() == [True] * 2 + [False] * 8


def test_constants_of_the_workload_do_not_reach_into_procedures(accelerator: Accelerator) -> None:
    machine = with_procedures(accelerator, SCALE_ROWS)
    plain = kernel.compile(kernel.parse(COPY), machine)
    renamed = kernel.compile(kernel.parse(COPY), machine, {"DIM": 2})
    np.testing.assert_array_equal(plain.code, renamed.code)


def test_only_procedures_that_are_called_are_compiled(accelerator: Accelerator) -> None:
    text = "void solution(int8_t A[4][4]) { config(4); move_in(A, 0, 4, 4); }"
    without = kernel.compile(kernel.parse(text), accelerator)
    within = kernel.compile(kernel.parse(text), with_procedures(accelerator, SCALE_ROWS))
    np.testing.assert_array_equal(without.code, within.code)


def test_a_call_of_a_procedure_is_printed_and_hashed_as_a_call() -> None:
    tree = kernel.parse(COPY)
    assert "copy_rows(B, &A[0][0], 10);" in kernel.print_kernel(tree)
    assert kernel.canonical_hash(tree) != kernel.canonical_hash(kernel.parse(COPY.replace("10)", "9)")))


def test_the_reference_lists_procedures_with_their_parameters(accelerator: Accelerator) -> None:
    page = isa.reference(with_procedures(accelerator, SCALE_ROWS), markdown=True)
    assert "`void copy_rows(elem_t* to, const elem_t* from, size_t rows)`: Copies rows of DIM elements" in page


def mistake(accelerator: Accelerator, body: str, call: str = "p(1);") -> AutocompError:
    machine = with_procedures(accelerator, f"  procedure p {{\n```\n{body}\n```\n}}")
    with pytest.raises(AutocompError) as caught:
        kernel.compile(kernel.parse(f"void solution(int8_t A[4][4]) {{ {call} }}"), machine)
    return caught.value


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("void p(int n) { p(n); }", "procedures cannot be recursive: p calls p"),
        ("void q(int n) { }", "must define one function of its name; it defines q"),
        ("void p(int n) { m = n; }", "unknown name 'm'"),
        ("void p(int n) { int m = ; }", "unexpected ';'"),
        ("int r(int n) { return n; } void p(int n) { r(n); }", "it defines r, p"),
    ],
)
def test_a_mistake_in_a_procedure_is_shown_in_the_description(
    accelerator: Accelerator, body: str, message: str
) -> None:
    error = mistake(accelerator, body)
    assert isinstance(error, IsaError)
    assert message in str(error)
    assert error.place is not None
    assert error.place.source == "bench.isa"
    assert error.place.line in (len(accelerator.source.splitlines()) + 1, len(accelerator.source.splitlines()) + 2)


def test_procedures_are_checked_without_a_kernel_too(accelerator: Accelerator) -> None:
    kernel.check_procedures(with_procedures(accelerator, SCALE_ROWS))
    wrong = with_procedures(accelerator, SCALE_ROWS.replace("rows_of(i, rows));", "rows_of(i));"))
    with pytest.raises(IsaError, match="wrong number of arguments of 'rows_of': 1 given"):
        kernel.check_procedures(wrong)


def test_a_call_with_the_wrong_arguments_is_the_kernels_mistake(accelerator: Accelerator) -> None:
    message = str(mistake(accelerator, "void p(const elem_t* a, int n) { }"))
    assert "wrong number of arguments of 'p': 1 given" in message
    assert "p(a, n)" in message


GUARDED = """
  procedure halve {
    require n % 2 == 0 && n <= 4 * DIM : "only even numbers up to 16 can be halved";
    ```
    int halve(int unused, int n) { return n / 2; }
    ```
  }
"""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("halve(1, 3);", "'halve': only even numbers up to 16 can be halved"),
        ("halve(1, 5 * 4);", "'halve': only even numbers up to 16 can be halved"),
        ("int n = 2; n += 2; halve(1, n);", "'halve' must be called with constants in n % 2 == 0 && n <= 16"),
    ],
)
def test_a_call_that_breaks_a_requirement_is_the_kernels_mistake(
    accelerator: Accelerator, call: str, message: str
) -> None:
    machine = with_procedures(accelerator, GUARDED)
    with pytest.raises(KernelError) as caught:
        kernel.compile(kernel.parse(f"void solution(int8_t A[4][4]) {{ {call} }}"), machine)
    assert message in str(caught.value)


def test_a_call_that_meets_the_requirements_compiles(accelerator: Accelerator) -> None:
    machine = with_procedures(accelerator, GUARDED)
    kernel.compile(kernel.parse("void solution(int8_t A[4][4]) { int m = 1; m++; halve(m, 3 * 4); }"), machine)


@pytest.mark.parametrize("other", ["alias move_in() = fence();", "procedure p { ```void p() {}``` }"])
def test_a_name_is_defined_once(accelerator: Accelerator, other: str) -> None:
    name = "move_in" if "alias" in other else "p"
    with pytest.raises(IsaError, match="already defined"):
        with_procedures(accelerator, f"procedure {name} {{ ```void {name}() {{}}``` }} {other}")

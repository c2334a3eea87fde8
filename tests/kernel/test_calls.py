"""Calls of the accelerator, tensors and addresses, host builtins, names from outside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from autocomp.simulator import _core

from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.isa import Accelerator
from autocomp.targets.simulator.kernel import CompiledProgram
from autocomp.targets.simulator.kernel.code.bytecode import Code

Run = Callable[..., dict[str, np.ndarray]]


class Spec(NamedTuple):
    name: str
    dtype: str
    shape: tuple[int, ...]


def numbers(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.int8).reshape(shape)


def test_the_codes_are_the_native_ones() -> None:
    assert [code.name for code in Code] == list(_core.code_names())


def test_a_tiled_copy_copies(run: Run) -> None:
    text = (Path(__file__).parent / "samples" / "bench_tiles.c").read_text()
    source = numbers(16, 16)
    result = run(text, {"A": source, "C": np.zeros((16, 16), np.int8)})
    np.testing.assert_array_equal(result["C"], source)


@pytest.mark.parametrize(
    ("address", "offset"),
    [
        ("&T[1][2][0]", 24), ("T", 0), ("T[1]", 16), ("T[1][2] + 0x4", 28), ("&T[1][0][0] + 8", 24), ("T[1] + 2", 24),
        ("(uint64_t)&T[1][1][0] + 4", 24), ("(int8_t*)(T + 1)", 16), ("(elem_t *)T[0] + 5", 5),
        ("1 ? &T[0][1][0] : 0", 4),
        ("&T[0][0][0] + (1 << 2) * i", 8), ("*T + 1", 4), ("p + 3", 7), ("&p[3]", 7), ("(uint64_t)p + i", 6),
    ],
)  # fmt: skip
def test_dram_addresses_in_all_their_spellings(run: Run, address: str, offset: int) -> None:
    text = (
        "void solution(int8_t T[2][4][4], int8_t C[4][4]) { int i = 2; i += 0; int8_t *p = &T[0][1][0];"
        f"config(4); move_in({address}, 0, 4, 1); move_out(C, 0, 4, 1); }}"
    )
    result = run(text, {"T": numbers(2, 4, 4), "C": np.zeros((4, 4), np.int8)})
    assert result["C"][0].tolist() == [offset, offset + 1, offset + 2, offset + 3]


def test_an_alias_expands_to_instructions_with_its_arguments_evaluated_once(run: Run) -> None:
    text = (
        "void solution(int8_t A[4][4], int8_t C[8][4]) { config(4); int n = 2; twice(C + n++, A, n++); C[7][0] = n; }"
    )
    result = run(text, {"A": numbers(4, 4), "C": np.zeros((8, 4), np.int8)})
    np.testing.assert_array_equal(result["C"][2:6], numbers(4, 4))
    assert result["C"][7, 0] == 4


def test_forms_are_told_apart_by_their_number_of_arguments(compiled: Callable[..., CompiledProgram]) -> None:
    one = compiled("void solution(int8_t A[4]) { config(4); }")
    two = compiled("void solution(int8_t A[4]) { config(4, 1); }")
    np.testing.assert_array_equal(one.code, two.code)


def test_constant_operands_are_loaded_once_outside_the_loop(compiled: Callable[..., CompiledProgram]) -> None:
    text = "void solution(int8_t A[64][4]) { for (int i = 0; i < 16; i++) move_in(&A[i * 4][0], 0, 4, 4); }"
    codes = [Code(int(code)).name for code in compiled(text).code[:, 0]]
    loop = codes[codes.index("Jump") + 1 :]
    assert loop == ["Mul", "Add", "Issue", "Add", "Lt", "JumpIfNotZero", "Halt"]


def test_a_helper_that_nothing_calls_may_need_more_registers_than_the_entry(run: Run) -> None:
    text = "int sum(int a, int b, int c, int d) { return a * b + c * d; } void solution(int32_t C[1]) { C[0] = 7; }"
    assert run(text, {"C": np.zeros(1, np.int32)})["C"] == 7


def test_host_builtins_work_on_float_matrices(run: Run) -> None:
    text = (
        "void solution(float A[2][3], float B[2][3], float C[2][3]) {"
        "add_matrix(A, B, C, 2, 3); negate_matrix(C[1], C[1], 1, 3); }"
    )
    a, b = np.full((2, 3), 1.5, np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    expected = (a + b) * np.array([[1], [-1]], np.float32)
    np.testing.assert_array_equal(run(text, {"A": a, "B": b, "C": np.zeros_like(a)})["C"], expected)


def test_host_arithmetic_reads_and_writes_tensors(run: Run) -> None:
    text = "void solution(float u[N + 1][2][1]) { for (int i = 0; i <= N; i++) u[i][1][0] = -u[i][1][0]; }"
    result = run(text, {"u": np.ones((3, 2, 1), np.float32)}, {"N": 2})["u"]
    assert result[:, :, 0].tolist() == [[1, -1]] * 3


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("DIM", 4), ("RELU", 1), ("NULL == 0", 1), ("true + false", 1), ("~((uint32_t)0) == GARBAGE_ADDR", 1),
        ("(uint32_t)(1 << 31)", 1 << 31), ("sizeof(elem_t) + sizeof(acc_t)", 5), ("0xffffffff", 0xFFFFFFFF), ("010", 8),
        ("0b101", 5), ("-7 / 2", -3), ("-7 % 3", -1), ("2147483647 + 1", -(1 << 31)), ("1 ? 2 : 3", 2),
        ("4294967295u + 1", 0),
        ("0x80000000 | 5 + 3 << 1", 0x80000010), ("-1 < 1u", 0), ("(uint8_t)300", 44), ("5 & 6 == 6", 1),
    ],
)  # fmt: skip
def test_constant_expressions(value: Callable[..., int], expression: str, expected: int) -> None:
    assert value(expression) == expected


def test_a_signature_must_be_met(mistake: Callable[..., str], accelerator: Accelerator) -> None:
    signature = [Spec("A", "int8", (4, 4)), Spec("B", "int32", (4,))]
    checked = kernel.check(
        kernel.parse("void solution(elem_t X[4][DIM], acc_t Y[4]) {}"), accelerator, signature=signature
    )
    assert [tensor.dtype for tensor in checked.parameters] == ["i8", "i32"]
    assert "takes 1 tensor; the workload has 2" in mistake("void solution(int8_t A[4][4]) {}", signature=signature)
    wrong = mistake("void solution(int8_t A[4][4], int8_t B[4]) {}", signature=signature)
    assert "'B' is i8 [4]; expected i32 [4]" in wrong


def test_call_forms_list_instructions_and_aliases_by_arity(accelerator: Accelerator) -> None:
    forms = kernel.call_forms(accelerator)
    assert sorted(forms) == ["config", "configure", "copy", "fence", "move_in", "move_out", "twice"]
    assert sorted(forms["config"]) == [1, 2]


def test_a_pointer_to_constants_may_be_moved(run: Run) -> None:
    text = (
        "void solution(int8_t T[2][4], int8_t C[1][4]) { const int8_t* row = T[0]; if (T[0][1] == 1) row = row + 4;"
        "config(4); move_in(row, 0, 4, 1); move_out(C, 0, 4, 1); }"
    )
    result = run(text, {"T": numbers(2, 4), "C": np.zeros((1, 4), np.int8)})
    assert result["C"].tolist() == [[4, 5, 6, 7]]

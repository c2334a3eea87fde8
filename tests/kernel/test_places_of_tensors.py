"""A kernel's commands must not depend on where tensors lie; steps in one tensor and tests for NULL are allowed."""

from __future__ import annotations

import numpy as np
import pytest
from autocomp.simulator import run_program

from autocomp.errors import KernelError
from autocomp.targets.simulator import isa, kernel

MACHINE = isa.load("gemmini:fp32")
HELPERS = """
void move_if_before(float* a, float* b) { if (a < b) mvin(a, 0, 4, 4); }
void move_if_any(float* a) { float* at = a == NULL ? NULL : a + 3; if (at != NULL) mvin(at, 0, 1, 4); }
int before(float* a, float* b) { return (uint64_t)a < (uint64_t)b; }
"""


def check(body: str) -> None:
    text = f"{HELPERS}\nvoid solution(float A[4][4], float B[4][4]) {{\n{body}\n}}"
    kernel.check(kernel.parse(text), MACHINE)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("if ((uint64_t)A < (uint64_t)B) fence();", "whether 'fence' is issued"),
        ("if (A < B) fence();", "whether 'fence' is issued"),
        ("if (A[0] == B[0]) { } else fence();", "whether 'fence' is issued"),
        ("if (before(A[0], B[0])) fence();", "whether 'fence' is issued"),
        ("move_if_before(A[0], B[0]);", "whether 'move_in' is issued"),
        ("for (float* p = A[0]; p < B[0]; p += 4) mvin(p, 0, 4, 1);", "whether 'move_in' is issued"),
        ("int64_t n = B[0] - A[0]; while (n-- > 0) fence();", "whether 'fence' is issued"),
        ("if (((uint64_t)A & 63) == 0) fence();", "whether 'fence' is issued"),
        ("if (!((uint64_t)A ^ (uint64_t)B)) fence();", "whether 'fence' is issued"),
        ("if ((uint32_t)(uint64_t)A == 0) fence();", "whether 'fence' is issued"),
        ("static uint64_t t[1]; t[0] = (uint64_t)A; uint32_t* h = (uint32_t*)t; if (h[1] == 1) fence();", "'fence'"),
        ("static uint64_t t[2]; t[0] = (uint64_t)A; t[1] = (uint64_t)B; if (t[0] < t[1]) fence();", "'fence'"),
        ("mvin(A, (uint64_t)B >> 48, 4, 4);", "operand 'dst'"),
        ("mvin(A[0] + (B[0] - A[0]), 0, 4, 4);", "operand 'src'"),
        ("int n = (uint64_t)A < (uint64_t)B ? 3 : 4; mvin(A, 0, 4, n);", "operand 'rows'"),
        ("mvin((float*)0x1000000000000, 0, 4, 4);", "is not the address of a tensor"),
    ],
)
def test_a_command_that_depends_on_where_tensors_lie_is_refused(body: str, message: str) -> None:
    with pytest.raises(KernelError) as caught:
        check(body)
    assert message in caught.value.message


@pytest.mark.parametrize(
    "body",
    [
        "if (A != NULL) fence();",
        "if ((uint64_t)A != 0) fence();",
        "move_if_any(A[0]); move_if_any(NULL); if ((uint64_t)A) fence();",
        "move_if_before(A[0], A[1]);",
        "for (float* p = A[0]; p < A[0] + 16; p += 4) mvin(p, 0, 4, 1);",
        "for (int64_t n = A[3] - A[0]; n > 0; n -= 4) fence();",
        "uint64_t at = (uint64_t)A; for (int i = 0; i < 4; i++) mvin(at + 16 * i, 0, 4, 1);",
        "static uint64_t t[1]; t[0] = (uint64_t)A; mvin(t[0], 0, 4, 4);",
        "int n = 0; if ((uint64_t)A < (uint64_t)B) n = 1; fence();",
        "float* p = A[0]; if (MACHINE_IS_OLD) p = B[0]; if (p != NULL && (uint64_t)p != 0) mvin(p, 0, 4, 4);",
    ],
)
def test_a_command_that_does_not_is_accepted(body: str) -> None:
    check(body.replace("MACHINE_IS_OLD", "DIM > 4"))


@pytest.mark.parametrize(("row", "error"), [(4, None), (1 << 48, "the address of a tensor does not fit into uint32_t")])
def test_a_pointer_may_hold_a_local_address_that_is_taken_as_a_short_number(row: int, error: str | None) -> None:
    moved = "mvin(A, (uint32_t)(&*(float*)((uint64_t)(float*)row[0] + 4)), 4, 4);"
    text = f"void solution(float A[4][4], int64_t row[1]) {{ config_ld(16, 1.0f, 4, 0); {moved} fence(); }}"
    tables = isa.lower(MACHINE)
    program = kernel.link(kernel.compile(kernel.parse(text), MACHINE), tables)
    outcome = run_program(tables.machine, program, {"A": np.zeros((4, 4), np.float32), "row": np.array([row])})
    assert (outcome.error and outcome.error.message) == error


@pytest.mark.parametrize("pointer", ["A", "A[1]", "&A[2][3]", "(float*)((uint64_t)A + 4)"])
def test_the_address_of_a_tensor_does_not_become_a_short_number(pointer: str) -> None:
    with pytest.raises(KernelError, match="does not fit into uint32_t"):
        check(f"mvin(A, (uint32_t)({pointer}), 4, 4);")

"""A command that depends on data is refused with its line, on whatever path; arithmetic on data is not."""

from __future__ import annotations

import pytest

from autocomp.errors import KernelError
from autocomp.targets.simulator import isa, kernel

MACHINE = isa.load("gemmini:fp32")
HELPERS = """
int sign(float x) { if (x > 0.0f) return 1; return 0; }
int twice(int x) { return x + x; }
void move(float* from, int rows) { mvin(from, 0, 4, rows); }
void clear(float* to) { for (int i = 0; i < 4; i++) to[i] = 0.0f; }
"""


def check(body: str) -> None:
    text = f"{HELPERS}\nvoid solution(float A[4][4], float B[4][4]) {{\n{body}\n}}"
    kernel.check(kernel.parse(text), MACHINE, fixed_commands=True)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("if (A[0][0] > 0.0f) fence();", "whether 'fence' is issued"),
        ("if (A[0][0] > 0.0f) { } else fence();", "whether 'fence' is issued"),
        ("if (A[0][0] > 0.0f) return;\nfence();", "whether 'fence' is issued"),
        ("for (int i = 0; i < (int)A[0][0]; i++) fence();", "whether 'fence' is issued"),
        ("int i = 0; while (i < 4) { if (A[i][0] > 1.0f) break; i++; fence(); }", "whether 'fence' is issued"),
        ("for (int i = 0; i < 4; i++) { if (A[i][0] > 1.0f) continue; fence(); }", "whether 'fence' is issued"),
        ("int skip = 0; if (A[0][0] > 0.0f) skip = 1;\nif (!skip) fence();", "whether 'fence' is issued"),
        ("int skip = A[0][0] > 0.0f && A[0][1] > 0.0f;\nif (skip) fence();", "whether 'fence' is issued"),
        ("if (sign(A[0][0])) fence();", "whether 'fence' is issued"),
        ("if (A[0][0] > 0.0f) move(B[0], 4);", "whether 'move_in' is issued"),
        ("int n = 0; for (int i = 0; i < 4; i++) if (A[i][0] > 0.0f) n++;\nmvin(B, 0, 4, n);", "operand 'rows'"),
        ("mvin(B[(int)A[0][0]], 0, 4, 4);", "operand 'src'"),
        ("mvin(B, twice((int)A[0][0]), 4, 4);", "operand 'dst'"),
        ("move(B[0], sign(A[0][0]));", "operand 'rows'"),
        ("config_ld(16, A[0][0], 4, 0);", "operand 'scale'"),
        ("int n = 4; int m = n; do { m = n; n = A[0][0] > 0.0f ? 3 : 4; } while (n != m);\nmvin(B, 0, 4, m);", "'move"),
        ("static int rows[2]; rows[0] = (int)A[0][0];\nmvin(B, 0, 4, rows[1]);", "operand 'rows'"),
        ("int r = 1; for (int i = 0; i < 3; i++) { mvin(B, 0, 4, r); r = (int)A[i][0]; }", "operand 'rows'"),
    ],
)
def test_a_command_that_depends_on_data_is_refused(body: str, message: str) -> None:
    with pytest.raises(KernelError) as caught:
        check(body)
    assert message in caught.value.message
    assert caught.value.place is not None
    assert caught.value.place.line >= 4


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < 4; i++) B[i][0] = -A[i][0]; fence();",
        "float most = A[0][0]; for (int i = 1; i < 4; i++) if (A[i][0] > most) most = A[i][0]; B[0][0] = most;",
        "int n = 0; while (A[n][0] > 0.0f && n < 3) n++; B[0][0] = n; n = 4; mvin(B, 0, 4, n);",
        "int n = (int)A[0][0]; n = 4; mvin(B, 0, 4, n);",
        "if (A[0][0] > 0.0f) { B[0][0] = 1.0f; } else { clear(B[0]); } fence();",
        "for (int i = 0; i < 4; i++) { if (A[i][0] > 0.0f) continue; B[i][0] = 1.0f; } fence();",
        "for (int i = 0; i < 4; i++) { int s = sign(A[i][0]); B[i][0] = s; mvin(B[i], i, 4, 1); }",
        "for (int i = 0; i < twice(2); i++) move(A[i], 1);",
        "int i = 0; while (true) { mvin(A[i], i, 4, 1); if (++i == 4) break; B[0][i] = A[0][i]; }",
        "add_matrix(A, A, B, 4, 4); fence();",
    ],
)
def test_commands_beside_computation_are_accepted(body: str) -> None:
    check(body)

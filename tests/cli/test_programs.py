"""Programs with main(), as a vendor's tests are written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Command = Callable[..., Result]

# In the style of a vendor's tests, with the names of its headers.
PROGRAM = r"""
#include <stdio.h>
#include "include/gemmini_testutils.h"
#ifndef ROWS
#define ROWS (2 * DIM)
#endif
#if ROWS > BANK_ROWS
#error too many rows
#endif
typedef acc_t sum_t;
enum outcome { GOOD, BAD = 3 };
static const int DEPTH = DIM;
static elem_t spare[4];

static void reference(size_t rows, size_t cols, elem_t a[rows][DIM], elem_t b[DIM][cols], elem_t c[rows][cols]) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            sum_t sum = 0;
            for (int k = 0; k < DEPTH; k++) sum += a[i][k] * b[k][j];
            c[i][j] = ACC_SCALE(sum, ACC_SCALE_IDENTITY);
        }
}

int main() {
    static elem_t A[ROWS][DIM] row_align(1), B[DIM][DIM] row_align(1), C[ROWS][DIM], gold[ROWS][DIM];
    for (elem_t* p = &A[0][0]; p < &A[0][0] + ROWS * DIM; p++) *p = rand() % 5 - 2;
    for (size_t i = 0; i < sizeof(B) / sizeof(B[0][0]); i++) ((elem_t*)B)[i] = rand() % 5 - 2;
    uint64_t start = read_cycles();
    tiled_matmul_auto(ROWS, DIM, DIM, (elem_t*)A, (elem_t*)B, NULL, (elem_t*)C, DIM, DIM, DIM, DIM,
                      MVIN_SCALE_IDENTITY, MVIN_SCALE_IDENTITY, MVIN_SCALE_IDENTITY, NO_ACTIVATION, ACC_SCALE_IDENTITY,
                      0, false, false, false, false, false, 0, WS);
    uint64_t end = read_cycles();
    reference(ROWS, DIM, A, B, gold);
    int wrong = 0, *counted = &wrong;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < DIM; j++)
            if (C[i][j] != gold[i][j]) (*counted)++;
    spare[1] = 7;
    printf("%s: %d wrong of %u, %5.1f %x %c%%\n", "done", wrong, (unsigned)(ROWS * DIM), 2.5, 255 + spare[1] - 7, 'x');
    if (end > start) puts("took time");
    assert(DEPTH == DIM);
    switch (wrong) {
        case 0: exit(GOOD);
        default: return BAD;
    }
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "test.c").write_text(PROGRAM)
    return tmp_path / "test.c"


def test_a_program_shows_what_it_prints_and_how_it_ends(autocomp: Command, program: Path) -> None:
    result = autocomp("run", program)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[:2] == ["done: 0 wrong of 512,   2.5 ff x%", "took time"]
    assert lines[2].startswith("exit code 0; ")


def test_definitions_reach_macros_and_conditions(autocomp: Command, program: Path) -> None:
    found = json.loads(autocomp("run", program, "-D", "ROWS=20", "--json").stdout)
    assert found["output"].startswith("done: 0 wrong of 320")
    assert found["cycles"] > 0
    refused = autocomp("run", program, "-D", "ROWS=100000")
    assert refused.exit_code == 5
    assert "#error too many rows" in refused.stderr


def test_the_exit_code_is_that_of_the_command(autocomp: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.c").write_text('#include "gemmini.h"\nint main() { counter_configure(0, 1); return 3; }\n')
    result = autocomp("run", tmp_path / "bad.c")
    assert result.exit_code == 3
    assert "note: counter_configure: the hardware's event counters are not simulated" in result.stdout


def test_a_failed_assertion_ends_a_program(autocomp: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.c").write_text('#include "gemmini.h"\nint main() {\n  assert(1 > 2);\n  puts("not here"); }\n')
    result = autocomp("run", tmp_path / "bad.c")
    assert result.exit_code == 134
    assert "Failed assertion: " in result.stdout
    assert "not here" not in result.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('#include "mine.h"\nint main() { return 0; }', "no machine offers the headers mine.h"),
        ("void solution(int8_t A[4]) { }", "has no main()"),
        ('#include "gemmini.h"\nint main() { printf("%d"); }', "1 conversions, the call 0 arguments"),
        ('#include "gemmini.h"\nint main() { return malloc(3); }', "'malloc' does not exist here"),
    ],
)
def test_what_is_missing_is_said_in_a_line(autocomp: Command, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "p.c").write_text(text)
    result = autocomp("run", tmp_path / "p.c")
    assert result.exit_code in (3, 5)
    assert message in result.stderr


def test_kernels_have_no_system(autocomp: Command, tmp_path: Path) -> None:
    signature = "void solution(int8_t A[32][32], int8_t B[32][32], int8_t C[32][32])"
    (tmp_path / "k.c").write_text(f"{signature} {{ if (read_cycles() > 9) fence(); }}")
    (tmp_path / "w.yaml").write_text("operation: gemm\naccelerator: gemmini\ndims: {I: 32, J: 32, K: 32}\n")
    result = autocomp("run", tmp_path / "k.c", "--workload", tmp_path / "w.yaml")
    assert result.exit_code == 5
    assert "only a program with main() may call 'read_cycles'" in result.output


def test_constants_of_a_workload_reach_kernels_of_every_operation(autocomp: Command, tmp_path: Path) -> None:
    text = """
    #define SIDE (TILES * DIM)
    void solution(const int8_t A[SIDE][SIDE], const int8_t B[SIDE][SIDE], int8_t C[SIDE][SIDE]) {
        tiled_matmul_auto(SIDE, SIDE, SIDE, A, B, NULL, C, SIDE, SIDE, SIDE, SIDE,
                          1.0f, 1.0f, 1.0f, 0, 1.0f, 0, false, false, false, false, false, 0, WS);
    }
    """
    (tmp_path / "k.c").write_text(text)
    gemm = "operation: gemm\naccelerator: gemmini\ndims: {I: 32, J: 32, K: 32}\n"
    (tmp_path / "plain.yaml").write_text(gemm)
    (tmp_path / "named.yaml").write_text(gemm + "constants: {TILES: 2}\n")
    assert autocomp("run", tmp_path / "k.c", "--workload", tmp_path / "named.yaml").exit_code == 0
    assert autocomp("run", tmp_path / "k.c", "--workload", tmp_path / "plain.yaml", "-D", "TILES=2").exit_code == 0
    assert autocomp("run", tmp_path / "k.c", "--workload", tmp_path / "plain.yaml").exit_code == 5

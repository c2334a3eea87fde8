"""Subscripts beyond a row become one subscript of the tensor's elements; others stay as they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autocomp.export.subscripts import flattened
from autocomp.targets.simulator.kernel import parse
from autocomp.targets.simulator.kernel.syntax.printer import print_kernel


def flat(statements: str) -> str:
    text = f"void solution(int8_t A[4][8], int n) {{ {statements} }}"
    kernel = parse(text)
    return print_kernel(replace(kernel, functions=(flattened(kernel.entry, {"SIZE": 8}),), source=""))


@pytest.mark.parametrize(
    "inside",
    [
        "for (int i = 0; i < 8; i += 3) { f(&A[n][i]); }",
        "const int j = 7; f(&A[j][j]);",
        "for (int i = 0; i < 20; i++) { f(&A[0][i % SIZE]); f(&A[0][i < 7 ? i : 7]); }",
        "int8_t *row = A[2]; f(row);",
    ],
)
def test_subscripts_within_a_row_stay(inside: str) -> None:
    assert "(int8_t *)A" not in flat(inside)


@pytest.mark.parametrize(
    ("beyond", "expected"),
    [
        ("f(&A[0][16]);", "&((int8_t *)A)[16]"),
        ("for (int i = 0; i < 9; i++) { f(&A[1][i]); }", "&((int8_t *)A)[i + 8]"),
        ("f(&A[1][n]);", "&((int8_t *)A)[n + 8]"),
        ("int i = 0; i += 9; f(&A[2][i]);", "&((int8_t *)A)[i + 16]"),
        ("int8_t own[2][3]; f(&own[0][n]);", "&((int8_t *)own)[n]"),
    ],
)
def test_subscripts_that_may_reach_beyond_a_row_count_elements(beyond: str, expected: str) -> None:
    assert expected in flat(beyond)

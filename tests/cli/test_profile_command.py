"""`autocomp profile` as its user sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

KERNEL = """void solution(int8_t A[16][16], int8_t B[16][16], int8_t C[16][16]) {
    config_ld(16, 1.0f, 16, 0);
    // region loading
    mvin(A, 0, 16, 16);
    // end
    fence();
}
"""
Command = Callable[..., Result]


@pytest.fixture
def kernel(autocomp: Command) -> Path:
    Path("w.yaml").write_text("operation: gemm\naccelerator: gemmini\ndtype: int8\ndims: {I: 16, J: 16, K: 16}\n")
    Path("k.c").write_text(KERNEL)
    return Path("k.c")


def test_it_shows_path_answers_units_lines_and_regions(autocomp: Command, kernel: Path) -> None:
    shown = autocomp("profile", kernel, "--workload", "w.yaml", "--plain").stdout
    for part in ("Critical path", "What if", "Units", "Busy together", "Operands", "loading", "mvin(A, 0, 16, 16);"):
        assert part in shown
    assert "if unit load were infinitely fast" in shown


def test_json_is_one_document(autocomp: Command, kernel: Path) -> None:
    result = autocomp("profile", kernel, "--workload", "w.yaml", "--json", "--trace", "t.json")
    assert json.loads(result.stdout)["cycles"] > 0
    assert json.loads(Path("t.json").read_text())["traceEvents"]


def test_a_timeline_that_cannot_be_written_is_an_error(autocomp: Command, kernel: Path) -> None:
    result = autocomp("profile", kernel, "--workload", "w.yaml", "--trace", "w.yaml/t.json")
    assert result.exit_code == 3
    assert "cannot write w.yaml/t.json: " in result.stderr


def test_compare_explains_a_difference_by_cause_and_line(autocomp: Command, kernel: Path) -> None:
    Path("twice.c").write_text(KERNEL.replace("// end", "mvin(B, 16, 16, 16);\n    // end"))
    shown = autocomp("compare", kernel, "twice.c", "--workload", "w.yaml", "--plain").stdout
    for part in ("cycles: the second is", "B moves 0 -> 256 bytes", "by cause", "by line", "mvin(B, 16, 16, 16);"):
        assert part in shown
    written = json.loads(autocomp("compare", kernel, "twice.c", "--workload", "w.yaml", "--json").stdout)
    assert sum(line["change"] for line in written["lines"]) == written["change"] == written["after"] - written["before"]


def test_compare_reads_standard_input_once(autocomp: Command, kernel: Path) -> None:
    result = autocomp("compare", "-", "-", "--workload", "w.yaml")
    assert result.exit_code == 2
    assert "only one of the two kernels" in result.stderr

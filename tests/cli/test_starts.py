"""A search that begins with a user's kernel tries the generated one too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from autocomp.search.log.journal import read_events

Command = Callable[..., Result]

# One tile at a time, all in the same rows.
KERNEL = """
void solution(int8_t A[32][32], int8_t B[32][32], int8_t C[32][32]) {
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(32, 1.0f, 16, 0);
    config_st(32);
    for (int t = 0; t < 8; t++) {
        int i = t / 4 * 16, j = t / 2 % 2 * 16, k = t % 2 * 16;
        mvin(&A[i][k], 0, 16, 16);
        mvin(&B[k][j], 16, 16, 16);
        preload(16, k == 0 ? 0x80000000 : 0xC0000000, 16, 16, 16, 16);
        compute_preloaded(0, 0xffffffff, 16, 16, 16, 16);
        fence();
        if (k > 0) mvout(&C[i][j], 0x80000000, 16, 16);
        fence();
    }
}
"""
WORKLOAD = "operation: gemm\naccelerator: gemmini\ndims: {I: 32, J: 32, K: 32}\n"


def test_a_search_from_a_users_kernel_says_which_start_was_better(autocomp: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text(KERNEL)
    (tmp_path / "mine.yaml").write_text(f"{WORKLOAD}kernel: mine.c\n")
    given = ("search", tmp_path / "mine.yaml", "--evaluations", 4, "--workers", 1, "--reuse", 0)
    result = autocomp(*given, "--json", "--run-dir", tmp_path / "run")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["starts"].keys() == {"the kernel given", "the generated kernel"}
    assert min(found["starts"].values()) == found["best_cycles"]
    candidates = [event for event in read_events(tmp_path / "run" / "events.jsonl")[0] if event["kind"] == "candidate"]
    assert [(c["id"], c["parent"]) for c in candidates[:2]] == [(0, None), (1, 0)]
    assert "was the better start" in autocomp("runs", "show", tmp_path / "run").stdout


def test_a_search_from_the_generated_kernel_has_one_start(autocomp: Command, tmp_path: Path) -> None:
    (tmp_path / "plain.yaml").write_text(WORKLOAD)
    result = autocomp("search", tmp_path / "plain.yaml", "--evaluations", 2, "--workers", 1, "--reuse", 0, "--json")
    assert json.loads(result.stdout)["starts"] == {}


def test_wrong_values_come_with_their_cause(autocomp: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text(KERNEL.replace("k == 0 ? 0x80000000 : 0xC0000000", "0xC0000000"))
    (tmp_path / "mine.yaml").write_text(f"{WORKLOAD}kernel: mine.c\n")
    cause = "compute (line 11) reads acc[0][0], which nothing has written"
    judged = autocomp("run", tmp_path / "mine.c", "--workload", tmp_path / "mine.yaml", "--json")
    assert json.loads(judged.stdout)["cause"].startswith(cause)
    searched = autocomp("search", tmp_path / "mine.yaml", "--workers", 1, "--reuse", 0, "--run-dir", tmp_path / "run")
    assert f"cause: {cause}" in searched.stderr

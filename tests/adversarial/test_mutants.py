"""Random changes of correct kernels: none that the judge accepts is wrong on further inputs."""

from __future__ import annotations

from benchmarks.mutants.__main__ import KERNELS, judged, mutants

FEW, INPUTS = 41, 4


def test_no_wrong_mutant_is_accepted() -> None:
    verdicts = [judged(made, INPUTS) for made in mutants(FEW, seed=1)]
    assert {verdict.mutant.kernel for verdict in verdicts} == {path.name for path in KERNELS.glob("*.c")}
    assert not [verdict for verdict in verdicts if verdict.wrong]
    assert any(verdict.outcome == "accepted" for verdict in verdicts)
    assert any(verdict.outcome != "accepted" for verdict in verdicts)

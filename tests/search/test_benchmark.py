"""The comparison of strategies: what its table says of runs."""

from __future__ import annotations

from benchmarks.strategies.__main__ import Outcome, table


def test_a_line_a_strategy_has_the_median_and_the_spread() -> None:
    found = [Outcome("w", "beam", seed, 1000, best, 20, 1.0) for seed, best in enumerate((400, 900, 500))]
    found += [Outcome("w", "greedy", 0, 1000, 1000, 7, 2.0)]
    assert list(table(found))[2:] == [
        "| `w` | `beam` | 500 | 400 to 900 | 2.00x | 20 | 1 |",
        "| `w` | `greedy` | 1,000 | 1,000 to 1,000 | 1.00x | 7 | 2 |",
    ]

"""The benchmarks of searches: what their tables and curves say of runs."""

from __future__ import annotations

from dataclasses import replace

from benchmarks import ablation, kernels, ragged
from benchmarks.measured import Measured, error_table
from benchmarks.strategies.__main__ import Outcome, table


def test_a_line_a_strategy_has_the_median_and_the_spread() -> None:
    found = [Outcome("w", "beam", seed, 1000, best, 20, 1.0) for seed, best in enumerate((400, 900, 500))]
    found += [Outcome("w", "greedy", 0, 1000, 1000, 7, 2.0)]
    assert list(table(found))[2:] == [
        "| `w` | `beam` | 500 | 400 to 900 | 2.00x | 20 | 1 |",
        "| `w` | `greedy` | 1,000 | 1,000 to 1,000 | 1.00x | 7 | 2 |",
    ]


def test_an_ablation_has_a_line_for_each_option_that_a_workload_uses() -> None:
    found = [
        ablation.Ablation("a", 1000, {"prefetch": 1500, "tile": 990}),
        ablation.Ablation("b", 200, {"reorder": 200}),
    ]
    assert list(ablation.table(found))[2:] == [
        "| all options | 1,000 | 200 |",
        "| without `prefetch` | +50.0% | – |",
        "| without `reorder` | – | +0.0% |",
        "| without `tile` | -1.0% | – |",
    ]


def test_measured_kernels_have_their_error_and_are_compared_as_measured() -> None:
    plain = kernels.Row("w", 0, 100, 1000, 330, 200, 4, 2.5, (), tiled_cycles=150)
    found = replace(plain, measured=Measured(200, 250, "passed", ""), fsm_measured=Measured(330, 300, "passed", ""))
    assert list(kernels.table([plain]))[2] == "| `w` | 100 | 1,000 | 330 | 200 | 50.0% | 75.0% | 1.650 | 4 | 2 |"
    assert list(kernels.table([found]))[2] == (
        "| `w` | 100 | 1,000 | 330 | 300 | 200 | 250 | -20.00% | 40.0% | 60.0% | 1.200 | 4 | 2 |"
    )


def test_errors_count_what_is_exact_and_what_was_not_confirmed() -> None:
    exact, near, refuted = (
        Measured(100, 100, "passed", ""),
        Measured(1001, 1000, "passed", ""),
        Measured(7, None, "failed", ""),
    )
    assert list(error_table([("all", [exact, near, refuted]), ("none", [refuted])]))[2:] == [
        "| all | 3 | 2 | 1 | 2 | 0.050% | 0.10% |",
        "| none | 1 | 0 | – | – | – | – |",
    ]


def test_ragged_shapes_do_not_divide_the_array_and_are_the_same_each_time() -> None:
    found = ragged.shapes()
    assert len({workload.name for workload in found}) == len(found) == 60
    assert [workload.name for workload in found] == [workload.name for workload in ragged.shapes()]
    assert [workload.dims for workload in ragged.gemms(["35x140x250"])] == [{"I": 35, "J": 140, "K": 250}]
    assert all(workload.dims[letter] % ragged.SIDE for workload in found for letter in "IJK" if letter in workload.dims)


def test_ragged_shapes_are_summed_up_by_kind() -> None:
    first, second = (workload.name for workload in ragged.shapes()[:2])
    assert list(ragged.by_kind({first: (0.5, 0.75), second: (0.25, 0.5)}))[2:] == [
        "| 12 GEMMs with extents of 1 to 40 | 37.5% | 25.0% | 62.5% | 50.0% |",
        "| all | 37.5% | 25.0% | 62.5% | 50.0% |",
    ]


def test_a_search_is_drawn_by_evaluations_and_by_seconds() -> None:
    found = kernels.Row("w", 0, 100, 1000, None, 200, 4, 2.5, ((1, 0.2, 1000), (2, 0.9, 500), (3, 2.1, 200)))
    curves = kernels.panel(found).curves
    assert curves == {"evaluations": (0.1, 0.2, 0.5, 0.5), "seconds": (0.2, 0.2, 0.5)}


def test_the_summary_counts_wrong_candidates() -> None:
    rows = [kernels.Row("w", seed, 100, 1000, None, 200, 10, 1.0, (), wrong=seed) for seed in (0, 3)]
    assert kernels.summary(rows).endswith("; 3 of 20 candidates were wrong")


def test_drawn_operations_are_as_many_as_asked_for_and_follow_from_the_seed() -> None:
    operations = tuple(ragged.drawn(12, 7))
    assert [one.text for one in operations] == [one.text for one in ragged.drawn(12, 7)]
    assert len({one.text for one in operations}) == 12
    assert len({one.overrides["MEM_LATENCY"] for one in operations}) > 2

"""The contribution of each option to a search.

    python -m benchmarks.ablation [--evaluations N] [--seed N] [WORKLOAD...]

For each workload, the rules agent searches once with all options, then once without each option that led to the result.
All searches have the same number of evaluations. Prints Markdown: the cycles of the first search, and the increase
without each option. An option that another one can replace costs little, so the columns do not add up.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autocomp.search import Options
from benchmarks.kernels import search_without

WORKLOADS = (
    "gemm_512x512x512",
    "gemm_100x70x30",
    "gemm_bias_relu",
    "conv_14_128",
    "conv_stem",
    "conv_depthwise",
    "tinympc_backward",
    "tiny_gemm",
)


@dataclass(frozen=True)
class Ablation:
    """The best cycles with all options, and without each of those that led there."""

    workload: str
    cycles: int
    without: Mapping[str, int]


def ablation(name: str, budget: Options) -> Ablation:
    result = search_without(name, budget, (), {})[1].result
    plans = (step.plan for step in result.history.lineage(result.best))
    used = sorted({plan.transformation for plan in plans if plan.transformation is not None})
    cycles: dict[str, int] = {}
    for option in used:
        other = search_without(name, budget, (option,), {})[1].result
        cycles[option] = other.best.value or 0
        print(f"{name} without {option}: {cycles[option]:,}", file=sys.stderr)
    return Ablation(name, result.best.value or 0, cycles)


def table(cycles: Sequence[Ablation]) -> Iterator[str]:
    """A column a workload, a line an option that one of them uses."""
    yield "| | " + " | ".join(f"`{one.workload}`" for one in cycles) + " |"
    yield "|---|" + "---:|" * len(cycles)
    yield "| all options | " + " | ".join(f"{one.cycles:,}" for one in cycles) + " |"
    for option in sorted({option for one in cycles for option in one.without}):
        yield f"| without `{option}` | " + " | ".join(_more(one, option) for one in cycles) + " |"


def _more(cycles: Ablation, option: str) -> str:
    return f"{cycles.without[option] / cycles.cycles - 1:+.1%}" if option in cycles.without else "–"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=WORKLOADS)
    parser.add_argument("--evaluations", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    budget = Options(seed=given.seed, evaluations=given.evaluations)
    print("\n".join(table([ablation(name, budget) for name in given.workloads])))


if __name__ == "__main__":
    main()

"""The worth of a model's choices, compared with random ones.

    python -m benchmarks.model_choice openai:MODEL@BASE_URL [--evaluations N] [--seeds N] [--workload NAME]

Runs the same search twice, with the same budget and the same moves: once with the model, and once with an endpoint that
draws random answers which the schema allows. Prints Markdown.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from autocomp.agents.config import RULES, Agents, Member
from autocomp.search import Options
from benchmarks import searching
from benchmarks.endpoint import drawn, endpoint
from benchmarks.searching import request_for

CHANCE = "chance"
LONGEST_ANSWER = 64  # tokens


@dataclass(frozen=True)
class Outcome:
    """One search. `authors` counts the plans that were carried out, by who chose them."""

    seed: int
    naive: int
    best: int
    evaluations: int
    requests: int
    seconds: float
    authors: Mapping[str, int]


def chooser(model: str) -> Member:
    """A model that chooses moves."""
    return Member(model, temperature=0.7, max_tokens=LONGEST_ANSWER)


def search(planners: Sequence[Member], workload_name: str, evaluations: int, seed: int) -> Outcome:
    """A search whose every plan models choose from ready moves, and whose kernels the transformations write."""
    agents = Agents(planner=tuple(planners), coder=(Member(RULES),), plans="choice")
    options = Options(seed=seed, evaluations=evaluations, beam=2, plans_per_parent=3)
    outcome = searching.search(request_for(workload_name, options, agents=agents))
    result, events = outcome.result, outcome.events
    plans = [event["plan"] for event in events if event["kind"] == "candidate" and event["plan"]]
    authors = {author: sum(plan["author"] == author for plan in plans) for author in {plan["author"] for plan in plans}}
    requests = result.history.usage.requests + result.history.usage.cached
    return Outcome(
        seed, result.naive.value or 0, result.best.value or 0, result.evaluations, requests, result.seconds, authors
    )


@contextmanager
def drawn_at_random(seed: int) -> Iterator[Member]:
    """A model on loopback that answers every question by chance, as its schema allows."""
    random = Random(seed)
    with endpoint(lambda body: drawn(random, body), (CHANCE,)) as (spec,):
        yield chooser(spec)


def table(outcomes: Mapping[str, Sequence[Outcome]]) -> str:
    """Markdown: for each chooser the best cycles over its seeds."""
    lines = [
        "| choices by | naive | median best | least to most | evaluations | answers |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, runs in outcomes.items():
        best = [run.best for run in runs]
        answers, evaluations = sum(run.requests for run in runs), sum(run.evaluations for run in runs)
        lines.append(
            f"| {name} | {runs[0].naive:,} | {statistics.median(best):,.0f} | {min(best):,} to {max(best):,} "
            f"| {evaluations} | {answers} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="What a model's choices add to a search, beside chance.")
    parser.add_argument("model")
    parser.add_argument("--workload", default="gemm_100x70x30")
    parser.add_argument("--evaluations", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    runs: dict[str, list[Outcome]] = {given.model: [], "chance": []}
    for seed in range(given.seeds):
        runs[given.model].append(search([chooser(given.model)], given.workload, given.evaluations, seed))
        with drawn_at_random(seed) as chance:
            runs["chance"].append(search([chance], given.workload, given.evaluations, seed))
    print(table(runs))


if __name__ == "__main__":
    main()

"""Searches whose model's endpoint fails, by kind of fault.

    python -m benchmarks.model_faults [--evaluations N] [--workload NAME]

Runs the same search with one kind of fault after the other, each on every third question. The endpoint is on loopback,
and its right answers depend only on the question. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from threading import Lock

from autocomp.agents.config import Member
from benchmarks.endpoint import Body, Reply, completion, drawn, endpoint
from benchmarks.model_choice import LONGEST_ANSWER, Outcome, search

SICK, SOUND = "sick", "sound"  # models of the ensemble; only the first fails
EVERY = 3  # questions, of which one meets a fault

FAULTS: Mapping[str, Callable[[Reply], Reply]] = {
    "none": lambda right: right,
    "429 with Retry-After": lambda right: Reply('{"error": {"message": "slowly"}}', 429, {"Retry-After": "0"}),
    "503": lambda right: Reply('{"error": {"message": "overloaded"}}', 503),
    "connection cut in the answer": lambda right: Reply(right.body, cut=len(right.body) // 2),
    "an HTML page": lambda right: Reply("<html>gateway</html>"),
    "refusal": lambda right: completion("", refusal="I would rather not."),
    "answer cut short": lambda right: completion('{"move": "', finish="length"),
    "empty answer": lambda right: completion(""),
    "wrong key": lambda right: Reply('{"error": {"message": "no such key"}}', 401),
}


@dataclass
class Endpoint:
    """Answers by the question alone; the sick model meets `fault` the first time that it is asked every third one."""

    fault: Callable[[Reply], Reply]
    asked: int = 0  # requests in all
    faults: int = 0  # answered with the fault
    _seen: dict[str, int] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def answer(self, body: Body) -> Reply:
        question = json.dumps(body["messages"])
        right = drawn(Random(question), body)
        with self._lock:
            self.asked += 1
            new = question not in self._seen
            position = self._seen.setdefault(question, len(self._seen))
            reply = self.fault(right) if body["model"] == SICK and new and position % EVERY == 0 else right
            self.faults += reply is not right
        return reply


def searched(fault: Callable[[Reply], Reply], workload: str, evaluations: int) -> tuple[Endpoint, Outcome]:
    """A search with two models, of which one meets the fault."""
    served = Endpoint(fault)
    with endpoint(served.answer, (SICK, SOUND)) as (sick, sound):
        members = [
            Member(spec, weight, max_tokens=LONGEST_ANSWER, longest_wait=0.2)
            for spec, weight in ((sick, 1000.0), (sound, 1.0))
        ]
        return served, search(members, workload, evaluations, seed=0)


def main() -> None:
    parser = argparse.ArgumentParser(description="What a search does when its model's endpoint fails.")
    parser.add_argument("--workload", default="gemm_100x70x30")
    parser.add_argument("--evaluations", type=int, default=12)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:  # so that all is asked
        os.environ["AUTOCOMP_CACHE"] = cache
        report(given.workload, given.evaluations)


def report(workload: str, evaluations: int) -> None:
    """Prints a row for each fault."""
    print("| fault | requests | of them failed | plans by the sick model | by the sound one | evaluations | best |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, fault in FAULTS.items():
        served, outcome = searched(fault, workload, evaluations)
        plans = " | ".join(str(_plans_by(model, outcome)) for model in (SICK, SOUND))
        counts = f"{served.asked} | {served.faults} | {plans} | {outcome.evaluations} | {outcome.best:,}"
        print(f"| {name} | {counts} |", flush=True)


def _plans_by(model: str, outcome: Outcome) -> int:
    return sum(count for author, count in outcome.authors.items() if author.startswith(f"openai:{model}@"))


if __name__ == "__main__":
    main()

"""The abacus as a target: what the entry point names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from abacus.judge import RATE, AbacusJudge
from abacus.words import FIGURES, Words, parse, write
from autocomp.errors import ConfigError, NotApplicable
from autocomp.targets.evaluation import Bound, Number
from autocomp.targets.protocol import Evaluator, Focus, Knowledge, Proposal, Target, Transformations
from autocomp.workload import Workload

DEFAULTS: Mapping[str, Number] = {"ROOF": 1e9, "FAILS": 0}


class Doubling(Transformations):
    """Each figure of a kernel can be doubled, up to 16."""

    names = FIGURES

    def proposals(self, name: str, kernel: str, workload: Workload) -> Sequence[Proposal]:
        return [Proposal({"factor": factor}, f"{name} times {factor}", gain=factor) for factor in (4, 2)]

    def apply(self, name: str, kernel: str, workload: Workload, parameters: Mapping[str, Any]) -> str:
        figures = parse(kernel)
        changed = figures[name] * int(parameters["factor"])
        if changed > 16:
            raise NotApplicable(f"{name} {changed} is more than the abacus has")
        return write({**figures, name: changed})


class Abacus(Target):
    kind = "abacus"
    objective = RATE
    causes = ("Blocks",)

    def __init__(self, name: str, parameters: Mapping[str, Number]) -> None:
        unknown = set(parameters) - set(DEFAULTS)
        if unknown:
            raise ConfigError(f"the abacus has no parameter {', '.join(unknown)}")
        self.name = name or "wooden"
        self.parameters = {**DEFAULTS, **parameters}
        self.digest = hashlib.sha256(json.dumps([self.name, sorted(self.parameters.items())]).encode()).hexdigest()
        self.language = Words()
        self.transformations = Doubling()

    @classmethod
    def load(cls, name: str, parameters: Mapping[str, Number], paths: Sequence[Path], trust: bool = False) -> Abacus:
        return cls(name, parameters)

    @classmethod
    def restore(cls, snapshot: Mapping[str, Any], trust: bool = False) -> Abacus:
        return cls(snapshot["name"], snapshot["parameters"])

    def snapshot(self) -> dict[str, Any]:
        return {"name": self.name, "parameters": dict(self.parameters)}

    def starting_kernel(self, workload: Workload) -> str:
        return write(dict.fromkeys(FIGURES, 1))

    def evaluator(self, workload: Workload, source: str = "kernel") -> Evaluator:
        if workload.operation != "gemm":
            raise ConfigError(f"the abacus multiplies matrices; it has no {workload.operation}")
        return AbacusJudge(workload, float(self.parameters["ROOF"]), int(self.parameters["FAILS"]))

    def bound(self, workload: Workload) -> Bound:
        return Bound(float(self.parameters["ROOF"]))

    def menus(self, operation: str) -> tuple[str, ...]:
        return (str(Path(__file__).parent / "menu.yaml"),)

    def knowledge(self, workload: Workload, focus: Focus) -> Knowledge:
        return Knowledge(
            role="You know the abacus.",
            language="A kernel is a head, and one word and a number a line.",
            machine="An abacus of 16 rods.",
            subject="a program for an abacus",
            plans="the figures that change",
        )

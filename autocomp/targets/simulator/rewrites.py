"""The transformations of kernels as a target offers them: text in, text out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autocomp.errors import ConfigError, NotApplicable
from autocomp.targets.protocol import Proposal, Transformations
from autocomp.targets.simulator import kernel as dialect
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.rules.given import facts_of
from autocomp.targets.simulator.rules.planner import TRANSLATE
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import TRANSFORMATIONS, applied, candidates_of, transformation
from autocomp.workload.model import Workload


@dataclass(frozen=True)
class Rewrites(Transformations):
    accelerator: Accelerator
    objective: str = "cycles"  # that kernels are measured by
    names = tuple(item.name for item in TRANSFORMATIONS)

    def proposals(self, name: str, kernel: str, workload: Workload) -> Sequence[Proposal]:
        facts = facts_of(kernel, workload, self.accelerator, self.objective)
        return [Proposal(p.parameters, p.reason, p.gain, p.result) for p in candidates_of(transformation(name), facts)]

    def apply(self, name: str, kernel: str, workload: Workload, parameters: Mapping[str, Any]) -> str:
        if name == TRANSLATE:
            return self._translated(workload)
        facts = facts_of(kernel, workload, self.accelerator, self.objective)
        changed = applied(transformation(name), facts, parameters)
        return dialect.print_kernel(changed.written)  # without what never runs

    def _translated(self, workload: Workload) -> str:
        """The machine's own kernel of an operation, in place of a program for the host. Raises NotApplicable."""
        try:
            return starting_kernel(replace(workload, starting_kernel=None), self.accelerator)
        except ConfigError as error:
            raise NotApplicable(f"a program of this operation has to be translated by a model: {error}") from None

    def ready(self, name: str, kernel: str, workload: Workload) -> Iterator[tuple[Proposal, str]]:
        """The proposals that apply, with the canonical hash of what each gives."""
        facts = facts_of(kernel, workload, self.accelerator, self.objective)
        item = transformation(name)
        for proposal in candidates_of(item, facts):
            try:
                changed = applied(item, facts, proposal.parameters)
            except NotApplicable:
                continue
            yield Proposal(proposal.parameters, proposal.reason, proposal.gain, proposal.result), changed.digest

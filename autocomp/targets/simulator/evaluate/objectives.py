"""Objectives of kernels: few cycles, little energy, or a small product of both."""

from __future__ import annotations

from collections.abc import Mapping

from autocomp.errors import ConfigError
from autocomp.simulator import SimulationResult
from autocomp.targets.evaluation import Bound, Evaluation, Number, Objective
from autocomp.targets.simulator.evaluate.bounds import bound
from autocomp.targets.simulator.isa.energy import Energy, energy, least_energy
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.workload import Workload

CYCLES = Objective("cycles")
ENERGY = "nJ"  # of the figures that are energies, of all and by component, the first word
OBJECTIVES: Mapping[str, Objective] = {"cycles": CYCLES, "energy": Objective(ENERGY), "edp": Objective("nJ*cycles")}
ROUNDING = 1e-9  # relative, of sums of energies in another order


def objective_of(accelerator: Accelerator, name: str) -> Objective:
    """The objective of a name. Raises ConfigError for one that there is not, or not for this machine."""
    if name not in OBJECTIVES:
        raise ConfigError(f"unknown objective {name!r}", hint=f"objectives: {', '.join(OBJECTIVES)}")
    if name != "cycles" and not accelerator.energy:
        raise ConfigError(
            f"{accelerator.full_name} states no energies, so that {name} cannot be searched for",
            hint="state them in its description: energy { mac: 0.3; dram.byte: 160; }",
        )
    return OBJECTIVES[name]


def measured(name: str, cycles: int, spent: Energy | None) -> Number:
    """The measurement of a run in the objective's unit."""
    if name == "cycles" or spent is None:
        return cycles
    return spent.total / 1000 * (cycles if name == "edp" else 1)


def bound_of(name: str, workload: Workload, accelerator: Accelerator) -> Bound:
    """A value that no kernel can beat. Least energy: the multiply-accumulates, every byte of DRAM that has to be read
    or written, once, and the machine's own for the least cycles.

    Raises ConfigError where the host computes: what that costs no description states, and it is not free.
    """
    cycles = bound(workload, accelerator)
    if name == "cycles":
        return cycles
    if workload.host != "control":
        raise ConfigError(
            f"{name} cannot be searched for where the host computes: nothing states the energy of its arithmetic",
            hint="search for cycles, or leave `host: control` in the workload",
        )
    into = sum(tensor.bytes for tensor in workload.inputs) - workload.unused_bytes
    out = sum(tensor.bytes for tensor in workload.outputs)
    parts = least_energy(accelerator, workload.multiply_accumulates, into, out, int(cycles.value)).components
    least = {component: picojoules / 1000 for component, picojoules in parts.items()}
    words = ", ".join(f"{component} {amount:,.4g} nJ" for component, amount in least.items())
    text = f"at least {words or 'nothing that the description states'}"
    if name == "edp":
        text += f"; {cycles.explanation}"
    return Bound(sum(least.values()) * (cycles.value if name == "edp" else 1), text, least if name == "energy" else {})


def cheaper(name: str, workload: Workload, accelerator: Accelerator, run: SimulationResult) -> str | None:
    """The reason why a timed run's energy is impossible, or None."""
    if name == "cycles" or run.timing is None:
        return None
    value = measured(name, run.timing.cycles, energy(accelerator, run.work, run.timing.cycles))
    least = bound_of(name, workload, accelerator)
    if value >= least.value * (1 - ROUNDING):
        return None
    return (
        f"{value:,.4g} {OBJECTIVES[name].unit} are fewer than the {least.value:,.4g} that any kernel needs "
        f"({least.explanation}): that is impossible, and so a fault of the judge, of the description of "
        f"{accelerator.full_name!r} or of what the workload says it needs"
    )


def cycles_of(evaluation: Evaluation) -> int:
    """Cycles of an evaluated kernel, whatever it is searched for; 1 where it did not run."""
    return max(1, int(evaluation.evidence.figures.get("cycles", evaluation.value or 1)))

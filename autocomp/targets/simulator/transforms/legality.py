"""Checks that a rewritten kernel does what the one before it did, for every transformation, where it is applied.

Both kernels are run on the same data. The new one has to leave the same values in every tensor, and in an order that
the machine keeps. The memory discipline may find nothing in it that it does not find in the old one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from autocomp.errors import KernelError, NotApplicable
from autocomp.remember import Recent
from autocomp.simulator import SimulationOptions, SimulationResult, run_program
from autocomp.targets.simulator import kernel as dialect
from autocomp.targets.simulator.evaluate.objectives import measured
from autocomp.targets.simulator.isa import lower
from autocomp.targets.simulator.isa.energy import energy
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import MAX_STEPS, array_type
from autocomp.workload.datatypes import data_type

_SEED = 18  # of the data that kernels are compared on, and of what local memories hold before
_LARGE = 0.125  # share of elements of the whole range: most results stay below saturation, some do not
_SMALL = 2
_MAX_BYTES = 1 << 29  # of memory of one run: four million commands
_LONG = frozenset({"steps", "memory"})  # kinds of errors of runs that are too long here; the judge runs longer ones
_TOLERANCE = 1e-3  # of floats: sums may be in another order, and then rounded to a narrower type
_LAST = Recent[SimulationResult | None](64)  # runs: a parent's children are mostly those of its siblings


def check(before: Facts, after: Facts) -> None:
    """Raises NotApplicable, with what is wrong, where a kernel does not do what the one before it does."""
    old = _run(before)
    if old is None or old.error is not None:
        return  # nothing to compare with: the judge says what is wrong
    new = _run(after)
    if new is None:
        raise NotApplicable("the rewritten kernel would not compile")
    if new.error is not None and new.error.kind in _LONG:
        return
    if new.error is not None:
        raise NotApplicable(f"the rewritten kernel would stop: {new.error.message}")
    known = {violation.kind for violation in old.violations}
    worse = [violation for violation in new.violations if violation.kind not in known]
    if worse:
        raise NotApplicable(f"the rewritten kernel would rely on luck: {worse[0].message}")
    for name, expected in old.outputs.items():
        if not _equal(expected, new.outputs[name]):
            raise NotApplicable(f"the rewritten kernel would leave other values in {name!r}")


def value(facts: Facts) -> float | None:
    """A kernel's measurement by its objective, on the data that kernels are compared on; None where it does not run to
    its end."""
    outcome = _run(facts)
    if outcome is None or outcome.error is not None or outcome.timing is None:
        return None
    cycles = outcome.timing.cycles
    return float(measured(facts.objective, cycles, energy(facts.accelerator, outcome.work, cycles)))


def commands(facts: Facts) -> int | None:
    """The number of commands that a kernel issues; None where it does not run to its end."""
    outcome = _run(facts)
    return None if outcome is None or outcome.error is not None else outcome.command_count


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    if one.dtype.kind in "iub":
        return bool(np.array_equal(one, other))
    left, right = one.astype(np.float64), other.astype(np.float64)
    near = max(_TOLERANCE, 4 * data_type(one.dtype.name).roundoff)
    return bool(np.allclose(left, right, rtol=near, atol=near, equal_nan=True))


def _run(facts: Facts) -> SimulationResult | None:
    """One run of a kernel on data that depend on the names and shapes of its tensors alone; None if it does not
    compile. Many parents are offered the same kernels, which are run once."""
    kernel = facts.written
    tensors = tuple(parameter.name for parameter in kernel.entry.parameters)
    given = facts.digest, tensors, facts.accelerator.digest, frozenset(facts.constants.items())
    return _LAST.of(given, lambda: _executed(kernel, facts))


def _executed(kernel: ast.Kernel, facts: Facts) -> SimulationResult | None:
    try:
        checked = dialect.check(kernel, facts.accelerator, facts.constants)
    except KernelError:
        return None
    random = np.random.default_rng(_SEED)
    tensors: Mapping[str, np.ndarray] = {
        t.name: _drawn(random, t.shape, array_type(t.dtype)) for t in sorted(checked.parameters, key=lambda t: t.name)
    }
    tables = lower(facts.accelerator)
    options = SimulationOptions(discipline=True, max_steps=MAX_STEPS, max_bytes=_MAX_BYTES, seed=_SEED)
    return run_program(tables.machine, dialect.link(checked.program, tables), tensors, options)


def _drawn(random: np.random.Generator, shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    if kind.kind in "iu":
        span = np.iinfo(kind)
        large = random.integers(max(span.min, -128), min(span.max, 127), shape, endpoint=True)
        small = random.integers(max(span.min, -_SMALL), _SMALL, shape, endpoint=True)
        return np.where(random.random(shape) < _LARGE, large, small).astype(kind)
    return random.uniform(-1.0, 1.0, shape).astype(kind)

"""The interface of `import autocomp`: one function for each thing that a program does with kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any

from autocomp import workload as workloads
from autocomp.agents.config import Agents
from autocomp.data import decode, read_regular
from autocomp.errors import AutocompError, ConfigError, KernelError
from autocomp.schedules import why_none
from autocomp.schedules.experience import experience_for
from autocomp.schedules.reuse import precedents_for
from autocomp.search.log.folder import RunFolder, new_run_path
from autocomp.search.log.journal import Listener
from autocomp.search.log.snapshot import Request, create, restore
from autocomp.search.options import Options
from autocomp.search.search import SearchResult
from autocomp.search.session import Means
from autocomp.serving import Answer, Match, lookup, lookup_or_adapt, lookup_or_adapt_all
from autocomp.targets import menu_file, registry
from autocomp.targets.evaluation import Evaluation, Number, Objective
from autocomp.targets.profile import Profile
from autocomp.targets.protocol import Target
from autocomp.targets.triton import kernelbench
from autocomp.workbench.run import run_request
from autocomp.workload import Workload

__all__ = [
    "Agents",
    "Answer",
    "AutocompError",
    "Evaluation",
    "Match",
    "Options",
    "Profile",
    "Result",
    "Target",
    "Workload",
    "evaluate",
    "load_target",
    "load_workload",
    "lookup",
    "lookup_or_adapt",
    "lookup_or_adapt_all",
    "profile",
    "resume",
    "search",
    "why_none",
]
RUNS = Path("runs")


@dataclass(frozen=True)
class LineageEntry:
    """One plan on the way from the starting kernel to the best one; `value` is the objective's after it."""

    option: str | None
    text: str
    value: Number | None


@dataclass(frozen=True)
class Result:
    """The outcome of a search. Values are in the unit of the objective; `bound` is None where none is known, and
    `kernel` the text of the best kernel. `run` is the folder that `resume` and `autocomp report` read."""

    objective: Objective
    naive: Number
    best: Number
    bound: Number | None
    kernel: str
    evaluation: Evaluation
    lineage: tuple[LineageEntry, ...]
    evaluations: int
    seconds: float
    reason: str
    run: Path

    @property
    def speed_up(self) -> float:
        """The factor by which the best kernel is better than the starting one."""
        return self.objective.gain(self.naive, self.best)

    def _repr_html_(self) -> str:
        """The lineage with its values, and how each part of the machine spent the time, for notebooks."""
        unit = escape(self.objective.unit)
        rows = [("starting kernel", self.naive), *((step.option or step.text, step.value) for step in self.lineage)]
        lineage = "".join(f"<tr><td>{escape(name)}</td><td>{_amount(value)}</td></tr>" for name, value in rows)
        bound = "" if self.bound is None else f", bound {_amount(self.bound)}"
        return (
            f"<p><b>{_amount(self.best)} {unit}</b>, {self.speed_up:.2f} times better than the starting kernel{bound}; "
            f"{self.evaluations} evaluations in {self.seconds:.1f} s</p>"
            f"<table><tr><th>option</th><th>{unit}</th></tr>{lineage}</table>{_parts(self.evaluation)}"
        )


def load_workload(
    name: str | Path | Mapping[str, Any],
    *,
    paths: Sequence[Path] = (),
    parameters: Mapping[str, Number] | None = None,
    trust: bool = False,
) -> Workload:
    """The workload of a file, the shipped one of a name, or one with the keys of a file. `paths` are folders to look
    in, `parameters` those of the machine that are set otherwise. With `trust` its Python reference may run.
    `kernelbench:level1/23` is a problem of a KernelBench checkout, whose code runs for its tensors to be known.

    Raises ConfigError with the file and the field at fault.
    """
    if isinstance(name, Mapping):
        return workloads.as_trusted(workloads.stated(name, parameters), trust)
    if str(name).startswith(kernelbench.PREFIX):
        return _kernelbench(str(name), paths, parameters or {}, trust)
    return workloads.as_trusted(workloads.load(str(name), paths, parameters or {}), trust)


def _kernelbench(name: str, paths: Sequence[Path], parameters: Mapping[str, Number], trust: bool) -> Workload:
    file = kernelbench.problem_file(name, paths)
    text = workloads.reference_that_runs(file, trust)
    return workloads.as_trusted(workloads.parse(kernelbench.workload_text(file, text), file, parameters))


def load_target(
    spec: str | Workload,
    *,
    paths: Sequence[Path] = (),
    parameters: Mapping[str, Number] | None = None,
    objective: str | None = None,
    trust: bool = False,
) -> Target:
    """The target of a spec `KIND:MACHINE`, or the one that a workload names.

    `objective` takes the place of the target's usual one. With `trust` programs that its files name may run. Raises
    ConfigError for what is not there, TrustError for programs that may not run.
    """
    if isinstance(spec, Workload):
        if not spec.target:
            raise ConfigError(
                f"{spec.path}: key 'target' is missing",
                hint="add `target: KIND:MACHINE` or `accelerator: MACHINE`, or give --target KIND:MACHINE",
            )
        near = (*paths, Path(spec.path).parent)
        target = registry.load_target(spec.target, {**spec.overrides, **(parameters or {})}, near, trust)
    else:
        target = registry.load_target(spec, parameters, paths, trust)
    return target if objective is None else target.pursuing(objective)


def evaluate(kernel: str | Path, workload: Workload | str, target: Target | str | None = None) -> Evaluation:
    """Judge a kernel, a text or the path of a file, in all stages, and measure it.

    A kernel that is wrong is a failed stage of the evaluation. Raises ConfigError where nothing can be evaluated.
    """
    asked, machine = _problem(workload, target)
    workloads.require_trusted(asked)
    return machine.evaluator(asked).evaluate(_text(kernel))


def profile(kernel: str | Path, workload: Workload | str, target: Target | str | None = None) -> Profile:
    """Run a kernel once and say where its time goes. Raises KernelError if it does not parse or check, and ConfigError
    where the target records nothing."""
    asked, machine = _problem(workload, target)
    return machine.record(_text(kernel), asked).profile()


def search(
    workload: Workload | str,
    target: Target | str | None = None,
    *,
    options: Options | None = None,
    strategy: str = "beam",
    agents: Agents | None = None,
    menus: Sequence[str] = (),
    reuse: int = 0,
    run: Path | str | None = None,
    means: Means | None = None,
    listener: Listener | None = None,
) -> Result:
    """Search for the best kernel of a workload.

    By default the rules propose and write kernels, as `Agents()` says. `menus` are names or paths; without any, the
    target's own menu is used. `reuse` is the number of earlier schedules to begin with. `run` is a new folder, by
    default in `runs/`; `listener` hears every event. `means` are the execution resources: processes or a cluster.

    Raises ConfigError for what does not fit together, KernelError or CandidateFailure for a starting kernel that is not
    correct. KeyboardInterrupt leaves a run that `resume` continues.
    """
    asked, machine = _problem(workload, target)
    workloads.require_trusted(asked)
    menu = menu_file.for_target(menus, asked, machine)
    precedents = precedents_for(asked, machine, reuse, _ignore) if reuse else ()
    experience = experience_for(asked, machine, _ignore) if reuse else ()
    request = Request(asked, machine, menu, agents or Agents(), options or Options(), strategy, precedents, experience)
    now = datetime.now().astimezone()
    folder = create(Path(run) if run else new_run_path(RUNS, asked.name, now), request, now)
    return _finished(folder, run_request(request, folder, means or Means(), listener))


def resume(run: Path | str, *, means: Means | None = None, listener: Listener | None = None) -> Result:
    """Continue the search of a run folder to the result that it would have had, or give that of a finished one.

    Models are asked as the folder says: resume only runs of your own. Raises RunFolderError for what is not a run.
    """
    folder = RunFolder.open(Path(run))
    request = restore(folder)
    workloads.require_trusted(request.workload)
    return _finished(folder, run_request(request, folder, means or Means(), listener, recheck=True))


def _problem(workload: Workload | str, target: Target | str | None) -> tuple[Workload, Target]:
    asked = workload if isinstance(workload, Workload) else load_workload(workload)
    if isinstance(target, Target):
        return asked, target
    return asked, load_target(asked if target is None else replace(asked, target=target))


def _text(kernel: str | Path) -> str:
    if isinstance(kernel, Path):
        return decode(read_regular(kernel), str(kernel), KernelError)
    if kernel.strip() and "(" not in kernel:
        raise ConfigError(
            f"{kernel[:80]!r} is not the text of a kernel", hint="name a file by its path: Path('kernel.c')"
        )
    return kernel


def _ignore(message: str) -> None:
    """A record that cannot be read is not a precedent; `autocomp schedules list` names it."""


def _finished(folder: RunFolder, result: SearchResult) -> Result:
    best = result.best
    evaluation = best.evaluation
    assert evaluation is not None  # a search ends with a kernel that was judged
    return Result(
        objective=best.objective,
        naive=result.naive.value,
        best=best.value,
        bound=None if evaluation.bound is None else evaluation.bound.value,
        kernel=folder.kernel(best.kernel),
        evaluation=evaluation,
        lineage=tuple(LineageEntry(s.plan.option, s.plan.text, s.value) for s in result.history.lineage(best)),
        evaluations=result.evaluations,
        seconds=result.seconds,
        reason=result.reason,
        run=folder.path,
    )


def _amount(value: Number | None) -> str:
    return "" if value is None else f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"


def _parts(evaluation: Evaluation) -> str:
    """A bar for each part of the machine: how much of the measurement each cause accounts for."""
    rows = []
    for part, causes in evaluation.evidence.parts.items():
        total = sum(causes.values())
        bars: list[str] = []
        for cause, amount in sorted(causes.items(), key=lambda item: item[0] != "Busy"):
            width = 100 * amount / total if total else 0
            colour = "#2a7" if cause == "Busy" else "#ccc"
            bars.append(
                f'<span title="{escape(cause)} {width:.0f} %" style="display:inline-block;height:1em;'
                f'width:{3 * width:.0f}px;background:{colour};border-right:1px solid #fff"></span>'
            )
        rows.append(f"<tr><td>{escape(part)}</td><td>{''.join(bars)}</td></tr>")
    return f"<table>{''.join(rows)}</table>" if rows else ""

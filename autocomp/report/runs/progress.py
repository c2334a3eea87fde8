"""A running search: a line for each better kernel, and a live display of its state on a terminal."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from autocomp.report.runs.run import RunView
from autocomp.report.terminal import amount_text, counted, percent, sparkline
from autocomp.search.budget import Budget
from autocomp.search.candidate import CORRECT
from autocomp.search.log.journal import Event
from autocomp.search.options import Options

REFRESHES_PER_SECOND = 4
SPARKS = 48  # characters of a line over the evaluations
PHASES = {
    "": "evaluating the starting kernel",
    "select": "planning",
    "plan": "writing kernels",
    "code": "evaluating",
    "evaluate": "evaluating",
    "repair": "evaluating",
    "stop": "done",
}  # of a search, by the event before it; planning follows all others


class SearchProgress:
    """A journal listener; use as a context manager around the search. On a terminal it is a live display; everywhere it
    prints a line for each better kernel."""

    def __init__(self, console: Console, title: str, options: Options) -> None:
        self._console = console
        self._title = title
        self._budget = Budget.of(options)
        self._steps = options.max_steps
        self.view = RunView()
        self._live: Live | None = None

    def __enter__(self) -> SearchProgress:
        if self._console.is_terminal:
            self._live = Live(
                console=self._console,
                get_renderable=self._panel,
                refresh_per_second=REFRESHES_PER_SECOND,
                transient=True,
            )
            self._live.start()
        else:
            self._console.print(self._title)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, event: Event) -> None:
        before = self.view.best
        self.view.add(event)
        if event["kind"] == "grant":
            self._budget += Budget.granted(event)
        if self.view.best != before and event["kind"] != "stop":
            self._console.print(best_line(self.view, self._budget))

    def _panel(self) -> Text:
        """Five short lines: they fit 80 columns."""
        view, unit = self.view, self.view.objective.unit
        lines = [
            f"{self._title}: step {view.step + 1} of at most {self._steps}, {phase(view)}",
            f"best    {amount_text(view.best)} {unit}, validated; naive {amount_text(view.naive)}",
            f"bound   {amount_text(view.bound)} {unit}; {percent(view.ratio)} of it reached",
            f"budget  {', '.join(budget_parts(view, self._budget))}",
            f"speed   |{trajectory_line(view)}|",
            f"kernels {outcomes_text(view.outcomes)}",
        ]
        if usage_text(view):
            lines.append(f"models  {usage_text(view)}")
        return Text("\n".join(lines))


def phase(view: RunView) -> str:
    """The present activity of a search, from the last event of its log."""
    best = view.candidates.get(view.step_best)
    if view.latest == "step" and best is not None and best["outcome"] != CORRECT:
        return "validating"
    return PHASES.get(view.latest, "planning")


def budget_parts(view: RunView, budget: Budget) -> list[str]:
    """Each budget as used and granted, and an estimate of the time left."""
    seconds = "" if budget.seconds is None else f" of {budget.seconds:.0f}"
    parts = [f"{view.evaluations}{_granted(view, budget)}", f"{view.seconds:.0f}{seconds} s"]
    if budget.tokens is not None:
        used = view.usage["prompt_tokens"] + view.usage["completion_tokens"]
        parts.append(f"{used:,} of {budget.tokens:,} tokens")
    if budget.money is not None:
        parts.append(f"{view.usage['money']:.4g} of {budget.money:g} spent")
    left = seconds_left(view, budget)
    return parts if left is None else [*parts, f"at most {left:.0f} s left"]


def seconds_left(view: RunView, budget: Budget) -> float | None:
    """Time until the first budget is spent, evaluations at their mean rate so far; None without a bound."""
    ends = []
    if budget.seconds is not None:
        ends.append(budget.seconds - view.seconds)
    if budget.evaluations is not None and view.evaluations:
        ends.append((budget.evaluations - view.evaluations) * view.seconds / view.evaluations)
    return max(0.0, min(ends)) if ends else None


def trajectory_line(view: RunView) -> str:
    """The speed of the best kernel over the evaluations; full height is that of the last."""
    return sparkline(view.trajectory, max(view.trajectory, default=0.0), SPARKS)


def best_line(view: RunView, budget: Budget) -> str:
    """A new best kernel in one line."""
    value = f"{amount_text(view.best):>13} {view.objective.unit}  {percent(view.ratio):>7} of bound"
    return f"{view.seconds:>7.1f} s  {value}  {view.evaluations:>4}{_granted(view, budget)}"


def _granted(view: RunView, budget: Budget) -> str:
    """The words after the number of evaluations: how many there may be, and the noun."""
    if budget.evaluations is not None:
        return f" of {counted(budget.evaluations, 'evaluation')}"
    return " evaluation" if view.evaluations == 1 else " evaluations"


def usage_text(view: RunView) -> str:
    """The cost of the language models so far; empty if none was asked."""
    usage = view.usage
    if not usage["requests"] and not usage["cached"]:
        return ""
    money = f", {usage['money']:.4g} spent" if usage["money"] else ""
    unsent = f", {usage['unsent']} not sent for want of budget" if usage["unsent"] else ""
    return (
        f"{usage['requests']} requests, {usage['cached']} answers from the cache, "
        f"{usage['prompt_tokens']:,} + {usage['completion_tokens']:,} tokens{money}{unsent}"
    )


def outcomes_text(outcomes: dict[str, int]) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()) or "none yet"

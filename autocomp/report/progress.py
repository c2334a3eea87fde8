"""What a running search shows: a live panel on a terminal, a line a step elsewhere."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from autocomp.report.run import RunView
from autocomp.report.terminal import amount_text, percent, sparkline
from autocomp.search.journal import Event

REFRESHES_PER_SECOND = 4
SPARKS = 48  # characters of a line over the evaluations


class SearchProgress:
    """A journal listener; use as a context manager around the search."""

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._title = title
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
        self.view.add(event)
        if event["kind"] == "step":
            self._console.print(step_line(self.view))

    def _panel(self) -> Group:
        view = self.view
        rate = view.evaluations / view.seconds if view.seconds else 0.0
        table = Table.grid(padding=(0, 2))
        unit = view.objective.unit
        table.add_row("best", f"{amount_text(view.best)} {unit}", f"naive {amount_text(view.naive)}")
        table.add_row("bound", f"{amount_text(view.bound)} {unit}", f"reached {percent(view.ratio)}")
        table.add_row("", trajectory_line(view), "its speed over the evaluations")
        table.add_row("evaluations", f"{view.evaluations}", f"{rate:.1f}/s")
        table.add_row("candidates", outcomes_text(view.outcomes))
        if usage_text(view):
            table.add_row("model", usage_text(view))
        return Group(Text(f"{self._title} - step {view.step + 1}, {view.seconds:.0f} s", style="bold"), table)


def trajectory_line(view: RunView) -> str:
    """The speed of the best kernel over the evaluations; full height is that of the last."""
    return sparkline(view.trajectory, max(view.trajectory, default=0.0), SPARKS)


def step_line(view: RunView) -> str:
    """One step in one line."""
    best = f"{amount_text(view.best):>13} {view.objective.unit}"
    return (
        f"step {view.step:>3}  best {best}  {percent(view.ratio):>7} of bound  "
        f"{view.evaluations:>5} evaluations  {view.seconds:>6.1f} s  {outcomes_text(view.outcomes)}"
    )


def usage_text(view: RunView) -> str:
    """What the language models cost so far; empty if none was asked."""
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

"""The output for a finished (or interrupted) search: its lineage, the outcomes of candidates, how to look further."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from autocomp.report.grid import Grid, figure, name, words
from autocomp.report.runs.costs import costs_table
from autocomp.report.runs.predictions import print_calibrations
from autocomp.report.runs.progress import outcomes_text, trajectory_line, usage_text
from autocomp.report.runs.run import RunView, first_line
from autocomp.report.terminal import amount_text, counted, percent
from autocomp.targets.evaluation import Objective

SHOWN_CAUSES = 6


def lineage_table(view: RunView) -> Grid:
    """Each step from the naive kernel to the best: option, value, speed-up over the step before, ratio, plan."""
    figures = [figure(heading) for heading in (view.objective.unit, "gain", "of bound")]
    grid = Grid("Lineage of the best kernel", figure("step"), name("option"), *figures, words("plan"))
    for candidate in view.lineage():
        gain = view.gain_of(candidate)
        plan = candidate["plan"]
        grid.add(
            "reuse" if plan and candidate["step"] == 0 else str(candidate["step"]),
            (plan["option"] or "free") if plan else "naive",
            amount_text(candidate["value"]),
            "" if gain is None else f"{gain:.2f}x",
            percent(candidate["ratio"]),
            first_line(plan["text"]) if plan else "the starting kernel",
        )
    return grid


def causes_table(view: RunView) -> Grid | None:
    """The failures of candidates, by stage and cause. None without failures."""
    causes = view.causes()
    if not causes:
        return None
    grid = Grid("Candidates that did not work", figure("count"), name("outcome"), words("cause"))
    for outcome, message, count in causes[:SHOWN_CAUSES]:
        grid.add(str(count), outcome, message)
    rest = causes[SHOWN_CAUSES:]
    if rest:
        grid.add(str(sum(count for *_, count in rest)), "", f"{len(rest)} other causes; see events.jsonl")
    return grid


def conditions_table(view: RunView) -> Grid | None:
    """The value of the best kernel in each condition, beside the vendor's routine; None where nothing was compared."""
    if not view.conditions:
        return None
    with_routine = any(event["routine"] is not None for event in view.conditions)
    routine_figures = ("vendor's routine", "gain over it") if with_routine else ()
    figures = [figure(heading) for heading in (view.objective.unit, "of nominal", *routine_figures)]
    grid = Grid("In other conditions", name("condition"), *figures)
    nominal = view.conditions[0]["value"]
    for event in view.conditions:
        value, routine = event["value"], event["routine"]
        relative = f"{value / nominal:.2f}x" if value is not None and nominal else "-"
        cells = [amount_text(value), relative]
        if with_routine:
            gain = None if routine is None or value is None else view.objective.gain(routine, value)
            cells += [amount_text(routine), "-" if gain is None else f"{gain:.2f}x"]
        grid.add(event["name"], *cells)
    return grid


def print_search(console: Console, view: RunView, utilisation: float | None = None) -> None:
    """The tables and figures of a search's end."""
    console.print(lineage_table(view))
    causes = causes_table(view)
    if causes is not None:
        console.print(causes)
    conditions = conditions_table(view)
    if conditions is not None:
        console.print(conditions)
    print_calibrations(console, view)
    for message, count in view.agent_messages.most_common(3):
        console.print(f"planner said ({count}x): {message}")
    for reused in view.reuse():
        console.print(reuse_text(reused, view.objective))
    starts = view.starts()
    if starts:
        best = min(starts, key=lambda name: view.objective.rank(starts[name]))
        reached = ", ".join(f"{amount_text(value)} from {name}" for name, value in starts.items())
        console.print(f"{best} was the better start: {reached}")
    speedup = "" if view.gain is None else f" ({view.gain:.1f}x faster)" if view.gain > 1 else " (no gain)"
    console.print(
        f"{amount_text(view.naive)} -> {amount_text(view.best)} {view.objective.unit}{speedup}; "
        f"bound {amount_text(view.bound)}, "
        f"{percent(view.ratio)} of it" + (f"; utilisation {percent(utilisation)}" if utilisation else "")
    )
    if console.is_terminal:
        console.print(f"speed of the best over the evaluations: |{trajectory_line(view)}|")
    console.print(
        f"{counted(view.evaluations, 'evaluation')} in {view.seconds:.1f} s; "
        f"candidates: {outcomes_text(view.outcomes)}; ended: {view.end}"
    )
    if view.cached or view.damaged:
        damaged = f"; {view.damaged} damaged entries were ignored" if view.damaged else ""
        console.print(f"cache: {counted(view.cached, 'verdict')} known from before{damaged}")
    costs = costs_table(view)
    if costs is not None:
        console.print(costs)
    if usage_text(view):
        console.print(f"language models: {usage_text(view)}")


def reuse_text(reused: Mapping[str, Any], objective: Objective) -> str:
    """The part of one schedule in a run: plans replayed, the value reached, evaluations, plans left out."""
    value, plans = reused["value"], ", ".join(reused["replayed"])
    reached = f"{amount_text(value)} {objective.unit}" if value is not None else "no kernel that holds"
    judged = counted(reused["evaluations"], "evaluation")
    outcome = f"plans replayed: {plans}; {reached} in {judged}" if plans else "no plan was replayed"
    text = f"reuse of {reused['record']}: {outcome}"
    return text + "".join(f"\n  left out: {reason}" for reason in reused["left_out"])


def print_paths(console: Console, kernel: Path, run: Path, schedule: str, workload: str) -> None:
    """Where the results lie, the schedule if there is one, and how to look further."""
    rows = [("kernel", str(kernel)), ("run", str(run))]
    if schedule:
        rows.append(("schedule", schedule))
    rows.append(("look further", shlex.join(["autocomp", "run", str(kernel), "--workload", str(workload)])))
    for label, value in rows:
        console.print(f"{label + ':':<14}{value}", soft_wrap=True, markup=False)

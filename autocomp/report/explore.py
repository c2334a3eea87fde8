"""The output of `autocomp explore`: the points of a sweep by area, and their Pareto front, as a table and as a plot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from autocomp.report.grid import Grid, figure, name, words
from autocomp.report.terminal import amount_text
from autocomp.search.explore import Point, pareto_front

WIDTH, HEIGHT = 720, 420  # pixels of the plot
LEFT, RIGHT, TOP, BOTTOM = 90, 110, 40, 50  # its margins
MARGIN = 0.06  # of the logarithmic range, around the points


def points_table(points: Sequence[Point]) -> Grid:
    """A row for each point, the smallest machine first, those that cannot run last with the reason."""
    front = pareto_front(points)
    energies = any(point.total_energy is not None for point in points)
    weighed = "cycles and energy" if energies else "cycles"
    headings = ("area", "cycles", *(("energy (nJ)",) if energies else ()), "cycles x area", "evaluations")
    grid = Grid(
        f"Total {weighed} against area",
        name(""),
        name("point"),
        *(figure(heading) for heading in headings),
        words("why it cannot run"),
        note=f"* on the Pareto front: no other point is better in {weighed} or area, and worse in none",
    )
    for point in sorted(points, key=lambda p: (p.total is None, p.area or 0)):
        product = None if point.total is None or point.area is None else point.total * point.area
        grid.add(
            "*" if point in front else "",
            point.name.replace(",", " "),
            _figure(point.area),
            _figure(point.total),
            *((amount_text(point.total_energy),) if energies else ()),
            "-" if product is None else f"{product:.2e}",
            str(point.evaluations),
            point.reason or "",
        )
    return grid


def document(points: Sequence[Point], note: str) -> dict[str, Any]:
    """The sweep as JSON; areas in the units that `note` names."""
    front = pareto_front(points)
    return {
        "area": note,
        "points": [
            {
                "parameters": dict(point.parameters),
                "area": point.area,
                "cycles": dict(point.cycles),
                "total_cycles": point.total,
                "energy_nJ": dict(point.energy),
                "total_energy_nJ": point.total_energy,
                "objective": point.objective or None,
                "evaluations": point.evaluations,
                "pareto": point in front,
                "reason": point.reason,
            }
            for point in points
        ],
    }


def plot(points: Sequence[Point], note: str) -> str:
    """The points that ran as one SVG text without outside parts: area to the right, cycles up, both logarithmic. Points
    on the front are red; a line joins those that no other is better than in area and cycles alone."""
    ran = [(p, p.area, p.total) for p in points if p.area is not None and p.total is not None]
    across = _Axis.of([area for _, area, _ in ran], LEFT, WIDTH - RIGHT)
    up = _Axis.of([total for _, _, total in ran], HEIGHT - BOTTOM, TOP)
    front = pareto_front(points)
    marks = [
        {"x": across.at(area), "y": up.at(total), "name": p.name.replace(",", " "), "front": p in front,
         "area": _figure(area), "cycles": _figure(total),
         "energy": "" if p.total_energy is None else f", {amount_text(p.total_energy)} nJ"}
        for p, area, total in ran
    ]  # fmt: skip
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=True, trim_blocks=True)
    return environment.from_string((Path(__file__).parent / "explore.svg.j2").read_text(encoding="utf-8")).render(
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=WIDTH - RIGHT,
        top=TOP,
        bottom=HEIGHT - BOTTOM,
        note=note,
        marks=marks,
        front=[(across.at(area), up.at(total)) for area, total in _lowest((area, total) for _, area, total in ran)],
        across=across.ticks(),
        up=up.ticks(),
        missing=len(points) - len(ran),
    )


def _lowest(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Those that lie below all points to their left, by area."""
    front: list[tuple[float, float]] = []
    for area, total in sorted(points):
        if not front or total < front[-1][1]:
            front.append((area, total))
    return front


@dataclass(frozen=True)
class _Axis:
    """A logarithmic scale from the values `low` to `high` to pixels."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def of(cls, values: Sequence[float], start: float, end: float) -> _Axis:
        """The scale on which all values lie, with a margin; also of one value, or of none."""
        smallest, largest = (min(values), max(values)) if values else (1.0, 1.0)
        margin = (largest / smallest) ** MARGIN if largest > smallest else 2.0
        return cls(smallest / margin, largest * margin, start, end)

    def at(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, count: int = 4) -> list[tuple[float, str]]:
        """Positions and labels, evenly spaced."""
        steps = [step / (count - 1) for step in range(count)]
        values = [self.low * (self.high / self.low) ** step for step in steps]
        return [(self.at(value), f"{float(f'{value:.3g}'):,.12g}") for value in values]


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:,}"

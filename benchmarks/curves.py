"""Curves of what searches reach, drawn as an SVG: a panel for each problem, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import log

Curve = tuple[float, ...]  # the ratio of the bound to the best cycles so far, after each evaluation or second

COLUMNS = 3
WIDTH, HEIGHT = 280, 180  # of a panel, in pixels, with its margins
LEFT, RIGHT, TOP, BOTTOM = 40, 12, 28, 34
COLOURS = ("#8a8a8a", "#1f6fb4")
TICKS = (1, 2, 5, 10, 20, 50, 100, 200)


@dataclass(frozen=True)
class Panel:
    """The curves of one problem, by name; all panels have the same names. `axis` is what all curves count."""

    title: str
    curves: Mapping[str, Curve]
    axis: str = "evaluations"


def drawing(panels: Sequence[Panel]) -> str:
    """The panels in rows, what is counted on a logarithmic axis, shares of the bound on the other."""
    lines = -(-len(panels) // COLUMNS)
    size = f'width="{COLUMNS * WIDTH}" height="{lines * HEIGHT}"'
    places = [(number % COLUMNS * WIDTH, number // COLUMNS * HEIGHT) for number in range(len(panels))]
    body = [
        f'<g transform="translate({x} {y})">{"".join(_panel(panel))}</g>'
        for (x, y), panel in zip(places, panels, strict=True)
    ]
    style = 'font-family="sans-serif" font-size="11" fill="#333"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}><rect width="100%" height="100%" fill="white"/>'
    return "\n".join([head, *body, "</svg>", ""])


def _panel(panel: Panel) -> Iterator[str]:
    last = max(len(points) for points in panel.curves.values())
    yield f'<text x="{LEFT}" y="16" font-weight="bold">{escape(panel.title)}</text>'
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        height = _y(share)
        yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height:.1f}" y2="{height:.1f}" stroke="#ddd"/>'
        yield f'<text x="{LEFT - 4}" y="{height + 4:.1f}" text-anchor="end">{share:.0%}</text>'
    for count in (tick for tick in TICKS if tick <= last):
        yield f'<text x="{_x(count, last):.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">{count}</text>'
    yield f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" text-anchor="end">{escape(panel.axis)}</text>'
    for number, (name, points) in enumerate(panel.curves.items()):
        path = " ".join(f"{_x(count, last):.1f},{_y(share):.1f}" for count, share in enumerate(points, start=1))
        colour = COLOURS[number % len(COLOURS)]
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield f'<text x="{LEFT + 84 * number}" y="{HEIGHT - 6}" fill="{colour}">{escape(name)}</text>'


def _x(count: int, last: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (log(count) / log(last) if last > 1 else 0.0)


def _y(share: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - share)

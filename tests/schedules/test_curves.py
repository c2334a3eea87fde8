"""The drawing of what searches reach."""

from __future__ import annotations

from xml.etree import ElementTree

from benchmarks.curves import Panel, drawing

SVG = "{http://www.w3.org/2000/svg}"


def test_each_problem_has_a_panel_with_a_point_for_each_evaluation() -> None:
    panels = [
        Panel("wide < narrow", {"without": (0.1, 0.2, 0.4), "with": (0.1, 0.8)}),
        Panel("one", {"without": (0.5,), "with": (0.5,)}),
    ]
    root = ElementTree.fromstring(drawing(panels))
    texts = [text.text for text in root.iter(f"{SVG}text")]
    points = [line.attrib["points"].split() for line in root.iter(f"{SVG}polyline")]
    assert {"wide < narrow", "one"} <= set(texts)
    assert [len(line) for line in points] == [3, 2, 1, 1]
    heights = [float(point.split(",")[1]) for point in points[0]]
    assert heights == sorted(heights, reverse=True)  # upwards

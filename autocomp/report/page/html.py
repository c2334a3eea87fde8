"""The page as one HTML text: skeleton, style and scripts from `assets/`, the run's document compressed inside."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import jinja2

ASSETS = Path(__file__).parent / "assets"
# In this order they make one module: each may use what stands before it, main.js starts.
STYLES = ("uplot/uPlot.min.css", "style.css")
SCRIPTS = (
    "uplot/uPlot.iife.min.js",
    "dom.js",
    "run.js",
    "chart.js",
    "overview.js",
    "candidates.js",
    "difference.js",
    "source.js",
    "profile.js",
    "timeline.js",
    "resources.js",
    "comparison.js",
    "detail.js",
    "main.js",
)


def packed(document: dict[str, Any]) -> bytes:
    """A document as compressed JSON, which the page unpacks."""
    return gzip.compress(json.dumps(document, separators=(",", ":"), allow_nan=False).encode(), mtime=0)


def render(document: dict[str, Any], live: bool = False) -> str:
    """The page of a run's document; a `live` one goes on to ask its server for what is new."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS), undefined=jinja2.StrictUndefined, autoescape=True
    )
    run = document["run"]
    return environment.get_template("page.html.j2").render(
        title=f"{run['workload']} on {run['target']}",
        live=live,
        style="\n".join((ASSETS / name).read_text(encoding="utf-8") for name in STYLES),
        scripts=[(ASSETS / name).read_text(encoding="utf-8") for name in SCRIPTS],
        data=base64.b64encode(packed(document)).decode(),
    )

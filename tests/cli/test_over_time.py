"""Units and memories over time, at the end of `run` and of a search."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console
from toy_search import ToyEvaluator, ToyTarget

from autocomp.cli.over_time import MOST_DRAWN, print_shape, shape_of
from autocomp.targets.evaluation import Evidence


def test_a_long_kernel_is_not_recorded_and_the_reader_is_told() -> None:
    long = replace(ToyEvaluator().evaluate("naive"), evidence=Evidence({"commands": MOST_DRAWN + 1}))
    shape = shape_of("", None, ToyTarget(), long)  # type: ignore[arg-type]
    stream = io.StringIO()
    print_shape(Console(file=stream, width=200), shape, long)
    assert shape is None
    assert "not drawn for 1,000,001 commands" in stream.getvalue()

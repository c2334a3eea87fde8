"""Units and memories over time, at the end of `run` and of a search."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console
from toy_search import ToyEvaluator

from autocomp.cli.over_time import MOST_DRAWN, print_shape, shape_of


def test_a_long_kernel_is_not_recorded_and_the_reader_is_told() -> None:
    toy = ToyEvaluator()
    long = replace(toy.evaluate("naive"), commands=MOST_DRAWN + 1)
    shape = shape_of("", toy.workload, toy.accelerator, long)
    stream = io.StringIO()
    print_shape(Console(file=stream, width=200), shape, long)
    assert shape is None
    assert "not drawn for 1,000,001 commands" in stream.getvalue()

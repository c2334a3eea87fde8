"""The values of a kernel's variables are the same after raising, whatever they go through."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, run_program
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.isa import MachineTables
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.raising import evolution
from autocomp.targets.simulator.transforms.raising.normal import normalise

NAMES = ("a", "b", "c")
LOOPS = (
    "for (int {i} = 0; {i} < {n}; {i}++) {{ {body} }}",
    "for ({v} = {n}; {v} > 0; {v} -= {k}) {{ {body} }}",
    "int {i} = 0; while ({i} < {n}) {{ {body} {i} += {k}; }}",
    "int {i} = {n}; do {{ {body} {i}--; }} while ({i} > 0);",
    "for (int {i} = a; {i} < (a + {k} < {n} ? a + {k} : {n}); {i} += {k}) {{ {body} }}",
)
CHANGES = (
    "{v} += {k};",
    "{v} = {w} + {k};",
    "{v} ^= {k};",
    "{v} = {k} - {v};",
    "{v} = ({v} + 1) % {k};",
    "{v} = !{w};",
)


@cache
def machine() -> tuple[Accelerator, MachineTables]:
    accelerator = isa.load("tiny")
    return accelerator, isa.lower(accelerator)


def results(program: kernel.syntax.ast.Kernel) -> tuple[str, list[int]]:
    """The reason why the program stopped, and the numbers that it wrote."""
    accelerator, tables = machine()
    linked = kernel.link(kernel.compile(program, accelerator, {}), tables)
    ran = run_program(
        tables.machine, linked, {"out": np.zeros(64, np.int32)}, SimulationOptions(timing=False, max_steps=40_000)
    )
    return ("" if ran.error is None else "error"), [] if ran.error is not None else list(ran.outputs["out"])


@st.composite
def statements(draw: st.DrawFn, depth: int = 2) -> str:
    """A few statements that change three variables, and write them down."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(("change", "write", "branch", "loop") if depth else ("change", "write")))
        names = {"v": draw(st.sampled_from(NAMES)), "w": draw(st.sampled_from(NAMES)), "k": draw(st.integers(1, 4))}
        if kind == "change":
            found.append(draw(st.sampled_from(CHANGES)).format(**names))
        elif kind == "write":
            found.append("out[t % 64] = {v}; t++;".format(**names))
        elif kind == "branch":
            body = draw(statements(depth=depth - 1))
            found.append(f"if ({names['w']} < {names['k']}) {{ {body} }} else {names['v']} = {names['k']};")
        else:
            body = draw(statements(depth=depth - 1))
            loop = draw(st.sampled_from(LOOPS))
            found.append("{ " + loop.format(**names, i=f"i{depth}", n=draw(st.integers(0, 5)), body=body) + " }")
    return " ".join(found)


@settings(max_examples=40, deadline=None)
@given(statements())
def test_variables_keep_their_values(body: str) -> None:
    written = " ".join(f"out[{60 + n}] = {name};" for n, name in enumerate((*NAMES, "t")))
    text = f"void solution(int32_t out[64]) {{ int a = 0, b = 1, c = 3, t = 0; {body} {written} }}"
    given_kernel = kernel.parse(text)
    before = results(given_kernel)
    if not before[0]:  # loops that do not end are not looked into
        assert results(normalise(given_kernel, {})) == before


def test_variables_that_are_not_known_are_all_found_in_one_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A walk for each would take a minute for a program of 5,000 lines, as unrolling writes them."""
    sums = " ".join(f"int s{n} = out[{n}]; s{n} += out[{n + 1}]; out[{n}] = s{n};" for n in range(30))
    text = f"void solution(int32_t out[64]) {{ int a = 1; a += 2; {sums} out[a] = a; }}"
    walks: list[int] = []
    begun = evolution._Evolution.__init__

    def counted(self: evolution._Evolution, body: ast.Block, followed: Mapping[str, ast.Type]) -> None:
        walks.append(len(followed))
        begun(self, body, followed)

    monkeypatch.setattr(evolution._Evolution, "__init__", counted)
    raised = kernel.print_kernel(evolution.evolved(kernel.parse(text)))
    assert walks == [31, 1]
    assert "out[3] = 3" in " ".join(raised.split())

"""`area = expr;`: how large a machine is, as its description counts."""

from __future__ import annotations

import pytest

from autocomp.errors import IsaError
from autocomp.targets.simulator import isa

MACHINE = """
accelerator m {{
  param N = 4;
  {area}
  memory dram {{ kind: dram; }}
  instruction wait() {{ timing {{ role: fence; }} }}
}}
"""


def machine(area: str, **overrides: int | float) -> isa.Accelerator:
    return isa.parse(MACHINE.format(area=area), "m.isa", overrides)


def test_the_area_follows_the_parameters() -> None:
    assert machine('area = 3 * N * N + 1 : "cells";').area == 49
    assert machine("area = 3 * N * N + 1;", N=5).area == 76


def test_a_description_need_not_state_an_area() -> None:
    assert machine("").area is None


@pytest.mark.parametrize(
    ("area", "message"),
    [
        ("area = N - 4;", "the area is 0; it must be a positive number"),
        ("area = N; area = N;", "the area is stated twice"),
        ("area = M;", "M"),
    ],
)
def test_what_is_no_area_is_refused_with_its_place(area: str, message: str) -> None:
    with pytest.raises(IsaError, match=message) as caught:
        machine(area)
    assert caught.value.place is not None
    assert caught.value.place.line == 4


@pytest.mark.parametrize(("name", "larger"), [("gemmini", "SPAD_KB"), ("gemmini", "ACC_KB"), ("tiny", "TILE_ROWS")])
def test_shipped_machines_grow_with_their_array_and_memories(name: str, larger: str) -> None:
    base = isa.load(name)
    assert base.area is not None
    for parameter in ("DIM", larger):
        grown = isa.load(name, {parameter: 2 * base.parameters[parameter]})
        assert grown.area is not None
        assert grown.area > base.area

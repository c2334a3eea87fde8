"""Legal statements that are probably not meant are warned of, each where it stands."""

from __future__ import annotations

import pytest

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.derived.advice import Advice, advice

HEAD = """accelerator m {
  memory dram { kind: dram; }
  memory spad { rows: 64; row: i8[4]; }
  memory sums { rows: 64; row: i32[4]; }
  address local { field row = 13..0; memory spad; }
  address total { field row = 13..0; memory sums; }
  state held { rows: u8; }
  unit load { kind: transfer_in; }
  unit execute { kind: array; }
  unit vector { kind: serial; }
"""
SUSPICIOUS = {
    "a field narrower than its memory": "  address short { field row = 4..0; memory spad; }\n  instruction f() { }",
    "columns beyond a row": "  instruction f(a: local, n: int 1..8) on vector"
    " { semantics { for c < n: spad[a.row][c] = 1; } }",
    "a recurrence in a for": "  instruction f(a: total, b: local) on vector"
    " { semantics { for r < 4, k < 4: sums[a.row][r] = sums[a.row][r] + spad[b.row + k][r]; } }",
    "a scan in a for": "  instruction f(a: total) on vector"
    " { semantics { for r < 3, c < 4: sums[a.row + r + 1][c] = sums[a.row + r][c]; } }",
    "a role that the unit ignores": "  instruction f(a: local) on vector"
    " { semantics { spad[a.row][0] = 1; } timing { role: preload; } }",
    "tiles that have numbers": "  instruction f(tile: int 0..15, n: int 0..9) on vector"
    " { semantics { for r < 4, c < 4: sums[tile * 4 + r][c] = n; } }",
    "DRAM without a bus": "  instruction f(p: dram*, a: local) on vector"
    " { semantics { for c < 4: spad[a.row][c] = p.i8[c]; } }",
}
SOUND = {
    "a field as wide as its memory": "  address exact { field row = 5..0; memory spad; }\n  instruction f() { }",
    "columns that a requirement limits": "  instruction f(a: local, n: int 1..8) on vector"
    ' { require n <= 4 : "n is at most 4"; semantics { for c < n: spad[a.row][c] = 1; } }',
    "columns folded into rows": "  instruction f(a: local, n: int 1..8) on vector"
    " { semantics { for c < n: spad[a.row + c / 4][c % 4] = 1; } }",
    "a sum": "  instruction f(a: total, b: local) on vector"
    " { semantics { for r < 4: sums[a.row][r] = sums[a.row][r] + sum(k < 4: spad[b.row + k][r]); } }",
    "a shift towards the beginning": "  instruction f(a: total) on vector"
    " { semantics { for r < 3, c < 4: sums[a.row + r][c] = sums[a.row + r + 1][c]; } }",
    "one memory with two addresses": "  instruction f(a: total, b: total) on vector"
    " { semantics { for r < 3, c < 4: sums[a.row + r][c] = sums[b.row + r][c]; } }",
    "a load": "  instruction f(p: dram*, a: local) on load"
    " { semantics { for c < 4: spad[a.row][c] = p.i8[c]; } timing { rows: 1; } }",
}


def advice_on(text: str) -> tuple[Advice, ...]:
    return advice(isa.parse(f"{HEAD}{text}\n}}", "m.isa"))


def test_warnings(golden) -> None:  # type: ignore[no-untyped-def]
    blocks = []
    for name, text in SUSPICIOUS.items():
        (found,) = advice_on(text)
        blocks.append(f"--- {name}\n{found}\n")
    golden("\n".join(blocks))


@pytest.mark.parametrize("name", SOUND)
def test_what_is_meant_is_not_warned_of(name: str) -> None:
    assert advice_on(SOUND[name]) == ()


@pytest.mark.parametrize("name", ["gemmini", "gemmini:fp32", "gemmini:ibert", "tiny", "quad"])
def test_the_shipped_machines_have_no_warnings(name: str) -> None:
    assert advice(isa.load(name)) == ()


FAR = """accelerator far {{
  memory dram {{ kind: dram; bus: 16; latency: {latency}; }}
  memory spad {{ rows: 64; row: i8[16]; }}
  address local {{ field row = 5..0; memory spad; }}
  unit load {{ kind: transfer_in; {settings} }}
  instruction bring(p: dram*, a: local, rows: int 1..16) on load {{
    semantics {{ for r < rows, c < 16: spad[a.row + r][c] = p.i8[16 * r + c]; }}
    timing {{ rows: rows; }}
  }}
}}"""


@pytest.mark.parametrize(
    ("settings", "latency", "warned"),
    [
        ("", 100, ["unit load states no `requests`, which is 16 then"]),
        ("requests: 128;", 100, ["unit load states no `in_flight`, which is 2 then"]),
        ("requests: 128; in_flight: 2;", 100, []),  # as the machine is
        ("", 10, []),  # enough for a memory that is near
    ],
)
def test_loads_that_keep_the_bus_waiting_by_a_default_are_warned_of(
    settings: str, latency: int, warned: list[str]
) -> None:
    found = advice(isa.parse(FAR.format(settings=settings, latency=latency), "far.isa"))
    assert [warning.message.split(":")[0] for warning in found] == warned

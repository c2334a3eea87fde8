"""The expansion of an instruction is bounded, whatever its operands are."""

from __future__ import annotations

from functools import cache

import pytest
from autocomp.simulator import SimulationOptions, run_program

from autocomp.errors import IsaError
from autocomp.targets.simulator import isa, kernel

MACHINE = """accelerator m {
  memory dram { kind: dram; }
  state count { sent: i64; }
  unit worker { kind: serial; }
  unit looper { kind: expander; }
  instruction tick(n: int 0..1000000) on worker { semantics { count.sent = count.sent + 1; } timing { busy: 1; } }
  instruction ticks(n: int) on looper { expand { stream a priority 0 { for i < n: tick(i); } } }
  instruction rounds(n: int, m: int) on looper { expand {
    stream a priority 0 { for i < n, j < m { when i < 0 { tick(i); } } }
  } }
  instruction stepped(n: int, by: int) on looper { expand { stream a priority 0 { for i < n step by: tick(i); } } }
  instruction quotient(n: int) on looper { expand { stream a priority 0 { for i < 4: tick(i / n); } } }
  instruction knot() on looper { expand {
    stream a priority 0 { for i < 2 { await b.done; tick(i); } }
    stream b priority 1 { for j < 2 { await a.done; tick(j); } }
  } }
  instruction fence() { timing { role: fence; } }
}"""


@cache
def machine() -> tuple[isa.Accelerator, isa.MachineTables]:
    accelerator = isa.parse(MACHINE, "m.isa")
    return accelerator, isa.lower(accelerator)


def error_of(calls: str) -> tuple[str, str] | None:
    accelerator, tables = machine()
    text = f"void solution() {{ int64_t one = 1; {calls} fence(); }}"
    program = kernel.link(kernel.compile(kernel.parse(text), accelerator), tables)
    error = run_program(tables.machine, program, {}, SimulationOptions(max_steps=1_000_000)).error
    return None if error is None else (error.kind, error.message)


@pytest.mark.parametrize("call", ["ticks(0);", "ticks(-5);", "ticks(1000);", "stepped(10, 3);"])
def test_ordinary_bounds_are_fine(call: str) -> None:
    assert error_of(call) is None


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        ("ticks(262145);", "limit", "it expands to more than 262144 commands"),
        ("ticks(one << 40);", "limit", "counts to 1099511627776"),
        ("rounds(one << 31, one << 31);", "steps", "iterations of loops"),
        ("stepped(5, 0);", "requirement", "a step of 0"),
        ("stepped(5, -1);", "requirement", "a step of -1"),
        ("stepped(5, one << 40);", "limit", "a loop of its expansion"),
        ("quotient(0);", "division", "division by zero"),
        ("ticks(1) ; knot();", "deadlock", "wait for each other"),
    ],
)
def test_hostile_bounds_end_with_an_error_that_names_the_call(call: str, kind: str, message: str) -> None:
    error = error_of(call)
    assert error is not None
    assert error[0] == kind
    assert message in error[1]


def refused(body: str) -> str:
    text = MACHINE.replace(
        "instruction fence", f"instruction odd() on looper {{ expand {{ {body} }} }} instruction fence"
    )
    with pytest.raises(IsaError) as caught:
        isa.parse(text, "m.isa")
    return str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "stream a priority 0 after b { } stream b priority 1 after a { }",
            "a, b never start: `after` goes in a circle",
        ),
        ("stream a priority 0 after a { }", "no other stream named 'a'"),
        ("stream a priority 0 after c { } stream b priority 1 { }", "no other stream named 'c'"),
        ("stream a priority 0 { tock(1); }", "no instruction declared before named 'tock'"),
        ("stream a priority 0 { ticks(1); }", "ticks cannot be sent by a stream"),
        ("stream a priority 0 { tick(1, 2); }", "tick needs 1 arguments, 2 given"),
        ("stream a priority 0 { } stream a priority 1 { }", "stream a is declared twice"),
    ],
)
def test_streams_that_mean_nothing_are_refused_where_they_are(body: str, message: str) -> None:
    assert message in refused(body)

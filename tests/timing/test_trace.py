"""Reading traces: spelling of operands, and messages for what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp.errors import ConfigError
from autocomp.targets.simulator.trace import TraceText, parse_trace, read_trace

from .machines import machine


def parse(text: str) -> TraceText:
    return parse_trace(text, "trace", *machine("gemmini"))


def arguments(line: str) -> list[int | float]:
    _, tables = machine("gemmini")
    [(_, values, _, _)] = parse(line).trace.commands(tables.machine)
    return list(values)


def test_local_addresses_have_their_flags() -> None:
    assert arguments("mvout dram=0x10 local=acc:5+full cols=16 rows=4")[1] == 0xA0000005
    assert arguments("mvout dram=0x10 local=sp:7 cols=16 rows=4")[1] == 7
    assert arguments("preload bd=garbage c=acc:3+acc bd_cols=1 bd_rows=1 c_cols=1 c_rows=1")[:2] == [
        0xFFFFFFFF,
        0xC0000003,
    ]


def test_the_null_address_stays_null() -> None:
    assert arguments("mvin dram=0x0 local=sp:0 cols=16 rows=16")[1] == 0
    assert arguments("mvin dram=0x80 local=sp:0 cols=16 rows=16")[1] == (1 << 48) | 0x80


def test_unknown_commands_are_counted() -> None:
    assert parse("prefetch x=1\nprefetch x=2\nfence\n").unsupported == {"prefetch": 2}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("mvin dram=0x10 cols=16 rows=16", "lacks local"),
        ("mvin dram=0x10 local=sp:1 cols=16 rows=16 depth=2", "no operand depth"),
        ("mvin dram=0x10 local=xx:1 cols=16 rows=16", "names no memory"),
        ("mvin dram=0x10 local=sp:1+fast cols=16 rows=16", "unknown flag 'fast'"),
        ("mvin dram=0x10 local", "operand=value"),
        ("mvin dram=zz local=sp:1 cols=16 rows=16", "zz"),
        ("@cycle-gap", "one number"),
    ],
)
def test_a_wrong_line_is_named(line: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        parse("fence\n" + line)
    assert caught.value.place is not None
    assert caught.value.place.line == 2


def test_a_file_that_is_no_trace_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.txt.gz"
    path.write_bytes(b"no gzip")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_trace(path, *machine("gemmini"))

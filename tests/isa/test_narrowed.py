"""A prompt leaves out what the call forms that it tells never do."""

from __future__ import annotations

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.guide import brief, used_instructions
from autocomp.targets.simulator.isa.model import Accelerator

MACHINE = """
accelerator small {{
  memory dram {{ kind: dram; bus: 8; latency: 20; }}
  memory local {{ rows: 64; row: i8[4]; }}
  address place {{ field row = 31..0; memory local; }}
  state cfg {{ ready: u8; mode: u8; step: u8 = 1; stride: u32; }}
  unit load {{ kind: transfer_in; }}
  instruction configure(stride: int 0..4096 "bytes", mode: int 0..1 "a mode", step: int 1..4 "a step") on load {{
    semantics {{ cfg.ready = 1; cfg.stride = stride; cfg.mode = mode; cfg.step = step; }}
    timing {{ role: configure; }}
  }}
  instruction load(src: dram*, dst: place, rows: int 1..4) on load {{
    require cfg.ready != 0 : "loads need configure";
    require cfg.mode == 0 || rows == 1 : "only one row in mode 1";
    semantics {{
      when cfg.mode == 1 {{
        for r < rows, c < 4: local[dst.row + r][c] = 0;
      }} else when src == 0 {{
        for r < rows, c < 4: local[dst.row + r * cfg.step][c] = 0;
      }} else {{
        for r < rows, c < 4: local[dst.row + r * cfg.step][c] = src.i8[r * cfg.stride + c];
      }}
    }}
  }}
  {aliases}
}}
"""
PLAIN = "alias set_stride(stride) = configure(stride, 0, 1);"
EVERY = "alias set_stride(stride, mode) = configure(stride, mode, 1);"


def page(aliases: str, *called: str) -> str:
    machine: Accelerator = isa.parse(MACHINE.format(aliases=aliases), "small.isa")
    return brief(machine, used_instructions(machine, called, ()), called, "gemm")


def test_operands_that_no_call_changes_are_named_and_left_out() -> None:
    text = page(PLAIN, "load")
    assert "Operands: `stride` 0..4096 (bytes)." in text
    assert "Left out: mode, step." in text


def test_what_they_would_do_is_not_in_the_semantics() -> None:
    text = page(PLAIN, "load")
    assert "cfg.mode" not in text
    assert "only one row in mode 1" not in text
    assert "local[dst.row + r][c] = src == 0 ? 0 : src.i8[r * cfg.stride + c];" in text


def test_that_something_must_be_configured_stays_a_rule() -> None:
    assert "Loads need configure." in page(PLAIN, "load")


def test_all_is_told_where_a_call_sets_it() -> None:
    for text in (page(EVERY, "load"), page(PLAIN, "load", "configure")):
        assert "`mode` 0..1 (a mode)" in text
        assert "cfg.mode == 1" in text
        assert "Only one row in mode 1." in text


def test_a_pooled_convolution_is_told_of_pooling() -> None:
    machine = isa.load("gemmini", {}, ())
    only = used_instructions(machine, ("mvout",), ())
    assert "pool_size" in brief(machine, only, ("configure_store", "mvout"), "conv2d")
    plain = brief(machine, only, ("config_st", "mvout"), "gemm")
    assert "Pooling needs" not in plain
    assert "move_in_tile" not in plain

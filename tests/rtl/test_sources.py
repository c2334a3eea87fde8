"""The files that a design needs, and the memories that have to be made for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp.errors import ConfigError
from autocomp.targets.simulator.rtl.model.macros import macro_module, read_macros
from autocomp.targets.simulator.rtl.model.ports import Port, read_ports
from autocomp.targets.simulator.rtl.model.sources import find_sources


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_sv", ".sv").replace("_v", ".v")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_only_what_the_top_module_mentions_is_taken(tmp_path: Path) -> None:
    write(
        tmp_path,
        top_sv="module Top; Leaf leaf(); endmodule",
        sub__leaf_v="module Leaf; import sizes::*; endmodule",
        zizes_sv="package sizes; endpackage",
        other_sv="module Harness; Top top(); endmodule",
    )
    found = find_sources(tmp_path, "Top")
    assert [path.name for path in found.files] == ["zizes.sv", "leaf.v", "top.sv"]


def test_comments_and_strings_mention_nothing(tmp_path: Path) -> None:
    write(
        tmp_path,
        top_sv='module Top; /* Leaf */ initial $display("Leaf"); // Leaf\nendmodule',
        leaf_sv="module Leaf; endmodule",
    )
    assert len(find_sources(tmp_path, "Top").files) == 1


def test_a_macro_without_a_file_is_made_and_one_with_a_file_is_not(tmp_path: Path) -> None:
    write(tmp_path, top_sv="module Top; a_ext a(); b_ext b(); endmodule", b_sv="module b_ext; endmodule")
    lines = "".join(f"name {name} depth 8 width 16 ports read,write\n" for name in ("a_ext", "b_ext", "unused_ext"))
    (tmp_path / "chip.mems.conf").write_text(lines)
    found = find_sources(tmp_path, "Top")
    assert found.macros == ("a_ext",)
    assert "module a_ext(" in found.generated
    assert "unused_ext" not in found.generated


def test_a_module_of_two_files_is_refused_only_if_it_is_needed(tmp_path: Path) -> None:
    write(tmp_path, top_sv="module Top; endmodule", a_sv="module Leaf; endmodule", b_sv="module Leaf; endmodule")
    assert len(find_sources(tmp_path, "Top").files) == 1
    (tmp_path / "top.sv").write_text("module Top; Leaf leaf(); endmodule")
    with pytest.raises(ConfigError, match="Leaf is defined in"):
        find_sources(tmp_path, "Top")


def test_a_top_module_that_is_not_there_is_named_with_its_nearest(tmp_path: Path) -> None:
    write(tmp_path, top_sv="module Accelerator; endmodule")
    with pytest.raises(ConfigError, match="no module Acelerator") as caught:
        find_sources(tmp_path, "Acelerator")
    assert "Accelerator" in (caught.value.hint or "")


def test_a_macro_has_the_ports_that_its_list_names() -> None:
    (macro,) = read_macros("name m_ext depth 512 width 64 ports mwrite,read mask_gran 8\n", "x.mems.conf")
    module = macro_module(macro)
    for port in ("W0_addr", "W0_clk", "W0_en", "W0_data", "W0_mask", "R0_addr", "R0_clk", "R0_en", "R0_data"):
        assert port in module
    assert "input [8:0] W0_addr" in module
    assert "input [7:0] W0_mask" in module


@pytest.mark.parametrize(
    "line",
    [
        "name m depth 8 width 8",
        "name m depth 8 width 8 ports wread",
        "name m depth 0 width 8 ports rw",
        "name m depth 8 width 12 ports mrw mask_gran 8",
        "depth 8 width 8 ports rw",
        "name m depth",
    ],
)
def test_a_line_that_is_no_macro_is_refused_at_its_place(line: str) -> None:
    with pytest.raises(ConfigError, match=r"x\.mems\.conf:2:1"):
        read_macros(f"\n{line}\n", "x.mems.conf")


def test_ports_are_read_from_headers_of_verilator_4_and_5() -> None:
    header = "VL_IN8(&clock,0,0);\n  VL_IN64(rs1,63,0);\n  VL_OUTW(&data,127,0,4);\n  VL_SIG8(inside,0,0);\n"
    assert read_ports(header) == (Port("clock", 1, True), Port("rs1", 64, True), Port("data", 128, False))


@pytest.mark.parametrize("line", ["VL_INOUT8(&pad,0,0);", "VL_IN8((&lanes)[4],7,0);"])
def test_ports_that_no_driver_can_connect_are_refused(line: str) -> None:
    with pytest.raises(ConfigError, match="cannot be driven"):
        read_ports(line)

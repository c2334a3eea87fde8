"""Roles of ports follow from their names, whatever their prefixes and widths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autocomp.errors import ConfigError
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.rtl.model.interface import find_interface
from autocomp.targets.simulator.rtl.model.ports import Port

PORTS = Path(__file__).resolve().parents[2] / "benchmarks" / "rtl" / "gemmini_ports.md"


def listed() -> Iterator[Port]:
    rows = (line.strip("| \n").split(" | ") for line in PORTS.read_text().splitlines() if line.startswith("| "))
    for row in rows:
        if len(row) == 3 and row[1] in ("input", "output"):
            yield Port(row[0].replace("*", "0"), int(row[2]), row[1] == "input")


def test_the_ports_of_a_generated_accelerator_have_their_roles() -> None:
    interface = find_interface(tuple(listed()), isa.load("gemmini"))
    assert interface.roles["a_valid"] == "auto_spad_id_out_a_valid"
    assert interface.roles["busy"] == "io_busy"
    assert interface.words == {
        "funct": "io_cmd_bits_inst_funct",
        "rs1": "io_cmd_bits_rs1",  # not the register's number, io_cmd_bits_inst_rs1
        "rs2": "io_cmd_bits_rs2",
    }
    assert interface.bus_bytes == 16
    assert interface.held["io_cmd_bits_status_prv"] == interface.held["io_cmd_bits_status_dprv"] == 3
    assert interface.held["io_resp_ready"] == 1


@pytest.mark.parametrize("missing", ["io_busy", "auto_spad_id_out_d_valid", "io_cmd_valid", "io_cmd_bits_rs2", "clock"])
def test_a_missing_port_is_named(missing: str) -> None:
    ports = tuple(port for port in listed() if port.name != missing)
    with pytest.raises(ConfigError, match=missing.rpartition("_")[2]):
        find_interface(ports, isa.load("gemmini"))


@pytest.mark.parametrize("name", ["clock", "reset"])
def test_clock_and_reset_are_known_by_their_exact_names(name: str) -> None:
    ports = tuple(Port(f"io_{p.name}" if p.name == name else p.name, p.bits, p.is_input) for p in listed())
    with pytest.raises(ConfigError, match=f"an input named {name}; it has io_{name}"):
        find_interface(ports, isa.load("gemmini"))


def test_a_second_master_is_refused() -> None:
    twin = tuple(Port(p.name.replace("spad", "other"), p.bits, p.is_input) for p in listed() if "spad" in p.name)
    with pytest.raises(ConfigError, match="several: auto_spad_id_out_a_valid, auto_other_id_out_a_valid"):
        find_interface((*listed(), *twin), isa.load("gemmini"))


def test_a_machine_without_encodings_has_no_interface() -> None:
    with pytest.raises(ConfigError, match="declares no encoding"):
        find_interface(tuple(listed()), isa.load("tiny"))

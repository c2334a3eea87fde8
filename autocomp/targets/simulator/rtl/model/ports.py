"""Ports of a design's top module, as Verilator elaborated them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from autocomp.errors import ConfigError

_DECLARATION = re.compile(r"\s*VL_(IN|OUT|INOUT)(?:8|16|64|W)?\((.*)\);")
_PLAIN = re.compile(r"&?([A-Za-z_]\w*),(\d+),0(?:,\d+)?")


@dataclass(frozen=True)
class Port:
    """A port of `bits` bits, seen from the design: an input is what a driver pokes."""

    name: str
    bits: int
    is_input: bool


def read_ports(header: str) -> tuple[Port, ...]:
    """The ports that the class in a generated header declares (Verilator 4 and 5).

    Raises ConfigError for a bidirectional port or an array of ports, which no driver can connect.
    """
    ports = []
    for line in header.splitlines():
        declaration = _DECLARATION.match(line)
        if declaration is None:
            continue
        direction, text = declaration.groups()
        plain = _PLAIN.fullmatch(text.replace(" ", ""))
        if plain is None or direction == "INOUT":
            raise ConfigError(
                f"the top module has a port that cannot be driven: {text}",
                hint="ports are inputs or outputs of one vector, [N:0]",
            )
        ports.append(Port(plain.group(1), int(plain.group(2)) + 1, direction == "IN"))
    return tuple(ports)

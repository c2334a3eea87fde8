"""Memory macros that a generator leaves to the technology: behavioural modules from the list it writes (.mems.conf).

A line is `name NAME depth D width W ports LIST [mask_gran G]`; the list has read, write, mwrite, rw and mrw. Reads are
synchronous: the address is kept at the clock's edge, the data follow it in the next cycle.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from autocomp.errors import ConfigError, Place

_KINDS = ("read", "write", "mwrite", "rw", "mrw")


@dataclass(frozen=True)
class Macro:
    """A memory of `depth` words of `width` bits. `mask_bits` are the bits that one bit of a mask covers."""

    name: str
    depth: int
    width: int
    ports: tuple[str, ...]
    mask_bits: int


def read_macros(text: str, source: str) -> tuple[Macro, ...]:
    """The macros of a list. Raises ConfigError with the place of a line that is not as described."""
    return tuple(_macro(line, source, n) for n, line in enumerate(text.splitlines(), 1) if line.strip())


def _macro(line: str, source: str, number: int) -> Macro:
    words = line.split()
    fields = dict(zip(words[::2], words[1::2], strict=False))
    ports = tuple(fields.get("ports", "").split(","))
    sizes = [fields.get(key, "") for key in ("depth", "width")]
    masks = fields.get("mask_gran", sizes[1])
    good = len(words) % 2 == 0 and re.fullmatch(r"[A-Za-z_]\w*", fields.get("name", ""))
    if not good or not all(size.isdecimal() and int(size) > 0 for size in (*sizes, masks)) or set(ports) - set(_KINDS):
        raise ConfigError(
            "not a memory macro",
            place=Place(source, number, 1, line, max(1, len(line))),
            hint=f"expected: name NAME depth D width W ports LIST [mask_gran G], ports of {', '.join(_KINDS)}",
        )
    depth, width, mask = int(sizes[0]), int(sizes[1]), int(masks)
    if width % mask:
        raise ConfigError(
            f"a mask of {mask} bits does not divide {width}", place=Place(source, number, 1, line, len(line))
        )
    return Macro(fields["name"], depth, width, ports, mask)


def macro_module(macro: Macro) -> str:
    """The behavioural SystemVerilog module of a macro, with the generator's port names (RW0_addr, R0_en, W0_mask …)."""
    address = max(1, (macro.depth - 1).bit_length())
    declarations: list[str] = []
    body = [f"  reg [{macro.width - 1}:0] words [0:{macro.depth - 1}];"]
    counts = {"R": 0, "W": 0, "RW": 0}
    for kind in macro.ports:
        prefix = {"read": "R", "rw": "RW", "mrw": "RW"}.get(kind, "W")
        port = f"{prefix}{counts[prefix]}"
        counts[prefix] += 1
        declarations += [f"input [{address - 1}:0] {port}_addr", f"input {port}_clk", f"input {port}_en"]
        reads, writes, masked = prefix != "W", prefix != "R", kind.startswith("m")
        read_data, write_data = (f"{port}_rdata", f"{port}_wdata") if prefix == "RW" else (f"{port}_data",) * 2
        mask = f"{port}_wmask" if prefix == "RW" else f"{port}_mask"
        mode = f"{port}_wmode" if prefix == "RW" else ""
        if mode:
            declarations.append(f"input {mode}")
        if writes:
            declarations.append(f"input [{macro.width - 1}:0] {write_data}")
            if masked:
                declarations.append(f"input [{macro.width // macro.mask_bits - 1}:0] {mask}")
            body += _write(macro, port, f"{port}_en && {mode}" if mode else f"{port}_en", write_data, mask, masked)
        if reads:
            declarations.append(f"output [{macro.width - 1}:0] {read_data}")
            body += [
                f"  reg [{address - 1}:0] {port}_read;",
                f"  always @(posedge {port}_clk) if ({port}_en{f' && !{mode}' if mode else ''}) "
                f"{port}_read <= {port}_addr;",
                f"  assign {read_data} = words[{port}_read];",
            ]
    return "\n".join([f"module {macro.name}(", "  " + ",\n  ".join(declarations), ");", *body, "endmodule", ""])


def _write(macro: Macro, port: str, enable: str, data: str, mask: str, masked: bool) -> list[str]:
    if not masked:
        return [f"  always @(posedge {port}_clk) if ({enable}) words[{port}_addr] <= {data};"]
    pieces = macro.width // macro.mask_bits
    return [
        f"  integer {port}_piece;",
        f"  always @(posedge {port}_clk) if ({enable})",
        f"    for ({port}_piece = 0; {port}_piece < {pieces}; {port}_piece = {port}_piece + 1)",
        f"      if ({mask}[{port}_piece])",
        f"        words[{port}_addr][{port}_piece * {macro.mask_bits} +: {macro.mask_bits}]",
        f"          <= {data}[{port}_piece * {macro.mask_bits} +: {macro.mask_bits}];",
    ]

"""Bits of commands are data of the description: what is encoded decodes to itself, and vectors made by hand hold."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocomp.errors import IsaError
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.language.encoding import Operand
from autocomp.targets.simulator.isa.model import Accelerator, Instruction, Parameter
from autocomp.targets.simulator.isa.tree import Name

MACHINE = isa.load("gemmini")
NORMALISING = isa.load("gemmini:ibert")
MACHINES = {machine.full_name: machine for machine in (MACHINE, NORMALISING)}
LOCAL = "accelerator m {{ memory dram {{ kind: dram; }} encoding {{ op: 8; x: 32; }} {body} }}"


def parse(body: str) -> Accelerator:
    return isa.parse(LOCAL.format(body=body), "m.isa")


def floats() -> st.SearchStrategy[float]:
    """Values of binary32, infinities included."""
    return st.floats(width=32, allow_nan=False)


def values_of(instruction: Instruction, parameter: Parameter) -> st.SearchStrategy[Operand]:
    if parameter.kind == "float":
        return floats()
    if parameter.low is not None and parameter.high is not None:
        return st.integers(parameter.low, parameter.high)
    field = next(f for f in instruction.encoding if f.value == Name(parameter.name))
    return st.integers(0, (1 << (field.high - field.low + 1)) - 1)


@st.composite
def commands(draw: st.DrawFn, machine: str) -> tuple[str, dict[str, Operand]]:
    encoded = [i.name for i in MACHINES[machine].instructions if i.encoding]
    instruction = MACHINES[machine].instruction(draw(st.sampled_from(encoded)))
    assert instruction is not None
    carried = [p for p in instruction.parameters if p.name not in instruction.implied]
    operands = {p.name: draw(values_of(instruction, p)) for p in carried}
    return instruction.name, operands | {name: operands[carrier] for name, carrier in instruction.implied.items()}


@given(commands("gemmini"))
def test_a_command_decodes_to_what_was_encoded(command: tuple[str, dict[str, Operand]]) -> None:
    assert isa.decode_command(MACHINE, isa.encode_command(MACHINE, *command)) == command


@given(commands("gemmini:ibert").filter(lambda c: c[1].get("act", 0) < 4))
def test_signed_operands_come_back_with_their_sign(command: tuple[str, dict[str, Operand]]) -> None:
    assert isa.decode_command(NORMALISING, isa.encode_command(NORMALISING, *command)) == command


@given(commands("gemmini"), st.integers(0, (1 << 26) - 1))
def test_bits_that_no_field_fills_do_not_matter(command: tuple[str, dict[str, Operand]], noise: int) -> None:
    words = isa.encode_command(MACHINE, *command)
    instruction = MACHINE.instruction(command[0])
    assert instruction is not None
    filled = 0
    for field in instruction.encoding:
        if field.word == "rs1":
            filled |= (1 << (field.high + 1)) - (1 << field.low)
    words["rs1"] |= noise & ~filled
    assert isa.decode_command(MACHINE, words) == command


def test_vectors_worked_out_by_hand() -> None:
    one = struct.unpack("<I", struct.pack("<f", 1.0))[0]
    assert isa.encode_command(
        MACHINE, "move_in", {"id": 2, "src": 0x8000_1000, "dst": 0xC000_0005, "cols": 64, "rows": 16}
    ) == {"funct": 14, "rs1": 0x8000_1000, "rs2": 16 << 48 | 64 << 32 | 0xC000_0005}
    assert isa.encode_command(
        MACHINE,
        "configure_load",
        {"id": 1, "stride": 512, "scale": 1.0, "shrunk": 1, "block_stride": 16, "pixel_repeats": 1},
    ) == {"funct": 0, "rs1": one << 32 | 16 << 16 | 1 << 8 | 1 << 3 | 1 << 2 | 1, "rs2": 512}
    assert isa.encode_command(MACHINE, "flush", {"skip": 1}) == {"funct": 7, "rs1": 1, "rs2": 0}


def test_the_two_computes_differ_in_their_function_code() -> None:
    operands: dict[str, Operand] = {"a": 3, "bd": 0xFFFF_FFFF, "a_cols": 7, "a_rows": 5, "bd_cols": 16, "bd_rows": 5}
    codes = [isa.encode_command(MACHINE, "compute", {**operands, "flip": flip})["funct"] for flip in (0, 1)]
    assert codes == [5, 4]


def test_the_bits_that_keep_a_scale_survive() -> None:
    keep = struct.unpack("<f", b"\xff\xff\xff\xff")[0]
    store = MACHINE.instruction("configure_store")
    assert store is not None
    operands: dict[str, Operand] = {p.name: 0 for p in store.parameters}
    words = isa.encode_command(MACHINE, "configure_store", {**operands, "acc_scale": keep})
    assert words["rs2"] == 0xFFFF_FFFF << 32


def test_an_operand_that_does_not_fit_is_refused() -> None:
    machine = parse("instruction f(n: int) { encoding { op = 1; x[3..0] = n; } }")
    with pytest.raises(IsaError, match=r"f: 16 does not fit in bits 3\.\.0 of x"):
        isa.encode_command(machine, "f", {"n": 16})


def test_an_operand_out_of_its_range_is_refused_both_ways() -> None:
    machine = parse("instruction f(n: int 1..4) { encoding { op = 1; x[3..0] = n; } }")
    with pytest.raises(IsaError, match="n is 9; expected 1 to 4"):
        isa.encode_command(machine, "f", {"n": 9})
    with pytest.raises(IsaError, match="n is 9; expected 1 to 4"):
        isa.decode_command(machine, {"op": 1, "x": 9})


def test_an_operand_without_bits_is_the_one_that_implies_it() -> None:
    machine = parse("instruction f(n: int 0..7, m: int 0..7) { encoding { op = 1; x = n; m = n; } }")
    words = isa.encode_command(machine, "f", {"n": 5, "m": 5})
    assert isa.decode_command(machine, words) == ("f", {"n": 5, "m": 5})
    with pytest.raises(IsaError, match="f: m and n share their bits and must be equal"):
        isa.encode_command(machine, "f", {"n": 5, "m": 6})


def test_what_has_no_encoding_is_named() -> None:
    with pytest.raises(IsaError, match=r"no encoding of 'fence'[\s\S]*move_in"):
        isa.encode_command(MACHINE, "fence", {})
    with pytest.raises(IsaError, match="no instruction of gemmini has the bits funct=0x7f"):
        isa.decode_command(MACHINE, {"funct": 127, "rs1": 0, "rs2": 0})


def test_two_instructions_of_the_same_bits_cannot_be_told_apart() -> None:
    machine = parse("instruction f() { encoding { op = 1; } } instruction g() { encoding { x[0] = 1; op = 1; } }")
    with pytest.raises(IsaError, match="f and g of m has the bits"):
        isa.decode_command(machine, {"op": 1, "x": 1})


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        ("y = n;", "no command word called 'y'|unknown command word 'y'|'y'"),
        ("x[32] = n;", "32 is out of range: 0 to 31"),
        ("x[0..3] = n;", "the high bit first"),
        ("x[3..0] = n; x[3] = 1;", r"bits 3\.\.3 of x overlap"),
        ("op = 256; x = n;", r"256 does not fit in bits 7\.\.0 of op"),
        ("op = 1;", "'n' is in 0 fields; expected exactly one"),
        ("x[3..0] = n; x[7..4] = n;", "'n' is in 2 fields"),
        ("x = n & 1;", "different values of n need different numbers"),
        ("x = n + m;", "a function of one operand"),
        ("x = m + 1;", "needs an integer of at most 256 values"),
        ("x = n; m = m;", "m is an operand: it is implied by the name of another operand"),
        ("x = n; m = 3;", "m is an operand: it is implied by the name of another operand"),
        ("x = 1; n = m; m = n;", "'n' is in 0 fields"),
    ],
)
def test_an_encoding_that_cannot_be_read_back_is_an_error(encoding: str, message: str) -> None:
    with pytest.raises(IsaError, match=message):
        parse(f"instruction f(n: int 0..7, m: int) {{ encoding {{ {encoding} }} }}")

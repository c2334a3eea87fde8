"""Tiles and rates of contractions: derived where ranges tell, stated where they cannot, never too low a rate."""

from __future__ import annotations

import pytest

from autocomp.errors import IsaError
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.derived.contractions import Contraction, contractions, peak

HEAD = """accelerator m {
  memory dram { kind: dram; }
  memory x { rows: 64; row: i8[16]; }
  memory y { rows: 64; row: i8[16]; }
  memory z { rows: 64; row: i32[16]; }
  address at { field row = 5..0; memory z; }
  state cfg { rows: u8; }
  unit matrix { kind: serial; }
  unit vector { kind: serial; }
  unit grid { kind: array; }
"""
PRODUCT = "for i < {rows}, j < {cols}: z[c.row + i][j] = sum(k < {depth}: x[i][k] * y[k][j]);"


def machine(*instructions: str) -> isa.Accelerator:
    return isa.parse(HEAD + "\n".join(instructions) + "\n}")


def contract(parameters: str, unit: str, timing: str, rows: str, cols: str, depth: str, more: str = "") -> str:
    body = PRODUCT.format(rows=rows, cols=cols, depth=depth)
    name = f"f_{unit}"
    return (
        f"  instruction {name}(c: at{parameters}) on {unit} {{ semantics {{ {body} }} timing {{ {timing} }} {more} }}"
    )


def only(accelerator: isa.Accelerator) -> Contraction:
    (found,) = contractions(accelerator)
    return found


def test_fixed_sizes_are_a_tile() -> None:
    found = only(machine(contract("", "matrix", "busy: 16;", "16", "16", "8")))
    assert found.tile == (16, 16, 8)
    assert found.rate == 16 * 16 * 8 // 16


@pytest.mark.parametrize("row", ["c.row + 4 * i", "(c.row + i) % 64"], ids=["rows apart", "rows of a ring"])
def test_rows_of_a_result_may_be_apart_and_wrap(row: str) -> None:
    body = f"for i < 16, j < 16: z[{row}][j] = z[{row}][j] + x[0][i] * y[0][j];"
    assert only(machine(f"  instruction f(c: at) on matrix {{ semantics {{ {body} }} }}")).tile == (16, 16, 1)


def test_a_vector_of_sums_is_one_row() -> None:
    body = "for j < 16: z[c.row][j] = z[c.row][j] + sum(k < 4: x[0][k] * y[j][k]);"
    assert only(machine(f"  instruction f(c: at) on matrix {{ semantics {{ {body} }} }}")).tile == (1, 16, 4)


def test_a_command_without_a_time_needs_one_cycle() -> None:
    assert only(machine(contract("", "matrix", "", "16", "16", "16"))).rate == 16**3


def test_the_rate_is_that_of_the_best_size_within_the_ranges() -> None:
    ranged = contract(", n: int 1..15", "matrix", "busy: ceil_div(n, 4);", "n", "16", "16")
    assert only(machine(ranged)).rate == 4 * 16 * 16  # of 4, 8 or 12 rows; 15 have less


def test_rows_enter_an_array_one_a_cycle() -> None:
    assert only(machine(contract(", n: int 1..16", "grid", "rows: n;", "n", "16", "8"))).rate == 16 * 8


def test_an_array_is_as_fast_as_its_stated_steps() -> None:
    assert only(machine(contract(", n: int 1..16", "grid", "rows: 1;", "n", "16", "8"))).rate == 16 * 16 * 8


def test_sums_of_sums_count_all_of_their_products() -> None:
    body = "for i < 4, j < 16: z[c.row + i][j] = sum(r < 3: sum(k < 16: x[i + r][k] * y[k][j]));"
    found = only(machine(f"  instruction f(c: at) on matrix {{ semantics {{ {body} }} timing {{ busy: 12; }} }}"))
    assert found.rate == 4 * 16 * 3 * 16 // 12
    assert (found.tile, found.unknown) == (None, "depth")


def test_of_two_branches_the_one_with_more_products_counts() -> None:
    few = PRODUCT.format(rows="16", cols="16", depth="4")
    many = PRODUCT.format(rows="16", cols="16", depth="16")
    body = f"when n == 0 {{ {few} }} else {{ {many} }}"
    text = f"  instruction f(c: at, n: int 0..1) on matrix {{ semantics {{ {body} }} timing {{ busy: 16; }} }}"
    assert only(machine(text)).rate == 16 * 16


def test_units_multiply_side_by_side() -> None:
    both = machine(
        contract("", "matrix", "busy: 16;", "16", "16", "16"), contract("", "vector", "busy: 16;", "1", "16", "16")
    )
    assert peak(both) == 256 + 16


def test_a_size_from_a_configured_field_has_the_range_of_what_sets_it() -> None:
    configure = "  instruction set(n: int 1..12) { semantics { cfg.rows = n; } }"
    found = only(machine(configure, contract("", "matrix", "busy: 12;", "cfg.rows", "16", "16")))
    assert (found.tile, found.rate) == ((12, 16, 16), 256)


@pytest.mark.parametrize(("most", "rate"), [(16, 16 * 8), (1 << 20, (1 << 20) * 16 * 8)])
def test_a_time_from_a_configured_field_is_that_of_the_same_size(most: int, rate: int) -> None:
    """Of a field with too many values to try, products and time are each at their best."""
    configure = f"  instruction configure(n: int 1..{most}) {{ semantics {{ cfg.rows = n; }} }}"
    found = only(machine(configure, contract("", "matrix", "busy: cfg.rows;", "cfg.rows", "16", "8")))
    assert found.rate == rate


def test_what_has_no_range_has_no_rate_and_bounds_nothing() -> None:
    found = machine(contract(", n: int", "matrix", "busy: 16;", "n", "16", "16"))
    assert (only(found).tile, only(found).rate, only(found).unknown, peak(found)) == (None, None, "rows", 0)


def test_what_cannot_be_derived_is_stated() -> None:
    more = "contraction { rows: 8; peak: 200; }"
    found = only(machine(contract(", n: int", "matrix", "busy: 16;", "n", "16", "16", more)))
    assert (found.tile, found.rate, found.stated) == ((8, 16, 16), 200, True)


def test_an_unknown_size_is_an_error() -> None:
    with pytest.raises(IsaError, match="did you mean 'columns'"):
        machine(contract("", "matrix", "", "4", "4", "4", "contraction { column: 8; }"))

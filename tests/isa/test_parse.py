"""A description ends up in the model with parameters folded in and names resolved."""

from __future__ import annotations

import pytest

from autocomp.errors import IsaError
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.isa.tree import Name, Number

MINIMAL = "accelerator m {{ memory dram {{ kind: dram; }} {body} instruction nothing() {{ }} }}"


def parse(body: str, **overrides: float) -> Accelerator:
    return isa.parse(MINIMAL.format(body=body), "m.isa", overrides)


def test_parameters_fold_into_constants_and_sizes() -> None:
    machine = parse("param N = 8; const ROWS = N * 1024 / 16; memory s { rows: ROWS; row: i8[16]; }")
    assert machine.constants["ROWS"] == 512
    assert machine.memory("s").rows == 512


def test_an_override_reaches_everything_derived(systolic: Accelerator) -> None:
    wide = isa.load("gemmini", {"DIM": 32, "SPAD_KB": 512})
    assert (systolic.memory("spad").rows, systolic.memory("spad").cols) == (16384, 16)
    assert (wide.memory("spad").rows, wide.memory("spad").cols) == (16384, 32)
    assert wide.memory("acc").rows == 512
    assert wide.constants["MAX_BLOCK_LEN"] == 2
    rows = next(p for p in wide.instruction("move_in").parameters if p.name == "rows")
    assert (rows.low, rows.high) == (1, 32)
    assert isa.lower(wide).instructions["move_in"] >= 0
    assert wide.digest != systolic.digest


def test_a_description_is_read_once() -> None:
    body = "param N = 8; param X = 0.5;"
    assert parse(body, N=4, X=1.5) is parse(body, X=1.5, N=4)
    assert parse(body, N=4) is not parse(body, N=8)
    assert parse(body, X=1) is not parse(body, X=1.0)


def test_an_override_must_be_sensible() -> None:
    with pytest.raises(IsaError, match="power of two"):
        isa.load("gemmini", {"DIM": 12})
    with pytest.raises(IsaError, match=r"no parameter named 'DIMM'[\s\S]*did you mean 'DIM'"):
        isa.load("gemmini", {"DIMM": 12})
    with pytest.raises(IsaError, match="is an integer"):
        isa.load("gemmini", {"DIM": 16.5})


def test_settings_are_numbers_or_words() -> None:
    machine = parse("host { issue: 1 + 1; } unit u { entries: 4; kind: array; }")
    assert machine.settings == {"host.issue": 2}
    assert machine.units[0].settings == {"entries": 4, "kind": "array"}


def test_timing_properties_are_expressions_or_words() -> None:
    text = "unit u { kind: transfer_in; } instruction f(n: int 0..4) on u { timing { role: transfer; rows: n; } }"
    instruction = parse(text).instruction("f")
    assert instruction is not None
    assert instruction.words == {"role": "transfer"}
    assert instruction.timing == {"rows": Name("n")}


def test_call_forms_of_one_name_differ_in_their_number_of_arguments(systolic: Accelerator) -> None:
    assert [len(form.parameters) for form in systolic.forms("config_ld")] == [4, 3]
    form = systolic.alias("config_ld", 3)
    assert form is not None
    assert form.expansion[0][1][4] == Number(16)
    assert systolic.alias("config_ld", 5) is None


def test_every_call_of_the_dialects_table_has_a_form(systolic: Accelerator) -> None:
    table = {
        "config_ex": 5, "config_ld": 4, "config_st": 2, "mvin": 4, "mvin2": 4, "mvin3": 4, "compute_preloaded": 6,
        "compute_accumulated": 6, "mvout": 4, "gemmini_fence": 0, "gemmini_extended_config_ex": 6,
        "gemmini_extended_config_st": 3, "gemmini_extended3_config_ld": 4, "gemmini_extended4_config_ld": 5,
        "gemmini_extended_preload": 6, "gemmini_extended_compute_preloaded": 6,
        "gemmini_extended_compute_accumulated": 6, "gemmini_extended_mvin": 4, "gemmini_extended_mvin2": 4,
        "gemmini_extended_mvin3": 4, "gemmini_extended_mvout": 4, "gemmini_flush": 1,
    }  # fmt: skip
    assert [name for name, count in table.items() if systolic.alias(name, count) is None] == []
    assert systolic.instruction("preload") is not None
    assert systolic.instruction("fence") is not None


def test_traces_have_spellings_of_their_own(systolic: Accelerator) -> None:
    form = systolic.trace_form("config_ex")
    assert form is not None
    assert form.parameters[:2] == ("dataflow", "act")
    assert len(form.parameters) == 9
    space = systolic.space("local")
    assert dict(space.text_names) == {"sp": "spad", "acc": "acc"}
    assert dict(space.text_flags) == {"acc": "accumulate", "full": "full"}
    assert space.text_none == "garbage"


def test_functions_expand_where_they_are_used() -> None:
    machine = parse(
        "function twice(x) = 2 * x; register r { rows: 4; row: i32[4]; }"
        "instruction f(n: int 0..1) { let shifted(i) = twice(i) + n; semantics { for i < 2: r[i][0] = shifted(i); } }"
    )
    from autocomp.targets.simulator.isa.show import show_statements

    assert list(show_statements(machine.instructions[0].body)) == ["for i < 2: r[i][0] = 2 * i + n;"]


def test_one_file_loads_from_a_path_and_by_name(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "mine.isa"
    path.write_text(MINIMAL.format(body=""))
    assert isa.load(path).name == "m"
    assert isa.load("mine", extra_paths=[tmp_path]).name == "m"

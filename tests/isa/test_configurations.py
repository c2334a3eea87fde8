"""Named sets of parameter values, and declarations that depend on parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp.errors import ConfigError, IsaError
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.isa.tree import Call, Element, For, Number, Sum

TEXT = """
accelerator m {
  param N = 4;
  param FLOAT = 0;
  configuration small { doc "Half the size."; N = 2; }
  configuration real { FLOAT = 1; N = 8; }
  type elem = FLOAT ? f32 : i8;
  memory dram { kind: dram; }
  memory s { rows: 16; row: elem[N]; }
  address row_of { field row = 31..0; memory s; }
  function fit(x) = FLOAT ? x : saturate<i8>(x);
  instruction double(dst: row_of, src: dram*) {
    semantics { for c < N: s[dst.row][c] = fit(src.elem[c] + src.elem[c]); }
  }
  when FLOAT {
    const HALF = 0.5;
    instruction halve(dst: row_of) { semantics { for c < N: s[dst.row][c] = s[dst.row][c] * HALF; } }
  }
}
"""


def machine(configuration: str = "", **overrides: float) -> Accelerator:
    return isa.parse(TEXT, "m.isa", overrides, configuration)


def test_a_configuration_sets_parameters() -> None:
    assert machine("small").parameters == {"N": 2, "FLOAT": 0}
    assert machine("real").parameters == {"N": 8, "FLOAT": 1}
    assert [(c.name, c.doc) for c in machine().configurations] == [("small", "Half the size."), ("real", "")]


def test_overrides_win_over_the_configuration() -> None:
    chosen = machine("real", N=16)
    assert chosen.parameters == {"N": 16, "FLOAT": 1}
    assert chosen.full_name == "m:real"
    assert machine().full_name == "m"


def test_the_digest_is_that_of_the_parameters_however_they_were_given() -> None:
    assert machine("small").digest == machine(N=2).digest
    assert machine("small").digest != machine().digest


def test_a_file_or_name_is_followed_by_a_colon_and_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "mine.isa").write_text(TEXT)
    assert isa.load("mine:small", extra_paths=[tmp_path]).parameters["N"] == 2
    assert isa.load(tmp_path / "mine.isa:real").configuration == "real"
    odd = tmp_path / "a:b.isa"
    odd.write_text(TEXT)
    assert isa.load(odd).configuration == ""
    with pytest.raises(ConfigError, match="no accelerator named 'theirs'"):
        isa.load("theirs:small", extra_paths=[tmp_path])


@pytest.mark.parametrize("name", ["smal", "Small", "smalls"])
def test_an_unknown_configuration_is_answered_with_the_closest(name: str) -> None:
    with pytest.raises(IsaError, match=f"no configuration named '{name}'[\\s\\S]*did you mean 'small'"):
        machine(name)


def test_every_configuration_is_checked_whichever_is_selected() -> None:
    with pytest.raises(IsaError, match=r"no parameter named 'M'"):
        isa.parse(TEXT.replace("N = 2;", "M = 2;"), "m.isa")
    with pytest.raises(IsaError, match="configuration small is declared twice"):
        isa.parse(TEXT.replace("configuration real", "configuration small"), "m.isa")
    with pytest.raises(IsaError, match="N is set twice"):
        isa.parse(TEXT.replace("N = 2;", "N = 2; N = 3;"), "m.isa")


def test_types_and_arithmetic_follow_parameters() -> None:
    assert machine().types["elem"] == machine().memory("s").element == "i8"
    assert machine("real").memory("s").element == "f32"
    for name, saturates in (("", True), ("real", False)):
        loop = machine(name).instructions[0].body[0]
        assert isinstance(loop, For)
        assert isinstance(loop.body[0].value, Call) is saturates  # type: ignore[union-attr]
        isa.lower(machine(name))


def test_declarations_can_depend_on_parameters() -> None:
    assert [i.name for i in machine().instructions] == ["double"]
    assert [i.name for i in machine("real").instructions] == ["double", "halve"]
    assert "HALF" not in machine().constants


def test_a_when_that_parameters_decide_leaves_no_trace() -> None:
    text = TEXT.replace("semantics {", "semantics { when FLOAT { s[0][0] = 1.5; } else { s[0][0] = 1; }", 1)
    for name in ("", "real"):
        body = isa.parse(text, "m.isa", None, name).instructions[0].body
        assert [type(statement).__name__ for statement in body] == ["Assign", "For"]


CHAIN = "accelerator m {{ memory dram {{ kind: dram; }} register r {{ rows: 2; row: f32[4]; }} {body} }}"


def chain(body: str) -> Accelerator:
    text = f"instruction go() {{ semantics {{ for i < 2, j < 4: r[i][j] = {body}; }} }}"
    return isa.parse(CHAIN.format(body=text), "m.isa")


def test_a_chain_of_fused_multiply_adds_has_a_start() -> None:
    loop = chain("fma_chain(k < 2: r[i][k] * r[k][j], r[i][j])").instructions[0].body[0]
    assert isinstance(loop, For)
    value = loop.body[0].value  # type: ignore[union-attr]
    assert isinstance(value, Sum)
    assert isinstance(value.start, Element)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("fma_chain(k < 2: r[i][k] + r[k][j], 0)", "needs a product of two floats"),
        ("float(fma_chain(k < 2: k * k, 0))", "needs a product of two floats"),
        ("fma_chain(k < 2: r[i][k] * r[k][j], i)", "starts from a float"),
    ],
)
def test_a_chain_is_made_of_products_of_floats(body: str, message: str) -> None:
    with pytest.raises(IsaError, match=message):
        chain(body)


def test_a_condition_that_is_decided_on_the_left_hides_the_right() -> None:
    text = TEXT.replace("semantics {", 'require FLOAT && dst.deep == 1 : "deep"; semantics {', 1)
    text = text.replace("field row = 31..0;", "when FLOAT { field deep = 31; } field row = 31 - FLOAT..0;")
    assert [f[0] for f in isa.parse(text, "m.isa", None, "real").space("row_of").fields] == ["deep", "row"]
    with pytest.raises(IsaError, match="no field of address row_of named 'deep'"):
        isa.parse(text.replace("FLOAT && dst", "!FLOAT && dst"), "m.isa")
    folded = isa.parse(text, "m.isa").instructions[0].body[0]
    assert folded.condition == Number(0)  # type: ignore[union-attr]


def test_a_requirement_that_parameters_meet_is_left_out() -> None:
    text = TEXT.replace("semantics {", 'require N <= 4 : "at most four"; semantics {', 1)
    kinds = {
        name: [type(s).__name__ for s in isa.parse(text, "m.isa", None, name).instructions[0].body]
        for name in ("", "real")
    }
    assert kinds == {"": ["For"], "real": ["Require", "For"]}


def test_calls_that_the_parameters_rule_out_are_remembered_with_what_they_need() -> None:
    assert machine().absent == {"halve": "FLOAT"}
    assert machine("real").absent == {}


def test_words_for_an_operand_are_those_in_its_range() -> None:
    text = TEXT.replace(
        "instruction double(", "const LOW = 0; const HIGH = 2; instruction double(mode: int 0..N - 3 (LOW, HIGH), "
    )
    assert isa.parse(text, "m.isa").instructions[0].parameters[0].choices == ("LOW",)
    assert isa.parse(text, "m.isa", None, "real").instructions[0].parameters[0].choices == ("LOW", "HIGH")


def test_a_value_that_another_configuration_has_is_named_with_what_is_said_of_it() -> None:
    machine = isa.load("gemmini")
    configure_store = machine.instruction("configure_store")
    assert configure_store is not None
    activation = next(p for p in configure_store.parameters if p.name == "act")
    assert machine.elsewhere(activation).startswith("; not on gemmini: LAYERNORM (where HAS_NORMALIZATIONS), IGELU")
    normalising = isa.load("gemmini:ibert").instruction("configure_store")
    assert normalising is not None
    assert [p.beyond for p in normalising.parameters if p.name == "act"] == [()]

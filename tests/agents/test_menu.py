"""Menus: what ships, how they merge, and what a wrong one is told."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocomp.errors import ConfigError
from autocomp.targets.menu import Menu, MenuOption
from autocomp.targets.menu_file import load
from autocomp.targets.simulator.transforms import TRANSFORMATIONS

MECHANICAL = {item.name for item in TRANSFORMATIONS}


def menu_of(count: int) -> Menu:
    return Menu(tuple(MenuOption(f"option_{n}", f"Option {n}", "guidance") for n in range(count)), "numbers")


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


NAMES = {option.id for option in load(["general"]).options}
OPTION = "{id: tile, title: My tiling, guidance: do it}"


def test_the_general_menu_has_an_option_for_each_transformation() -> None:
    options = load(["general"]).options
    assert {option.id for option in options if option.transformation == option.id} == MECHANICAL
    assert all(option.transformation is None for option in options if option.id not in MECHANICAL)


def test_the_gemm_menu_extends_the_general_one() -> None:
    assert {option.id for option in load(["gemm"]).options} > NAMES


def test_every_shipped_option_says_when_it_pays_and_what_to_watch() -> None:
    for option in load(["gemm"]).options:
        assert "It pays when" in option.guidance, option.id
        assert "Watch for" in option.guidance, option.id
        assert option.applies.causes, option.id


def test_a_users_option_replaces_the_one_of_the_same_id_and_keeps_its_position(tmp_path: Path) -> None:
    write(tmp_path, "mine", f"options: [{OPTION}]")
    menu = load(["general", "mine"], [tmp_path])
    assert menu.get("tile") == MenuOption("tile", "My tiling", "do it")
    assert len(menu.options) == len(NAMES)
    assert menu.name == "general+mine"


def test_a_users_menu_extends_a_shipped_one_and_removes_from_it(tmp_path: Path) -> None:
    path = write(tmp_path, "mine", "extends: [general]\nremove: [unroll, write_out]")
    assert {option.id for option in load([str(path)]).options} == NAMES - {"unroll", "write_out"}


def test_options_for_other_operations_are_left_out() -> None:
    menu = load(["gemm"])
    assert {option.id for option in menu.for_operation("custom").options} == NAMES
    assert menu.for_operation("gemm") == menu


def test_get_names_the_closest_option() -> None:
    with pytest.raises(ConfigError, match="did you mean 'double_buffer'"):
        load(["general"]).get("double_bufer")


@given(st.integers(1, 20), st.floats(0, 1), st.integers())
def test_dropout_keeps_a_shuffled_part_and_never_empties_a_menu(count: int, probability: float, seed: int) -> None:
    menu = menu_of(count)
    left = menu.dropout(Random(seed), probability)
    assert left.options
    assert len(set(left.options)) == len(left.options)
    assert set(left.options) <= set(menu.options)
    assert left == menu.dropout(Random(seed), probability)


def test_dropout_of_zero_keeps_all_and_of_one_keeps_one() -> None:
    menu = menu_of(6)
    assert set(menu.dropout(Random(1), 0).options) == set(menu.options)
    assert len(menu.dropout(Random(1), 1).options) == 1
    with pytest.raises(ConfigError, match="not a probability"):
        menu.dropout(Random(1), 1.5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "options: [{id: tile, titel: x, guidance: y}]",
            r"options\[0\] \(tile\).titel: unknown key; did you mean 'title'",
        ),
        ("options: [{id: tile, title: x}]", r"options\[0\] \(tile\).guidance: is missing"),
        ("options: [{id: Tile It, title: x, guidance: y}]", r"\.id: .*found 'Tile It'"),
        (
            "options: [{id: tile, title: x, guidance: y, applies: {causes: [Buss]}}]",
            r"applies\.causes\[0\].*found 'Buss'",
        ),
        (f"options: [{OPTION}, {OPTION}]", "option 'tile' is defined twice"),
        ("option: []", "option: unknown key; did you mean 'options'"),
        ("[]", "a menu holds keys and values"),
        ("{}", "a menu needs 'options'"),
        ("remove: [tile]", "'remove' names 'tile'"),
        ("options: [\n  - x: {", r"menu\.yaml:2:3"),
    ],
)
def test_a_wrong_menu_is_told_where_and_what(tmp_path: Path, text: str, expected: str) -> None:
    path = write(tmp_path, "menu", text)
    with pytest.raises(ConfigError, match=expected) as caught:
        load([str(path)])
    assert "menu.yaml" in str(caught.value)


def test_menus_that_extend_each_other_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "first", "extends: [second]")
    write(tmp_path, "second", "extends: [first]")
    with pytest.raises(ConfigError, match=r"circle: first\.yaml -> second\.yaml -> first\.yaml"):
        load(["first"], [tmp_path])


def test_an_unknown_menu_names_the_shipped_ones() -> None:
    with pytest.raises(ConfigError, match="general"):
        load(["generel"])

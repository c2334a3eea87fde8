"""Options of a command that are made from a model."""

from __future__ import annotations

from typing import Annotated

import click
import pytest
from click.testing import CliRunner
from pydantic import BaseModel, Field

from autocomp.cli.commands.search import search
from autocomp.cli.folding import folded, model_options
from autocomp.flags import Flag
from autocomp.search import Options


class Oven(BaseModel):
    """The settings of a test."""

    degrees: int = Field(180, ge=50, lt=300, description="How hot.")
    fan: bool = Field(True, description="With the fan.")
    light: bool = Field(False, description="With the light.")
    minutes: float | None = Field(None, gt=0, description="How long.")
    dishes: Annotated[tuple[str, ...], Flag("dish", "NAME")] = Field((), description="What is in it.")


@click.command()
@model_options(Oven, "oven")
def bake(oven: Oven) -> None:
    click.echo(oven.model_dump_json())


def run(*arguments: str) -> str:
    result = CliRunner().invoke(bake, arguments)
    return result.output.strip()


def test_defaults_are_those_of_the_model() -> None:
    assert run() == Oven().model_dump_json()


def test_each_field_is_an_option() -> None:
    given = run("--degrees", "200", "--no-fan", "--light", "--minutes", "2.5", "--dish", "cake", "--dish", "bread")
    assert Oven.model_validate_json(given) == Oven(
        degrees=200, fan=False, light=True, minutes=2.5, dishes=("cake", "bread")
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--degrees", "20"), "20 is not in the range 50<=x<300"),
        (("--degrees", "300"), "300 is not in the range 50<=x<300"),
        (("--minutes", "0"), "0.0 is not in the range x>0"),
    ],
)
def test_bounds_are_those_of_the_model(arguments: tuple[str, ...], message: str) -> None:
    assert message in run(*arguments)


def test_help_says_the_descriptions_and_defaults() -> None:
    text = " ".join(run("--help").split())
    assert "--degrees INTEGER RANGE How hot. [default: 180; 50<=x<300]" in text
    assert "--dish NAME What is in it." in text


def test_a_command_can_give_some_fields_and_defaults_of_its_own() -> None:
    @click.command()
    @model_options(Oven, "oven", only=("degrees",), defaults={"degrees": 90})
    def warm(oven: Oven) -> None:
        click.echo(oven.degrees)

    assert CliRunner().invoke(warm).output == "90\n"
    assert "--fan" not in CliRunner().invoke(warm, ["--help"]).output


def test_options_fold_into_what_a_function_makes_of_them() -> None:
    @click.command()
    @folded("total", lambda one, two: one + two, click.option("--one", default=1), click.option("--two", default=2))
    def add(total: int) -> None:
        click.echo(total)

    assert CliRunner().invoke(add, ["--two", "5"]).output == "6\n"


def test_a_search_has_an_option_for_each_field_of_its_model() -> None:
    parameters = {parameter.name: parameter for parameter in search.params}
    for name, field in Options.model_fields.items():
        assert parameters[name].default in (field.default, None) or not field.default, name

"""Optimisation menus: what a planner may propose, read from `menus/*.yaml`.

A later menu's option replaces an earlier one of the same id; other options are added; `extends` names menus to start
from and `remove` takes ids away. So a user's own menu extends or replaces a shipped one without touching it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from autocomp.data import closest, find
from autocomp.documents import problems, read_mapping
from autocomp.errors import ConfigError
from autocomp.targets.simulator.isa.analysis import Kind

Cause = Literal[
    "Busy",
    "Idle",
    "Host",
    "QueueFull",
    "ReadAfterWrite",
    "WriteAfterRead",
    "WriteAfterWrite",
    "Semaphore",
    "Bus",
    "MemoryLatency",
    "BankConflict",
    "Pairing",
    "Drain",
    "Pipeline",
    "Fence",
]


@dataclass(frozen=True)
class Applies:
    """When an option is worth a look. `causes` are the profile's causes that it reduces; `operations` the operations
    that it is meant for; empty means any."""

    causes: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()


@dataclass(frozen=True)
class MenuOption:
    """One optimisation. `transformation` names the mechanical form, if there is one; `uses` are the kinds of
    instructions that it may bring into a kernel, which a prompt then describes."""

    id: str
    title: str
    guidance: str
    transformation: str | None = None
    applies: Applies = Applies()
    example: str | None = None
    uses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Menu:
    """Options in order of preference; ids are unique."""

    options: tuple[MenuOption, ...]
    name: str = ""

    def get(self, option_id: str) -> MenuOption:
        """The option of that id; ConfigError, with the closest id, where there is none."""
        for option in self.options:
            if option.id == option_id:
                return option
        known = [option.id for option in self.options]
        near = closest(option_id, known)
        raise ConfigError(
            f"menu {self.name!r} has no option {option_id!r}",
            hint=(f"did you mean {near!r}? " if near else "") + f"options: {', '.join(known) or 'none'}",
        )

    def dropout(self, random: Random, probability: float) -> Menu:
        """A shuffled menu from which each option is left out with `probability`; one option at least stays."""
        if not 0 <= probability <= 1:
            raise ConfigError(f"a menu dropout of {probability} is not a probability", hint="give a number from 0 to 1")
        kept = [option for option in self.options if random.random() >= probability]
        if not kept and self.options:
            kept = [random.choice(self.options)]
        random.shuffle(kept)
        return Menu(tuple(kept), self.name)

    def for_operation(self, operation: str) -> Menu:
        """The options meant for an operation."""
        fitting = (o for o in self.options if not o.applies.operations or operation in o.applies.operations)
        return Menu(tuple(fitting), self.name)


def load(names: Sequence[str], extra_paths: Sequence[Path] = ()) -> Menu:
    """The menus of these names or paths, merged in order. Raises ConfigError naming the file and the key at fault."""
    merged: dict[str, MenuOption] = {}
    for name in names:
        _merge(name, extra_paths, merged, ())
    if not merged:
        raise ConfigError(f"the menu {'+'.join(names)!r} has no options", hint="name at least one menu, e.g. 'general'")
    return Menu(tuple(merged.values()), "+".join(Path(name).stem for name in names))


def _merge(name: str, extra_paths: Sequence[Path], merged: dict[str, MenuOption], opened: tuple[Path, ...]) -> None:
    """Add the menu called `name` to `merged`; `opened` are the files that are being extended, outermost first."""
    path = find("menus", name, ".yaml", extra_paths).resolve()
    if path in opened:
        chain = " -> ".join(p.name for p in (*opened[opened.index(path) :], path))
        raise ConfigError(f"{path}: menus extend each other in a circle: {chain}")
    document = _read(path)
    for base in document.extends:
        _merge(base, extra_paths, merged, (*opened, path))
    for unwanted in document.remove:
        if unwanted not in merged:
            near = closest(unwanted, list(merged))
            raise ConfigError(
                f"{path}: 'remove' names {unwanted!r}, which no earlier menu has",
                hint=f"did you mean {near!r}?" if near else "name the menu that has it in 'extends'",
            )
        del merged[unwanted]
    merged.update({option.id: option.frozen() for option in document.options})


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


class _Applies(_Strict):
    causes: tuple[Cause, ...] = ()
    operations: tuple[str, ...] = ()


class _Option(_Strict):
    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    title: str = Field(min_length=1)
    guidance: str = Field(min_length=1)
    transformation: str | None = None
    applies: _Applies = _Applies()
    example: str | None = None
    uses: tuple[Kind, ...] = ()

    def frozen(self) -> MenuOption:
        applies = Applies(self.applies.causes, self.applies.operations)
        return MenuOption(self.id, self.title, self.guidance, self.transformation, applies, self.example, self.uses)


class _Document(_Strict):
    extends: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    options: tuple[_Option, ...] = ()

    @field_validator("options")
    @classmethod
    def _unique(cls, options: tuple[_Option, ...]) -> tuple[_Option, ...]:
        seen: set[str] = set()
        for option in options:
            if option.id in seen:
                raise ValueError(f"option {option.id!r} is there twice")
            seen.add(option.id)
        return options

    @model_validator(mode="after")
    def _says_something(self) -> _Document:
        if not (self.options or self.remove or self.extends):
            raise ValueError("a menu needs 'options' (or 'extends', or 'remove')")
        return self


def _read(path: Path) -> _Document:
    content = read_mapping(path, "a menu")
    try:
        return _Document.model_validate(content)
    except ValidationError as error:
        raise ConfigError(f"{path}: " + "; ".join(problems(error, content, _known_keys))) from error


def parse_option(entry: Mapping[str, object]) -> MenuOption:
    """One option from a document, as a menu file holds it. Raises ConfigError naming what is wrong."""
    try:
        return _Option.model_validate(entry).frozen()
    except ValidationError as error:
        found = problems(error, dict(entry), lambda parents: list(_Option.model_fields))
        raise ConfigError(f"option {entry.get('id')!r}: " + "; ".join(found)) from error


def _known_keys(parents: Sequence[int | str]) -> list[str]:
    if "applies" in parents:
        return list(_Applies.model_fields)
    return list((_Option if parents else _Document).model_fields)

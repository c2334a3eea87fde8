"""Optimisation menus: what a planner may propose. A menu is for one kind of target, whose words its options use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

from autocomp.data import closest
from autocomp.errors import ConfigError

USUAL = "simulator"  # the kind of target that a menu is for, where it does not say


@dataclass(frozen=True)
class Applies:
    """When an option is worth a look. `causes` are the profile's causes that it reduces; `operations` the operations
    that it is meant for; empty means any. It has no meaning where an option of the workload has a value that `unless`
    states: prompts leave it out there."""

    causes: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    unless: tuple[tuple[str, Any], ...] = ()


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
    """Options in order of preference, for one kind of target; ids are unique."""

    options: tuple[MenuOption, ...]
    name: str = ""
    kind: str = USUAL

    def get(self, option_id: str) -> MenuOption:
        """The option with this id. Raises ConfigError, which names the closest id, for an unknown one."""
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
        return replace(self, options=tuple(kept))

    def for_operation(self, operation: str) -> Menu:
        """The options meant for an operation."""
        fitting = (o for o in self.options if not o.applies.operations or operation in o.applies.operations)
        return replace(self, options=tuple(fitting))

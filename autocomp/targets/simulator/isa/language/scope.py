"""The meaning of names at one place of a description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from autocomp.targets.simulator.isa.language.syntax import Source, SyntaxTree
from autocomp.targets.simulator.isa.model import AddressSpace, Memory, Parameter, StateRecord
from autocomp.targets.simulator.isa.tree import ElementType, Expression, Name, Number, is_float

Kind = Literal["int", "float"]


@dataclass(frozen=True)
class Function:
    """A named expression with parameters, expanded where it is used."""

    parameters: tuple[str, ...]
    body: SyntaxTree
    scope: Scope | None  # None: the scope of the call's top level


@dataclass(frozen=True)
class Value:
    """A typed expression."""

    expression: Expression
    kind: Kind


def kind_of_element(element: ElementType) -> Kind:
    """The kind that elements of a type compute as: integers or binary32."""
    return "float" if is_float(element) else "int"


def constant(number: int | float) -> Value:
    return Value(Number(number), "float" if isinstance(number, float) else "int")


@dataclass(frozen=True)
class Scope:
    """Names visible at one place. Inner scopes are made with `bind`; nothing is ever changed in place."""

    source: Source
    constants: Mapping[str, int | float] = field(default_factory=dict)
    types: Mapping[str, ElementType] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)
    memories: Mapping[str, Memory] = field(default_factory=dict)
    spaces: Mapping[str, AddressSpace] = field(default_factory=dict)
    states: Mapping[str, StateRecord] = field(default_factory=dict)
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    values: Mapping[str, Value] = field(default_factory=dict)  # lets, loop variables, arguments of functions
    streams: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # in an await: loop variables of streams
    depth: int = 0  # of function expansion
    parallel: bool = False  # in a `for`, whose values are all computed before any is stored

    def bind(self, name: str, value: Value) -> Scope:
        """This scope with one more name."""
        return replace(self, values={**self.values, name: value})

    def bind_variable(self, name: str, kind: Kind = "int") -> Scope:
        """This scope with a loop variable or a let whose value is its own name."""
        return self.bind(name, Value(Name(name), kind))

    def define(self, name: str, function: Function) -> Scope:
        """This scope with one more function."""
        return replace(self, functions={**self.functions, name: function})

    def lookup(self, name: str) -> Value | None:
        """The value of a bare name, or None."""
        if name in self.values:
            return self.values[name]
        if name in self.parameters:
            return Value(Name(name), "float" if self.parameters[name].kind == "float" else "int")
        if name in self.constants:
            return constant(self.constants[name])
        return None

    def taken(self, name: str) -> str | None:
        """The declaration that already has this name here, in words, or None."""
        for what, known in (
            ("a name in this instruction", self.values),
            ("a parameter of this instruction", self.parameters),
            ("a constant", self.constants),
            ("a memory", self.memories),
            ("a state record", self.states),
        ):
            if name in known:
                return what
        return None

    def known_names(self) -> list[str]:
        """All bare names, for suggestions."""
        return [*self.values, *self.parameters, *self.constants]

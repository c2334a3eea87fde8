"""The use of operands, loop variables and the machine's state by an instruction's semantics."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.algebra import substitute, walk
from autocomp.targets.simulator.isa.derived.ranges import ranges_of
from autocomp.targets.simulator.isa.tree import (
    AddressField,
    Assign,
    Binary,
    Element,
    Expression,
    For,
    Let,
    Name,
    Number,
    StateField,
    Statement,
    Sum,
    When,
)
from autocomp.targets.simulator.isa.walk import adds_product, expressions, has_element, is_product, names, terms

Kind = Literal[
    "load", "store", "contraction", "preload", "elementwise", "copy", "configuration", "front end", "synchronisation"
]


class Analysis:
    """One pass over an instruction's statements; `Kind` and the words of `words` are those of `roles`."""

    def __init__(self, accelerator: m.Accelerator, instruction: m.Instruction) -> None:
        self._accelerator = accelerator
        self._instruction = instruction
        self._memories = {memory.name: memory.kind for memory in accelerator.memories}
        self._pointers = {p.name for p in instruction.parameters if p.kind == "pointer"}
        self._lets: dict[str, Expression] = {}
        self._bounds: dict[str, Expression] = {}  # loop variable -> bound
        self._variables: dict[str, str] = {}  # loop variable -> rows, cols or depth
        self.reads: set[str] = set()
        self.writes: set[str] = set()
        self.states_read: set[tuple[str, str]] = set()
        self.sets: dict[str, tuple[str, str]] = {}  # parameter -> the field it is stored in
        self.addresses: dict[tuple[str, str], tuple[str, str]] = {}  # (operand, its field) -> the state it is kept in
        self.sets_fields: set[tuple[str, str]] = set()
        self.fields: dict[tuple[str, str], str] = {}  # state field -> its role here
        self.words = {p.name: _first_word(p) for p in instruction.parameters}
        self.sizes: dict[str, int] = {}  # of a contraction: rows, columns, depth, those that are known
        self._multiplies = False
        self._adds = False  # one product to each element of the result
        self._nested = False  # the products stand in sums of sums
        self._alone: set[str] = set()  # of rows and columns, those of which a result has one
        for statement in instruction.body:
            self._statement(statement)
        self._name_bounds()
        self.kind = self._kind()

    # statements

    def _statement(self, statement: Statement) -> None:
        if isinstance(statement, Let):
            self._lets[statement.name] = statement.value
            self._expression(statement.value)
        elif isinstance(statement, When):
            self._expression(statement.condition)
            for inner in (*statement.then, *statement.otherwise):
                self._statement(inner)
        elif isinstance(statement, For):
            for variable, bound in statement.variables:
                self._bounds[variable] = bound
                self._expression(bound)
            for inner in statement.body:
                self._statement(inner)
        elif isinstance(statement, Assign):
            self._assign(statement)

    def _assign(self, statement: Assign) -> None:
        target = statement.target
        if isinstance(target, StateField):
            self.sets_fields.add((target.state, target.field))
            if isinstance(target.index, Name):
                self._say(target.index.name, "selector")
            value = self._inline(statement.value)
            for name in names(value):
                if name in self.words:
                    self.sets.setdefault(name, (target.state, target.field))
            if isinstance(value, AddressField):
                self.addresses[value.parameter, value.field] = (target.state, target.field)
        else:
            self._element(target, written=True)
            self._adds |= adds_product(self._inline_element(target), self._inline(statement.value))
            self._alone |= self._single(target)
        self._expression(statement.value)

    # expressions

    def _expression(self, expression: Expression) -> None:
        for node in walk(self._inline(expression)):
            if isinstance(node, Element):
                self._element(node, written=False)
            elif isinstance(node, StateField):
                self.states_read.add((node.state, node.field))
                if isinstance(node.index, Name):
                    self._say(node.index.name, "selector")
            elif isinstance(node, Sum):
                self._bounds[node.variable] = node.bound
                self._variables[node.variable] = "depth"
                body = self._inline(node.body)
                self._multiplies |= is_product(body)
                self._nested |= any(isinstance(inner, Sum) and is_product(inner.body) for inner in walk(body))
            elif isinstance(node, Binary) and node.operator == "*":
                self._factor(node)

    def _factor(self, node: Binary) -> None:
        """A state field that a loaded or stored value is multiplied by is a scale."""
        for side, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(side, StateField) and self._field_type(side) == "f32" and has_element(other):
                self.fields.setdefault((side.state, side.field), "scale")

    def _element(self, element: Element, *, written: bool) -> None:
        base = element.memory.split(".")[0]
        pointer = base in self._pointers
        memory = self._accelerator.dram.name if pointer else self._accelerator.home(base).name
        (self.writes if written else self.reads).add(memory)
        if pointer:
            self._strides(self._inline(element.indices[0]), "dram stride")
            return
        row = self._inline(element.indices[0])
        self._strides(row, "block stride")
        for name in self._row_variables(row):
            self._variables.setdefault(name, "rows")
        if len(element.indices) > 1:
            for name in self._column_variables(self._inline(element.indices[1])):
                if self._variables.get(name) != "depth":
                    self._variables[name] = "cols" if self._variables.get(name) != "rows" or written else "rows"
        word = "destination" if written else "source"
        for node in terms(row):
            if isinstance(node, StateField):
                self.fields.setdefault((node.state, node.field), word)
            elif isinstance(node, Name):
                self._say(node.name, word)
        for node in walk(row):
            if isinstance(node, AddressField):
                self._say(node.parameter, word)

    def _row_variables(self, row: Expression) -> Iterator[str]:
        """Loop variables that step through rows, some constant number at a time (not `(c / DIM) * stride`, which steps
        through blocks); rows may wrap at the end of a ring."""
        for node in terms(row):
            if isinstance(node, Binary) and node.operator == "%" and isinstance(node.right, Number):
                yield from self._row_variables(node.left)
            parts = (node.left, node.right) if isinstance(node, Binary) and node.operator == "*" else (node, Number(1))
            for variable, step in (parts, parts[::-1]):
                if isinstance(variable, Name) and variable.name in self._bounds and isinstance(step, Number):
                    yield variable.name

    def _column_variables(self, column: Expression) -> Iterator[str]:
        """Loop variables that step through columns one by one (not `copy * cols`, which steps through groups)."""
        for term in terms(column):
            if not (isinstance(term, Binary) and term.operator == "*"):
                yield from (name for name in names(term) if name in self._bounds)

    def _strides(self, offset: Expression, word: str) -> None:
        for term in terms(offset):
            if not (isinstance(term, Binary) and term.operator == "*"):
                continue
            for side, other in ((term.left, term.right), (term.right, term.left)):
                if not any(name in self._bounds for name in names(other)):
                    continue
                divided = any(isinstance(n, Binary) and n.operator == "/" for n in walk(other))
                chosen = word if word == "dram stride" or divided else "row stride"
                for node in walk(side):
                    if isinstance(node, StateField):
                        self.fields.setdefault((node.state, node.field), chosen)
                    elif isinstance(node, Name) and node.name in self.words:
                        self._say(node.name, chosen)

    def _single(self, target: Element) -> set[str]:
        """Of rows and columns, those along which a command writes one element: a vector is a row, in one local row or
        in several that its columns fill one after the other."""
        row, *column = ({n for n in names(self._inline(i)) if n in self._bounds} for i in target.indices)
        return ({"rows"} if column and row <= column[0] else set()) | (
            {"columns"} if column and not column[0] else set()
        )

    # conclusions

    def _name_bounds(self) -> None:
        for variable, bound in self._bounds.items():
            word = self._variables.get(variable)
            if word and isinstance(bound, StateField):
                self.fields.setdefault((bound.state, bound.field), word)
            for name in names(self._inline(bound)):
                if word and name in self.words:
                    self._say(name, word)
        compared = (
            node
            for statement in self._instruction.body
            for expression in expressions(statement)
            for node in walk(self._inline(expression))
            if isinstance(node, Binary) and node.operator == "<" and isinstance(node.left, Name)
        )
        for node in compared:
            word = self._variables.get(node.left.name) if isinstance(node.left, Name) else None
            if word and isinstance(node.right, Name) and node.right.name in self.words:
                self._say(node.right.name, word)

    def _kind(self) -> Kind:
        dram = self._accelerator.dram.name
        local_read = {name for name in self.reads if self._memories.get(name) == "local"}
        local_write = {name for name in self.writes if self._memories.get(name) == "local"}
        if self._multiplies or self._adds:
            ones = self._alone if self._multiplies else {"rows", "columns", "depth"}
            self.sizes = {**dict.fromkeys(ones, 1), **self._sizes()}
            return "contraction"
        if dram in self.reads and local_write:
            return "load"
        if dram in self.writes and local_read:
            return "store"
        if dram in self.reads and dram in self.writes:
            return "copy"
        if local_write:
            return "elementwise"
        if self.writes or (local_read and self.sets_fields):
            return "preload"
        if any(p.kind == "address" for p in self._instruction.parameters) and self.sets_fields:
            return "preload"
        if self.sets_fields and self._instruction.words.get("role") not in ("fence", "forget"):
            return "configuration"
        return "front end" if self._instruction.unit is None else "synchronisation"

    def _inline_element(self, element: Element) -> Element:
        return Element(element.memory, tuple(map(self._inline, element.indices)), element.element)

    def _sizes(self) -> dict[str, int]:
        """The largest known size in each direction; no depth of a sum of sums, whose shape is more than a length."""
        named = {"rows": "rows", "cols": "columns", "depth": "depth"}
        sizes: dict[str, int] = {}
        ranges = ranges_of(self._accelerator, self._instruction)
        for variable, bound in self._bounds.items():
            word = named.get(self._variables.get(variable, ""))
            size = ranges.of(self._inline(bound)).high
            if word and math.isfinite(size) and not (word == "depth" and self._nested):
                sizes[word] = max(int(size), sizes.get(word, 0))
        return sizes

    def _say(self, parameter: str, word: str) -> None:
        if self.words.get(parameter) == "other":
            self.words[parameter] = word

    def _field_type(self, node: StateField) -> str:
        record = next((s for s in self._accelerator.states if s.name == node.state), None)
        fields = record.fields if record is not None else ()
        return next((element for name, element, _ in fields if name == node.field), "")

    def _inline(self, expression: Expression) -> Expression:
        """The expression with every `let` in it replaced by its value."""
        if not self._lets:
            return expression

        def value(part: Expression) -> Expression | None:
            bound = self._lets.get(part.name) if isinstance(part, Name) else None
            return None if bound is None else self._inline(bound)

        return substitute(expression, value)


def _first_word(parameter: m.Parameter) -> str:
    return "pointer" if parameter.kind == "pointer" else "other"

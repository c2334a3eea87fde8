"""The meaning of an accelerator's instructions: expressions, statements and streams of commands, as frozen trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from autocomp.errors import Place

# In the order of the native core's DType.
ElementType = Literal[
    "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "f16", "bf16", "f8e5m2", "f8e4m3", "i4", "u4"
]  # fmt: skip
FLOATS: Mapping[str, int] = {"f32": 32, "f64": 64, "f16": 16, "bf16": 16, "f8e5m2": 8, "f8e4m3": 8}  # type -> bits


def element_bits(element: str) -> int:
    """The bits of an element."""
    return FLOATS[element] if element in FLOATS else int(element[1:])


def is_float(element: str) -> bool:
    """True if elements of a type compute as binary32 rather than as integers."""
    return element in FLOATS


# --- expressions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Number:
    value: int | float


@dataclass(frozen=True)
class Name:
    """A parameter of the instruction, a loop variable, a `let`, or a state field without an index."""

    name: str


@dataclass(frozen=True)
class StateField:
    """`ld[id].stride`: one field of a state record; `index` is None for a record that is not an array."""

    state: str
    index: Expression | None
    field: str


@dataclass(frozen=True)
class AddressField:
    """`dst.row`: a bit field (or the `none` test) of an address parameter."""

    parameter: str
    field: str


@dataclass(frozen=True)
class Element:
    """`spad[row][col]` of a memory or register; or `src.i8[offset]`: the element of type `element` that lies `offset`
    bytes after the DRAM pointer parameter `memory`."""

    memory: str
    indices: tuple[Expression, ...]
    element: ElementType | None = None


@dataclass(frozen=True)
class Unary:
    operator: str
    operand: Expression


@dataclass(frozen=True)
class Binary:
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Conditional:
    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True)
class Call:
    """A built-in function; `type_argument` is the `i8` of `saturate<i8>(x)`."""

    function: str
    arguments: tuple[Expression, ...]
    type_argument: str | None = None


@dataclass(frozen=True)
class Sum:
    """`sum(k < bound: body)` and the other reductions. `largest` is of integers.

    `fma_chain(k < bound: a * b, start)` has a start, to which one fused multiply-add after the other is applied in the
    order of k, each rounded once.
    """

    variable: str
    bound: Expression
    body: Expression
    start: Expression | None = None
    function: Literal["sum", "largest", "fma_chain"] = "sum"


@dataclass(frozen=True)
class Position:
    """`execute.k` in an `await`: the value of a loop variable of another stream of the expansion, for that stream's
    next command (0 before the first and after the last). `execute.done` is 1 if it has no command left."""

    stream: str
    variable: str


Expression = Number | Name | StateField | AddressField | Element | Unary | Binary | Conditional | Call | Sum | Position


# --- statements of semantics -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Require:
    condition: Expression
    message: str
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Let:
    """A name for a value, taken with the state at this point."""

    name: str
    value: Expression


@dataclass(frozen=True)
class Assign:
    target: Element | StateField
    value: Expression
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True)
class For:
    """`for r < rows, c < cols: body`; every value of the nest is computed before any is stored.

    `ordered`: `repeat k < n: body`, whose iterations take effect one after the other.
    """

    variables: tuple[tuple[str, Expression], ...]
    body: tuple[Statement, ...]
    ordered: bool = False


@dataclass(frozen=True)
class When:
    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


Statement = Require | Let | Assign | For | When


# --- statements of streams ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Iterate:
    """`for k < bound step step`: the values 0, step, 2 * step … below the bound."""

    variable: str
    bound: Expression
    step: Expression
    body: tuple[StreamStatement, ...]


@dataclass(frozen=True)
class Choose:
    condition: Expression
    then: tuple[StreamStatement, ...]
    otherwise: tuple[StreamStatement, ...] = ()


@dataclass(frozen=True)
class Await:
    """The commands after it in its block leave only in a cycle in which the condition holds."""

    condition: Expression


@dataclass(frozen=True)
class Emit:
    """A command that the expansion sends to the machine."""

    instruction: str
    arguments: tuple[Expression, ...]


StreamStatement = Let | Iterate | Choose | Await | Emit


@dataclass(frozen=True)
class Stream:
    """Commands that leave in the order of their loops. Of streams with commands that may leave, the one with the
    lowest priority number goes first; one starts when all of `after` have."""

    name: str
    priority: int
    after: tuple[str, ...]
    body: tuple[StreamStatement, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """Its loop variables by their depth, 0 = outermost."""
        return _deepest(self.body)


def _deepest(body: tuple[StreamStatement, ...]) -> tuple[str, ...]:
    chains: list[tuple[str, ...]] = [()]
    for statement in body:
        if isinstance(statement, Iterate):
            chains.append((statement.variable, *_deepest(statement.body)))
        elif isinstance(statement, Choose):
            chains.append(_deepest((*statement.then, *statement.otherwise)))
    return max(chains, key=len)

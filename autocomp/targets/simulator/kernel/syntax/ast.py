"""The kernel dialect's syntax tree: frozen, hashable by structure, without positions in equality.

Expressions and statements carry `line` and expressions `column` (1-based, 0 = made by a transformation), which equality
and hashes ignore.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


def _line() -> int:
    return field(default=0, compare=False, repr=False)


# --- types -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Type:
    """A C type by its dialect name (int8_t … uint64_t, int, size_t, bool, float, double, elem_t …), pointer depth
    and array extents (expressions; empty for a scalar).

    `fields` declare those of a structure that is defined here. Only the parser sees structures: structures.py replaces
    them, `Member` and `Designated` by what the rest of the compiler knows.
    """

    name: str
    pointer: int = 0
    extents: tuple[Expression, ...] = ()
    fields: tuple[Declaration, ...] = ()


# --- expressions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class IntLiteral:
    value: int
    text: str = field(default="", compare=False)  # as written (hex is kept when printing)
    suffix: str = ""  # u, l, ul, ll, ull in lower case
    line: int = _line()
    column: int = _line()


ANY_ROWS = IntLiteral(1)  # this very object is the first extent of a parameter that leaves it out


@dataclass(frozen=True)
class FloatLiteral:
    value: float
    single: bool = False  # 1.0f
    text: str = field(default="", compare=False)
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class StringLiteral:
    """Text, for what prints it."""

    value: str
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class Name:
    name: str
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class Index:
    base: Expression
    index: Expression
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class Unary:
    operator: Literal["-", "+", "!", "~", "&", "*"]
    operand: Expression
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class Binary:
    operator: str  # + - * / % & | ^ << >> == != < <= > >= && ||
    left: Expression
    right: Expression
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class Conditional:
    condition: Expression
    then: Expression
    otherwise: Expression
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class Cast:
    type: Type
    operand: Expression
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class SizeOf:
    operand: Type | Expression
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class Call:
    """An accelerator instruction, an alias, a helper of the file or a host builtin."""

    function: str
    arguments: tuple[Expression, ...]
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class Assignment:
    """`target op= value` (operator "" for plain assignment) as an expression."""

    target: Expression
    value: Expression
    operator: str = ""
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class Increment:
    """`++x`, `x--` …"""

    target: Expression
    operator: Literal["++", "--"]
    prefix: bool
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class InitializerList:
    values: tuple[Expression, ...]
    line: int = _line()
    column: int = _line()


Expression = (
    IntLiteral
    | FloatLiteral
    | StringLiteral
    | Name
    | Index
    | Unary
    | Binary
    | Conditional
    | Cast
    | SizeOf
    | Call
    | Assignment
    | Increment
    | InitializerList
)


# Structures and pointers to functions, which only the parser sees


@dataclass(frozen=True)
class Member:
    """`base.name`; `base->name` is that of `*base`."""

    base: Expression | Member
    name: str
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class CallThrough:
    """`(*target)(arguments)`, of a pointer to a function."""

    target: Expression
    arguments: tuple[Expression, ...]
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class Designated:
    """`.name = value` in a list."""

    name: str
    value: Expression
    line: int = _line()
    column: int = _line()


# --- statements --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Declarator:
    name: str
    type: Type
    initializer: Expression | None = None
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class Declaration:
    declarators: tuple[Declarator, ...]
    const: bool = False
    static: bool = False
    line: int = _line()


@dataclass(frozen=True)
class ExpressionStatement:
    expression: Expression
    line: int = _line()


@dataclass(frozen=True)
class Block:
    statements: tuple[Statement, ...]
    line: int = _line()
    end_line: int = _line()  # of the closing brace; 0 where the source has no braces
    region: str = ""  # the name that profiles give what it costs: `region("name") { … }`


@dataclass(frozen=True)
class If:
    condition: Expression
    then: Block
    otherwise: Block | None = None  # an `else if` is a Block of one If
    line: int = _line()


@dataclass(frozen=True)
class For:
    initial: Declaration | ExpressionStatement | None
    condition: Expression | None
    step: Expression | None
    body: Block
    line: int = _line()


@dataclass(frozen=True)
class While:
    condition: Expression
    body: Block
    line: int = _line()


@dataclass(frozen=True)
class DoWhile:
    body: Block
    condition: Expression
    line: int = _line()


@dataclass(frozen=True)
class Return:
    value: Expression | None = None
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class Break:
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class Continue:
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class Comment:
    """A comment that stood on a line of its own; printed back, ignored by the hash and the compiler."""

    text: str
    line: int = _line()


Statement = Declaration | ExpressionStatement | Block | If | For | While | DoWhile | Return | Break | Continue | Comment


# --- the kernel --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KernelParameter:
    name: str
    type: Type
    const: bool = False
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class Function:
    name: str
    return_type: Type
    parameters: tuple[KernelParameter, ...]
    body: Block
    line: int = _line()
    column: int = _line()


@dataclass(frozen=True)
class Kernel:
    """A file: helper functions, then the entry function (the last one, by convention called `solution`).

    `globals` are arrays and variables outside of functions; constants there are declared again in the functions that
    use them. `includes` are the quoted headers that the text names, with their lines. `left_out` are lines of the text
    that only observe.
    """

    functions: tuple[Function, ...]
    globals: tuple[Declaration, ...] = ()
    includes: tuple[tuple[str, int], ...] = field(default=(), compare=False, repr=False)
    source: str = field(default="", compare=False, repr=False)  # the text it was parsed from
    source_name: str = field(default="<kernel>", compare=False)
    constants: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)
    left_out: tuple[int, ...] = field(default=(), compare=False, repr=False)

    @property
    def entry(self) -> Function:
        return self.functions[-1]

    @property
    def is_program(self) -> bool:
        """True of a whole program, which begins with `main`; False of a kernel."""
        return self.entry.name == "main"

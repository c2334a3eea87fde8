"""From syntax to typed expressions: names resolved, functions expanded, constants folded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn, cast, get_args

from lark import Token, Tree

from autocomp.data import closest
from autocomp.errors import IsaError
from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa.formats import SPECIAL, to_binary32
from autocomp.targets.simulator.isa.language.scope import Function, Kind, Scope, Value, constant, kind_of_element
from autocomp.targets.simulator.isa.language.syntax import FollowUpError, SyntaxTree
from autocomp.targets.simulator.isa.tree import (
    AddressField,
    Binary,
    Element,
    ElementType,
    Expression,
    Number,
    Position,
    StateField,
    Sum,
    element_bits,
    is_float,
)

MAX_EXPANSION = 16  # functions within functions
MAX_EXPANSIONS = 5_000  # of functions in one description
MAX_SIZE = 4_000  # terms of one expression after expansion
ELEMENT_TYPES: tuple[str, ...] = get_args(ElementType)

# Built-in functions: kinds of the arguments (same: all of one kind) and of the result.
_FUNCTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "min": (("same", "same"), "same"),
    "max": (("same", "same"), "same"),
    "relu": (("same",), "same"),
    "ceil_div": (("int", "int"), "int"),
    "rounding_shift": (("int", "int"), "int"),
    "ceil_log2": (("int",), "int"),
    "square_root": (("int",), "int"),
    "float": (("int",), "float"),
    "round": (("float",), "int"),
    "fma": (("float", "float", "float"), "float"),
    "bits_to_float": (("int",), "float"),
    "float_to_bits": (("float",), "int"),
    "extent": (("int",), "int"),
    **dict.fromkeys(SPECIAL, (("float",), "float")),
}
_LIST_OPERATORS = {"either": "||", "both": "&&", "bits_or": "|", "bits_xor": "^", "bits_and": "&"}
_INTEGER_ONLY = {"%", "&", "|", "^", "<<", ">>", "&&", "||"}


def fail(scope: Scope, node: SyntaxTree | Token, message: str, hint: str | None = None) -> NoReturn:
    """Raise an IsaError at a node."""
    raise IsaError(message, place=scope.source.of(node), hint=hint)


def unknown(scope: Scope, node: SyntaxTree | Token, what: str, name: str, known: Sequence[str]) -> NoReturn:
    """Raise an IsaError for a name that nothing has, with the closest one that something has."""
    if scope.source.is_missing(name):
        raise FollowUpError(f"{name!r} is not declared", place=scope.source.of(node))
    guess = closest(name, known)
    listing = ", ".join(known[:12]) or "none"
    fail(scope, node, f"no {what} named {name!r}", f"did you mean {guess!r}?" if guess else f"known: {listing}")


def parse_number(scope: Scope, token: Token) -> int | float:
    """The value of a numeral; integers are limited to 64 bits."""
    text = str(token)
    if len(text) > 80:
        fail(scope, token, "this number has too many digits", "integers have at most 64 bits")
    if text[:2].lower() in ("0x", "0b"):
        value = int(text, 0)
    elif text.isdigit():
        value = int(text)
    else:
        return to_binary32(float(text))
    if value >= 1 << 64:
        fail(scope, token, f"{text} does not fit 64 bits")
    return value


def element_type(scope: Scope, token: Token) -> ElementType:
    """The element type that a word names, directly or through `type`."""
    name = str(token)
    if name in ELEMENT_TYPES:
        return cast(ElementType, name)
    if name not in scope.types:
        unknown(scope, token, "element type", name, [*ELEMENT_TYPES, *scope.types])
    return scope.types[name]


def evaluate(scope: Scope, node: SyntaxTree) -> int | float:
    """The value of a constant expression; IsaError when it is not constant."""
    expression = build(scope, node).expression
    if not isinstance(expression, Number):
        fail(scope, node, "a constant is needed here", "only parameters, constants and numbers are known at this point")
    return expression.value


def evaluate_int(scope: Scope, node: SyntaxTree, low: int | None = None, high: int | None = None) -> int:
    """The value of a constant integer expression, within the range given."""
    value = evaluate(scope, node)
    if not isinstance(value, int):
        fail(scope, node, f"an integer is needed here, not {value}")
    if (low is not None and value < low) or (high is not None and value > high):
        bounds = f"{'…' if low is None else low} to {'…' if high is None else high}"
        fail(scope, node, f"{value} is out of range: {bounds}")
    return value


def build_int(scope: Scope, node: SyntaxTree) -> Expression:
    """An expression that must be an integer."""
    value = build(scope, node)
    if value.kind != "int":
        fail(scope, node, "an integer is needed here, not a float", "round(x) gives an integer")
    return value.expression


def build(scope: Scope, node: SyntaxTree) -> Value:
    """The typed expression of a syntax tree. Raises IsaError for unknown names and wrong types."""
    try:
        return _build(scope, node)
    except ZeroDivisionError:
        fail(scope, node, "division by zero")


def _build(scope: Scope, node: SyntaxTree) -> Value:
    data, parts = str(node.data), node.children
    if data == "number":
        return constant(parse_number(scope, cast(Token, parts[0])))
    if data == "name":
        return _name(scope, cast(Token, parts[0]))
    if data in _LIST_OPERATORS:
        return _binary(scope, node, _LIST_OPERATORS[data], cast(SyntaxTree, parts[0]), cast(SyntaxTree, parts[1]))
    if data == "binary":
        return _binary(scope, node, str(parts[1]), cast(SyntaxTree, parts[0]), cast(SyntaxTree, parts[2]))
    if data == "unary":
        return _unary(scope, str(parts[0]), cast(SyntaxTree, parts[1]))
    if data == "conditional":
        return _conditional(scope, node)
    if data == "call":
        return _call(scope, node)
    if data == "typed_call":
        return _typed_call(scope, node)
    if data == "total":
        return _total(scope, node)
    if data == "largest":
        return _largest(scope, node)
    if data == "fma_chain":
        return _fma_chain(scope, node)
    return reference(scope, node)


def _name(scope: Scope, token: Token) -> Value:
    value = scope.lookup(str(token))
    if value is None:
        if str(token) in scope.states or str(token) in scope.memories:
            fail(
                scope,
                token,
                f"{str(token)!r} needs an index or a field",
                "for example spad[row][column], ld[id].stride",
            )
        unknown(scope, token, "constant, operand or variable", str(token), scope.known_names())
    return value


def _binary(scope: Scope, node: SyntaxTree, symbol: str, left_node: SyntaxTree, right_node: SyntaxTree) -> Value:
    left = build(scope, left_node)
    if symbol in ("&&", "||") and left.kind == "int" and isinstance(left.expression, Number):
        return _decided(scope, symbol == "||", bool(left.expression.value), right_node)
    left, right = _same_kind(scope, node, left, build(scope, right_node))
    if left.kind == "float" and symbol in _INTEGER_ONLY:
        fail(scope, node, f"{symbol!r} needs integers", "round(x) gives an integer")
    compares = symbol in ("==", "!=", "<", "<=", ">", ">=")
    return Value(algebra.binary(symbol, left.expression, right.expression), "int" if compares else left.kind)


def _decided(scope: Scope, either: bool, left: bool, right_node: SyntaxTree) -> Value:
    """`left && right` or `left || right` for a known left side; what it decides need not make sense on the right."""
    if left is either:
        return constant(int(left))
    return Value(algebra.truth(build_int(scope, right_node)), "int")


def _same_kind(scope: Scope, node: SyntaxTree, left: Value, right: Value) -> tuple[Value, Value]:
    """Both as floats when one is a float and the other an integer constant; other mixtures are errors."""
    if left.kind == right.kind:
        return left, right
    integer = left if left.kind == "int" else right
    if not isinstance(integer.expression, Number):
        fail(scope, node, "an integer and a float do not mix", "convert the integer with float(x)")
    converted = constant(to_binary32(float(integer.expression.value)))
    return (converted, right) if integer is left else (left, converted)


def _unary(scope: Scope, symbol: str, operand_node: SyntaxTree) -> Value:
    operand = build(scope, operand_node)
    if operand.kind == "float" and symbol in ("!", "~"):
        fail(scope, operand_node, f"{symbol!r} needs an integer")
    return Value(algebra.unary(symbol, operand.expression), operand.kind)


def _conditional(scope: Scope, node: SyntaxTree) -> Value:
    condition_node, then_node, otherwise_node = cast(list[SyntaxTree], node.children)
    condition = build_int(scope, condition_node)
    if isinstance(condition, Number):  # the side that is never taken need not make sense
        return build(scope, then_node if condition.value else otherwise_node)
    then, otherwise = _same_kind(scope, node, build(scope, then_node), build(scope, otherwise_node))
    return Value(algebra.select(condition, then.expression, otherwise.expression), then.kind)


def _call(scope: Scope, node: SyntaxTree) -> Value:
    token = cast(Token, node.children[0])
    argument_nodes = cast(list[SyntaxTree], node.children[1:])
    name = str(token)
    arguments = [build(scope, a) for a in argument_nodes]
    if name in scope.functions:
        return _expand(scope, node, scope.functions[name], arguments)
    if name not in _FUNCTIONS:
        unknown(scope, token, "function", name, [*_FUNCTIONS, "sum", "saturate", "wrap", *scope.functions])
    kinds, result = _FUNCTIONS[name]
    _check_count(scope, node, name, len(kinds), len(arguments))
    if kinds[0] == "same":
        if len(arguments) == 2:
            arguments = list(_same_kind(scope, node, *arguments))
        result = arguments[0].kind
    for argument, argument_node, kind in zip(arguments, argument_nodes, kinds, strict=True):
        if kind not in ("same", argument.kind):
            fail(scope, argument_node, f"{name} needs {'an integer' if kind == 'int' else 'a float'} here")
    expression = algebra.call(name, tuple(a.expression for a in arguments))
    if name == "ceil_log2" and not isinstance(expression, Number):
        fail(scope, node, "ceil_log2 needs a constant")
    return Value(expression, cast(Kind, result))


def _check_count(scope: Scope, node: SyntaxTree, name: str, wanted: int, given: int) -> None:
    if wanted != given:
        fail(scope, node, f"{name} needs {wanted} argument{'s' if wanted != 1 else ''}, {given} given")


def _expand(scope: Scope, node: SyntaxTree, function: Function, arguments: list[Value]) -> Value:
    name = str(node.children[0])
    _check_count(scope, node, name, len(function.parameters), len(arguments))
    if scope.depth >= MAX_EXPANSION:
        fail(scope, node, f"{name} expands more than {MAX_EXPANSION} functions deep", "functions cannot be recursive")
    scope.source.expansions += 1
    home = function.scope if function.scope is not None else replace(scope, values={}, parameters={})
    inner = replace(home, depth=scope.depth + 1)
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        inner = inner.bind(parameter, argument)
    value = build(inner, function.body)
    if scope.source.expansions > MAX_EXPANSIONS or algebra.is_larger(value.expression, MAX_SIZE):
        fail(scope, node, f"{name} expands to more than {MAX_SIZE} terms", "use a statement with a register for a part")
    return value


def _typed_call(scope: Scope, node: SyntaxTree) -> Value:
    function, type_token, argument_node = node.children
    token = cast(Token, type_token)
    if token.type == "NUMBER" or str(token) in scope.constants:
        bits = scope.constants.get(str(token)) if token.type != "NUMBER" else parse_number(scope, token)
        if not isinstance(bits, int) or not 1 <= bits <= 64:
            fail(scope, token, f"{token} is not a number of bits", "expected 1 to 64")
        type_argument = f"i{bits}"
    else:
        type_argument = element_type(scope, token)
    if str(function) == "convert":
        return _convert(scope, token, type_argument, cast(SyntaxTree, argument_node))
    if is_float(type_argument):
        fail(scope, token, f"{function} needs an integer type", "convert<…>(x) rounds to a float type")
    argument = build_int(scope, cast(SyntaxTree, argument_node))
    return Value(algebra.call(str(function), (argument,), type_argument), "int")


def _convert(scope: Scope, token: Token, element: str, argument_node: SyntaxTree) -> Value:
    if not is_float(element) or element == "f64":
        hint = "saturate<…> and wrap<…> are of integers"
        fail(scope, token, f"convert needs a float type of at most 32 bits, not {element}", hint)
    argument = build(scope, argument_node)
    if argument.kind != "float":
        fail(scope, argument_node, "convert needs a float here", "float(x) converts an integer")
    return Value(algebra.call("convert", (argument.expression,), element), "float")


def _total(scope: Scope, node: SyntaxTree) -> Value:
    variable, bound_node, body_node = node.children
    name = str(variable)
    check_free(scope, cast(Token, variable))
    bound = build_int(scope, cast(SyntaxTree, bound_node))
    body = build(scope.bind_variable(name), cast(SyntaxTree, body_node))
    return Value(Sum(name, bound, body.expression), body.kind)


def _largest(scope: Scope, node: SyntaxTree) -> Value:
    total = _total(scope, node)
    return Value(replace(cast(Sum, total.expression), function="largest"), total.kind)


def _fma_chain(scope: Scope, node: SyntaxTree) -> Value:
    *_, body_node, start_node = cast(list[SyntaxTree], node.children)
    total = _total(scope, Tree("total", node.children[:-1], node.meta))
    chain = cast(Sum, total.expression)
    if total.kind != "float" or not (isinstance(chain.body, Binary) and chain.body.operator == "*"):
        fail(scope, body_node, "fma_chain needs a product of two floats after the colon")
    start = build(scope, start_node)
    if start.kind == "int" and isinstance(start.expression, Number):
        start = constant(float(start.expression.value))
    if start.kind != "float":
        fail(scope, start_node, "fma_chain starts from a float", "float(x) converts an integer")
    return Value(replace(chain, start=start.expression, function="fma_chain"), "float")


def check_free(scope: Scope, token: Token) -> None:
    """Raise an IsaError when a new name is taken already."""
    taken = scope.taken(str(token))
    if taken is None and any(str(token) in algebra.names_in(v.expression) for v in scope.values.values()):
        taken = "a name that an argument of this function mentions"
    if taken is not None:
        fail(scope, token, f"{str(token)!r} is already {taken}", "choose another name")


def reference(scope: Scope, node: SyntaxTree) -> Value:
    """The value that `x.f`, `x.i8[o]`, `x[i].f` or `x[r][c]` refers to."""
    data, parts = str(node.data), node.children
    token = cast(Token, parts[0])
    name = str(token)
    if data == "field":
        return _field(scope, token, cast(Token, parts[1]))
    if data == "indexed_field":
        return _state_field(scope, token, build_int(scope, cast(SyntaxTree, parts[1])), cast(Token, parts[2]))
    if data == "dram_element":
        parameter = scope.parameters.get(name)
        if parameter is None or parameter.kind != "pointer":
            pointers = [p.name for p in scope.parameters.values() if p.kind == "pointer"]
            unknown(scope, token, "DRAM pointer", name, pointers)
        element = element_type(scope, cast(Token, parts[1]))
        if element_bits(element) < 8:
            hint = "read u8 and pick its half"
            fail(scope, cast(Token, parts[1]), f"elements of DRAM have whole bytes, {element} has not", hint)
        offset = build_int(scope, cast(SyntaxTree, parts[2]))
        return Value(Element(name, (offset,), element), kind_of_element(element))
    if data == "cell":
        if name not in scope.memories or scope.memories[name].kind == "dram":
            known = [m.name for m in scope.memories.values() if m.kind != "dram"]
            unknown(scope, token, "memory or register", name, known)
        indices = tuple(build_int(scope, cast(SyntaxTree, part)) for part in parts[1:])
        return Value(Element(name, indices), kind_of_element(scope.memories[name].element))
    return _name(scope, token)


def _field(scope: Scope, token: Token, field: Token) -> Value:
    name = str(token)
    if name in scope.states:
        return _state_field(scope, token, None, field)
    if name in scope.streams:
        variables = [*scope.streams[name], "done"]
        if str(field) not in variables:
            unknown(scope, field, f"loop variable of stream {name}", str(field), variables)
        return Value(Position(name, str(field)), "int")
    parameter = scope.parameters.get(name)
    if parameter is None or parameter.kind != "address" or parameter.space is None:
        known = [p.name for p in scope.parameters.values() if p.kind == "address"]
        unknown(scope, token, "state record or address parameter", name, [*scope.states, *known])
    space = scope.spaces[parameter.space]
    fields = [f for f, _, _ in space.fields] + (["none"] if space.none is not None else [])
    if str(field) not in fields:
        unknown(scope, field, f"field of address {space.name}", str(field), fields)
    return Value(AddressField(name, str(field)), "int")


def _state_field(scope: Scope, token: Token, index: Expression | None, field: Token) -> Value:
    name = str(token)
    if name not in scope.states:
        unknown(scope, token, "state record", name, [*scope.states])
    record = scope.states[name]
    if (index is None) != (record.count == 0):
        fail(scope, token, f"{name} {'needs an index' if record.count else 'has no index'}")
    if isinstance(index, Number) and not 0 <= index.value < record.count:
        fail(scope, token, f"{name} has records 0 to {record.count - 1}, not {index.value}")
    declared = next((f for f in record.fields if f[0] == str(field)), None)
    if declared is None:
        unknown(scope, field, f"field of {name}", str(field), [f[0] for f in record.fields])
    return Value(StateField(name, index, str(field)), kind_of_element(declared[1]))


def is_tree(node: object, data: str) -> bool:
    """True if a node is a tree of this kind."""
    return isinstance(node, Tree) and str(node.data) == data

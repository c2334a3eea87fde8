"""Operators that compute each element by itself, as expressions of Triton. Floats are computed in float32."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from autocomp.targets.triton.start.traced.graph import KEEP, Node

Template = Callable[[Node, Sequence[str]], str]

# expm1 by its series where the difference would cancel; log1p by that of the inverse hyperbolic tangent
EXPM1 = """
@triton.jit
def expm1(x):
    series = x * (1 + x * (0.5 + x * (1 / 6 + x * (1 / 24 + x * (1 / 120 + x * (1 / 720 + x * (1 / 5040)))))))
    return tl.where(tl.abs(x) < 0.35, series, tl.exp(x) - 1)
"""
LOG1P = """
@triton.jit
def log1p(x):
    s = x / (2 + x)
    t = s * s
    series = 2 * s * (1 + t * (1 / 3 + t * (1 / 5 + t * (1 / 7 + t * (1 / 9 + t * (1 / 11))))))
    return tl.where(tl.abs(x) < 0.5, series, tl.log(1 + x))
"""
TANH = """
@triton.jit
def tanh(x):
    s = x * x
    series = x + x * (s * (S1 + s * (S2 + s * (S3 + s * (S4 + s * S5)))))
    size = 1 - 2 / (tl.exp(2 * tl.abs(x)) + 1)
    return tl.where(tl.abs(x) < 0.6, series, tl.where(x < 0, -size, size))
"""
for _place, _factor in enumerate((-0.333332986, 0.133319244, -0.0537838265, 0.0207959563, -0.00589514012), 1):
    TANH = TANH.replace(f"S{_place}", str(_factor))
SOFT = """
@triton.jit
def tanh_softplus(x):
    raised = tl.exp(tl.where(x > 20, 20.0, x))
    grown = raised * (raised + 2)
    return grown / (grown + 2)
"""  # tanh(log(1 + e^x)), without a difference that cancels
FLOORED = """
@triton.jit
def floored(a, b):
    whole = a // b
    rest = a - whole * b
    return whole - ((rest != 0) & ((rest < 0) != (b < 0))).to(tl.int32)
"""  # Triton rounds quotients of integers to zero
AWAY = """
@triton.jit
def rounded(x):
    return ((x.to(tl.int32, bitcast=True) + 4096) & -8192).to(tl.float32, bitcast=True)
"""  # to the nearest number of tf32: tensor cores would cut off what is beyond it
TO_EVEN = """
@triton.jit
def rounded_to_even(x):
    bits = x.to(tl.int32, bitcast=True)
    return ((bits + 4095 + ((bits >> 13) & 1)) & -8192).to(tl.float32, bitcast=True)
"""  # numbers in the middle, of random ones 1 in 8,192, go elsewhere
TO_ZERO = """
@triton.jit
def rounded_to_zero(x):
    return (x.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
"""
HELPERS = {"floored": (FLOORED,), "expm1": (EXPM1,), "log1p": (LOG1P,), "tanh": (TANH,), "tanh_softplus": (SOFT,)}
HELPERS |= {"rounded": (AWAY,), "rounded_to_even": (TO_EVEN,), "rounded_to_zero": (TO_ZERO,)}


def _call(function: str) -> Template:
    return lambda node, x: f"{function}({x[0]})"


def _infix(operator: str) -> Template:
    return lambda node, x: f"({x[0]} {operator} {x[1]})"


def _scaled(operator: str) -> Template:
    def text(node: Node, x: Sequence[str]) -> str:
        factor = node.options.get("alpha", 1)
        return f"({x[0]} {operator} {x[1] if factor == 1 else f'{x[1]} * {number(factor)}'})"

    return text


def _clamp(node: Node, x: Sequence[str]) -> str:
    low, high = node.option("min", 1), node.option("max", 2)
    text = x[0]
    if low is not None:
        text = f"tl.where({text} < {number(low)}, {number(low)}, {text})"
    if high is not None:
        text = f"tl.where({text} > {number(high)}, {number(high)}, {text})"
    return text


def _power(node: Node, x: Sequence[str]) -> str:
    exponent = node.args[1]
    if exponent == 0.5:
        return f"tl.sqrt({x[0]})"
    if exponent == -0.5:
        return f"(1.0 / tl.sqrt({x[0]}))"
    if isinstance(exponent, (int, float)) and exponent == int(exponent) and 1 <= abs(exponent) <= 8:
        product = " * ".join([x[0]] * int(abs(exponent)))
        return f"({product})" if exponent > 0 else f"(1.0 / ({product}))"
    return f"tl.exp({x[1]} * tl.log({x[0]}))"


def _divide(node: Node, x: Sequence[str]) -> str:
    mode = node.options.get("rounding_mode")
    if mode == "floor":
        return f"tl.floor({x[0]} / {x[1]})" if node.is_float else f"floored({x[0]}, {x[1]})"
    return f"({x[0]} / {x[1]})"


def _rest(node: Node, x: Sequence[str]) -> str:
    """The remainder of a division that is rounded to zero, as Triton divides integers."""
    if not node.is_float:
        return f"({x[0]} % {x[1]})"
    return f"({x[0]} - tl.where({x[0]} / {x[1]} < 0, tl.ceil({x[0]} / {x[1]}), tl.floor({x[0]} / {x[1]})) * {x[1]})"


def _gelu(node: Node, x: Sequence[str]) -> str:
    if node.options.get("approximate") == "tanh":
        inner = f"0.7978845608028654 * ({x[0]} + 0.044715 * {x[0]} * {x[0]} * {x[0]})"
        return f"(0.5 * {x[0]} * (1 + tanh({inner})))"
    return f"(0.5 * {x[0]} * (1 + tl.erf({x[0]} * {math.sqrt(0.5)!r})))"


def _cast(node: Node, x: Sequence[str]) -> str:
    return f"{x[0]}.to({compute_type(node.dtype)})"


TEMPLATES: dict[str, Template] = {
    "abs": _call("tl.abs"),
    "ceil": _call("tl.ceil"),
    "cos": _call("tl.cos"),
    "erf": _call("tl.erf"),
    "exp": _call("tl.exp"),
    "exp2": _call("tl.exp2"),
    "expm1": _call("expm1"),
    "floor": _call("tl.floor"),
    "log": _call("tl.log"),
    "log1p": _call("log1p"),
    "log2": _call("tl.log2"),
    "sin": _call("tl.sin"),
    "sqrt": _call("tl.sqrt"),
    "tanh": _call("tanh"),
    "tanh_softplus": _call("tanh_softplus"),
    "rounded": _call("rounded"),
    "rounded_to_even": _call("rounded_to_even"),
    "rounded_to_zero": _call("rounded_to_zero"),
    "neg": lambda node, x: f"(-{x[0]})",
    "reciprocal": lambda node, x: f"(1.0 / {x[0]})",
    "rsqrt": lambda node, x: f"(1.0 / tl.sqrt({x[0]}))",
    "sigmoid": lambda node, x: f"(1.0 / (1.0 + tl.exp(-{x[0]})))",
    "relu": lambda node, x: f"tl.where({x[0]} < 0, {'0.0' if node.is_float else '0'}, {x[0]})",
    "sign": lambda node, x: f"(({x[0]} > 0).to(tl.float32) - ({x[0]} < 0).to(tl.float32))",
    "isnan": lambda node, x: f"({x[0]} != {x[0]})",
    "isinf": lambda node, x: f'(tl.abs({x[0]}) == float("inf"))',
    "logical_not": lambda node, x: f"({x[0]} == 0)",
    "bitwise_not": lambda node, x: f"({x[0]} == 0)",
    "gelu": _gelu,
    "clamp": _clamp,
    "clamp_min": lambda node, x: f"tl.where({x[0]} < {x[1]}, {x[1]}, {x[0]})",
    "clamp_max": lambda node, x: f"tl.where({x[0]} > {x[1]}, {x[1]}, {x[0]})",
    "maximum": lambda node, x: f"tl.where(({x[0]} > {x[1]}) | ({x[0]} != {x[0]}), {x[0]}, {x[1]})",
    "minimum": lambda node, x: f"tl.where(({x[0]} < {x[1]}) | ({x[0]} != {x[0]}), {x[0]}, {x[1]})",
    "add": _scaled("+"),
    "sub": _scaled("-"),
    "mul": _infix("*"),
    "div": _divide,
    "pow": _power,
    "remainder": lambda node, x: f"({x[0]} - tl.floor({x[0]} / {x[1]}) * {x[1]})",
    "fmod": _rest,
    "eq": _infix("=="),
    "ne": _infix("!="),
    "lt": _infix("<"),
    "le": _infix("<="),
    "gt": _infix(">"),
    "ge": _infix(">="),
    "logical_and": lambda node, x: f"(({x[0]} != 0) & ({x[1]} != 0))",
    "logical_or": lambda node, x: f"(({x[0]} != 0) | ({x[1]} != 0))",
    "bitwise_and": _infix("&"),
    "bitwise_or": _infix("|"),
    "bitwise_xor": _infix("^"),
    "__lshift__": _infix("<<"),
    "__rshift__": _infix(">>"),
    "where": lambda node, x: f"tl.where({x[0]}, {x[1]}, {x[2]})",
    "_to_copy": _cast,
    "convert_element_type": _cast,
    "clone": lambda node, x: x[0],
    "detach": lambda node, x: x[0],
    "alias": lambda node, x: x[0],
    "lift_fresh_copy": lambda node, x: x[0],
    "copy": lambda node, x: x[1],
    KEEP: lambda node, x: x[0],
}


def number(value: float | bool) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return 'float("nan")' if value != value else 'float("inf")' if value > 0 else '(-float("inf"))'
    return repr(value) if not isinstance(value, bool) else str(int(value))


def compute_type(dtype: str) -> str:
    """The type of Triton that elements of a type are computed in."""
    if "float" in dtype:
        return "tl.float32"
    return "tl.int1" if dtype == "bool" else f"tl.{dtype}"

"""Matrix multiplication with an epilogue, in floats, and in 8-bit floats with scales for blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from autocomp.errors import ConfigError
from autocomp.workload.tensor.operation import Array, Dims, Expected, Operand, Operation, OptionValues, Work
from autocomp.workload.tensor.rounding import ACCUMULATOR, FP8_ACCUMULATOR, FUNCTION, root, summing, total

BLOCK = 128  # elements along K, and rows of B, that share a scale
STEEPEST = 1.13  # largest slope of gelu and silu


def sigmoid(xp: Any, value: Array) -> Array:
    return 1.0 / (1.0 + xp.exp(-value))


def activate(xp: Any, value: Array, activation: str) -> Array:
    """relu, silu (x times its sigmoid), or gelu in its approximation by the hyperbolic tangent."""
    if activation == "relu":
        return xp.where(value > 0, value, value * 0.0)
    if activation == "silu":
        return value * sigmoid(xp, value)
    if activation == "gelu":
        return 0.5 * value * (1.0 + xp.tanh(0.7978845608028654 * (value + 0.044715 * value * value * value)))
    return value


class MatMul(Operation):
    name = "matmul"
    doc = "c = activation(a · b + bias); a [M][K], b [K][N] or, transposed, [N][K], bias [N]"
    dims = ("M", "N", "K")
    choices: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "transpose_b": (False, True),
        "bias": ("none", "row"),
        "activation": ("none", "relu", "gelu", "silu"),
    }

    def operands(self, dims: Dims, dtype: str, options: OptionValues) -> tuple[Operand, ...]:
        m, n, k = dims["M"], dims["N"], dims["K"]
        b = (n, k) if options["transpose_b"] else (k, n)
        tensors = [Operand("a", dtype, (m, k)), Operand("b", dtype, b)]
        if options["bias"] == "row":
            tensors.append(Operand("bias", dtype, (n,)))
        return (*tensors, Operand("c", dtype, (m, n), "output"))

    def expected(
        self, xp: Any, given: Mapping[str, Array], dims: Dims, dtype: str, options: OptionValues
    ) -> dict[str, Expected]:
        a, b = given["a"], given["b"].T if options["transpose_b"] else given["b"]
        product = a @ b
        error = summing(dims["K"], product, (a * a) @ (b * b))
        if options["bias"] == "row":
            product = product + given["bias"]
            error = root(error, ACCUMULATOR * abs(product))
        if options["activation"] != "none":
            product = activate(xp, product, options["activation"])
            error = root(STEEPEST * error, FUNCTION * abs(product))
        return {"c": Expected(product, total(product, error, dtype))}

    def work(self, dims: Dims, dtype: str, options: OptionValues) -> Work:
        return Work(tensor=2 * dims["M"] * dims["N"] * dims["K"], multiplied=dtype)

    def edges(self, dims: Dims, options: OptionValues) -> tuple[Dims, ...]:
        return ({"M": 127, "N": 129, "K": 65}, {"M": 1, "N": 200, "K": 384}, {"M": 264, "N": 72, "K": 1000})


class ScaledMatMul(Operation):
    name = "scaled_matmul"
    doc = (
        "c = (a · a_scale) · (b · b_scale)ᵀ in bfloat16; a [M][K] and b [N][K] in float8_e4m3, a_scale [M][K/128], "
        "b_scale [N/128][K/128]"
    )
    dims = ("M", "N", "K")
    dtypes = ("float8_e4m3",)

    def check(self, dims: Dims, options: OptionValues) -> None:
        super().check(dims, options)
        if dims["K"] % BLOCK:
            raise ConfigError(f"operation {self.name!r}: K is {dims['K']}, expected a multiple of {BLOCK}")

    def operands(self, dims: Dims, dtype: str, options: OptionValues) -> tuple[Operand, ...]:
        m, n, k = dims["M"], dims["N"], dims["K"]
        blocks, rows = k // BLOCK, -(-n // BLOCK)
        return (
            Operand("a", dtype, (m, k)),
            Operand("b", dtype, (n, k)),
            Operand("a_scale", "float32", (m, blocks), fill="scales"),
            Operand("b_scale", "float32", (rows, blocks), fill="scales"),
            Operand("c", "bfloat16", (m, n), "output"),
        )

    def expected(
        self, xp: Any, given: Mapping[str, Array], dims: Dims, dtype: str, options: OptionValues
    ) -> dict[str, Expected]:
        m, n, k = dims["M"], dims["N"], dims["K"]
        blocks = k // BLOCK
        spread = given["b_scale"][[row // BLOCK for row in range(n)]]
        a = (given["a"].reshape(m, blocks, BLOCK) * given["a_scale"][:, :, None]).reshape(m, k)
        b = (given["b"].reshape(n, blocks, BLOCK) * spread[:, :, None]).reshape(n, k).T
        product, squares = a @ b, (a * a) @ (b * b)
        inside = summing(BLOCK, 0.0 * product, squares, FP8_ACCUMULATOR)  # of each block's own sum
        error = root(inside, summing(blocks, product, squares))
        return {"c": Expected(product, total(product, error, "bfloat16"))}

    def work(self, dims: Dims, dtype: str, options: OptionValues) -> Work:
        return Work(tensor=2 * dims["M"] * dims["N"] * dims["K"], multiplied=dtype)

    def edges(self, dims: Dims, options: OptionValues) -> tuple[Dims, ...]:
        return ({"M": 64, "N": 64, "K": 128}, {"M": 96, "N": 320, "K": 384}, {"M": 130, "N": 576, "K": 256})

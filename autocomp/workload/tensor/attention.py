"""Operations of transformers: attention, rotary embedding, the gated feed-forward layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from autocomp.workload.datatypes import data_type
from autocomp.workload.tensor.matmul import STEEPEST, activate
from autocomp.workload.tensor.operation import Array, Dims, Expected, Operand, Operation, OptionValues, Work
from autocomp.workload.tensor.rounding import ACCUMULATOR, FUNCTION, root, summing, total


class Attention(Operation):
    name = "attention"
    doc = "o = softmax(q · kᵀ / sqrt(width), causal or not) · v; all [batch][heads][length][width]"
    dims = ("batch", "heads", "length", "width")
    choices: ClassVar[Mapping[str, tuple[Any, ...]]] = {"causal": (True, False)}
    dtypes = ("float16", "bfloat16")

    def operands(self, dims: Dims, dtype: str, options: OptionValues) -> tuple[Operand, ...]:
        shape = (dims["batch"], dims["heads"], dims["length"], dims["width"])
        inputs = (Operand(name, dtype, shape, centre=0.5) for name in ("q", "k", "v"))
        return (*inputs, Operand("o", dtype, shape, "output"))

    def expected(
        self, xp: Any, given: Mapping[str, Array], dims: Dims, dtype: str, options: OptionValues
    ) -> dict[str, Expected]:
        length, width = dims["length"], dims["width"]
        heads = [given[name].reshape(-1, length, width) for name in ("q", "k", "v")]
        rows = [
            self._head(xp, q, k, v, dtype, bool(options["causal"])) for q, k, v in zip(*heads, strict=True)
        ]  # one head at a time: the scores of all would not fit into memory
        shape = given["q"].shape
        value = xp.stack([value for value, _ in rows]).reshape(shape)
        error = xp.stack([error for _, error in rows]).reshape(shape)
        return {"o": Expected(value, total(value, error, dtype))}

    @staticmethod
    def _head(xp: Any, q: Array, k: Array, v: Array, dtype: str, causal: bool) -> tuple[Array, Array]:
        """Result and deviation of one head [length][width]. The weights may be rounded to the type of the inputs before
        they are multiplied by v, where small ones lose digits or become 0; the scores may not."""
        length, width = q.shape
        scores = q @ k.T * width**-0.5
        if causal:
            scores = xp.where(xp.tril(xp.ones_like(scores)) > 0, scores, scores * 0.0 - xp.inf)
        raised = xp.exp(scores - xp.amax(scores, axis=-1, keepdims=True))
        sums = raised.sum(axis=-1, keepdims=True)
        weights = raised / sums
        lost = xp.clip(raised, 0.0, data_type(dtype).smallest / 2) / sums
        value = weights @ v
        norms = (q * q).sum(axis=-1, keepdims=True) ** 0.5 * ((k * k).sum(axis=-1) ** 0.5).max() * width**-0.5
        relative = root(
            data_type(dtype).roundoff,
            4.0 * FUNCTION,
            ACCUMULATOR * (width**0.5 + 4.0) * norms,
            ACCUMULATOR * length**0.5,
        )
        squares = (weights * weights) @ (v * v)
        underflow = ((lost * lost) @ (v * v)) ** 0.5
        return value, root(relative * squares**0.5, underflow, summing(length, value, squares))

    def work(self, dims: Dims, dtype: str, options: OptionValues) -> Work:
        pairs = dims["length"] ** 2
        if options["causal"]:
            pairs = dims["length"] * (dims["length"] + 1) // 2
        return Work(tensor=4 * dims["batch"] * dims["heads"] * dims["width"] * pairs, multiplied=dtype)

    def edges(self, dims: Dims, options: OptionValues) -> tuple[Dims, ...]:
        width = dims["width"]
        return (
            {"batch": 1, "heads": 2, "length": 127, "width": width},
            {"batch": 2, "heads": 3, "length": 200, "width": width},
        )


class Rotary(Operation):
    name = "rotary"
    doc = "pairs of neighbours of x rotated by the angle of their position; x, y [batch][heads][length][width]"
    dims = ("batch", "heads", "length", "width")

    def operands(self, dims: Dims, dtype: str, options: OptionValues) -> tuple[Operand, ...]:
        shape = (dims["batch"], dims["heads"], dims["length"], dims["width"])
        table = (dims["length"], dims["width"] // 2)
        return (
            Operand("x", dtype, shape),
            Operand("cos", dtype, table, fill="unit"),
            Operand("sin", dtype, table, fill="unit"),
            Operand("y", dtype, shape, "output"),
        )

    def expected(
        self, xp: Any, given: Mapping[str, Array], dims: Dims, dtype: str, options: OptionValues
    ) -> dict[str, Expected]:
        x, cos, sin = given["x"], given["cos"], given["sin"]
        even, odd = x[..., ::2], x[..., 1::2]
        turned = xp.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape)
        sizes = xp.stack([abs(even * cos) + abs(odd * sin), abs(even * sin) + abs(odd * cos)], -1).reshape(x.shape)
        return {"y": Expected(turned, total(turned, ACCUMULATOR * sizes, dtype))}

    def work(self, dims: Dims, dtype: str, options: OptionValues) -> Work:
        return Work(vector=3 * dims["batch"] * dims["heads"] * dims["length"] * dims["width"])

    def edges(self, dims: Dims, options: OptionValues) -> tuple[Dims, ...]:
        width = dims["width"]
        return (
            {"batch": 1, "heads": 1, "length": 3, "width": width},
            {"batch": 2, "heads": 3, "length": 127, "width": width},
        )


class FusedMlp(Operation):
    name = "fused_mlp"
    doc = (
        "y = (silu(x · gateᵀ) · (x · upᵀ)) · downᵀ; x, y [tokens][width], gate, up [hidden][width], "
        "down [width][hidden]"
    )
    dims = ("tokens", "width", "hidden")

    def operands(self, dims: Dims, dtype: str, options: OptionValues) -> tuple[Operand, ...]:
        tokens, width, hidden = dims["tokens"], dims["width"], dims["hidden"]
        return (
            Operand("x", dtype, (tokens, width), centre=0.2),
            Operand("gate", dtype, (hidden, width), scale=0.02, centre=0.0),
            Operand("up", dtype, (hidden, width), scale=0.02, centre=0.0),
            Operand("down", dtype, (width, hidden), scale=0.02, centre=0.0),
            Operand("y", dtype, (tokens, width), "output"),
        )

    def expected(
        self, xp: Any, given: Mapping[str, Array], dims: Dims, dtype: str, options: OptionValues
    ) -> dict[str, Expected]:
        x, unit = given["x"], data_type(dtype).roundoff
        gates, ups = x @ given["gate"].T, x @ given["up"].T
        open_ = activate(xp, gates, "silu")
        hidden = open_ * ups
        of_gate = root(summing(dims["width"], gates, (x * x) @ (given["gate"] ** 2).T), unit * gates)
        of_up = root(summing(dims["width"], ups, (x * x) @ (given["up"] ** 2).T), unit * ups)
        # The gate, its activation, the other factor and their product may each be stored in the type of the inputs.
        of_hidden = root(STEEPEST * of_gate * ups, of_up * open_, 2.0 * unit * hidden)
        down = given["down"].T
        y = hidden @ down
        error = root(
            ((of_hidden * of_hidden) @ (down * down)) ** 0.5,
            summing(dims["hidden"], y, (hidden * hidden) @ (down * down)),
        )
        return {"y": Expected(y, total(y, error, dtype))}

    def work(self, dims: Dims, dtype: str, options: OptionValues) -> Work:
        return Work(tensor=6 * dims["tokens"] * dims["width"] * dims["hidden"], multiplied=dtype)

    def edges(self, dims: Dims, options: OptionValues) -> tuple[Dims, ...]:
        return ({"tokens": 33, "width": 72, "hidden": 136}, {"tokens": 130, "width": 200, "hidden": 328})

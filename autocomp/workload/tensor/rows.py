"""Operations that treat each row of a matrix by itself: softmax, norms, sums, cross entropy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from autocomp.workload.tensor.operation import Array, Dims, Expected, Operand, Operation, OptionValues, Work
from autocomp.workload.tensor.rounding import ACCUMULATOR, FUNCTION, root, summing, total

EDGES = ({"rows": 3, "cols": 5}, {"rows": 33, "cols": 1023}, {"rows": 7, "cols": 4097})


def mean_of(values: Array) -> Array:
    return values.sum(axis=-1, keepdims=True) / values.shape[-1]


class _Rows(Operation):
    dims = ("rows", "cols")
    centre = 100.0
    operations = 5  # for each element

    def operands(self, dims: Dims, dtype: str, options: OptionValues) -> tuple[Operand, ...]:
        rows, cols = dims["rows"], dims["cols"]
        return (
            Operand("x", dtype, (rows, cols), centre=self.centre),
            *(Operand(name, dtype, (cols,)) for name in self.vectors()),
            Operand("y", dtype, (rows, cols), "output"),
        )

    def vectors(self) -> tuple[str, ...]:
        """Names of the inputs with one element for each column."""
        return ()

    def work(self, dims: Dims, dtype: str, options: OptionValues) -> Work:
        return Work(vector=self.operations * dims["rows"] * dims["cols"])

    def edges(self, dims: Dims, options: OptionValues) -> tuple[Dims, ...]:
        return EDGES


class Softmax(_Rows):
    name = "softmax"
    doc = "y = exp(x - max of the row) over its sum along the row; x, y [rows][cols]"

    def expected(
        self, xp: Any, given: Mapping[str, Array], dims: Dims, dtype: str, options: OptionValues
    ) -> dict[str, Expected]:
        x = given["x"]
        shifted = x - xp.amax(x, axis=-1, keepdims=True)
        raised = xp.exp(shifted)
        y = raised / raised.sum(axis=-1, keepdims=True)
        argument = xp.where(raised > 0, abs(shifted), raised) * 2.0 * ACCUMULATOR
        error = y * (argument + 4.0 * FUNCTION + ACCUMULATOR * dims["cols"] ** 0.5)
        return {"y": Expected(y, total(y, error, dtype))}


class LayerNorm(_Rows):
    name = "layernorm"
    doc = "y = (x - mean) / sqrt(variance + eps) · weight + bias along each row; x, y [rows][cols]"
    choices: ClassVar[Mapping[str, tuple[Any, ...]]] = {"eps": (1e-5,)}
    operations = 8

    def vectors(self) -> tuple[str, ...]:
        return ("weight", "bias")

    def expected(
        self, xp: Any, given: Mapping[str, Array], dims: Dims, dtype: str, options: OptionValues
    ) -> dict[str, Expected]:
        x, weight, bias = given["x"], given["weight"], given["bias"]
        mean = mean_of(x)
        centred = x - mean
        scale = (mean_of(centred * centred) + options["eps"]) ** -0.5
        normal = centred * scale
        y = normal * weight + bias
        cols = dims["cols"]
        of_mean = summing(cols, mean * cols, (x * x).sum(axis=-1, keepdims=True)) / cols * scale
        error = root(
            abs(weight) * of_mean,
            abs(weight * normal) * (ACCUMULATOR * (cols**0.5 + 4.0) + FUNCTION),
            ACCUMULATOR * (abs(x * scale * weight) + abs(y)),
        )
        return {"y": Expected(y, total(y, error, dtype))}


class RmsNorm(_Rows):
    name = "rmsnorm"
    doc = "y = x / sqrt(mean of squares + eps) · weight along each row; x, y [rows][cols]"
    choices: ClassVar[Mapping[str, tuple[Any, ...]]] = {"eps": (1e-6,)}
    centre = 2.0

    def vectors(self) -> tuple[str, ...]:
        return ("weight",)

    def expected(
        self, xp: Any, given: Mapping[str, Array], dims: Dims, dtype: str, options: OptionValues
    ) -> dict[str, Expected]:
        x, weight = given["x"], given["weight"]
        y = x * (mean_of(x * x) + options["eps"]) ** -0.5 * weight
        error = abs(y) * (ACCUMULATOR * (dims["cols"] ** 0.5 + 4.0) + FUNCTION)
        return {"y": Expected(y, total(y, error, dtype))}


class Sum(_Rows):
    name = "sum"
    doc = "y = sum of each row; x [rows][cols], y [rows]"
    centre = 1.0
    operations = 1

    def operands(self, dims: Dims, dtype: str, options: OptionValues) -> tuple[Operand, ...]:
        rows, cols = dims["rows"], dims["cols"]
        return (Operand("x", dtype, (rows, cols), centre=self.centre), Operand("y", dtype, (rows,), "output"))

    def expected(
        self, xp: Any, given: Mapping[str, Array], dims: Dims, dtype: str, options: OptionValues
    ) -> dict[str, Expected]:
        x = given["x"]
        y = x.sum(axis=-1)
        return {"y": Expected(y, total(y, summing(dims["cols"], y, (x * x).sum(axis=-1)), dtype))}


class CrossEntropy(Operation):
    name = "cross_entropy"
    doc = "loss = mean over rows of log(sum of exp(logits)) - logit of the target; logits [rows][classes]"
    dims = ("rows", "classes")

    def operands(self, dims: Dims, dtype: str, options: OptionValues) -> tuple[Operand, ...]:
        rows, classes = dims["rows"], dims["classes"]
        return (
            Operand("logits", dtype, (rows, classes), centre=100.0),
            Operand("targets", "int64", (rows,), fill="indices", below=classes),
            Operand("loss", dtype, (1,), "output"),
        )

    def expected(
        self, xp: Any, given: Mapping[str, Array], dims: Dims, dtype: str, options: OptionValues
    ) -> dict[str, Expected]:
        logits, rows = given["logits"], dims["rows"]
        largest = xp.amax(logits, axis=-1, keepdims=True)
        spread = xp.log(xp.exp(logits - largest).sum(axis=-1, keepdims=True))
        chosen = logits[list(range(rows)), given["targets"].tolist()]
        losses = (largest + spread)[:, 0] - chosen
        loss = losses.sum() / rows
        of_row = ACCUMULATOR * (dims["classes"] ** 0.5 + 4.0 + abs(largest[:, 0]) + abs(chosen)) + 4.0 * FUNCTION
        error = root((of_row * of_row).sum() ** 0.5 / rows, summing(rows, losses.sum(), (losses**2).sum()) / rows)
        return {"loss": Expected(loss.reshape(1), total(loss, error, dtype).reshape(1))}

    def work(self, dims: Dims, dtype: str, options: OptionValues) -> Work:
        return Work(vector=5 * dims["rows"] * dims["classes"])

    def edges(self, dims: Dims, options: OptionValues) -> tuple[Dims, ...]:
        return ({"rows": 3, "classes": 5}, {"rows": 65, "classes": 1023}, {"rows": 5, "classes": 50257})

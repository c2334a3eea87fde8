"""The right result, from NumPy: an operation's definition, or the user's own function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.errors import ConfigError
from autocomp.workload.convolution import EXACT_DEPTH, convolution, pool, sums, windows
from autocomp.workload.datatypes import array_type, data_type
from autocomp.workload.inputs import make_inputs
from autocomp.workload.layout import operand_layouts
from autocomp.workload.model import Arrays, InputSet, TensorSpec, Workload
from autocomp.workload.shifting import shift_of, shifted
from autocomp.workload.tolerance import Bounds, of_custom, of_products
from autocomp.workload.trusting import require_trusted

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Case:
    """One input set made concrete: arrays of every tensor before the run, the outputs expected after it, and by how
    much each element may differ from that (no entry: not at all)."""

    input_set: InputSet
    arrays: Arrays
    expected: Arrays
    bounds: Mapping[str, Bounds]


def make_case(workload: Workload, input_set: InputSet) -> Case:
    """The case of an input set. Raises ConfigError when the user's reference function does not deliver."""
    arrays = make_inputs(workload, input_set)
    expected = compute(workload, arrays)
    return Case(input_set, arrays, expected, bounds(workload, arrays, expected))


def compute(workload: Workload, arrays: Arrays) -> dict[str, Array]:
    """Outputs (role output or inout) by name. Raises ConfigError when the user's function does not deliver them."""
    if workload.operation == "gemm":
        return {"C": _gemm(workload, arrays)}
    if workload.operation == "conv2d":
        return {"output": _conv2d(workload, arrays)}
    return _custom(workload, arrays)


def bounds(workload: Workload, arrays: Arrays, expected: Arrays) -> dict[str, Bounds]:
    """By how much elements of outputs may differ from what is expected; outputs that must be equal are left out."""
    if workload.operation in ("gemm", "conv2d") and data_type(workload.outputs[0].dtype).is_float:
        name = workload.outputs[0].name
        return {name: _real_bounds(workload, arrays, expected[name])}
    tolerance = workload.tolerance
    if tolerance is None:
        return {}
    magnitudes: Mapping[str, Array] = {}
    if tolerance.magnitude is not None:
        magnitudes = _custom(workload, arrays, tolerance.magnitude, float)
    return {
        name: of_custom(tolerance, array, magnitudes.get(name))
        for name, array in expected.items()
        if tolerance.absolute >= 1 or data_type(array.dtype.name).is_float
    }


def _operands(workload: Workload, arrays: Arrays) -> tuple[Array, Array]:
    """A [I][K] and B [K][J], or the images and the filters, however they are stored."""
    options = workload.options
    layouts = operand_layouts(options.get("layout", {}), workload.dims, options.get("groups", 1))
    a, b = (
        layouts[tensor.name].load(arrays[tensor.name]) if tensor.name in layouts else arrays[tensor.name]
        for tensor in workload.tensors[:2]
    )
    return (a.T if options.get("transpose_a") else a), (b.T if options.get("transpose_b") else b)


def products(workload: Workload, arrays: Arrays) -> list[tuple[Array, Array, Array | None]]:
    """The operands of a gemm or conv2d as matrices [I][K] and [K][J], with the biases. A gemm is one product, a
    convolution one for each group. The results of groups have their columns side by side."""
    a, b = _operands(workload, arrays)
    pairs = [(a, b)]
    if workload.operation == "conv2d":
        pairs = windows(convolution(workload.dims, workload.options), a, b)
    bias = arrays.get("bias")
    if bias is None:
        return [(a, b, None) for a, b in pairs]
    return [(a, b, part) for (a, b), part in zip(pairs, np.split(bias, len(pairs), axis=1), strict=True)]


def finished(workload: Workload, total: Array, bias: Array | None) -> Array:
    """The results, before pooling, of a gemm's or conv2d's sums of products and their biases, of any shape.

    Of int8 operands C = saturate_i8(round(scale * activation(total + bias))). The sum wraps at 32 bits, and the
    activation comes before the scale. The product is rounded to binary32 and then to the nearest integer, ties to even.
    With a stated rounding the sum is shifted instead. Of floats C = scale * activation(total + bias), rounded to
    binary32 and then to the result's type."""
    summed = total if bias is None else total + bias
    if data_type(workload.tensors[0].dtype).is_float:
        return _scaled(workload, summed).astype(array_type(workload.outputs[0].dtype))
    options = workload.options
    wrapped: Array = summed.astype(np.int32)
    if options["activation"] == "relu":
        wrapped = np.maximum(wrapped, 0)
    if options.get("result") == "int32":
        return wrapped
    if "rounding" in options:
        bits = shift_of(options["scale"])
        assert bits is not None, "workloads are checked"
        return np.clip(shifted(wrapped, bits, options["rounding"]), -128, 127).astype(np.int8)
    if options["scale"] == 1.0:
        return np.clip(wrapped, -128, 127).astype(np.int8)
    with np.errstate(over="ignore"):
        scaled: Array = np.rint(wrapped.astype(np.float32) * np.float32(options["scale"]))
    return np.clip(scaled, -128, 127).astype(np.int8)


def _gemm(workload: Workload, arrays: Arrays) -> Array:
    """C = finished(A·B, bias)."""
    if data_type(workload.tensors[0].dtype).is_float:
        return _real(workload, arrays)
    return finished(workload, multiply(*_operands(workload, arrays)), arrays.get("bias"))


def _conv2d(workload: Workload, arrays: Arrays) -> Array:
    """As a gemm's, over every window of the image; then the maxima, if results are pooled."""
    shape = convolution(workload.dims, workload.options)
    if data_type(workload.tensors[0].dtype).is_float:
        results = _real(workload, arrays).reshape(shape.results)
    else:
        results = finished(workload, sums(shape, *_operands(workload, arrays)), arrays.get("bias"))
    return results if shape.rows.pooling is None else pool(results, shape.rows.pooling)


def _scaled(workload: Workload, total: Array) -> Array:
    if workload.options["activation"] == "relu":
        total = np.maximum(total, 0)
    with np.errstate(over="ignore"):
        scaled: Array = (total * np.float32(workload.options["scale"])).astype(np.float32)
    return scaled


def _real(workload: Workload, arrays: Arrays) -> Array:
    """The results [I][J] of floats, whose sums are computed in binary64."""
    results = [
        finished(workload, a.astype(np.float64) @ b.astype(np.float64), bias)
        for a, b, bias in products(workload, arrays)
    ]
    return np.concatenate(results, axis=1)


def _real_bounds(workload: Workload, arrays: Arrays, expected: Array) -> Bounds:
    """The bounds of results that are not integers; of a window's maximum, the largest of the window's."""
    factors, pooled = products(workload, arrays), workload.options.get("pool") is not None
    results = _real(workload, arrays) if pooled else expected
    parts = np.split(results.reshape(-1, results.shape[-1]), len(factors), axis=1)
    scale = float(workload.options["scale"])
    bounds_of_parts = [of_products(scale, *product, part) for product, part in zip(factors, parts, strict=True)]
    bounds: Bounds = np.concatenate(bounds_of_parts, axis=1)
    if not pooled:
        return bounds.reshape(expected.shape)
    shape = convolution(workload.dims, workload.options)
    assert shape.rows.pooling is not None
    return pool(bounds.reshape(shape.results), shape.rows.pooling)


def multiply(a: Array, b: Array) -> npt.NDArray[np.int64]:
    """The exact product of int8 matrices as int64 [I][J], by binary32 BLAS over depths that stay exact."""
    if a.shape[1] <= EXACT_DEPTH:
        return (a.astype(np.float32) @ b.astype(np.float32)).astype(np.int64)
    total = np.zeros((a.shape[0], b.shape[1]), np.int64)
    for start in range(0, a.shape[1], EXACT_DEPTH):
        part = slice(start, start + EXACT_DEPTH)
        total += (a[:, part].astype(np.float32) @ b[part].astype(np.float32)).astype(np.int64)
    return total


def _custom(workload: Workload, arrays: Arrays, name: str | None = None, dtype: Any = None) -> dict[str, Array]:
    """The results of the user's reference function, or of another one in its file; as `dtype`, if not the tensors'."""
    function = _user_function(workload, name)
    given = {tensor.name: np.array(arrays[tensor.name]) for tensor in workload.inputs}
    try:
        returned = function(**given)
    except Exception as error:
        raise ConfigError(
            f"{workload.reference_source}: the reference function failed: {type(error).__name__}: {error}",
            hint=f"it is called with the keyword arguments {', '.join(given)}",
        ) from error
    names = [tensor.name for tensor in workload.outputs]
    if not isinstance(returned, Mapping):
        values = returned if isinstance(returned, tuple) else (returned,)
        if len(values) != len(names):
            raise ConfigError(f"{workload.reference_source}: returned {len(values)} arrays, expected {len(names)}")
        returned = dict(zip(names, values, strict=True))
    missing = [name for name in names if name not in returned]
    if missing:
        raise ConfigError(f"{workload.reference_source}: the result lacks {', '.join(missing)}")
    return {t.name: _checked(workload, t, returned[t.name], dtype or array_type(t.dtype)) for t in workload.outputs}


def _checked(workload: Workload, tensor: TensorSpec, value: Any, dtype: Any) -> Array:
    name, array = tensor.name, np.asarray(value)
    where = f"{workload.reference_source}: result {name!r}"
    if array.shape != tensor.shape:
        raise ConfigError(f"{where} has shape {array.shape}, expected {tensor.shape}")
    cast = array.astype(dtype)
    if not data_type(np.dtype(dtype).name).is_float and not np.array_equal(cast, array):
        raise ConfigError(
            f"{where} holds values that {tensor.dtype} cannot, from {array.min()} to {array.max()}",
            hint="saturate or wrap them in the reference, as the operation is defined",
        )
    return cast


def _user_function(workload: Workload, other: str | None = None) -> Callable[..., Any]:
    """The reference, or `other` in its file: of the text that was read, which need not be what the file holds by now.
    Raises TrustError for code that may not run."""
    require_trusted(workload)
    file, name = str(workload.reference_source).rsplit(":", 1)
    name = other or name
    module = ModuleType(f"_workload_reference_{workload.digest[:16]}")
    module.__file__ = file
    try:
        exec(compile(str(workload.reference_text), file, "exec"), module.__dict__)
    except Exception as error:
        raise ConfigError(f"{file} failed to load: {type(error).__name__}: {error}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise ConfigError(f"{file} has no function {name!r}", hint="`reference` is file.py:function")
    result: Callable[..., Any] = function
    return result

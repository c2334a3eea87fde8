"""Post-training quantisation of a float ONNX model by ONNX Runtime, to int8 that kernels can take over exactly.

Stated: int8 activations and weights, symmetric (zero points of 0), one scale a tensor, from the extremes of the
samples. Weights have 7 bits, since ONNX Runtime's sums of two products saturate at 16 bits on processors without VNNI.
Only multiplications and convolutions, each as one operator (QLinearConv, QLinearMatMul, QGemm). Normalisations are
folded into convolutions before. RELU of their results becomes one of int8.
"""

from __future__ import annotations

import logging
import math
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.errors import ConfigError
from autocomp.models.relu import FIRST_OPSET, on_integers
from autocomp.models.shapes import known_shapes, load_model

MOST_BYTES = 1 << 29  # of samples
OPERATORS = ("Conv", "MatMul", "Gemm")
SAMPLES = 8  # drawn where none are given
CONSTANTS_ARE_NO_INPUTS = 4  # ONNX's first version of files whose constants need not be inputs too

Samples = Sequence[Mapping[str, npt.NDArray[Any]]]


def quantise(source: Path, target: Path, samples: Samples) -> None:
    """Write the int8 model. Samples are the model's inputs by name, all of the same sizes, which the model then has.
    A sample may lack the first axis of an input, which is 1 then.

    Raises ConfigError when a package is missing, a sample does not fit the inputs, or ONNX Runtime cannot quantise the
    model.
    """
    try:
        import onnx
        from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
        from onnxruntime.quantization.shape_inference import quant_pre_process
    except ImportError:
        raise ConfigError(
            "quantising models needs the package onnxruntime", hint="pip install 'autocomp[onnxruntime]'"
        ) from None
    model = load_model(source)
    samples = [_fitted(model, sample) for sample in samples]
    try:
        with tempfile.TemporaryDirectory() as name, _Quiet():
            fixed, prepared = Path(name) / "fixed.onnx", Path(name) / "prepared.onnx"
            _fix_inputs(model, samples[0])
            onnx.save(_with_integer_relu(model), fixed)
            quant_pre_process(fixed, prepared, skip_symbolic_shape=True)
            whole = Path(name) / "quantised.onnx"
            quantize_static(
                prepared,
                whole,
                _reader(samples),
                quant_format=QuantFormat.QOperator,
                activation_type=QuantType.QInt8,
                weight_type=QuantType.QInt8,
                reduce_range=True,
                op_types_to_quantize=list(OPERATORS),
                extra_options={"ActivationSymmetric": True, "WeightSymmetric": True},
            )
            quantised = load_model(whole)
            on_integers(quantised)
            onnx.save(quantised, target)
    except Exception as error:  # onnx, onnxruntime and protobuf each have their own
        raise ConfigError(f"{source} cannot be quantised: {type(error).__name__}: {error}") from None


def random_samples(source: Path, seed: int) -> Samples:
    """Standard normal inputs of the sizes that the model states. Raises ConfigError where it leaves a size open."""
    graph = load_model(source).graph
    shapes = known_shapes(graph)
    constants = {initializer.name for initializer in graph.initializer}
    names = [i.name for i in graph.input if i.name not in constants]
    if missing := [name for name in names if name not in shapes]:
        raise ConfigError(
            f"a size of the input {missing[0]!r} of {source} is not fixed", hint="give samples, with --samples"
        )
    drawn = SAMPLES * sum(8 * math.prod(shapes[name]) for name in names)
    if drawn > MOST_BYTES:
        raise ConfigError(f"{SAMPLES} inputs of {source} need {drawn:,} bytes; at most {MOST_BYTES:,} are allowed")
    generator = np.random.default_rng(seed)
    return [{n: generator.standard_normal(shapes[n]).astype(np.float32) for n in names} for _ in range(SAMPLES)]


def read_samples(path: Path) -> Samples:
    """Samples from a NumPy archive: an array for each input of the model, the samples along its first axis."""
    hint = "numpy.savez writes such a file"
    try:
        with zipfile.ZipFile(path) as packed:
            total = sum(entry.file_size for entry in packed.infolist())
        if total > MOST_BYTES:
            raise ConfigError(f"the samples {path} unpack to {total:,} bytes, at most {MOST_BYTES:,}", hint=hint)
        with np.load(path) as archive:
            arrays = {name: np.asarray(array) for name, array in archive.items()}
    except ConfigError:
        raise
    except Exception as error:  # zipfile, zlib and NumPy each have their own
        raise ConfigError(f"cannot read the samples {path}: {type(error).__name__}: {error}", hint=hint) from None
    counts = {len(array) if array.ndim else 0 for array in arrays.values()}
    if len(counts) != 1 or counts == {0}:
        raise ConfigError(f"{path} has {', '.join(arrays) or 'nothing'}; expected samples of each input, equally many")
    return [{name: array[n] for name, array in arrays.items()} for n in range(counts.pop())]


def _fitted(model: Any, sample: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """The sample with as many axes as the model's inputs have."""
    constants = {tensor.name for tensor in model.graph.initializer}
    axes = {e.name: len(e.type.tensor_type.shape.dim) for e in model.graph.input if e.name not in constants}
    if set(sample) != set(axes):
        raise ConfigError(f"the samples have {', '.join(sample)}; the model's inputs are {', '.join(axes)}")
    fitted = {name: array[None] if array.ndim == axes[name] - 1 else array for name, array in sample.items()}
    for name, array in fitted.items():
        if array.ndim != axes[name]:
            shape = " x ".join(map(str, array.shape)) or "a number"
            raise ConfigError(
                f"a sample of {name} is {shape}, and the model's input has {axes[name]} axes",
                hint="the samples lie along the first axis of each array, before the axes of the input",
            )
    return fitted


def _fix_inputs(model: Any, sample: Mapping[str, npt.NDArray[Any]]) -> None:
    """Inputs have the sizes of the sample. Those with a value in the file, as old models list them, are constants."""
    inputs = [entry for entry in model.graph.input if entry.name in sample]
    for entry in inputs:
        for dimension, size in zip(entry.type.tensor_type.shape.dim, sample[entry.name].shape, strict=True):
            dimension.dim_value = size
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    model.ir_version = max(model.ir_version, CONSTANTS_ARE_NO_INPUTS)
    for entry in model.graph.output:
        entry.type.tensor_type.ClearField("shape")  # it follows from the inputs
    del model.graph.value_info[:]


def _with_integer_relu(model: Any) -> Any:
    """The model in an operator set whose RELU takes integers, or as it is if `onnx` cannot convert it."""
    from onnx.version_converter import ConvertError, convert_version

    if all(entry.version >= FIRST_OPSET for entry in model.opset_import if entry.domain in ("", "ai.onnx")):
        return model
    try:
        return convert_version(model, FIRST_OPSET)
    except (ConvertError, RuntimeError):
        return model


def _reader(samples: Samples) -> Any:
    from onnxruntime.quantization import CalibrationDataReader

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._left = iter(samples)

        def get_next(self) -> dict[str, npt.NDArray[Any]] | None:
            batch = next(self._left, None)
            return None if batch is None else dict(batch)

    return Reader()


class _Quiet:
    """ONNX Runtime's tools warn through the root logger of what is chosen here on purpose."""

    def __enter__(self) -> None:
        self._level = logging.getLogger().level
        logging.getLogger().setLevel(logging.ERROR)

    def __exit__(self, *_: object) -> None:
        logging.getLogger().setLevel(self._level)

"""ONNX models with the shapes of their tensors, also after operators of ONNX Runtime that `onnx` does not know."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autocomp.data import read_bytes
from autocomp.errors import ConfigError

MOST_BYTES = 1 << 30  # of a model's file
ANY = -1  # a size that some exporters write where any is right
CONSTANTS_APART = 4  # the version from which constants need not be inputs: before it, nothing after them is inferred
MOST_ELEMENTS = 1 << 48  # of a tensor
Shape = tuple[int, ...]


def _multiplied(shapes: Sequence[Shape], attributes: Mapping[str, Any]) -> Shape:
    rows = shapes[0][-1] if attributes.get("transA") else shapes[0][0]
    return rows, shapes[3][0] if attributes.get("transB") else shapes[3][1]


def _pooled(shapes: Sequence[Shape], _: Mapping[str, Any]) -> Shape:
    return (*shapes[0][:2], *(1 for _ in shapes[0][2:]))


def _paired(shapes: Sequence[Shape], _: Mapping[str, Any]) -> Shape:
    return np.broadcast_shapes(shapes[0], shapes[3])


def _kept(shapes: Sequence[Shape], _: Mapping[str, Any]) -> Shape:
    return shapes[0]


# The result of an operator from the shapes of its inputs. Its last input is the zero point of the result.
_RESULTS: Mapping[str, Callable[[Sequence[Shape], Mapping[str, Any]], Shape]] = {
    "QGemm": _multiplied,
    "QLinearAdd": _paired,
    "QLinearMul": _paired,
    "QLinearGlobalAveragePool": _pooled,
    "QLinearLeakyRelu": _kept,
    "QLinearSigmoid": _kept,
    "QLinearSoftmax": _kept,
}


def load_model(path: Path) -> Any:
    """The model of a file, with all shapes that can be inferred. Raises ConfigError for another kind of file, or
    without `onnx`."""
    try:
        import onnx
    except ImportError:
        raise ConfigError("reading models needs the package onnx", hint="pip install 'autocomp[models]'") from None
    try:
        loaded = onnx.load_model_from_string(read_bytes(path, MOST_BYTES))
        _refuse_other_files(loaded)
        loaded.ir_version = max(loaded.ir_version, CONSTANTS_APART)
        model = onnx.shape_inference.infer_shapes(loaded, data_prop=True)
        while _told(model, onnx):
            model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except ConfigError:
        raise
    except Exception as error:  # protobuf, onnx and the file system each have their own
        reason = (
            "it is not an ONNX model" if type(error).__name__ == "DecodeError" else f"{type(error).__name__}: {error}"
        )
        raise ConfigError(f"cannot read the model {path}: {reason}", hint="give an ONNX file") from None
    if not model.graph.node:  # an empty file is a model to protobuf
        raise ConfigError(f"{path} holds no model: its graph has no operators", hint="give an ONNX file")
    return model


def known_shapes(graph: Any) -> dict[str, Shape]:
    """The shapes of tensors, as far as all their sizes are numbers. Raises ConfigError for sizes that no tensor has."""
    shapes: dict[str, Shape] = {i.name: tuple(i.dims) for i in graph.initializer}
    for info in (*graph.value_info, *graph.input, *graph.output):
        kind = info.type.tensor_type
        if kind.HasField("shape") and all(d.HasField("dim_value") and d.dim_value != ANY for d in kind.shape.dim):
            shapes[info.name] = tuple(d.dim_value for d in kind.shape.dim)
    for name, shape in shapes.items():
        if any(size < 0 for size in shape) or math.prod(shape) > MOST_ELEMENTS:
            raise ConfigError(
                f"tensor {name!r:.80} has the shape {shape!r:.80}; "
                f"expected extents from 0, and at most {MOST_ELEMENTS:,} elements"
            )
    return shapes


def element_types(graph: Any) -> dict[str, str]:
    """The types of tensors by name, as NumPy calls them, as far as the graph says."""
    import onnx

    numbers = {i.name: i.data_type for i in graph.initializer}
    for info in (*graph.value_info, *graph.input, *graph.output):
        numbers[info.name] = info.type.tensor_type.elem_type
    return {name: str(onnx.helper.tensor_dtype_to_np_dtype(number)) for name, number in numbers.items() if number}


def _refuse_other_files(model: Any) -> None:
    """Raises ConfigError for a model that keeps its tensors elsewhere: a path in it could lead to any file."""
    for message in _messages(model):
        if message.DESCRIPTOR.name == "TensorProto" and (message.data_location or message.external_data):
            raise ConfigError(
                f"the model keeps the tensor {message.name!r:.80} in another file",
                hint="make one file of it, as onnx.save(onnx.load(MODEL), FILE) does",
            )


def _messages(message: Any) -> Iterator[Any]:
    """A protobuf message and all within it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if hasattr(value, "ListFields") else value:
                yield from _messages(part)


def attributes_of(node: Any) -> dict[str, Any]:
    """The attributes of a node by name, texts as `str`."""
    import onnx

    values = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in values.items()}


def _told(model: Any, onnx: Any) -> bool:
    """Enter the shapes of further results in the graph; True if any could be inferred."""
    graph = model.graph
    shapes = known_shapes(graph)
    types = {i.name: i.data_type for i in graph.initializer}
    new = []
    for node in graph.node:
        rule = _RESULTS.get(node.op_type)
        if rule is None or node.output[0] in shapes or node.input[-1] not in types:
            continue
        if all(name in shapes for name in (node.input[0], node.input[3]) if name):
            shape = rule([shapes.get(name, ()) for name in node.input], attributes_of(node))
            new.append(onnx.helper.make_tensor_value_info(node.output[0], types[node.input[-1]], shape))
    for info in new:
        for group in (graph.value_info, graph.output):
            for old in [i for i in group if i.name == info.name]:
                old.CopyFrom(info)
        if not any(i.name == info.name for i in (*graph.value_info, *graph.output)):
            graph.value_info.append(info)
    return bool(new)
